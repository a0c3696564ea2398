//! What a thread or a program polls: readable from when it is told of something until it is drained.
//!
//! It is two sockets, and what goes from one to the other has no bytes. No call waits, whatever the program does with a copy. After
//! the program has closed all descriptors, a number may be one of its own: that of a stream gets nothing, and is not read.

use crate::objects::{identity, socket_pair};
use rustix::{
    event::PollFlags,
    io::fcntl_dupfd_cloexec,
    net::{RecvFlags, SendFlags, recv, send},
};
use slipway_fabric::descriptor::Reserved;
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

/// The two sockets.
#[derive(Debug)]
pub(super) struct Event {
    polled: Reserved,
    other: Reserved,
    /// Which socket is polled.
    identity: u64,
}

impl Event {
    /// One that was told of nothing.
    ///
    /// # Errors
    /// As socketpair(2).
    pub fn new() -> io::Result<Self> {
        let (polled, other) = socket_pair()?;
        Ok(Self { identity: identity(&polled)?, polled: Reserved::new(polled)?, other: Reserved::new(other)? })
    }

    /// Makes it readable; false if that can't be.
    pub fn tell(&self) -> bool {
        send(&self.other, &[], SendFlags::DONTWAIT | SendFlags::NOSIGNAL).is_ok()
    }

    /// What it was told of is known; false if it is not there any more.
    pub fn drain(&self) -> bool {
        let there = identity(&self.polled).is_ok_and(|identity| identity == self.identity);
        if there {
            let _ = recv(&self.polled, &mut [0; 0], RecvFlags::DONTWAIT);
        }
        there
    }

    /// Whether it is there, as far as is known.
    pub fn is_open(&self) -> bool {
        self.polled.is_open()
    }

    /// What to poll it for.
    pub fn polled(&self) -> (BorrowedFd<'_>, PollFlags) {
        (self.polled.as_fd(), PollFlags::IN)
    }

    /// A descriptor for the program to poll.
    ///
    /// # Errors
    /// As fcntl(2); `EBADF` if it is not there any more.
    pub fn copy(&self) -> io::Result<OwnedFd> {
        let copy = fcntl_dupfd_cloexec(&self.polled, 0)?;
        if identity(&copy)? == self.identity { Ok(copy) } else { Err(rustix::io::Errno::BADF.into()) }
    }
}
