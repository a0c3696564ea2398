//! The right to the name server that a program inherits which the name server started.
//!
//! It is a packet as [`contact`] has it, in a socket that the program inherits with its environment. The packet is looked
//! at and never taken: what the program executes, and each task in its process, finds it too.

use super::contact::{self, Address};
use crate::task::Task;
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd},
    net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt},
};
use slipway_fabric::{credentials, trust};
use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::Path,
};

/// The variable that names the inherited socket: `DESCRIPTOR:INODE:PATH`. The inode tells the socket from what a program
/// may have opened under its number; the path is the server's, and tells it from another server that the program was
/// told to use since.
pub const VARIABLE: &str = "SLIPWAY_BOOTSTRAP_JOB";

/// A socket for a program to inherit.
#[derive(Debug)]
pub struct Inheritance(OwnedFd);

impl Inheritance {
    /// One with a send right to `port`, a receive right of the server's.
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn new(task: Task, port: u32) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        contact::give(ours.as_fd(), task, port)?;
        Ok(Self(theirs))
    }

    /// Lets programs inherit it that are started from now on, until this is dropped: the variable for their
    /// environment. `server` is the path of the server's socket.
    ///
    /// # Errors
    /// As fcntl(2) and fstat(2).
    pub fn make_inheritable(&self, server: &Path) -> io::Result<(&'static str, OsString)> {
        fcntl_setfd(&self.0, FdFlags::empty())?;
        let mut value = format!("{}:{}:", self.0.as_raw_fd(), inode(&self.0)?).into_bytes();
        value.extend(server.as_os_str().as_bytes());
        Ok((VARIABLE, OsString::from_vec(value)))
    }
}

fn inode(socket: impl AsFd) -> io::Result<u64> {
    Ok(rustix::fs::fstat(socket)?.st_ino)
}

/// Whether it is a socket as [`Inheritance::new`] makes them.
fn is_packet_socket(fd: impl AsFd) -> bool {
    sockopt::socket_domain(&fd).is_ok_and(|domain| domain == AddressFamily::UNIX)
        && sockopt::socket_type(&fd).is_ok_and(|kind| kind == SocketType::SEQPACKET)
}

/// Whether the other side of a socket is gone for good.
fn hung_up(fd: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&fd, PollFlags::empty())];
    let ready = rustix::event::poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    ready.is_ok_and(|n| n > 0) && fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

/// What stands for the inherited send right, if the name server at `address` started this process, and neither ended nor
/// started the program again since.
pub(super) fn find(address: &Address) -> Option<(OwnedFd, OwnedFd)> {
    let value = env::var_os(VARIABLE).filter(|_| !trust::is_elevated())?;
    let (number, wanted) = parse(&value, &address.socket)?;
    let socket = copy(number)?;
    let is_it = is_packet_socket(&socket) && inode(&socket).is_ok_and(|inode| inode == wanted);
    let peer = credentials::peer(&socket).ok().filter(|_| is_it)?;
    if peer.uid != rustix::process::geteuid().as_raw() {
        return None;
    }
    contact::look(socket.as_fd()).filter(|(s, _)| !hung_up(s))
}

/// The descriptor and the inode, if the path is `server`.
fn parse(value: &OsStr, server: &Path) -> Option<(RawFd, u64)> {
    let mut parts = value.as_bytes().splitn(3, |byte| *byte == b':');
    let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse::<u64>().ok();
    let (fd, inode) = (RawFd::try_from(number()?).ok()?, number()?);
    (parts.next()? == server.as_os_str().as_bytes()).then_some((fd, inode))
}

/// A copy of the descriptor with a number, if it is open.
#[allow(unsafe_code, reason = "the number of an inherited descriptor comes as text")]
fn copy(number: RawFd) -> Option<OwnedFd> {
    // SAFETY: the number is not -1. If nothing is open under it, the only call that gets it says so; and a copy does
    // nothing to what is.
    let fd = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_dupfd_cloexec(fd, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_variable_says_is_taken() {
        let path = Path::new("/run/a:b");
        assert_eq!(parse(OsStr::new("3:17:/run/a:b"), path), Some((3, 17)));
        for wrong in ["", "3", "3:17", "3:17:/run/a", "-1:17:/run/a:b", "x:17:/run/a:b", "4294967299:17:/run/a:b", "3::/run/a:b"]
        {
            assert_eq!(parse(OsStr::new(wrong), path), None, "{wrong}");
        }
        assert!(copy(i32::MAX).is_none());
    }

    #[test]
    fn a_right_is_found_as_often_as_it_is_looked_for() {
        let task = Task::new();
        let port = task.allocate(crate::abi::right::RECEIVE).expect("a port");
        let inheritance = Inheritance::new(task, port).expect("a socket");
        let [first, second] = [(); 2].map(|()| contact::look(inheritance.0.as_fd()).expect("the right"));
        let cookie = |pair: &(OwnedFd, OwnedFd)| sockopt::socket_cookie(&pair.0).expect("a socket");
        assert_eq!(cookie(&first), cookie(&second));
        task.terminate();
    }
}
