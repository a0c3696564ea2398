//! The emulation library's side of a process: what a Mach program that uses Unix calls.

use crate::{
    DATA_MAX, SERVICE, UNIX_SYSTEM,
    signal_stubs::{self, UnixSignalsServer},
    stubs::{Unix, UnixRlimit, UnixStat},
};
use rustix::fs::OFlags;
use slipway_mach::{
    abi::Code,
    bootstrap::ServiceError,
    mig::{self, Target},
    rights::{ReceiveRight, SendRight},
};
use std::{
    collections::HashMap,
    ffi::{CStr, CString},
    fmt,
    time::Duration,
};

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// No server was found, and why.
    Server(String),
    /// An error of Unix's: `errno`.
    Errno(i32),
    /// A code of Mach's: the server is gone, or an argument does not fit into a message.
    Mach(Code),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(why) => f.write_str(why),
            Self::Errno(number) => std::io::Error::from_raw_os_error(*number).fmt(f),
            Self::Mach(code) => code.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<mig::Error> for Error {
    fn from(error: mig::Error) -> Self {
        const NUMBER: i32 = 0x3fff;
        let code = error.code;
        if code.0 & !NUMBER == UNIX_SYSTEM { Self::Errno(code.0 & NUMBER) } else { Self::Mach(code) }
    }
}

impl From<ServiceError> for Error {
    fn from(error: ServiceError) -> Self {
        Self::Server(error.to_string())
    }
}

type Result<T> = std::result::Result<T, Error>;

/// Has signals handled that have come.
#[derive(Default)]
struct Handlers {
    by_signal: HashMap<i32, Box<dyn FnMut(i32) + Send>>,
    ends: bool,
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.by_signal.keys()).finish()
    }
}

impl UnixSignalsServer for Handlers {
    fn unix_signal(&mut self, _: Target, signal: i32, _: i32) -> std::result::Result<(), Code> {
        match self.by_signal.get_mut(&signal) {
            Some(handler) => handler(signal),
            // SIGCHLD, SIGCONT, SIGURG, SIGWINCH: ignored by default.
            None if matches!(signal, 17 | 18 | 23 | 28) => {}
            None => self.ends = true,
        }
        Ok(())
    }
}

/// A process of a Unix server. Each call is one routine of `<servers/unix.defs>`, except those that this side answers by itself.
///
/// It belongs to the task that made it. The process ends with it, and with all copies of the right to its port.
#[derive(Debug)]
pub struct Process {
    /// The right to the process's port, for the routines that have no method here.
    pub port: Unix,
    pid: i32,
    signals: ReceiveRight,
    handlers: Handlers,
}

impl Process {
    /// A new process of the server that is registered by the default name.
    ///
    /// # Errors
    /// There is none, or it has as many processes as it can.
    pub fn look_up() -> Result<Self> {
        Self::of(&Unix(SendRight::look_up(SERVICE)?))
    }

    /// A child of a process, or of the first, by the right to its port.
    ///
    /// # Errors
    /// EAGAIN: the server has as many processes as it can.
    pub fn of(parent: &Unix) -> Result<Self> {
        let signals = ReceiveRight::new()?;
        let to = signals.make_send()?;
        let child = parent.unix_fork(Some(&to))?;
        let port = Unix(child.child.ok_or(Error::Mach(Code::INVALID_RIGHT))?);
        Ok(Self { port, pid: child.pid, signals, handlers: Handlers::default() })
    }

    /// A child with the same descriptors, working directory and limits.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn fork(&self) -> Result<Self> {
        Self::of(&self.port)
    }

    /// Its number, without a call.
    pub fn getpid(&self) -> i32 {
        self.pid
    }

    /// Sets what is done at a signal: nothing is, but by [`Self::handle_signals`] and [`Self::kill`].
    pub fn on_signal(&mut self, signal: i32, handler: impl FnMut(i32) + Send + 'static) {
        self.handlers.by_signal.insert(signal, Box::new(handler));
    }

    /// Handles the signals that have come, or waits for one that comes within the time. Gives false if one came that
    /// nothing handles, and which ends a program by default.
    ///
    /// # Errors
    /// A code of the receive.
    pub fn handle_signals(&mut self, wait: Duration) -> Result<bool> {
        let mut wait = wait;
        loop {
            let request = match self.signals.receive(Some(wait)) {
                Err(error) if error.is_timeout() => return Ok(!self.handlers.ends),
                request => request?,
            };
            wait = Duration::ZERO;
            // What is no signal is nobody's matter.
            let _ = signal_stubs::demux(&mut self.handlers, request).map(drop);
        }
    }

    /// Signals a process. One to itself was handled when this returns.
    ///
    /// # Errors
    /// ESRCH, EINVAL, EPERM, EAGAIN.
    pub fn kill(&mut self, pid: i32, signal: i32) -> Result<()> {
        self.port.unix_kill(pid, signal)?;
        if pid == self.pid && signal != 0 {
            self.handle_signals(Duration::ZERO)?;
        }
        Ok(())
    }

    /// Does nothing, in the server.
    ///
    /// # Errors
    /// The server is gone.
    pub fn nop(&self) -> Result<()> {
        Ok(self.port.unix_nop()?)
    }

    /// The real group.
    ///
    /// # Errors
    /// The server is gone.
    pub fn getgid(&self) -> Result<u32> {
        Ok(self.port.unix_getgid()?.gid)
    }

    /// A limit: the current and the highest that may be set.
    ///
    /// # Errors
    /// EINVAL.
    pub fn getrlimit(&self, resource: i32) -> Result<(u64, u64)> {
        let limit = self.port.unix_getrlimit(resource)?;
        Ok((limit.rlim_current, limit.rlim_max))
    }

    /// Sets a limit.
    ///
    /// # Errors
    /// EINVAL, EPERM.
    pub fn setrlimit(&self, resource: i32, (rlim_current, rlim_max): (u64, u64)) -> Result<()> {
        Ok(self.port.unix_setrlimit(resource, &UnixRlimit { rlim_current, rlim_max })?)
    }

    /// Opens a file with Linux's flags.
    ///
    /// # Errors
    /// Of open(2).
    pub fn open(&self, path: &CStr, flags: i32, mode: u32) -> Result<i32> {
        Ok(self.port.unix_open(path, flags, mode)?)
    }

    /// # Errors
    /// EBADF.
    pub fn close(&self, fd: i32) -> Result<()> {
        Ok(self.port.unix_close(fd)?)
    }

    /// Reads at most `most` bytes, and no more than one call carries.
    ///
    /// # Errors
    /// Of read(2).
    pub fn read(&self, fd: i32, most: u32) -> Result<Vec<u8>> {
        Ok(self.port.unix_read(fd, most.min(DATA_MAX))?)
    }

    /// As [`Self::read`], from a place in the file.
    ///
    /// # Errors
    /// Of pread(2).
    pub fn pread(&self, fd: i32, offset: i64, most: u32) -> Result<Vec<u8>> {
        Ok(self.port.unix_pread(fd, offset, most.min(DATA_MAX))?)
    }

    /// Writes all of it, in as many calls as that takes.
    ///
    /// # Errors
    /// Of write(2).
    pub fn write_all(&self, fd: i32, mut data: &[u8]) -> Result<()> {
        while !data.is_empty() {
            let part = &data[..data.len().min(DATA_MAX as usize)];
            let written = self.port.unix_write(fd, part)?;
            data = data.get(written as usize..).filter(|_| written > 0).ok_or(Error::Mach(Code::INVALID_VALUE))?;
        }
        Ok(())
    }

    /// Writes to a place in the file; gives how much, which is no more than one call carries.
    ///
    /// # Errors
    /// Of pwrite(2).
    pub fn pwrite(&self, fd: i32, offset: i64, data: &[u8]) -> Result<usize> {
        let part = &data[..data.len().min(DATA_MAX as usize)];
        Ok(self.port.unix_pwrite(fd, offset, part)? as usize)
    }

    /// # Errors
    /// Of stat(2).
    pub fn stat(&self, path: &CStr) -> Result<UnixStat> {
        Ok(self.port.unix_stat(path, 0)?)
    }

    /// # Errors
    /// EBADF.
    pub fn fstat(&self, fd: i32) -> Result<UnixStat> {
        Ok(self.port.unix_fstat(fd)?)
    }

    /// # Errors
    /// Of mkdir(2).
    pub fn mkdir(&self, path: &CStr, mode: u32) -> Result<()> {
        Ok(self.port.unix_mkdir(path, mode)?)
    }

    /// # Errors
    /// Of unlink(2).
    pub fn unlink(&self, path: &CStr) -> Result<()> {
        Ok(self.port.unix_unlink(path)?)
    }

    /// The names in a directory, without `.` and `..`, and whether each is a directory.
    ///
    /// # Errors
    /// Of open(2) and getdents64(2).
    pub fn read_dir(&self, path: &CStr) -> Result<Vec<(CString, bool)>> {
        let fd = self.open(path, OFlags::DIRECTORY.bits() as i32, 0)?;
        let read = || {
            let mut names = Vec::new();
            loop {
                let entries = self.port.unix_getdirentries(fd, DATA_MAX)?;
                if entries.is_empty() {
                    return Ok(names);
                }
                names.extend(each_entry(&entries));
            }
        };
        let names = read();
        self.close(fd)?;
        names
    }
}

/// The names in what getdents64 gives.
fn each_entry(mut entries: &[u8]) -> Vec<(CString, bool)> {
    const LENGTH: usize = 16;
    const KIND: usize = 18;
    const NAME: usize = 19;
    let mut names = Vec::new();
    while let Some(length) = entries.get(LENGTH..LENGTH + 2) {
        let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
        let Some((entry, rest)) = entries.split_at_checked(length).filter(|(entry, _)| entry.len() > NAME) else { break };
        entries = rest;
        if let Ok(name) = CStr::from_bytes_until_nul(&entry[NAME..])
            && !matches!(name.to_bytes(), b"." | b"..")
        {
            names.push((name.to_owned(), entry[KIND] == 4));
        }
    }
    names
}
