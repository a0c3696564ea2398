//! A set that the library leaves to the kernel.

use super::{EpollSet, Tag, borrow, entry::ONCE};
use crate::{descriptor::Reserved, stream::locked};
use rustix::event::epoll;
use std::{
    os::fd::{AsFd, RawFd},
    sync::Arc,
};

impl EpollSet {
    /// All of its streams are on their sockets for good: from here on the kernel's set has what the program registered, and nothing of the library's. False if
    /// one is not, or the set is another process's, too.
    pub fn leave(&self) -> bool {
        let mut state = locked(&self.state);
        if self.process != std::process::id() || state.office.is_some() {
            return false;
        }
        let fds: Vec<RawFd> = state.entries.iter().flatten().map(|entry| entry.fd).collect();
        for fd in fds {
            match state.entry(fd) {
                Some(entry) if entry.dormant => _ = self.take_out(&mut state, fd),
                Some(entry) if entry.stream.is_plain() => {
                    if entry.spent {
                        // It has reported, and waits for EPOLL_CTL_MOD.
                        entry.events &= ONCE;
                    }
                    self.retire(&mut state, fd);
                }
                _ => {}
            }
        }
        if state.entries.iter().any(Option::is_some) {
            return false;
        }
        state.hubs.clear();
        let hubs = state.tags.drain().filter_map(|(_, tag)| if let Tag::Hub(hub) = tag { hub.upgrade() } else { None });
        let gates = hubs.filter_map(|hub| hub.gate()).collect::<Vec<_>>();
        // A child may have them still: that they are closed here does not take them out.
        let forget = |fd| _ = borrow(self.descriptor(), |epfd| epoll::delete(epfd, fd));
        gates.iter().for_each(|gate| forget(gate.as_fd()));
        let kick = self.kick.swap(Arc::new(Reserved::none()));
        if kick.is_open() {
            forget(kick.as_fd());
        }
        true
    }
}
