//! Looking at names: attributes, access, links, the file system.

use super::{Answer, Reply, Server, done};
use crate::{
    names::{Object, PATH_MAX},
    sys::{self, Plain, by_proc, bytes_of, write_memory},
    tasks::{Caller, read_string},
};
use rustix::{
    fs::{Access, AtFlags, CWD, FileType, Stat, accessat, statat},
    io::Errno,
};
use slipway_layer::{Found, Place, TreePath};
use std::ffi::CString;

/// What a path or a descriptor leads to.
enum Seen {
    /// A name of the tree.
    Name(Found),
    /// Something that has none, or is open: a path by which this process finds it.
    Open(CString),
}

impl Server {
    /// What `dir` and `path` mean, AT_EMPTY_PATH included.
    fn seen(&mut self, caller: Caller, dir: i32, path: u64, flags: i32) -> Result<Seen, Errno> {
        let may_be_empty = flags & libc::AT_EMPTY_PATH != 0;
        let path = if path == 0 && may_be_empty { Vec::new() } else { read_string(caller.tid, path, PATH_MAX)? };
        if path.is_empty() && may_be_empty {
            return self.seen_fd(caller, dir);
        }
        let follow = flags & libc::AT_SYMLINK_NOFOLLOW == 0;
        let resolved = self.lookup_bytes(caller, dir, &path, follow)?;
        if resolved.is_magic {
            if let Some(found) = self.link_behind(&resolved.path) {
                return Ok(Seen::Name(found));
            }
            return Ok(Seen::Open(CString::new(resolved.path.absolute()).map_err(|_| Errno::INVAL)?));
        }
        resolved.found.map(Seen::Name).ok_or(Errno::NOENT)
    }

    /// Whether the kernel says the same of what is open: it has no name, or no layer has to do with it.
    fn is_as_it_is(&self, object: &Object) -> bool {
        match object {
            Object::Unnamed => true,
            Object::StandIn(_) => false,
            Object::Named(path, is_top) => !is_top && !self.view.is_touched(path),
        }
    }

    fn seen_fd(&mut self, caller: Caller, fd: i32) -> Result<Seen, Errno> {
        if fd == libc::AT_FDCWD {
            return Ok(Seen::Name(self.view.find(&self.tasks.cwd(caller.pid))?));
        }
        let object = self.object(caller, fd)?;
        self.seen_object(caller, fd, object)
    }

    fn seen_object(&self, caller: Caller, fd: i32, object: Object) -> Result<Seen, Errno> {
        if let Object::StandIn(found) = object {
            return Ok(Seen::Name(found));
        }
        let open = CString::new(format!("/proc/{}/fd/{fd}", caller.tid)).map_err(|_| Errno::INVAL)?;
        // A directory's attributes may lie in another place than what is open, and the count of its names in none; so may those of a file
        // that was changed through a descriptor to read.
        if let Object::Named(path, is_top) = object
            && self.view.is_touched(&path)
            && let stat = self.stat_here(caller, fd)?
            && (!is_top || FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
            && let Some(found) = self.found_still(stat, &path)
        {
            return Ok(Seen::Name(found));
        }
        Ok(Seen::Open(open))
    }

    /// What the kernel says of a descriptor.
    ///
    /// # Errors
    /// EBADF.
    pub(super) fn stat_here(&self, caller: Caller, fd: i32) -> Result<Stat, Errno> {
        let _up = self.view.elevate();
        statat(CWD, format!("/proc/{}/fd/{fd}", caller.tid), AtFlags::empty()).map_err(|_| Errno::BADF)
    }

    /// The copy that the topmost layer has of a file which has lost its name, under another one.
    pub(crate) fn found_elsewhere(&self, mut open: Stat) -> Option<Found> {
        let _up = self.view.elevate();
        self.view.as_original(&mut open);
        let (top, place) = (self.view.top()?, Place::Layer(self.files.len() - 1));
        let (copy, _) = top.copies().find(|(_, of)| *of == Some((open.st_dev, open.st_ino)))?;
        let mut name = None;
        top.each(&TreePath::root(), &mut |path, _| {
            let is_it = || {
                statat(self.view.root(place), path.relative(), AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| stat.st_ino == copy)
            };
            if name.is_none() && is_it() {
                name = Some(path.clone());
            }
        });
        self.found_still(open, &name?)
    }

    /// What is at a name, if that is the file which shows this.
    pub(crate) fn found_still(&self, mut open: Stat, path: &TreePath) -> Option<Found> {
        let _up = self.view.elevate();
        self.view.as_original(&mut open);
        let found = self.view.find(path).ok()?;
        let shown = self.view.shown(&found);
        ((shown.st_dev, shown.st_ino) == (open.st_dev, open.st_ino)).then_some(found)
    }

    fn shown(&self, seen: &Seen) -> Result<Stat, Errno> {
        match seen {
            Seen::Name(found) => Ok(self.view.shown(found)),
            Seen::Open(path) => {
                let _up = self.view.elevate();
                let mut stat = statat(CWD, path, AtFlags::empty())
                    .map_err(|error| if error == Errno::NOENT { Errno::BADF } else { error })?;
                self.nameless.show(&mut stat);
                self.view.as_original(&mut stat);
                Ok(stat)
            }
        }
    }

    pub(super) fn stat(&mut self, caller: Caller, dir: i32, path: u64, buffer: u64, flags: i32) -> Reply {
        check_flags(flags)?;
        // What the C library makes of fstat.
        if is_descriptor(caller, dir, path, flags)? {
            return self.stat_fd(caller, dir, buffer);
        }
        let seen = self.seen(caller, dir, path, flags)?;
        let stat = self.shown(&seen)?;
        done(write_stat(caller, buffer, &stat))
    }

    pub(super) fn stat_fd(&mut self, caller: Caller, fd: i32, buffer: u64) -> Reply {
        let object = self.object(caller, fd)?;
        if self.is_as_it_is(&object) {
            return Ok(Answer::Continue);
        }
        let seen = self.seen_object(caller, fd, object)?;
        let stat = self.shown(&seen)?;
        done(write_stat(caller, buffer, &stat))
    }

    pub(super) fn statx(&mut self, caller: Caller, dir: i32, path: u64, flags: i32, mask: u32, buffer: u64) -> Reply {
        check_flags(flags)?;
        if is_descriptor(caller, dir, path, flags)? && self.is_as_it_is(&self.object(caller, dir)?) {
            return Ok(Answer::Continue);
        }
        let seen = self.seen(caller, dir, path, flags)?;

        let shown = self.shown(&seen)?;
        let how = flags & !(libc::AT_EMPTY_PATH | libc::AT_SYMLINK_NOFOLLOW);
        let mut stat = match &seen {
            Seen::Name(found) => {
                let name = CString::new(found.path.relative()).map_err(|_| Errno::INVAL)?;
                sys::statx(self.view.root(found.place), &name, how | libc::AT_SYMLINK_NOFOLLOW, mask)?
            }
            Seen::Open(path) => {
                let _up = self.view.elevate();
                sys::statx(CWD, path, how, mask)?
            }
        };
        stat.stx_ino = shown.st_ino;
        (stat.stx_mode, stat.stx_uid, stat.stx_gid) = (shown.st_mode as u16, shown.st_uid, shown.st_gid);
        stat.stx_nlink = shown.st_nlink as u32;
        stat.stx_atime.tv_sec = shown.st_atime;
        stat.stx_atime.tv_nsec = shown.st_atime_nsec as u32;
        (stat.stx_dev_major, stat.stx_dev_minor) = (libc::major(shown.st_dev), libc::minor(shown.st_dev));
        stat.stx_mtime.tv_sec = shown.st_mtime;
        stat.stx_mtime.tv_nsec = shown.st_mtime_nsec as u32;
        done(write_memory(caller.tid, buffer, bytes_of(&stat)))
    }

    pub(super) fn statfs(&mut self, caller: Caller, path: u64, buffer: u64) -> Reply {
        let real = match self.seen(caller, libc::AT_FDCWD, path, 0)? {
            Seen::Name(found) => Self::real_path(self.view.root(found.place), &found.path)?,
            Seen::Open(path) => path,
        };
        let up = self.elevate_for(caller, &TreePath::literal(real.to_bytes()));
        let stat = sys::statfs(&real)?;
        drop(up);
        done(write_memory(caller.tid, buffer, bytes_of(&stat)))
    }

    pub(super) fn access(&mut self, caller: Caller, dir: i32, path: u64, mode: u32, flags: i32) -> Reply {
        let access = Access::from_bits(mode).ok_or(Errno::INVAL)?;
        // The server's real user is not that of a process which became another.
        let is_effective = flags & libc::AT_EACCESS != 0 || self.view.caller.is_some();
        let how = if is_effective { AtFlags::EACCESS } else { AtFlags::empty() };
        match self.seen(caller, dir, path, flags)? {
            Seen::Open(path) => {
                let held = self.hold_link(caller, &TreePath::literal(path.to_bytes()))?;
                done(accessat(CWD, by_proc(&held), access, how))
            }
            Seen::Name(found) => {
                let writes = access.contains(Access::WRITE_OK);
                if writes
                    && self.view.rules.read_only
                    && !self.view.is_through(&found.path)
                    && is_changed_by_writing(found.kind())
                {
                    return Err(Errno::ROFS);
                }
                // What a link is can't be asked of all kernels.
                if found.kind() == FileType::Symlink {
                    return Ok(Answer::Value(0));
                }
                done(accessat(self.view.root(found.place), found.path.relative(), access, how))
            }
        }
    }

    pub(super) fn readlink(&mut self, caller: Caller, dir: i32, path: u64, buffer: u64, size: i32) -> Reply {
        if size <= 0 {
            return Err(Errno::INVAL);
        }
        let text = read_string(caller.tid, path, PATH_MAX)?;
        let found = if text.is_empty() {
            match self.object(caller, dir) {
                Ok(Object::StandIn(found)) if found.kind() == FileType::Symlink => found,
                Err(Errno::STALE) => return Err(Errno::STALE),
                // Of a descriptor by O_PATH, which is the kernel's.
                _ => return Ok(Answer::Continue),
            }
        } else {
            self.lookup_bytes(caller, dir, &text, false)?.found.ok_or(Errno::NOENT)?
        };
        if found.kind() != FileType::Symlink {
            return Err(Errno::INVAL);
        }
        let special = if found.place == Place::Host { self.links(caller).text(&found.path)? } else { None };
        let up = self.elevate_for(caller, &found.path);
        let target = special.map_or_else(|| self.view.read_link(&found), Ok)?;
        drop(up);
        self.record.opened(&found.path, FileType::Symlink);
        let count = target.len().min(size as usize);
        write_memory(caller.tid, buffer, &target[..count])?;
        Ok(Answer::Value(count as i64))
    }
}

/// Refuses what the kernel refuses. The last are AT_STATX_SYNC_TYPE, which libc lacks.
fn check_flags(flags: i32) -> Result<(), Errno> {
    const KNOWN: i32 = libc::AT_SYMLINK_NOFOLLOW | libc::AT_NO_AUTOMOUNT | libc::AT_EMPTY_PATH | 0x6000;
    if flags & !KNOWN == 0 { Ok(()) } else { Err(Errno::INVAL) }
}

/// Whether the descriptor alone is meant.
fn is_descriptor(caller: Caller, dir: i32, path: u64, flags: i32) -> Result<bool, Errno> {
    let may_be = flags & libc::AT_EMPTY_PATH != 0 && dir != libc::AT_FDCWD;
    Ok(may_be && (path == 0 || read_string(caller.tid, path, 1).is_ok()))
}

fn is_changed_by_writing(kind: FileType) -> bool {
    matches!(kind, FileType::RegularFile | FileType::Directory)
}

/// As the kernel lays it out for this machine.
#[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between machines")]
fn write_stat(caller: Caller, buffer: u64, stat: &Stat) -> Result<(), Errno> {
    let mut out = libc::stat::zeroed();
    out.st_dev = stat.st_dev as _;
    out.st_ino = stat.st_ino as _;
    out.st_nlink = stat.st_nlink as _;
    out.st_mode = stat.st_mode as _;
    out.st_uid = stat.st_uid as _;
    out.st_gid = stat.st_gid as _;
    out.st_rdev = stat.st_rdev as _;
    out.st_size = stat.st_size as _;
    out.st_blksize = stat.st_blksize as _;
    out.st_blocks = stat.st_blocks as _;
    (out.st_atime, out.st_atime_nsec) = (stat.st_atime as _, stat.st_atime_nsec as _);
    (out.st_mtime, out.st_mtime_nsec) = (stat.st_mtime as _, stat.st_mtime_nsec as _);
    (out.st_ctime, out.st_ctime_nsec) = (stat.st_ctime as _, stat.st_ctime_nsec as _);
    write_memory(caller.tid, buffer, bytes_of(&out))
}
