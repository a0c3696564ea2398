//! Which process is at the other end of a socket.
#![allow(
    unsafe_code,
    reason = "getsockopt and its kin: the safe face can't say that a process has no number here, or a socket no name"
)]

use std::{
    io,
    os::fd::{AsFd, AsRawFd},
};

/// The process that made the other end of a socket, or listened at it, or connected to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credentials {
    /// Its number at that time; None if it has none in this process's PID namespace.
    pub pid: Option<u32>,
    /// Its effective user at that time.
    pub uid: u32,
    /// Its effective group at that time.
    pub gid: u32,
}

/// An end of a connected socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The one that is asked.
    This,
    /// The other. It may be gone.
    Other,
}

/// Whether an end of a connected Unix socket has no name. A connection to a service has the service's name at one end; a
/// pair has none, unless a holder of an end binds that.
pub fn unnamed(socket: impl AsFd, end: End) -> bool {
    let ask = match end {
        End::This => libc::getsockname,
        End::Other => libc::getpeername,
    };
    let mut family: libc::sa_family_t = 0;
    let unnamed = size_of::<libc::sa_family_t>() as libc::socklen_t;
    let mut size = unnamed;
    // SAFETY: the kernel writes at most `size` bytes to `family`, a plain integer, and the address's size to `size`;
    // both live until the end of the call, as does the borrowed descriptor.
    let done = unsafe { ask(socket.as_fd().as_raw_fd(), (&raw mut family).cast(), &raw mut size) };
    // A name makes the address longer than its family.
    done == 0 && size == unnamed && i32::from(family) == libc::AF_UNIX
}

/// Asks the kernel which process made the other end of a Unix socket.
///
/// # Errors
/// As getsockopt(2): it is no Unix socket.
pub fn peer(socket: impl AsFd) -> io::Result<Credentials> {
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `size` bytes to `found`, which is plain integers and lives until the end of
    // the call, as do `size` and the borrowed descriptor.
    let done = unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut found).cast(), &raw mut size) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Credentials { pid: u32::try_from(found.pid).ok().filter(|pid| *pid != 0), uid: found.uid, gid: found.gid })
}
