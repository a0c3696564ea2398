//! Names: calls with paths, on a view of the file system.

use rustix::{
    fd::OwnedFd,
    fs::{Access, AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, Timestamps, accessat, fchmod, fstat, openat},
    io::Errno,
};
use slipway_layer::{Attribute, Entry, Found, PlainLinks, Resolved, TreePath, View};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// What a program may ask for when it opens a file.
const OPEN_KNOWN: OFlags = OFlags::RWMODE
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::TRUNC)
    .union(OFlags::APPEND)
    .union(OFlags::NONBLOCK)
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::SYNC)
    .union(OFlags::DSYNC)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOATIME)
    .union(OFlags::CLOEXEC)
    .union(OFlags::LARGEFILE);

/// The name of a directory that a process works in or has open, which changes when it is renamed.
pub(crate) type Dir = Arc<Mutex<TreePath>>;

/// What a program opened; a directory has a name.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) fd: OwnedFd,
    pub(crate) dir: Option<Dir>,
}

/// The tree that programs see.
#[derive(Debug)]
pub(crate) struct Files {
    view: View,
    /// Those that somebody has.
    dirs: Vec<Weak<Mutex<TreePath>>>,
    /// This process's mask for modes, which new files are made with: what it takes away is given back.
    umask: Mode,
}

impl Files {
    /// `view`, without what would lead out of it.
    pub(crate) fn new(mut view: View) -> Self {
        // Its links are the server's own descriptors and root.
        view.rules.hidden.push(TreePath::literal("proc"));
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        let umask = umask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o777);
        Self { view, dirs: Vec::new(), umask: Mode::from_raw_mode(umask) }
    }

    fn resolve(&self, cwd: &TreePath, path: &[u8], follow: bool) -> Result<Resolved, Errno> {
        self.view.resolve(cwd, path, follow, &PlainLinks)
    }

    fn found(&self, cwd: &TreePath, path: &[u8], follow: bool) -> Result<Found, Errno> {
        self.resolve(cwd, path, follow)?.found.ok_or(Errno::NOENT)
    }

    /// What calls that change a name find there.
    fn resolve_last(&self, cwd: &TreePath, path: &[u8]) -> Result<Resolved, Errno> {
        Resolved::of_last(path, |path| self.resolve(cwd, path, false))
    }

    fn named(&mut self, path: TreePath) -> Dir {
        if self.dirs.len() == self.dirs.capacity() {
            self.dirs.retain(|dir| dir.strong_count() > 0);
        }
        let dir = Arc::new(Mutex::new(path));
        self.dirs.push(Arc::downgrade(&dir));
        dir
    }

    /// Done with a change: nobody keeps a copy of what the layer says.
    fn changed<T>(&mut self, result: Result<T, Errno>) -> Result<T, Errno> {
        self.view.take_changes();
        result
    }

    pub(crate) fn open(&mut self, cwd: &TreePath, path: &[u8], flags: OFlags, mode: Mode) -> Result<Opened, Errno> {
        if !OPEN_KNOWN.contains(flags) || flags.contains(OFlags::RWMODE) {
            return Err(Errno::INVAL);
        }
        let writes = flags.intersects(OFlags::WRONLY | OFlags::RDWR | OFlags::TRUNC);
        let (creates, exclusive) = (flags.contains(OFlags::CREATE), flags.contains(OFlags::CREATE | OFlags::EXCL));
        if creates && path.last() == Some(&b'/') {
            return Err(self.resolve_last(cwd, path).err().unwrap_or(Errno::ISDIR));
        }
        let resolved = self.resolve(cwd, path, !flags.contains(OFlags::NOFOLLOW) && !exclusive)?;
        let Some(found) = &resolved.found else {
            if !creates {
                return Err(Errno::NOENT);
            }
            if flags.contains(OFlags::DIRECTORY) {
                return Err(Errno::INVAL);
            }
            let created = self.view.create(&resolved.path, flags - OFlags::TRUNC, mode);
            let fd = self.changed(created)?;
            if mode.intersects(self.umask) {
                fchmod(&fd, mode)?;
            }
            return Ok(Opened { fd, dir: None });
        };
        if exclusive {
            return Err(Errno::EXIST);
        }
        let kind = found.kind();
        if kind != FileType::Directory && flags.contains(OFlags::DIRECTORY) {
            return Err(Errno::NOTDIR);
        }
        let flags = (flags - OFlags::CREATE) | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NOFOLLOW;
        match kind {
            FileType::Symlink => return Err(Errno::LOOP),
            FileType::Directory if writes || creates => return Err(Errno::ISDIR),
            FileType::RegularFile if writes => {
                let mut access = Access::WRITE_OK;
                access.set(Access::READ_OK, !flags.contains(OFlags::WRONLY));
                accessat(self.view.root(found.place), found.path.relative(), access, AtFlags::EACCESS)?;
                let copied = self.view.copy_up(found, flags.contains(OFlags::TRUNC));
                self.changed(copied)?;
            }
            FileType::RegularFile | FileType::Directory => {}
            // Whatever else is written to is outside of the view, and may keep the server waiting.
            FileType::CharacterDevice if is_harmless(found) => {}
            _ => return Err(Errno::ACCESS),
        }
        let found = self.view.find(&found.path)?;
        let fd = openat(self.view.root(found.place), found.path.relative(), flags, Mode::empty())?;
        let dir = (kind == FileType::Directory).then(|| self.named(found.path));
        Ok(Opened { fd, dir })
    }

    pub(crate) fn stat(&self, cwd: &TreePath, path: &[u8], follow: bool) -> Result<Stat, Errno> {
        Ok(self.view.shown(&self.found(cwd, path, follow)?))
    }

    /// Of what is open.
    pub(crate) fn fstat(&self, fd: &OwnedFd, dir: Option<&TreePath>) -> Result<Stat, Errno> {
        // A directory shows what is in all layers.
        if let Some(Ok(found)) = dir.map(|dir| self.view.find(dir)) {
            return Ok(self.view.shown(&found));
        }
        let mut stat = fstat(fd)?;
        self.view.as_original(&mut stat);
        Ok(stat)
    }

    pub(crate) fn access(&self, cwd: &TreePath, path: &[u8], access: Access) -> Result<(), Errno> {
        let found = self.found(cwd, path, true)?;
        if access.contains(Access::WRITE_OK) && self.view.rules.read_only && found.kind() != FileType::CharacterDevice {
            return Err(Errno::ROFS);
        }
        accessat(self.view.root(found.place), found.path.relative(), access, AtFlags::EACCESS)
    }

    pub(crate) fn read_link(&self, cwd: &TreePath, path: &[u8]) -> Result<Vec<u8>, Errno> {
        let found = self.found(cwd, path, false)?;
        if found.kind() == FileType::Symlink { self.view.read_link(&found) } else { Err(Errno::INVAL) }
    }

    pub(crate) fn list(&self, path: &TreePath) -> Result<Vec<Entry>, Errno> {
        self.view.list(path)
    }

    /// The numbers of a directory and of that above it.
    pub(crate) fn numbers(&self, path: &TreePath) -> Result<[u64; 2], Errno> {
        let number = |path: &TreePath| Ok(self.view.shown(&self.view.find(path)?).st_ino);
        Ok([number(path)?, number(&path.parent())?])
    }

    /// A directory that a program may work in.
    pub(crate) fn dir(&mut self, cwd: &TreePath, path: &[u8]) -> Result<Dir, Errno> {
        let found = self.found(cwd, path, true)?;
        if found.kind() != FileType::Directory {
            return Err(Errno::NOTDIR);
        }
        accessat(self.view.root(found.place), found.path.relative(), Access::EXEC_OK, AtFlags::EACCESS)?;
        Ok(self.named(found.path))
    }

    pub(crate) fn make_dir(&mut self, cwd: &TreePath, path: &[u8], mode: Mode) -> Result<(), Errno> {
        let path = self.resolve_last(cwd, path)?.free(true)?;
        let mut made = self.view.make_dir(&path, mode);
        if made.is_ok() && mode.intersects(self.umask) {
            made = self.view.find(&path).and_then(|found| self.view.set_attribute(&found, &Attribute::Mode(mode)));
        }
        self.changed(made)
    }

    pub(crate) fn remove(&mut self, cwd: &TreePath, path: &[u8], is_dir: bool) -> Result<(), Errno> {
        let found = self.resolve_last(cwd, path)?.to_remove(path, is_dir)?;
        let removed = self.view.remove(&found, is_dir);
        self.changed(removed)
    }

    pub(crate) fn rename(&mut self, cwd: &TreePath, from: &[u8], to: &[u8]) -> Result<(), Errno> {
        let (old, new) = (self.resolve_last(cwd, from)?, self.resolve_last(cwd, to)?);
        let found = old.to_rename(from, &new, to, RenameFlags::empty())?;
        let renamed = self.view.rename(&found, &new.path, RenameFlags::empty());
        self.changed(renamed)?;
        for dir in self.dirs.iter().filter_map(Weak::upgrade) {
            let mut path = lock(&dir);
            let moved = path.below(&found.path).map(|rest| new.path.join(rest));
            *path = moved.unwrap_or_else(|| path.clone());
        }
        Ok(())
    }

    pub(crate) fn link(&mut self, cwd: &TreePath, from: &[u8], to: &[u8]) -> Result<(), Errno> {
        let found = self.found(cwd, from, false)?;
        let path = self.resolve_last(cwd, to)?.free(false)?;
        if found.kind() == FileType::Directory {
            return Err(Errno::PERM);
        }
        let linked = self.view.link(&found, &path);
        self.changed(linked)
    }

    pub(crate) fn symlink(&mut self, cwd: &TreePath, target: &[u8], path: &[u8]) -> Result<(), Errno> {
        if target.is_empty() {
            return Err(Errno::NOENT);
        }
        let path = self.resolve_last(cwd, path)?.free(false)?;
        let linked = self.view.symlink(target, &path);
        self.changed(linked)
    }

    fn set(&mut self, cwd: &TreePath, path: &[u8], attribute: &Attribute<'_>) -> Result<(), Errno> {
        let found = self.found(cwd, path, true)?;
        let set = self.view.set_attribute(&found, attribute);
        self.changed(set)
    }

    pub(crate) fn chmod(&mut self, cwd: &TreePath, path: &[u8], mode: Mode) -> Result<(), Errno> {
        self.set(cwd, path, &Attribute::Mode(mode))
    }

    pub(crate) fn utimes(&mut self, cwd: &TreePath, path: &[u8], times: &Timestamps) -> Result<(), Errno> {
        self.set(cwd, path, &Attribute::Times(times))
    }

    pub(crate) fn truncate(&mut self, cwd: &TreePath, path: &[u8], length: u64) -> Result<(), Errno> {
        match self.found(cwd, path, true)?.kind() {
            FileType::Directory => Err(Errno::ISDIR),
            FileType::RegularFile => self.set(cwd, path, &Attribute::Size(length)),
            _ => Err(Errno::INVAL),
        }
    }
}

/// A lock that holds nothing half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether it is null, zero, full, random or urandom.
fn is_harmless(found: &Found) -> bool {
    const MEMORY: u32 = 1;
    let (major, minor) = (rustix::fs::major(found.stat.st_rdev), rustix::fs::minor(found.stat.st_rdev));
    major == MEMORY && matches!(minor, 3 | 5 | 7 | 8 | 9)
}
