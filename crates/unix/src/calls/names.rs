//! Making, removing and renaming names.

use super::{Answer, Reply, Server, done};
use crate::{
    names::{Object, PATH_MAX},
    sys::by_proc,
    tasks::{Caller, read_string},
};
use rustix::{
    fd::OwnedFd,
    fs::{Access, AtFlags, CWD, FileType, Mode, RenameFlags, accessat, fstat, lgetxattr},
    io::Errno,
};
use slipway_layer::{Found, Place, Resolved, TreePath};

/// The device that overlayfs takes for a removed name: everyone may make it.
const NOTHING: (FileType, u32) = (FileType::CharacterDevice, 0);

impl Server {
    /// A name that must be free.
    fn free_name(&mut self, caller: Caller, dir: i32, path: u64, may_be_dir: bool) -> Result<TreePath, Errno> {
        let text = read_string(caller.tid, path, PATH_MAX)?;
        self.free_path(caller, dir, &text, may_be_dir)
    }

    /// The same of a path that was read.
    pub(super) fn free_path(&mut self, caller: Caller, dir: i32, path: &[u8], may_be_dir: bool) -> Result<TreePath, Errno> {
        let free = self.lookup_last(caller, dir, path)?.free(may_be_dir)?;
        self.may_name(&free)?;
        Ok(free)
    }

    /// Where names stand for what the kernel has, one in the layer would stand for nothing. In /proc, the kernel makes and removes none.
    pub(super) fn may_name(&self, path: &TreePath) -> Result<(), Errno> {
        let is_kernels = ["sys", "dev/pts"].iter().any(|dir| path.is_within(&TreePath::literal(dir)));
        if is_kernels && !self.opened_by_rule(path) { Err(Errno::ROFS) } else { Ok(()) }
    }

    /// What calls that change a name find there.
    fn lookup_last(&mut self, caller: Caller, dir: i32, path: &[u8]) -> Result<Resolved, Errno> {
        Resolved::of_last(path, |path| self.lookup_bytes(caller, dir, path, false))
    }

    /// The mode of what is made in a directory: rules that this has for what is new in it (an ACL) take the place of the caller's mask.
    pub(super) fn mode_of_new(&self, caller: Caller, dir: &TreePath, mode: u32) -> Mode {
        let rules = || {
            let real = Self::real_path(self.view.root(self.view.find(dir).ok()?.place), dir).ok()?;
            lgetxattr(&real, c"system.posix_acl_default", &mut [0_u8; 0][..]).ok()
        };
        let mask = self.tasks.umask(caller.pid);
        Mode::from_raw_mode(if mode & mask == 0 || rules().is_some() { mode } else { mode & !mask })
    }

    pub(super) fn mkdir(&mut self, caller: Caller, dir: i32, path: u64, mode: u32) -> Reply {
        let path = self.free_name(caller, dir, path, true)?;
        done(self.view.make_dir(&path, self.mode_of_new(caller, &path.parent(), mode & 0o1777)))
    }

    pub(super) fn mknod(&mut self, caller: Caller, dir: i32, path: u64, mode: u32, dev: u32) -> Reply {
        let path = self.free_name(caller, dir, path, false)?;
        let kind = match mode & libc::S_IFMT {
            0 => FileType::RegularFile,
            kind => FileType::from_raw_mode(kind),
        };
        if matches!(kind, FileType::Directory) {
            return Err(Errno::PERM);
        }
        if self.is_other() && matches!(kind, FileType::CharacterDevice | FileType::BlockDevice) && (kind, dev) != NOTHING {
            return Err(Errno::PERM);
        }
        done(self.view.make_node(&path, kind, self.mode_of_new(caller, &path.parent(), mode & 0o7777), dev.into()))
    }

    pub(super) fn symlink(&mut self, caller: Caller, target: u64, dir: i32, path: u64) -> Reply {
        let target = read_string(caller.tid, target, PATH_MAX)?;
        if target.is_empty() {
            return Err(Errno::NOENT);
        }
        let path = self.free_name(caller, dir, path, false)?;
        done(self.view.symlink(&target, &path))
    }

    pub(super) fn unlink(&mut self, caller: Caller, dir: i32, path: u64, flags: i32) -> Reply {
        if flags & !libc::AT_REMOVEDIR != 0 {
            return Err(Errno::INVAL);
        }
        let text = read_string(caller.tid, path, PATH_MAX)?;
        let is_dir = flags & libc::AT_REMOVEDIR != 0;
        let found = self.lookup_last(caller, dir, &text)?.to_remove(&text, is_dir)?;
        self.may_name(&found.path)?;
        self.view.remove(&found, is_dir)?;
        self.left(&found);
        self.vacated(&found);
        Ok(Answer::Value(0))
    }

    /// Nothing is at the name any more. Of a directory the server goes on to answer.
    fn vacated(&self, was: &Found) {
        if was.kind() != FileType::Directory {
            self.index.iter().for_each(|index| index.vacate(&self.view, &was.path));
        }
    }

    /// A name is no longer what it was: paths may have led over it.
    fn left(&mut self, was: &Found) {
        self.nameless.left(was);
        let Some(index) = &mut self.index else { return };
        if matches!(was.kind(), FileType::Directory | FileType::Symlink) {
            index.forget_dirs();
        }
        if was.kind() == FileType::Directory {
            index.leave(&self.view, &was.path);
        }
        if was.kind() == FileType::Directory && was.place == Place::Host {
            index.serve_descriptors();
        }
    }

    pub(super) fn rename(&mut self, caller: Caller, from_dir: i32, from: u64, to_dir: i32, to: u64, flags: u32) -> Reply {
        let flags = RenameFlags::from_bits_retain(flags);
        if flags != RenameFlags::EXCHANGE && !(RenameFlags::NOREPLACE | RenameFlags::WHITEOUT).contains(flags) {
            return Err(Errno::INVAL);
        }
        let (from, to) = (read_string(caller.tid, from, PATH_MAX)?, read_string(caller.tid, to, PATH_MAX)?);
        let old = self.lookup_last(caller, from_dir, &from)?;
        let new = self.lookup_last(caller, to_dir, &to)?;
        let found = old.to_rename(&from, &new, &to, flags)?;
        self.may_name(&found.path)?;
        self.may_name(&new.path)?;
        // A look that finds the old name gone must not miss the new one.
        self.index.iter().for_each(|index| index.serve(&new.path));
        [Some(&found), new.found.as_ref()].into_iter().flatten().for_each(|was| self.left(was));
        self.view.rename(&found, &new.path, flags)?;
        self.vacated(&found);
        let (there, back) = ((&found.path, &new.path), (&new.path, &found.path));
        let moves = if flags.contains(RenameFlags::EXCHANGE) { &[there, back][..] } else { &[there] };
        let moved = |was: &Found| was.kind() == FileType::Directory;
        if moved(&found) || moves.len() > 1 && new.found.as_ref().is_some_and(moved) {
            self.tasks.renamed(moves);
            self.index.iter().for_each(|index| index.moved(None));
        }
        Ok(Answer::Value(0))
    }

    pub(super) fn link(&mut self, caller: Caller, from_dir: i32, from: u64, to_dir: i32, to: u64, flags: i32) -> Reply {
        let from = read_string(caller.tid, from, PATH_MAX)?;
        if from.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
            let open = self.fetch(caller, from_dir)?;
            let new = self.free_name(caller, to_dir, to, false)?;
            // The kernel does it for who opened the file.
            self.may_link_opened(&open).map_err(|_| Errno::NOENT)?;
            return self.link_opened(&open, &new);
        }
        let old = self.lookup_bytes(caller, from_dir, &from, flags & libc::AT_SYMLINK_FOLLOW != 0)?;
        let found: Found = old.found.clone().ok_or(Errno::NOENT)?;
        let new = self.free_name(caller, to_dir, to, false)?;
        if let Some(found) = self.named_by(&old) {
            return self.link_found(&found, &new);
        }
        if old.is_magic {
            // /proc/self/fd/N of a file without a name.
            if self.contain && !self.is_of_command(caller, &old.path) {
                return Err(Errno::ACCESS);
            }
            let open = self.hold_link(caller, &old.path)?;
            // What can have no name is of another file system before it is another user's.
            let is_nameless =
                || matches!(self.object_here(&open), Ok(Object::Unnamed)) && fstat(&open).is_ok_and(|stat| stat.st_nlink > 0);
            self.may_link_opened(&open).map_err(|error| if is_nameless() { Errno::XDEV } else { error })?;
            return self.link_opened(&open, &new);
        }
        self.link_found(&found, &new)
    }

    /// Whether the caller may give what is open a name: with the server's rights it is given. What only stands for a file is linked by that one's name.
    fn may_link_opened(&self, open: &OwnedFd) -> Result<(), Errno> {
        let stat = fstat(open)?;
        if !self.is_other() || self.view.may_own(&stat).is_ok() || matches!(self.object_here(open)?, Object::StandIn(_)) {
            return Ok(());
        }
        accessat(CWD, by_proc(open), Access::READ_OK | Access::WRITE_OK, AtFlags::EACCESS).map_err(|_| Errno::PERM)
    }

    fn link_found(&mut self, found: &Found, new: &TreePath) -> Reply {
        self.may_name(&found.path)?;
        done(self.view.link(found, new))
    }

    /// Gives what is open one more name. The layer's own files the kernel finds by the descriptor, whatever became of their names.
    fn link_opened(&mut self, open: &OwnedFd, new: &TreePath) -> Reply {
        let object = self.object_here(open)?;
        if let Object::StandIn(found) = object {
            return self.link_found(&found, new);
        }
        if let Object::Named(name, false) = object {
            let stat = fstat(open)?;
            match self.found_still(stat, &name).or_else(|| self.found_elsewhere(stat)) {
                Some(found) => return self.link_found(&found, new),
                // It was removed in the layer, or replaced.
                None if !self.view.is_through(&name) => return Err(Errno::NOENT),
                None => {}
            }
        }
        done(self.view.link_open(open, new))
    }
}
