//! What a layer says about names, in memory: the same as its directory on disk.

use crate::{path::TreePath, way::Way};
use rustix::{
    fd::{AsFd, BorrowedFd},
    fs::{AtFlags, Dir as Entries, FileType, Mode, OFlags, openat, readlinkat, statat},
    io::{Errno, fcntl_dupfd_cloexec},
};
use std::collections::{BTreeMap, HashSet};

/// What a symbolic link in a layer's directory contains that says: there is no such name, whatever is below.
pub(crate) const WHITEOUT: &[u8] = b"\x01slipway: deleted\x01";
/// The name of an empty file in a directory that hides those below it.
pub(crate) const OPAQUE: &[u8] = b".\x01slipway-opaque";
/// The name of an empty file in a directory whose own mode, owner, times and attributes count, and not those of the one below.
pub(crate) const OWN: &[u8] = b".\x01slipway-own";

/// Both. Their times are those that a program gave the directory, if it did.
pub(crate) const MARKS: [&[u8]; 2] = [OPAQUE, OWN];

/// What a layer has at a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    /// Nothing, and nothing of what is below it.
    Whiteout,
    /// All that is no directory.
    Leaf,
    /// A directory, over one of the same name below it if that is not hidden.
    Dir(Dir),
}

/// A directory of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Dir {
    /// What is below it is hidden.
    pub(crate) opaque: bool,
    /// Its own attributes count.
    pub(crate) own: bool,
    pub(crate) entries: BTreeMap<Vec<u8>, Node>,
}

/// What a layer says of a name.
pub(crate) struct Look<'a> {
    /// What it has there.
    pub(crate) node: Option<&'a Node>,
    /// A directory above it hides what is below.
    pub(crate) covered: bool,
}

impl Look<'_> {
    /// Whether layers below can't be seen here.
    pub(crate) fn closed(&self) -> bool {
        self.covered
            || match self.node {
                None => false,
                Some(Node::Whiteout | Node::Leaf) => true,
                Some(Node::Dir(dir)) => dir.opaque,
            }
    }
}

impl Dir {
    /// What is said of a name.
    pub(crate) fn look(&self, path: &TreePath) -> Look<'_> {
        let (mut dir, mut covered) = (self, self.opaque);
        let mut components = path.components().peekable();
        while let Some(name) = components.next() {
            let node = dir.entries.get(name);
            if components.peek().is_none() {
                return Look { node, covered };
            }
            match node {
                None => return Look { node: None, covered },
                Some(Node::Whiteout | Node::Leaf) => return Look { node: None, covered: true },
                Some(Node::Dir(next)) => {
                    covered |= next.opaque;
                    dir = next;
                }
            }
        }
        Look { node: None, covered }
    }

    /// How many of the names, one in the other, are directories that hide nothing and have no attributes of their own; and whether
    /// the next is something else.
    pub(crate) fn scaffold_depth(&self, names: &[&[u8]]) -> (usize, bool) {
        let mut dir = self;
        if dir.own || dir.opaque {
            return (0, true);
        }
        for (depth, name) in names.iter().enumerate() {
            match dir.entries.get(*name) {
                Some(Node::Dir(next)) if !next.own && !next.opaque => dir = next,
                next => return (depth, next.is_some()),
            }
        }
        (names.len(), false)
    }

    /// The directory of that name.
    pub(crate) fn dir(&self, path: &TreePath) -> Option<&Dir> {
        path.components().try_fold(self, |dir, name| match dir.entries.get(name) {
            Some(Node::Dir(next)) => Some(next),
            _ => None,
        })
    }

    /// The directory of that name.
    pub(crate) fn dir_mut(&mut self, path: &TreePath) -> Option<&mut Dir> {
        path.components().try_fold(self, |dir, name| match dir.entries.get_mut(name) {
            Some(Node::Dir(next)) => Some(next),
            _ => None,
        })
    }

    /// Sets what is at a name, whose directory must be there.
    pub(crate) fn set(&mut self, path: &TreePath, node: Node) {
        if let Some(dir) = self.dir_mut(&path.parent()) {
            dir.entries.insert(path.name().to_vec(), node);
        }
    }

    /// Takes what is at a name.
    pub(crate) fn take(&mut self, path: &TreePath) -> Option<Node> {
        self.dir_mut(&path.parent())?.entries.remove(path.name())
    }

    /// Calls with each name below `at` and what is there, a directory before what is in it.
    pub(crate) fn each(&self, at: &TreePath, f: &mut dyn FnMut(&TreePath, &Node)) {
        for (name, node) in &self.entries {
            let path = at.join(name);
            f(&path, node);
            if let Node::Dir(dir) = node {
                dir.each(&path, f);
            }
        }
    }

    /// Reads the tree of a layer, and which numbers its files and directories have.
    ///
    /// # Errors
    /// Of open, getdents and readlink.
    pub(crate) fn read(root: impl AsFd, numbers: &mut HashSet<u64>) -> Result<Self, Errno> {
        Self::read_here(&mut Way::from(root)?, numbers)
    }

    /// Reads one of its directories.
    fn read_here(way: &mut Way, numbers: &mut HashSet<u64>) -> Result<Self, Errno> {
        let mut dir = Self::default();
        let mut below = Vec::new();
        numbers.insert(way.stat().st_ino);
        for entry in list(way.here())? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            match name {
                b"." | b".." => continue,
                OPAQUE => dir.opaque = true,
                OWN => dir.own = true,
                _ => {
                    let node = match kind(way.here(), entry.file_type(), name)? {
                        FileType::Directory => {
                            below.push(name.to_vec());
                            continue;
                        }
                        FileType::Symlink if is_whiteout(way.here(), name)? => Node::Whiteout,
                        _ => Node::Leaf,
                    };
                    numbers.insert(entry.ino());
                    dir.entries.insert(name.to_vec(), node);
                }
            }
        }
        for name in below {
            let read = way.within(&name, |way| Self::read_here(way, numbers))?;
            dir.entries.insert(name, Node::Dir(read));
        }
        Ok(dir)
    }
}

/// What is in an open directory. Not `read_from`, which enters the directory again: reading needs no right to do that.
pub(crate) fn list(dir: impl AsFd) -> Result<Entries, Errno> {
    let mut entries = Entries::new(fcntl_dupfd_cloexec(dir, 0)?)?;
    entries.rewind();
    Ok(entries)
}

fn kind(fd: BorrowedFd<'_>, told: FileType, name: &[u8]) -> Result<FileType, Errno> {
    if told != FileType::Unknown {
        return Ok(told);
    }
    Ok(FileType::from_raw_mode(statat(fd, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode))
}

/// Opens a directory to list it or to name what is in it.
pub(crate) fn open_dir(fd: impl AsFd, name: &[u8]) -> Result<rustix::fd::OwnedFd, Errno> {
    openat(fd, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Whether the symbolic link of that name says that nothing is there.
pub(crate) fn is_whiteout(fd: impl AsFd, name: &[u8]) -> Result<bool, Errno> {
    Ok(readlinkat(fd, name, Vec::new())?.to_bytes() == WHITEOUT)
}

/// Whether a program must not use this name: a layer's marks have it.
pub(crate) fn is_mark(name: &[u8]) -> bool {
    MARKS.contains(&name)
}
