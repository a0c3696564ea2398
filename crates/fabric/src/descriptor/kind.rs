//! What a descriptor leads to, as far as the kernel tells without a word to the file's own code.

use crate::credentials::{End, unnamed};
use rustix::{
    fs::{AtFlags, FileType, StatxFlags, fcntl_get_seals, statx},
    io::Errno,
    net::{AddressFamily, SocketType, sockopt},
};
use std::os::fd::AsFd;

/// The kinds of files that rights and lines consist of, and others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A Unix socket for packets of which the other end has no name.
    Pair,
    /// Another Unix socket for packets: it leads to a service, or to nothing.
    Packets,
    /// A Unix socket of another type.
    Unix,
    /// A pipe or FIFO.
    Pipe,
    /// A memory file.
    Memory,
    /// A kind that is not used here. The thread that closes it may wait.
    Foreign,
}

impl Kind {
    /// The kind of a file, which is probably `likely`: that is asked first.
    pub fn of(fd: impl AsFd, likely: Option<Self>) -> Self {
        let fd = fd.as_fd();
        if likely == Some(Self::Pipe) && is_pipe(fd) {
            return Self::Pipe;
        }
        match sockopt::socket_type(fd) {
            Err(Errno::NOTSOCK) if is_pipe(fd) => Self::Pipe,
            Err(Errno::NOTSOCK) if fcntl_get_seals(fd).is_ok() => Self::Memory,
            // Asked for its name a socket of another family may wait for what its other holders do.
            Ok(of) if sockopt::socket_domain(fd) == Ok(AddressFamily::UNIX) => match of {
                SocketType::SEQPACKET if unnamed(fd, End::Other) => Self::Pair,
                SocketType::SEQPACKET => Self::Packets,
                _ => Self::Unix,
            },
            _ => Self::Foreign,
        }
    }

    /// Whether it is a Unix socket for packets.
    pub fn takes_packets(self) -> bool {
        matches!(self, Self::Pair | Self::Packets)
    }
}

/// Whether a file is a pipe or FIFO, by what the kernel knows of it: the file system is not asked.
fn is_pipe(fd: impl AsFd) -> bool {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    statx(fd, c"", flags, StatxFlags::TYPE).is_ok_and(|stat| FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Fifo)
}
