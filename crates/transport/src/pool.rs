//! Where the processes of a forked server keep the offers that they have heard and not used: whichever of them accepts the
//! connection finds its offer there, whichever read it.

use crate::{
    descriptor::Reserved,
    line::{Heard, Message, hear, send_message},
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

/// A queue of sockets in the kernel, which the processes inherit.
#[derive(Debug)]
pub struct Pool {
    into: Reserved,
    out: Reserved,
}

impl Pool {
    /// An empty one.
    ///
    /// # Errors
    /// As socketpair(2).
    pub fn new() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (into, out) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        Ok(Self { into: Reserved::aside(into)?, out: Reserved::aside(out)? })
    }

    /// Puts in a socket and what was heard from it. If the queue is full it is closed, and its connection stays on its socket.
    pub fn put(&self, socket: OwnedFd, token: [u8; crate::line::TOKEN], ring: u64) {
        let _ = send_message(self.into.as_fd(), &Message::Parked { token, ring, socket });
    }

    /// Takes out all that is there.
    pub fn take(&self) -> impl Iterator<Item = (Reserved, [u8; crate::line::TOKEN], u64)> {
        std::iter::from_fn(|| match hear(self.out.as_fd()) {
            Heard::Message(Message::Parked { token, ring, socket }) => Some((Reserved::aside(socket).ok()?, token, ring)),
            _ => None,
        })
    }
}
