//! A set as others see it that wait for its own descriptor, by poll(2) or select(2).
//!
//! The kernel's set is ready for them as long as an event lies in it that nobody has taken, for the library or for the program; and taking them takes the
//! program's, too. So the library's end in another way: what rang is drained, and the kernel's set is asked of a socket only what the program would be told of.

use super::{
    EpollSet, State, Tag, borrow,
    entry::{EDGES, Entry, IDLE_BELLS},
};
use crate::{ports::office::Office, stream::locked};
use rustix::{
    event::{PollFd, PollFlags, epoll, poll},
    time::Timespec,
};
use slipway_fabric::sync::Ordering::Relaxed;
use std::{
    os::fd::{AsFd, BorrowedFd, RawFd},
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
        if !self.is_waited_for() {
            self.begin_waiting();
        }
        let mut state = locked(&self.state);
        state.entries.iter_mut().flatten().filter(|entry| !entry.rests()).any(|entry| {
            self.ask(entry);
            entry.is_ready()
        })
    }

    /// The kernel's set has stirred, and nothing in ours is ready: from here on that is for the program, or something has changed since. What comes to ports
    /// is told by their gate, which stays ready as long as a thread sleeps: false for a set that has it. Called by a thread that is not counted among those that
    /// sleep: a kick that it gave itself would stir the set.
    pub fn quieten(&self) -> bool {
        let mut state = locked(&self.state);
        if state.office.is_some() {
            return false;
        }
        self.polled.store(1, Relaxed);
        let _ = rustix::io::read(self.kick.load().as_fd(), &mut [0u8; 8]);
        let hubs = state.tags.values().filter_map(|tag| if let Tag::Hub(hub) = tag { hub.upgrade() } else { None });
        hubs.for_each(|hub| hub.serve());
        let fds: Vec<RawFd> = state.entries.iter().flatten().filter(|entry| !entry.lent).map(|entry| entry.fd).collect();
        fds.into_iter().for_each(|fd| self.quieten_one(&mut state, fd));
        self.drain(&mut state);
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
        self.ask(entry);
        if std::mem::take(&mut entry.at_door)
            && let Some(door) = entry.stream.door()
        {
            // It is always ready. The line rings in its place.
            let _ = borrow(self.descriptor(), |epfd| epoll::delete(epfd, door.as_fd()));
            state.doorless = true;
            state.activate_twins(fd);
        }
    }

    /// Drains the lines on which bells lie: one call finds them.
    fn drain(&self, state: &mut State) {
        let decided = state.entries.iter().flatten().filter(|entry| !entry.lent);
        let lines = decided.map(|entry| (entry.fd, entry.stream.line_socket())).filter(|(_, line)| line.is_open());
        let lines: Vec<_> = lines.collect();
        let mut looks: Vec<_> = lines.iter().map(|(_, line)| PollFd::new(line, PollFlags::IN)).collect();
        let failed = poll(&mut looks, Some(&Timespec::default())).is_err();
        for ((fd, line), _) in lines.iter().zip(&looks).filter(|(_, look)| failed || !look.revents().is_empty()) {
            let Some(entry) = state.entry(*fd) else { continue };
            let stream = Arc::clone(&entry.stream);
            stream.heard_in_set();
            if !stream.line_alive() {
                // Its end, which stays, has been heard.
                self.forget_line(&stream, line.as_fd());
            }
            entry.kernel_news |= stream.needs_kernel();
            state.activate_twins(*fd);
            if stream.is_in_several_sets() {
                state.drained.push(stream);
                self.has_drained.store(1, Relaxed);
            }
        }
    }

    /// A thread is about to sleep in the set itself: it hears the doorbells again.
    pub(super) fn open_doors(&self, state: &mut State) {
        if std::mem::take(&mut state.doorless) {
            let deaf = |entry: &&mut Box<Entry>| !entry.lent && !entry.at_door && entry.idle_bells <= IDLE_BELLS;
            state.entries.iter_mut().flatten().filter(deaf).for_each(|entry| self.hear_line(entry));
        }
    }

    /// What the kernel's set is to be asked of a socket: where others wait for the set, nothing but what the program would be told of.
    pub(super) fn needs(&self, entry: &Entry) -> epoll::EventFlags {
        if self.polled.load(Relaxed) == 0 { EDGES } else { entry.needs() }
    }

    /// Asks the kernel's set for what is needed now. A hang-up can't be left out: so one that has reported, and doesn't again, leaves it. A child has it in common with its parent.
    pub(super) fn ask(&self, entry: &mut Entry) {
        let rests = entry.spent && self.process == std::process::id();
        let (asked, needed) = (entry.asked, if rests { None } else { Some(self.needs(entry)) });
        if entry.lent || asked == needed {
            return;
        }
        entry.asked = needed;
        let tag = epoll::EventData::new_u64(entry.socket_tag);
        let ask = |epfd: BorrowedFd<'_>, fd: BorrowedFd<'_>| match (asked, needed) {
            (_, None) => epoll::delete(epfd, fd),
            (None, Some(flags)) => epoll::add(epfd, fd, tag, flags),
            (Some(_), Some(flags)) => epoll::modify(epfd, fd, tag, flags),
        };
        let _ = borrow(self.descriptor(), |epfd| borrow(entry.fd, |fd| ask(epfd, fd)));
    }
}
