//! The routines of `<servers/unix.defs>`.

use crate::{
    DATA_MAX, UNIX_SYSTEM,
    files::{Dir, Files, lock},
    process::{LIMITS, OpenFile, Process},
    stubs::{UnixForkReply, UnixGetgidReply, UnixGetuidReply, UnixRlimit, UnixServer, UnixStat},
};
use rustix::{
    fs::{Access, FileType, Mode, OFlags, SeekFrom, Stat, Timespec, Timestamps},
    io::Errno,
};
use slipway_layer::{Entry, TreePath};
use slipway_mach::{abi::Code, mig::Target, rights::SendRight};
use std::{
    ffi::CString,
    sync::{Arc, Mutex},
};

type Result<T> = std::result::Result<T, Code>;

/// `UNIX_ERROR` of `<servers/unix_types.h>`.
fn code(error: Errno) -> Code {
    Code(UNIX_SYSTEM | error.raw_os_error())
}

#[allow(clippy::unnecessary_cast, reason = "the types differ between machines")]
fn shown(stat: &Stat) -> UnixStat {
    UnixStat {
        st_dev: stat.st_dev,
        st_ino: stat.st_ino,
        st_mode: stat.st_mode.into(),
        st_nlink: stat.st_nlink as u64,
        st_uid: stat.st_uid.into(),
        st_gid: stat.st_gid.into(),
        st_rdev: stat.st_rdev,
        st_size: stat.st_size as u64,
        st_blksize: stat.st_blksize as u64,
        st_blocks: stat.st_blocks as u64,
        st_atime_s: stat.st_atime,
        st_atime_ns: stat.st_atime_nsec as i64,
        st_mtime_s: stat.st_mtime,
        st_mtime_ns: stat.st_mtime_nsec as i64,
        st_ctime_s: stat.st_ctime,
        st_ctime_ns: stat.st_ctime_nsec as i64,
    }
}

impl Process {
    /// Works on the view, as this process sees it: only forks work at the first process's port.
    fn names<T>(&self, work: impl FnOnce(&mut Files, &TreePath) -> std::result::Result<T, Errno>) -> Result<T> {
        self.is_started()?;
        let cwd = lock(&self.cwd).clone();
        self.system.files(|files| work(files, &cwd)).map_err(code)
    }

    /// # Errors
    /// EPERM: this is the first process, whose port is everybody's.
    fn is_started(&self) -> Result<()> {
        if self.pid == 1 { Err(code(Errno::PERM)) } else { Ok(()) }
    }

    /// What a descriptor is open on, which has bytes to read or write.
    fn stream(&self, fd: i32) -> Result<&OpenFile> {
        let file = self.file(fd).map_err(code)?;
        if file.opened.dir.is_some() { Err(code(Errno::ISDIR)) } else { Ok(file) }
    }

    /// The directory that a descriptor is open on.
    fn dir(&self, fd: i32) -> Result<(&OpenFile, &Dir)> {
        let file = self.file(fd).map_err(code)?;
        Ok((file, file.opened.dir.as_ref().ok_or(code(Errno::NOTDIR))?))
    }

    /// Fills a buffer of a caller's room.
    fn filled(room: u32, read: impl FnOnce(&mut [u8]) -> rustix::io::Result<usize>) -> Result<Vec<u8>> {
        let mut data = vec![0; room.min(DATA_MAX) as usize];
        let count = read(&mut data).map_err(code)?;
        data.truncate(count);
        Ok(data)
    }

    fn mode(&self, mode: u32, known: u32) -> Mode {
        Mode::from_raw_mode(mode & known) - self.umask
    }
}

fn offset(offset: i64) -> Result<u64> {
    u64::try_from(offset).map_err(|_| code(Errno::INVAL))
}

fn text(bytes: Vec<u8>) -> Result<CString> {
    CString::new(bytes).map_err(|_| code(Errno::IO))
}

impl UnixServer for Process {
    fn unix_fork(&mut self, _: Target, signals: Option<SendRight>) -> Result<UnixForkReply> {
        let (child, pid) = self.system.fork(self, signals).map_err(code)?;
        Ok(UnixForkReply { child: Some(child), pid })
    }

    fn unix_nop(&mut self, _: Target) -> Result<()> {
        Ok(())
    }

    fn unix_getuid(&mut self, _: Target) -> Result<UnixGetuidReply> {
        let [uid, euid] = self.system.uids;
        Ok(UnixGetuidReply { uid, euid })
    }

    fn unix_getgid(&mut self, _: Target) -> Result<UnixGetgidReply> {
        let [gid, egid] = self.system.gids;
        Ok(UnixGetgidReply { gid, egid })
    }

    fn unix_getppid(&mut self, _: Target) -> Result<i32> {
        Ok(self.system.parent(self.pid))
    }

    fn unix_getrlimit(&mut self, _: Target, resource: i32) -> Result<UnixRlimit> {
        let limit = usize::try_from(resource).ok().and_then(|resource| self.limits.get(resource)).ok_or(code(Errno::INVAL))?;
        Ok(UnixRlimit { rlim_current: limit.0, rlim_max: limit.1 })
    }

    fn unix_setrlimit(&mut self, _: Target, resource: i32, limit: UnixRlimit) -> Result<()> {
        self.is_started()?;
        let (current, most) = (limit.rlim_current, limit.rlim_max);
        let at = usize::try_from(resource).ok().filter(|at| *at < LIMITS && current <= most).ok_or(code(Errno::INVAL))?;
        // Nobody here may raise a limit above what it was at first.
        if most > self.limits[at].1 {
            return Err(code(Errno::PERM));
        }
        self.limits[at] = (current, most);
        Ok(())
    }

    fn unix_kill(&mut self, _: Target, pid: i32, signal: i32) -> Result<()> {
        self.is_started()?;
        if !(0..=64).contains(&signal) {
            return Err(code(Errno::INVAL));
        }
        self.system.kill(self.pid, pid, signal).map_err(code)
    }

    fn unix_umask(&mut self, _: Target, mask: u32) -> Result<u32> {
        self.is_started()?;
        Ok(std::mem::replace(&mut self.umask, Mode::from_raw_mode(mask & 0o777)).as_raw_mode())
    }

    fn unix_chdir(&mut self, _: Target, path: CString) -> Result<()> {
        self.cwd = self.names(|files, cwd| files.dir(cwd, path.to_bytes()))?;
        Ok(())
    }

    fn unix_fchdir(&mut self, _: Target, fd: i32) -> Result<()> {
        let at = lock(self.dir(fd)?.1).clone();
        self.cwd = self.names(|files, _| files.dir(&at, b"."))?;
        Ok(())
    }

    fn unix_getcwd(&mut self, _: Target) -> Result<CString> {
        text(self.names(|files, cwd| files.stat(cwd, b".", true).map(|_| cwd.absolute()))?)
    }

    fn unix_open(&mut self, _: Target, path: CString, flags: i32, mode: u32) -> Result<i32> {
        let fd = self.free_fd().map_err(code)?;
        let (flags, mode) = (OFlags::from_bits_retain(flags as u32), self.mode(mode, 0o7777));
        let opened = self.names(|files, cwd| files.open(cwd, path.to_bytes(), flags, mode))?;
        Ok(self.install(fd, Arc::new(OpenFile { opened, listing: Mutex::default() })))
    }

    fn unix_close(&mut self, _: Target, fd: i32) -> Result<()> {
        self.close(fd).map_err(code)
    }

    fn unix_dup(&mut self, _: Target, fd: i32) -> Result<i32> {
        let file = Arc::clone(self.file(fd).map_err(code)?);
        let copy = self.free_fd().map_err(code)?;
        Ok(self.install(copy, file))
    }

    fn unix_read(&mut self, _: Target, fd: i32, room: u32) -> Result<Vec<u8>> {
        let file = self.stream(fd)?;
        Self::filled(room, |data| rustix::io::read(&file.opened.fd, data))
    }

    fn unix_pread(&mut self, _: Target, fd: i32, at: i64, room: u32) -> Result<Vec<u8>> {
        let (file, at) = (self.stream(fd)?, offset(at)?);
        Self::filled(room, |data| rustix::io::pread(&file.opened.fd, data, at))
    }

    fn unix_write(&mut self, _: Target, fd: i32, data: Vec<u8>) -> Result<i32> {
        let file = self.file(fd).map_err(code)?;
        rustix::io::write(&file.opened.fd, &data).map(|count| count as i32).map_err(code)
    }

    fn unix_pwrite(&mut self, _: Target, fd: i32, at: i64, data: Vec<u8>) -> Result<i32> {
        let file = self.file(fd).map_err(code)?;
        rustix::io::pwrite(&file.opened.fd, &data, offset(at)?).map(|count| count as i32).map_err(code)
    }

    fn unix_lseek(&mut self, _: Target, fd: i32, at: i64, whence: i32) -> Result<i64> {
        let file = self.file(fd).map_err(code)?;
        let to = match whence {
            0 => SeekFrom::Start(offset(at)?),
            1 => SeekFrom::Current(at),
            2 => SeekFrom::End(at),
            _ => return Err(code(Errno::INVAL)),
        };
        if file.opened.dir.is_some() {
            if to != SeekFrom::Start(0) {
                return Err(code(Errno::INVAL));
            }
            lock(&file.listing).rewind();
            return Ok(0);
        }
        rustix::fs::seek(&file.opened.fd, to).map(|at| at as i64).map_err(code)
    }

    fn unix_fsync(&mut self, _: Target, fd: i32) -> Result<()> {
        rustix::fs::fsync(&self.file(fd).map_err(code)?.opened.fd).map_err(code)
    }

    fn unix_fstat(&mut self, _: Target, fd: i32) -> Result<UnixStat> {
        let file = self.file(fd).map_err(code)?;
        let dir = file.opened.dir.as_ref().map(|dir| lock(dir).clone());
        self.names(|files, _| files.fstat(&file.opened.fd, dir.as_ref())).map(|stat| shown(&stat))
    }

    fn unix_stat(&mut self, _: Target, path: CString, flags: i32) -> Result<UnixStat> {
        const NOFOLLOW: i32 = 0x100;
        if flags & !NOFOLLOW != 0 {
            return Err(code(Errno::INVAL));
        }
        self.names(|files, cwd| files.stat(cwd, path.to_bytes(), flags == 0)).map(|stat| shown(&stat))
    }

    fn unix_access(&mut self, _: Target, path: CString, mode: i32) -> Result<()> {
        let access = u32::try_from(mode).ok().and_then(Access::from_bits).ok_or(code(Errno::INVAL))?;
        self.names(|files, cwd| files.access(cwd, path.to_bytes(), access))
    }

    fn unix_readlink(&mut self, _: Target, path: CString, room: u32) -> Result<Vec<u8>> {
        let mut target = self.names(|files, cwd| files.read_link(cwd, path.to_bytes()))?;
        target.truncate(room as usize);
        Ok(target)
    }

    fn unix_getdirentries(&mut self, _: Target, fd: i32, room: u32) -> Result<Vec<u8>> {
        let (file, dir) = self.dir(fd)?;
        let path = lock(dir).clone();
        let list = || {
            self.system.files(|files| {
                let [own, above] = files.numbers(&path)?;
                let dots = [(b".".to_vec(), own), (b"..".to_vec(), above)];
                let mut entries: Vec<Entry> = dots.map(|(name, ino)| Entry { name, kind: FileType::Directory, ino }).into();
                entries.extend(files.list(&path)?);
                Ok(entries)
            })
        };
        lock(&file.listing).read(room.min(DATA_MAX) as usize, list).map_err(code)
    }

    fn unix_mkdir(&mut self, _: Target, path: CString, mode: u32) -> Result<()> {
        let mode = self.mode(mode, 0o1777);
        self.names(|files, cwd| files.make_dir(cwd, path.to_bytes(), mode))
    }

    fn unix_rmdir(&mut self, _: Target, path: CString) -> Result<()> {
        self.names(|files, cwd| files.remove(cwd, path.to_bytes(), true))
    }

    fn unix_unlink(&mut self, _: Target, path: CString) -> Result<()> {
        self.names(|files, cwd| files.remove(cwd, path.to_bytes(), false))
    }

    fn unix_rename(&mut self, _: Target, from: CString, to: CString) -> Result<()> {
        self.names(|files, cwd| files.rename(cwd, from.to_bytes(), to.to_bytes()))
    }

    fn unix_link(&mut self, _: Target, from: CString, to: CString) -> Result<()> {
        self.names(|files, cwd| files.link(cwd, from.to_bytes(), to.to_bytes()))
    }

    fn unix_symlink(&mut self, _: Target, target: CString, path: CString) -> Result<()> {
        self.names(|files, cwd| files.symlink(cwd, target.to_bytes(), path.to_bytes()))
    }

    fn unix_chmod(&mut self, _: Target, path: CString, mode: u32) -> Result<()> {
        self.names(|files, cwd| files.chmod(cwd, path.to_bytes(), Mode::from_raw_mode(mode & 0o7777)))
    }

    fn unix_utimes(&mut self, _: Target, path: CString, atime_s: i64, atime_ns: i64, mtime_s: i64, mtime_ns: i64) -> Result<()> {
        let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
        let times = Timestamps { last_access: time(atime_s, atime_ns), last_modification: time(mtime_s, mtime_ns) };
        self.names(|files, cwd| files.utimes(cwd, path.to_bytes(), &times))
    }

    fn unix_truncate(&mut self, _: Target, path: CString, length: i64) -> Result<()> {
        let length = offset(length)?;
        self.names(|files, cwd| files.truncate(cwd, path.to_bytes(), length))
    }

    fn unix_ftruncate(&mut self, _: Target, fd: i32, length: i64) -> Result<()> {
        rustix::fs::ftruncate(&self.file(fd).map_err(code)?.opened.fd, offset(length)?).map_err(code)
    }
}
