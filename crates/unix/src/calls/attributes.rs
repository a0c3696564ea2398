//! Changing attributes, by name and by descriptor; extended attributes.

use super::{Answer, Reply, Server, done, int};
use crate::{
    filter::SET_FLAGS,
    names::{Object, PATH_MAX},
    sys::{self, by_proc, write_memory},
    tasks::{Caller, read_bytes, read_string, read_word},
};
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{
        self, Access, AtFlags, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid, XattrFlags,
        getxattr, lgetxattr, listxattr, llistxattr,
    },
    io::Errno,
};
use slipway_layer::{Attribute, Found, Place, TreePath};
use std::ffi::{CStr, CString};

/// The largest value and the longest list.
const XATTR_MAX: usize = 64 << 10;

/// What a path leads to.
enum Target {
    Found(Found),
    /// Held with O_PATH.
    Open(OwnedFd),
}

impl Server {
    fn change(&mut self, found: &Found, attribute: &Attribute<'_>) -> Reply {
        if self.is_of_system(&found.path) {
            return Err(Errno::ROFS);
        }
        if found.place == Place::Host && is_device(&found.stat) && !self.view.is_through(&found.path) {
            let held = self.hold(found)?;
            if found.path.is_within(&TreePath::literal("dev")) || is_terminal(&held) {
                return self.change_device(&held, &found.stat, attribute);
            }
        }
        done(self.view.set_attribute(found, attribute))
    }

    /// A device of the host's is not copied: the copy of a terminal can't be opened. A terminal is changed itself, as what is written to it goes there,
    /// if the caller may (mesg, screen). Of other devices, one who may change them is told that it was done.
    fn change_device(&self, held: &OwnedFd, stat: &Stat, attribute: &Attribute<'_>) -> Reply {
        if self.view.rules.read_only {
            return Err(Errno::ROFS);
        }
        if is_terminal(held) {
            return if self.contain { Err(Errno::ACCESS) } else { done(set_held(held, attribute)) };
        }
        done(match attribute {
            Attribute::Mode(_) | Attribute::Owner(..) => self.view.may_own(stat),
            Attribute::Times(Timestamps { last_access: one, last_modification: other }) => {
                let is_now = one.tv_nsec == UTIME_NOW && other.tv_nsec == UTIME_NOW;
                let may_write = || fs::accessat(fs::CWD, by_proc(held), Access::WRITE_OK, AtFlags::EACCESS);
                self.view.may_own(stat).or_else(|error| if is_now { may_write() } else { Err(error) })
            }
            Attribute::Size(_) => Err(Errno::INVAL),
            _ => Err(Errno::OPNOTSUPP),
        })
    }

    /// What a path leads to: something in the tree, or by a link of /proc what is open and has no name there.
    fn target(&mut self, caller: Caller, dir: i32, path: u64, follow: bool) -> Result<Target, Errno> {
        let resolved = self.lookup(caller, dir, path, follow)?;
        match self.named_by(&resolved) {
            Some(found) => Ok(Target::Found(found)),
            None if !resolved.is_magic => resolved.found.map(Target::Found).ok_or(Errno::NOENT),
            // What others have open is no business of the command's.
            None if !self.is_of_command(caller, &resolved.path) => Err(Errno::ACCESS),
            None => Ok(Target::Open(self.hold_link(caller, &resolved.path)?)),
        }
    }

    /// Refuses extended attributes that take capabilities, which the server has.
    fn may_set(&self, attribute: &Attribute<'_>) -> Result<(), Errno> {
        let (Attribute::SetXattr(name, ..) | Attribute::RemoveXattr(name)) = attribute else { return Ok(()) };
        let takes_any = name.to_bytes().starts_with(b"security.") || name.to_bytes().starts_with(b"trusted.");
        if takes_any && self.is_other() { Err(Errno::PERM) } else { Ok(()) }
    }

    fn change_target(&mut self, target: &Target, attribute: &Attribute<'_>) -> Reply {
        self.may_set(attribute)?;
        match target {
            Target::Found(found) => self.change(found, attribute),
            Target::Open(held) => match self.object_here(held)? {
                Object::Unnamed if self.contain && self.is_hosts_file(held) != Ok(false) => Err(Errno::ACCESS),
                Object::Named(path, false) if !self.view.is_through(&path) => {
                    let stat = fs::fstat(held)?;
                    if is_device(&stat) {
                        self.change_device(held, &stat, attribute)
                    } else {
                        self.change_nameless(&stat, attribute)
                    }
                }
                _ => done(set_held(held, attribute)),
            },
        }
    }

    /// Changes the file that a descriptor is open on: the kernel does, or its name is changed in the layer. If it has no name there any more,
    /// only descriptors show the change. One that only stands for a name (O_PATH) does for calls that
    /// take a name.
    fn change_fd(&mut self, caller: Caller, fd: i32, is_name: bool, attribute: &Attribute<'_>) -> Reply {
        self.may_set(attribute)?;
        // The number may be another file's by the time that the kernel looks.
        let fetched = self.contain.then(|| self.fetch(caller, fd)).transpose()?;
        let path = match fetched.as_ref().map_or_else(|| self.object(caller, fd), |open| self.object_here(open))? {
            Object::StandIn(found) => return if is_name { self.change(&found, attribute) } else { Err(Errno::BADF) },
            Object::Named(path, _) if self.is_of_system(&path) => return Err(Errno::ROFS),
            Object::Named(path, is_top) if !is_top && !self.view.is_through(&path) => path,
            Object::Unnamed if fetched.as_ref().is_some_and(|open| self.is_hosts_file(open) != Ok(false)) => {
                return Err(Errno::ACCESS);
            }
            _ => return fetched.map_or(Ok(Answer::Continue), |open| done(set_open(&open, attribute))),
        };
        if !is_name && self.is_path_only(caller, fd)? {
            return Err(Errno::BADF);
        }
        let open = self.stat_here(caller, fd)?;
        match self.found_still(open, &path).or_else(|| self.found_elsewhere(open)) {
            Some(found) => self.change(&found, attribute),
            // Of another file system for devices, such as the terminal of a container's command.
            None if is_device(&open) => self.change_device(&self.fetch(caller, fd)?, &open, attribute),
            None => self.change_nameless(&open, attribute),
        }
    }

    /// Whether a descriptor was opened with O_PATH.
    fn is_path_only(&self, caller: Caller, fd: i32) -> Result<bool, Errno> {
        let _up = self.view.elevate();
        let text = std::fs::read_to_string(format!("/proc/{}/fdinfo/{fd}", caller.tid)).map_err(|_| Errno::BADF)?;
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
        Ok(flags.is_some_and(|flags| flags & libc::O_PATH != 0))
    }

    pub(super) fn fchmod(&mut self, caller: Caller, fd: i32, mode: u32) -> Reply {
        self.change_fd(caller, fd, false, &Attribute::Mode(Mode::from_raw_mode(mode & 0o7777)))
    }

    pub(super) fn chmod(&mut self, caller: Caller, dir: i32, path: u64, mode: u32, flags: i32) -> Reply {
        if flags & libc::AT_EMPTY_PATH != 0 && read_string(caller.tid, path, PATH_MAX)?.is_empty() {
            return self.change_fd(caller, dir, true, &Attribute::Mode(Mode::from_raw_mode(mode & 0o7777)));
        }
        let target = self.target(caller, dir, path, flags & libc::AT_SYMLINK_NOFOLLOW == 0)?;
        if matches!(&target, Target::Found(found) if found.kind() == FileType::Symlink) {
            return Err(Errno::OPNOTSUPP);
        }
        self.change_target(&target, &Attribute::Mode(Mode::from_raw_mode(mode & 0o7777)))
    }

    pub(super) fn fchown(&mut self, caller: Caller, fd: i32, uid: u32, gid: u32) -> Reply {
        self.change_fd(caller, fd, false, &owner(uid, gid))
    }

    pub(super) fn chown(&mut self, caller: Caller, dir: i32, path: u64, uid: u32, gid: u32, flags: i32) -> Reply {
        if flags & libc::AT_EMPTY_PATH != 0 && read_string(caller.tid, path, PATH_MAX)?.is_empty() {
            return self.change_fd(caller, dir, true, &owner(uid, gid));
        }
        let target = self.target(caller, dir, path, flags & libc::AT_SYMLINK_NOFOLLOW == 0)?;
        self.change_target(&target, &owner(uid, gid))
    }

    /// The flags of a file that ioctl sets. A layer keeps none, so that they can only be set to what they are.
    pub(super) fn set_flags(&self, caller: Caller, fd: i32, request: u32, address: u64) -> Reply {
        let file = self.fetch(caller, fd)?;
        let asked = |at: u64, size: usize| read_bytes(caller.tid, address + at, size);
        let is_unchanged = if request == SET_FLAGS {
            asked(0, 4)? == fs::ioctl_getflags(&file)?.bits().to_ne_bytes()
        } else {
            let has = sys::xflags(file.as_fd())?;
            asked(0, 8)? == has[..8] && asked(12, 8)? == has[12..20]
        };
        if is_unchanged { Ok(Answer::Value(0)) } else { Err(Errno::OPNOTSUPP) }
    }

    pub(super) fn truncate(&mut self, caller: Caller, path: u64, size: u64) -> Reply {
        if size > i64::MAX as u64 {
            return Err(Errno::INVAL);
        }
        let target = self.target(caller, libc::AT_FDCWD, path, true)?;
        let Target::Found(found) = target else { return self.change_target(&target, &Attribute::Size(size)) };
        match found.kind() {
            FileType::Directory => Err(Errno::ISDIR),
            FileType::RegularFile if self.is_leased(&found) => {
                let held = self.hold(&found)?;
                Ok(Answer::Later(Box::new(move || {
                    let open = fs::open(by_proc(&held), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
                    done(fs::ftruncate(&open, size))
                })))
            }
            FileType::RegularFile => self.change(&found, &Attribute::Size(size)),
            _ => Err(Errno::INVAL),
        }
    }

    /// Whether the caller may write to a file of the layer's, or to one of the host's by a rule, and has to wait for another that has a lease on it.
    fn is_leased(&self, found: &Found) -> bool {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let is_top = found.place == Place::Layer(self.files.len().wrapping_sub(1)) && !self.view.rules.read_only;
        let is_written = is_top || self.view.is_through(&found.path);
        let open = || fs::openat(self.view.root(found.place), found.path.relative(), flags, Mode::empty());
        is_written && open().err() == Some(Errno::AGAIN)
    }

    pub(super) fn utimens(&mut self, caller: Caller, dir: i32, path: u64, times: u64, flags: i32) -> Reply {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let mut both = [now, now];
        if times != 0 {
            for (at, time) in both.iter_mut().enumerate() {
                let at = times + 16 * at as u64;
                let (seconds, ns) = (read_word(caller.tid, at)?, read_word(caller.tid, at + 8)?);
                *time = Timespec { tv_sec: seconds as i64, tv_nsec: ns as i64 as _ };
            }
        }
        // Nothing to do: not even the path is looked at.
        if both.iter().all(|time| time.tv_nsec == UTIME_OMIT) {
            return Ok(Answer::Value(0));
        }
        self.set_times(caller, dir, path, both, flags)
    }

    fn set_times(&mut self, caller: Caller, dir: i32, path: u64, [access, modification]: [Timespec; 2], flags: i32) -> Reply {
        let times = Timestamps { last_access: access, last_modification: modification };
        let is_fd = path == 0 || flags & libc::AT_EMPTY_PATH != 0 && read_string(caller.tid, path, PATH_MAX)?.is_empty();
        if is_fd && dir != libc::AT_FDCWD {
            return self.change_fd(caller, dir, path != 0, &Attribute::Times(&times));
        }
        let target = self.target(caller, dir, path, flags & libc::AT_SYMLINK_NOFOLLOW == 0)?;
        self.change_target(&target, &Attribute::Times(&times))
    }

    /// utimes and futimesat: microseconds.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn utimes(&mut self, caller: Caller, dir: i32, path: u64, times: u64) -> Reply {
        if times == 0 {
            return self.utimens(caller, dir, path, 0, 0);
        }
        let word = |n: u64| read_word(caller.tid, times + 8 * n);
        let time = |seconds: u64, us: u64| match us {
            0..1_000_000 => Ok(Timespec { tv_sec: seconds as i64, tv_nsec: us as i64 * 1000 }),
            _ => Err(Errno::INVAL),
        };
        let both = [time(word(0)?, word(1)?)?, time(word(2)?, word(3)?)?];
        self.set_times(caller, dir, path, both, 0)
    }

    #[cfg(target_arch = "x86_64")]
    pub(super) fn utime(&mut self, caller: Caller, path: u64, times: u64) -> Reply {
        if times == 0 {
            return self.utimens(caller, libc::AT_FDCWD, path, 0, 0);
        }
        let time = |n: u64| Ok(Timespec { tv_sec: read_word(caller.tid, times + 8 * n)? as i64, tv_nsec: 0 });
        let both = [time(0)?, time(1)?];
        self.set_times(caller, libc::AT_FDCWD, path, both, 0)
    }

    pub(super) fn setxattr(&mut self, caller: Caller, a: [u64; 6], follow: bool) -> Reply {
        let (name, value, flags) = xattr(caller, a)?;
        let target = self.target(caller, libc::AT_FDCWD, a[0], follow)?;
        self.change_target(&target, &Attribute::SetXattr(&name, &value, flags))
    }

    pub(super) fn fsetxattr(&mut self, caller: Caller, a: [u64; 6]) -> Reply {
        let (name, value, flags) = xattr(caller, a)?;
        self.change_fd(caller, int(a[0]), false, &Attribute::SetXattr(&name, &value, flags))
    }

    pub(super) fn removexattr(&mut self, caller: Caller, a: [u64; 6], follow: bool) -> Reply {
        let name = xattr_name(caller, a[1])?;
        let target = self.target(caller, libc::AT_FDCWD, a[0], follow)?;
        self.change_target(&target, &Attribute::RemoveXattr(&name))
    }

    pub(super) fn fremovexattr(&mut self, caller: Caller, a: [u64; 6]) -> Reply {
        let name = xattr_name(caller, a[1])?;
        self.change_fd(caller, int(a[0]), false, &Attribute::RemoveXattr(&name))
    }

    pub(super) fn getxattr(&mut self, caller: Caller, a: [u64; 6], follow: bool) -> Reply {
        let name = xattr_name(caller, a[1])?;
        self.read_xattr(caller, a[0], follow, (a[2], a[3]), |path, follow, buffer| {
            if follow { getxattr(path, &name, buffer) } else { lgetxattr(path, &name, buffer) }
        })
    }

    pub(super) fn listxattr(&mut self, caller: Caller, a: [u64; 6], follow: bool) -> Reply {
        self.read_xattr(caller, a[0], follow, (a[1], a[2]), |path, follow, buffer| {
            if follow { listxattr(path, buffer) } else { llistxattr(path, buffer) }
        })
    }

    fn read_xattr(
        &mut self,
        caller: Caller,
        path: u64,
        follow: bool,
        (buffer, size): (u64, u64),
        read: impl FnOnce(&CStr, bool, &mut [u8]) -> Result<usize, Errno>,
    ) -> Reply {
        let target = self.target(caller, libc::AT_FDCWD, path, follow)?;
        let mut bytes = vec![0; XATTR_MAX];
        let (path, follow) = match &target {
            Target::Found(found) => (Self::real_path(self.view.root(found.place), &found.path)?, false),
            Target::Open(held) => (CString::new(by_proc(held)).map_err(|_| Errno::INVAL)?, true),
        };
        let count = self.untraced(&TreePath::literal(path.to_bytes()), || read(&path, follow, &mut bytes))?;
        if size != 0 {
            if count as u64 > size {
                return Err(Errno::RANGE);
            }
            write_memory(caller.tid, buffer, &bytes[..count])?;
        }
        Ok(Answer::Value(count as i64))
    }
}

fn is_device(stat: &Stat) -> bool {
    matches!(FileType::from_raw_mode(stat.st_mode), FileType::CharacterDevice | FileType::BlockDevice)
}

/// Whether it is the end of a terminal that programs have, as the kernel makes it for each, and not what makes them (ptmx).
fn is_terminal(held: &OwnedFd) -> bool {
    fs::fstatfs(held).is_ok_and(|of| of.f_type == libc::DEVPTS_SUPER_MAGIC)
        && fs::fstat(held).is_ok_and(|stat| (136..=143).contains(&libc::major(stat.st_rdev)))
}

/// Changes what a descriptor is open on.
pub(super) fn set_open(fd: &OwnedFd, attribute: &Attribute<'_>) -> Result<(), Errno> {
    match attribute {
        Attribute::Mode(mode) => fs::fchmod(fd, *mode),
        Attribute::Owner(uid, gid) => fs::fchown(fd, *uid, *gid),
        Attribute::Times(times) => fs::futimens(fd, times),
        Attribute::SetXattr(name, value, flags) => fs::fsetxattr(fd, *name, value, *flags),
        Attribute::RemoveXattr(name) => fs::fremovexattr(fd, *name),
        Attribute::Size(size) => fs::ftruncate(fd, *size),
    }
}

/// The same by a descriptor that only stands for it.
fn set_held(held: &OwnedFd, attribute: &Attribute<'_>) -> Result<(), Errno> {
    let path = by_proc(held);
    match attribute {
        Attribute::Mode(mode) => fs::chmod(path, *mode),
        Attribute::Owner(uid, gid) => fs::chown(path, *uid, *gid),
        Attribute::Times(times) => fs::utimensat(fs::CWD, path, times, fs::AtFlags::empty()),
        Attribute::SetXattr(name, value, flags) => fs::setxattr(path, *name, value, *flags),
        Attribute::RemoveXattr(name) => fs::removexattr(path, *name),
        // The kernel refuses others before it looks at rights, and to open one may do something to it.
        Attribute::Size(_) if is_of(held, FileType::Directory) => Err(Errno::ISDIR),
        Attribute::Size(_) if !is_of(held, FileType::RegularFile) => Err(Errno::INVAL),
        Attribute::Size(size) => {
            fs::ftruncate(fs::open(path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?, *size)
        }
    }
}

fn is_of(held: &OwnedFd, kind: FileType) -> bool {
    fs::fstat(held).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == kind)
}

fn owner(uid: u32, gid: u32) -> Attribute<'static> {
    let given = |id: u32| (id != u32::MAX).then_some(id);
    Attribute::Owner(given(uid).map(Uid::from_raw), given(gid).map(Gid::from_raw))
}

fn xattr_name(caller: Caller, address: u64) -> Result<CString, Errno> {
    let name =
        read_string(caller.tid, address, 256).map_err(|error| if error == Errno::NAMETOOLONG { Errno::RANGE } else { error })?;
    CString::new(name).map_err(|_| Errno::RANGE)
}

fn xattr(caller: Caller, a: [u64; 6]) -> Result<(CString, Vec<u8>, XattrFlags), Errno> {
    if a[3] as usize > XATTR_MAX {
        return Err(Errno::TOOBIG);
    }
    let flags = XattrFlags::from_bits(a[4] as u32).ok_or(Errno::INVAL)?;
    Ok((xattr_name(caller, a[1])?, read_bytes(caller.tid, a[2], a[3] as usize)?, flags))
}
