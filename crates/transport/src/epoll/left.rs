//! A set that the library leaves to the kernel.

use super::{CHILDS, EpollSet, Tag, borrow, entry::ONCE};
use crate::{descriptor::Reserved, stream::locked};
use rustix::event::epoll;
use slipway_fabric::sync::Ordering::SeqCst;
use std::{
    os::fd::{AsFd, RawFd},
    sync::Arc,
};

impl EpollSet {
    /// All of its streams are on their sockets for good: from here on the kernel's set has what the program registered, and nothing of the library's. False if
    /// one is not, or the set was made by another process: what that has in the kernel's set stays, and [`EpollSet::is_left`] says so.
    pub fn leave(&self) -> bool {
        let mut state = locked(&self.state);
        if state.office.is_some() {
            return false;
        }
        let own = self.process == std::process::id();
        let fds: Vec<RawFd> = state.entries.iter().flatten().map(|entry| entry.fd).collect();
        for fd in fds {
            match state.entry(fd) {
                // What the kernel's set has of these is for the other process.
                Some(entry) if !own && (entry.dormant || entry.lent) => _ = state.take_out(fd),
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
        if !own {
            self.left.store(1, SeqCst);
            return false;
        }
        let kick = self.kick.swap(Arc::new(Reserved::none()));
        if kick.is_open() {
            forget(kick.as_fd());
        }
        true
    }

    /// Whether it is left to the kernel by a process that has it from another one: of what it reports some is for that.
    pub fn is_left(&self) -> bool {
        self.left.load(SeqCst) != 0
    }

    /// Whether what the kernel reported under `data` is for the process that made a set that is left.
    pub fn is_its_makers(&self, data: u64) -> bool {
        (self.first_tag..self.first_tag + 2 * CHILDS).contains(&data)
    }
}
