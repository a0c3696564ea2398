//! A set as others see it that wait for its own descriptor, by poll(2) or select(2).
//!
//! The kernel's set is ready for them as long as an event lies in it that nobody has taken, for the library or for the program; and taking them takes the
//! program's, too. So the library's end in another way: what rang is drained, and the kernel's set is not asked for room that is there all the time.

use super::{
    EpollSet, State, Tag, borrow,
    entry::{EDGES, ROOM},
};
use crate::{ports::office::Office, stream::locked};
use rustix::event::epoll;
use slipway_fabric::sync::Ordering::Relaxed;
use std::{
    os::fd::{AsFd, RawFd},
    sync::Arc,
};

impl EpollSet {
    /// The office whose gate the set has.
    pub fn office(&self) -> Option<Arc<Office>> {
        locked(&self.state).office.clone()
    }

    /// Whether the set would report something of a stream now. Arms what it looked at: when that changes, the kernel's set stirs.
    pub fn ready_within(&self) -> bool {
        self.expose();
        self.begin_waiting();
        let mut state = locked(&self.state);
        state.entries.iter_mut().flatten().filter(|entry| !entry.rests()).any(|entry| {
            self.ask_for_room(entry);
            entry.is_ready()
        })
    }

    /// The kernel's set has stirred, and nothing in ours is ready: from here on that is for the program, or something has changed since. What comes to ports
    /// is told by their gate, which stays ready as long as a thread sleeps: false for a set that has it.
    pub fn quieten(&self) -> bool {
        let mut state = locked(&self.state);
        if state.office.is_some() {
            return false;
        }
        let _ = rustix::io::read(self.kick.load().as_fd(), &mut [0u8; 8]);
        let hubs = state.tags.values().filter_map(|tag| if let Tag::Hub(hub) = tag { hub.upgrade() } else { None });
        hubs.for_each(|hub| hub.serve());
        let fds: Vec<RawFd> = state.entries.iter().flatten().filter(|entry| !entry.lent).map(|entry| entry.fd).collect();
        fds.into_iter().for_each(|fd| self.quieten_one(&mut state, fd));
        drop(state);
        // Those that sleep in the set itself hear no more of what was drained.
        self.leave_to_others();
        true
    }

    fn quieten_one(&self, state: &mut State, fd: RawFd) {
        let Some(entry) = state.entry(fd) else { return };
        if entry.dormant {
            self.take_out(state, fd);
            return;
        }
        if entry.stream.is_plain() && !entry.spent {
            return self.retire(state, fd);
        }
        let stream = Arc::clone(&entry.stream);
        if std::mem::take(&mut entry.at_door)
            && let Some(door) = stream.door()
        {
            // It is always ready. The line rings in its place.
            let _ = borrow(self.descriptor(), |epfd| epoll::delete(epfd, door.as_fd()));
        }
        if !entry.deaf && !entry.needs_room() {
            entry.deaf = true;
            let tag = epoll::EventData::new_u64(entry.socket_tag);
            let _ = borrow(self.descriptor(), |epfd| borrow(fd, |fd| epoll::modify(epfd, fd, tag, EDGES - ROOM)));
        }
        stream.heard_in_set();
        entry.kernel_news |= stream.needs_kernel();
        state.activate_twins(fd);
        if stream.is_in_several_sets() {
            state.drained.push(stream);
            self.has_drained.store(1, Relaxed);
        }
    }

    /// The kernel's set is asked for room on the socket again, if that is needed.
    pub(super) fn ask_for_room(&self, entry: &mut super::Entry) {
        if entry.deaf && entry.needs_room() {
            entry.deaf = false;
            let tag = epoll::EventData::new_u64(entry.socket_tag);
            let _ = borrow(self.descriptor(), |epfd| borrow(entry.fd, |fd| epoll::modify(epfd, fd, tag, EDGES)));
        }
    }
}
