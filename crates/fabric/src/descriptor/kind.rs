//! What a descriptor leads to, as far as the kernel tells without a word to the file's own code.

use rustix::{
    fs::fcntl_get_seals,
    io::Errno,
    net::{AddressFamily, sockopt},
    pipe::fcntl_getpipe_size,
};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The kinds of files that rights and lines consist of, and others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A Unix socket.
    Unix,
    /// A pipe or FIFO.
    Pipe,
    /// A Unix socket that none but this process is to read.
    Queue,
    /// A memory file.
    Memory,
    /// A kind that is not used here. The thread that closes it may wait.
    Foreign,
}

/// Finds out the kinds of a packet's descriptors, in their order.
#[derive(Default)]
pub(super) struct Kinds {
    /// Those of the last two.
    before: [Option<Kind>; 2],
}

impl Kinds {
    /// The kind of the next. Rights come as pairs of a socket and a pipe.
    pub(super) fn next(&mut self, fd: &OwnedFd) -> Kind {
        let likely = match self.before {
            [None, Some(_)] => Some(Kind::Pipe),
            [before, _] => before,
        };
        let kind = Kind::of(fd, likely);
        self.before = [self.before[1], Some(kind)];
        kind
    }
}

/// Whether it is an eventfd, by the name that the kernel gives it; false where /proc is not to be seen.
pub fn is_eventfd(fd: impl AsFd) -> bool {
    let path = format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd());
    rustix::fs::readlink(path, Vec::new()).is_ok_and(|name| name.as_bytes() == b"anon_inode:[eventfd]")
}

impl Kind {
    /// The kind of a file, which is probably `likely`: that is asked first.
    pub fn of(fd: impl AsFd, likely: Option<Self>) -> Self {
        let fd = fd.as_fd();
        let is_pipe = || fcntl_getpipe_size(fd).is_ok();
        if likely == Some(Self::Pipe) && is_pipe() {
            return Self::Pipe;
        }
        // Asked for more a socket of another family may wait for what its other holders do.
        match sockopt::socket_domain(fd) {
            Ok(AddressFamily::UNIX) => Self::Unix,
            Err(Errno::NOTSOCK) if is_pipe() => Self::Pipe,
            Err(Errno::NOTSOCK) if fcntl_get_seals(fd).is_ok() => Self::Memory,
            _ => Self::Foreign,
        }
    }
}
