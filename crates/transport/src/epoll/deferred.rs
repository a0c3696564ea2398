//! Changes to the registrations of lent streams, of which the kernel's set is told when somebody waits.
//!
//! A program that takes a descriptor out and adds it again for each request, as Redis's clients do, makes four or five calls where
//! the kernel need know of two changes. It need know before a thread waits, and at once where a thread waits already, or
//! one may wait that no hook sees.

use super::{
    EpollSet, State, borrow,
    entry::{EDGE, Entry, ONCE, lendable},
};
use crate::stream::{Stream, locked};
use rustix::event::epoll;
use slipway_fabric::{
    sleepers::{Counted, Unseen},
    sync::Ordering::SeqCst,
};
use std::os::fd::RawFd;

/// The process's waits that may be in epoll sets of which the hooks know nothing, by whatever number.
pub static UNSEEN: Unseen = Unseen::none();

impl EpollSet {
    /// Waits in the kernel that begin before the set is known are counted there: they are not among its sleepers.
    pub fn count_unseen(&self, unseen: &'static Unseen) {
        let _ = self.unseen.set(unseen);
    }

    /// The set is known from here on. Threads may wait in it of which it knows nothing, until something of the library's wakes them.
    pub fn note_unseen(&self) {
        if self.unseen.get().is_some_and(|unseen| unseen.may_wait()) {
            self.expose();
            self.begin_waiting();
        }
    }

    /// This thread is about to wait for the set's descriptor, until what this gives is dropped.
    pub fn enter(&self) -> Counted<'_> {
        self.sleepers.enter()
    }

    /// Whether the program waits for the set by the hooks.
    pub fn is_waited_for(&self) -> bool {
        self.waited.load(SeqCst) != 0
    }

    /// The program waits for the set by the hooks, or may: from here on the kernel's set may report descriptors of the library.
    #[cold]
    pub fn begin_waiting(&self) {
        let mut state = locked(&self.state);
        self.waited.store(1, SeqCst);
        self.take_hubs(&mut state);
        let lent: Vec<_> =
            state.entries.iter().flatten().filter(|e| e.lent && !lendable(&e.stream, e.events)).map(|e| e.fd).collect();
        for fd in lent {
            self.take_over(&mut state, fd);
        }
    }

    /// Whether the kernel is to report a stream until it is decided: before the first wait by the hooks, it has reported nothing to them.
    pub(super) fn lends(&self, stream: &Stream, events: u32) -> bool {
        lendable(stream, events) || stream.is_undecided() && !self.is_waited_for()
    }

    /// Whether a thread may sleep in the set.
    pub(super) fn is_slept_in(&self) -> bool {
        !self.sleepers.is_empty() || self.unseen.get().is_some_and(|unseen| unseen.waits_still())
    }

    /// From here on the kernel's set is told of each change at once: others than those that wait by the hooks may look at it.
    pub fn expose(&self) {
        self.exposed.store(1, SeqCst);
        self.catch_up(&mut locked(&self.state));
    }

    /// As [`EpollSet::expose`], before the process forks or becomes another program, which a signal handler may do that has interrupted
    /// a wait: a thread that is at the set now sees to it itself.
    pub fn expose_to_heirs(&self) {
        self.exposed.store(1, SeqCst);
        if let Some(mut state) = self.state.try_lock() {
            self.catch_up(&mut state);
        }
    }

    /// The program has changed what it wants of a lent stream that the kernel's set has.
    pub(super) fn follow(&self, state: &mut State, fd: RawFd) {
        let defers = self.is_waited_for() && self.exposed.load(SeqCst) == 0 && !self.is_slept_in();
        let State { entries, behind, .. } = state;
        let Some(entry) = entries.get_mut(fd as usize).and_then(Option::as_mut) else { return };
        if !entry.behind {
            entry.behind = true;
            behind.push(fd);
        }
        if !defers {
            self.catch_up(state);
        }
    }

    /// Tells the kernel's set of all that it does not know.
    pub(super) fn catch_up(&self, state: &mut State) {
        while let Some(fd) = state.behind.pop() {
            if let Some(entry) = state.entry(fd)
                && std::mem::take(&mut entry.behind)
                && entry.lent
            {
                self.tell(entry);
            }
        }
    }

    fn tell(&self, entry: &mut Entry) {
        let wanted = (entry.events, entry.data);
        if entry.dormant {
            // Its events are the program's own.
            entry.away = true;
            let _ = borrow(self.descriptor(), |epfd| borrow(entry.fd, |fd| epoll::delete(epfd, fd)));
        } else if entry.known != wanted || entry.events & (EDGE | ONCE) != 0 {
            entry.known = wanted;
            let (flags, data) = (entry.flags(), epoll::EventData::new_u64(entry.data));
            let _ = borrow(self.descriptor(), |epfd| borrow(entry.fd, |fd| epoll::modify(epfd, fd, data, flags)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        epoll::{Event, wait::tests::ask},
        stream::pair::quiet,
    };
    use rustix::io::Errno;
    use std::{
        os::fd::{AsRawFd, OwnedFd},
        sync::Arc,
        time::Duration,
    };

    const IN: u32 = libc::EPOLLIN as u32;
    const OUT: u32 = libc::EPOLLOUT as u32;

    /// How the kernel's set has `fd`: its events and data.
    fn known(set: &OwnedFd, fd: RawFd) -> Option<(u32, u64)> {
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", set.as_raw_fd())).expect("a set");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let line = info.lines().map(words).find(|line| line.len() > 5 && line[0] == "tfd:" && line[1] == fd.to_string())?;
        let hex = |word: &str| u64::from_str_radix(word, 16).expect("a number");
        Some((hex(&line[3]) as u32 & (IN | OUT), hex(&line[5])))
    }

    /// A kernel's set, ours beside it, and a stream that the kernel reports, in them for input.
    fn lent() -> (OwnedFd, Arc<EpollSet>, [OwnedFd; 2]) {
        let epfd = epoll::create(epoll::CreateFlags::CLOEXEC).expect("a set");
        let set = EpollSet::new(epfd.as_raw_fd()).expect("a set");
        let (stream, fd, peer) = quiet();
        set.begin_waiting();
        set.add(fd.as_raw_fd(), &Arc::new(stream), IN, 7).expect("room");
        (epfd, set, [fd, peer])
    }

    #[test]
    fn the_kernel_is_told_when_somebody_waits() {
        let (epfd, set, [socket, _peer]) = lent();
        let fd = socket.as_raw_fd();
        let stream = Arc::clone(&locked(&set.state).entry(fd).expect("an entry").stream);
        let looks = |expected| {
            let mut look = |_: &mut Vec<Event>, _, _| {
                assert_eq!(known(&epfd, fd), expected);
                Ok(())
            };
            set.wait(&mut Vec::new(), 1, Some(Duration::ZERO), &mut look).expect("a wait");
        };
        looks(Some((IN, 7)));
        assert!(set.remove(fd) && !set.remove(fd) && !set.modify(fd, OUT, 7));
        assert_eq!(set.add(fd, &stream, OUT, 8), Ok(()));
        assert_eq!(set.add(fd, &stream, OUT, 8), Err(Errno::EXIST));
        assert_eq!(known(&epfd, fd), Some((IN, 7)), "nobody has asked");
        looks(Some((OUT, 8)));
        assert!(set.modify(fd, IN | OUT, 9) && set.remove(fd));
        looks(None);
        // What is not there is put there at once: that can fail.
        assert_eq!(set.add(fd, &stream, IN, 10), Ok(()));
        assert_eq!(known(&epfd, fd), Some((IN, 10)));
        assert!(set.remove(fd));
        set.closing(fd);
        assert_eq!(known(&epfd, fd), None);
        looks(None);
    }

    #[test]
    fn what_a_thread_sleeps_on_is_changed_at_once() {
        let (epfd, set, [fd, _peer]) = lent();
        let mut sleep = |_: &mut Vec<Event>, _, _| {
            assert!(set.modify(fd.as_raw_fd(), OUT, 8));
            assert_eq!(known(&epfd, fd.as_raw_fd()), Some((OUT, 8)));
            assert!(set.remove(fd.as_raw_fd()));
            assert_eq!(known(&epfd, fd.as_raw_fd()), None);
            Err(Errno::INTR)
        };
        assert_eq!(set.wait(&mut Vec::new(), 1, None, &mut sleep), Err(Errno::INTR));
    }

    #[test]
    fn a_set_that_others_look_at_is_changed_at_once() {
        for expose in [EpollSet::expose, EpollSet::expose_to_heirs, EpollSet::nest, |set: &EpollSet| _ = set.ready_within()] {
            let (epfd, set, [fd, _peer]) = lent();
            assert!(set.modify(fd.as_raw_fd(), OUT, 8));
            assert_eq!(known(&epfd, fd.as_raw_fd()), Some((IN, 7)));
            expose(&set);
            assert_eq!(known(&epfd, fd.as_raw_fd()), Some((OUT, 8)));
            assert!(!set.modify(fd.as_raw_fd(), IN, 9) || known(&epfd, fd.as_raw_fd()) == Some((IN, 9)));
        }
    }

    #[test]
    fn edges_are_armed_again() {
        let (_epfd, set, [fd, _peer]) = lent();
        let edges = OUT | EDGE;
        for data in [7, 7, 8] {
            assert!(set.modify(fd.as_raw_fd(), edges, data));
            assert_eq!(ask(&set), [Event { events: OUT, data }]);
            assert_eq!(ask(&set), []);
        }
    }
}
