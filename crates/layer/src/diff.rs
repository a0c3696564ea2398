//! What the topmost layer changes.

use crate::{
    copy::{self, At, file_type, with_rights},
    log::Stamp,
    path::TreePath,
    tree::{MARKS, Node},
    view::{Found, Place, View},
};
use rustix::{
    fs::{FileType, Mode, OFlags, Stat, openat, readlinkat},
    io::Errno,
};
use serde::Serialize;

/// How something changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It was not there.
    Created,
    /// It has other contents, or is of another type.
    Changed,
    /// It has another mode, owner, or time.
    Attributes,
    /// It is not there any more.
    Deleted,
}

/// One name that changed.
#[derive(Debug, Clone)]
pub struct Change {
    /// The name.
    pub path: TreePath,
    /// How.
    pub kind: Kind,
    /// What is below the layer.
    pub before: Option<Found>,
    /// What is in it.
    pub after: Option<Found>,
}

impl View {
    /// What the topmost layer changes of what is below it, a directory before what is in it.
    ///
    /// # Errors
    /// Of reading either.
    pub fn changes(&self) -> Result<Vec<Change>, Errno> {
        let mut changes = Vec::new();
        if let Some(top) = self.layers.last() {
            for (name, node) in &top.tree.entries {
                self.change(&TreePath::root().join(name), node, false, &mut changes)?;
            }
        }
        Ok(changes)
    }

    /// As [`View::change_of`]. What a command removes meanwhile, of a layer in use or of the host's, is no change.
    fn change(&self, path: &TreePath, node: &Node, covered: bool, changes: &mut Vec<Change>) -> Result<(), Errno> {
        let count = changes.len();
        match self.change_of(path, node, covered, changes) {
            Err(Errno::NOENT | Errno::NOTDIR) => {
                changes.truncate(count);
                Ok(())
            }
            changed => changed,
        }
    }

    fn change_of(&self, path: &TreePath, node: &Node, covered: bool, changes: &mut Vec<Change>) -> Result<(), Errno> {
        let before = match self.find_below_top(path) {
            Err(Errno::NOENT | Errno::NOTDIR) => None,
            before => Some(before?),
        };
        let top = Place::Layer(self.layers.len() - 1);
        let dir = match node {
            Node::Whiteout => return before.map_or(Ok(()), |before| self.deleted(before, changes)),
            Node::Leaf => None,
            Node::Dir(dir) => Some(dir),
        };
        let after = Found { path: path.clone(), place: top, stat: self.at(top, path).stat()? };
        // In a directory that hides what is below it, every directory does.
        let hides = covered || dir.is_some_and(|dir| dir.opaque);
        let has_own = hides || dir.is_none_or(|dir| dir.own);
        let kind = match &before {
            None => Some(Kind::Created),
            Some(before) if has_own || before.kind() != after.kind() => match self.compare(before, &after) {
                // What may not be read below the layer stops no other name. Its copy is as it is if it looks so; a keep may have made it so.
                Err(Errno::ACCESS) => {
                    let looks = |found: &Found| Stamp::new(&self.shown(found), true);
                    (!looks(before).is_still(&looks(&after))).then_some(Kind::Changed)
                }
                kind => kind?,
            },
            Some(_) => None,
        };
        let hidden = match (&before, dir) {
            (Some(before), None) if before.kind() == FileType::Directory => self.list_below(path)?,
            (Some(before), Some(dir)) if before.kind() == FileType::Directory && hides => {
                let mut names = self.list_below(path)?;
                names.retain(|name| !dir.entries.contains_key(name));
                names
            }
            _ => Vec::new(),
        };
        if let Some(kind) = kind {
            changes.push(Change { path: path.clone(), kind, before, after: Some(after) });
        }
        for name in hidden {
            self.deleted(self.find_below_top(&path.join(&name))?, changes)?;
        }
        let Some(dir) = dir else { return Ok(()) };
        let count = changes.len();
        with_rights(self.at(top, path), || {
            changes.truncate(count);
            dir.entries.iter().try_for_each(|(name, node)| self.change(&path.join(name), node, hides, changes))
        })
    }

    fn list_below(&self, path: &TreePath) -> Result<Vec<Vec<u8>>, Errno> {
        Ok(self.list_in(path, self.layers.len() - 1)?.into_iter().map(|entry| entry.name).collect())
    }

    fn deleted(&self, before: Found, changes: &mut Vec<Change>) -> Result<(), Errno> {
        let path = before.path.clone();
        let names = if before.kind() == FileType::Directory { self.list_below(&path)? } else { Vec::new() };
        changes.push(Change { path: path.clone(), kind: Kind::Deleted, before: Some(before), after: None });
        names.iter().try_for_each(|name| self.deleted(self.find_below_top(&path.join(name))?, changes))
    }

    fn compare(&self, before: &Found, after: &Found) -> Result<Option<Kind>, Errno> {
        // What has another user's file written in place changes nothing where only the owner is another.
        if self.is_copy_of_anothers(before, after) {
            return self.compare_copy(before, after);
        }
        self.compare_by(before, after, |_| true)
    }

    /// Compares those of the extended attributes that count.
    pub(crate) fn compare_by(
        &self,
        before: &Found,
        after: &Found,
        counts: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Kind>, Errno> {
        let (old, new) = (&before.stat, &after.stat);
        let kind = file_type(new);
        if file_type(old) != kind || !self.same_contents(before, after, kind)? {
            return Ok(Some(Kind::Changed));
        }
        let attributes = (old.st_mode, old.st_uid, old.st_gid) != (new.st_mode, new.st_uid, new.st_gid);
        let has_time = match kind {
            FileType::Directory => self.has_set_time(after),
            kind => kind != FileType::Symlink,
        };
        let times = has_time && (old.st_mtime, old.st_mtime_nsec) != (new.st_mtime, new.st_mtime_nsec);
        // A name more makes one file of several, which a copy of the other names alone would not; and it may be one of another file.
        let is_other =
            || self.shown(before).st_ino != self.shown(after).st_ino && (old.st_nlink > 1 || self.is_copy_of_linked(after));
        let links = kind == FileType::RegularFile && (old.st_nlink == 1 && new.st_nlink > 1 || is_other());
        let extended = |found: &Found| {
            let mut all = copy::xattrs(self.at(found.place, &found.path));
            all.retain(|name, _| counts(name));
            all
        };
        Ok((attributes || times || links || extended(before) != extended(after)).then_some(Kind::Attributes))
    }

    /// Whether a directory of a layer has the time that a program gave it: no name in it was changed since.
    pub fn has_set_time(&self, dir: &Found) -> bool {
        let at = self.at(dir.place, &dir.path);
        let time = |stat: &Stat| (stat.st_mtime, stat.st_mtime_nsec);
        let is_noted = |mark: &[u8]| {
            let name = [at.name, b"/", mark].concat();
            with_rights(at, || At { dir: at.dir, name: &name }.stat()).is_ok_and(|mark| time(&mark) == time(&dir.stat))
        };
        MARKS.into_iter().any(is_noted)
    }

    /// Whether two regular files have the same contents, mode and owner.
    pub(crate) fn is_alike(&self, one: &Found, other: &Found) -> Result<bool, Errno> {
        let looks = |stat: &Stat| (stat.st_mode, stat.st_uid, stat.st_gid);
        if one.place == other.place && one.stat.st_ino == other.stat.st_ino {
            return Ok(true);
        }
        Ok(looks(&one.stat) == looks(&other.stat) && self.same_contents(one, other, FileType::RegularFile)?)
    }

    fn same_contents(&self, before: &Found, after: &Found, kind: FileType) -> Result<bool, Errno> {
        match kind {
            FileType::RegularFile => {
                if before.stat.st_size != after.stat.st_size {
                    return Ok(false);
                }
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let open = |found: &Found| openat(self.root(found.place), found.path.relative(), flags, Mode::empty());
                let open_own = |found: &Found| with_rights(self.at(found.place, &found.path), || open(found));
                let is_own = before.place == after.place;
                let (before, after) = (if is_own { open_own(before) } else { open(before) }?, open_own(after)?);
                let (mut one, mut two) = (vec![0; 1 << 16], vec![0; 1 << 16]);
                let mut at = 0;
                loop {
                    let count = read_full(&before, &mut one, at)?;
                    if count != read_full(&after, &mut two, at)? || one[..count] != two[..count] {
                        return Ok(false);
                    }
                    if count < one.len() {
                        return Ok(true);
                    }
                    at += count as u64;
                }
            }
            FileType::Symlink => {
                let target = |found: &Found| readlinkat(self.root(found.place), found.path.relative(), Vec::new());
                Ok(target(before)? == target(after)?)
            }
            FileType::CharacterDevice | FileType::BlockDevice => Ok(before.stat.st_rdev == after.stat.st_rdev),
            _ => Ok(true),
        }
    }
}

/// Reads until the buffer is full or the file ends: how many bytes.
pub(crate) fn read_full(fd: &rustix::fd::OwnedFd, buffer: &mut [u8], at: u64) -> Result<usize, Errno> {
    let mut count = 0;
    while count < buffer.len() {
        match rustix::io::pread(fd, &mut buffer[count..], at + count as u64)? {
            0 => break,
            more => count += more,
        }
    }
    Ok(count)
}
