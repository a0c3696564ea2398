//! The epoll set for a thread that waits for this stream only: poll(2) can't hear a doorbell, which is told by edges.
//!
//! Only the first sleeper uses it, of a process that shares the connection with no other and has it in no epoll set: an edge wakes one. The set
//! tells of the line's socket, too, as poll(2) would, for all else that comes over the line.

use super::{Stream, state::add};
use crate::{
    descriptor::{Reserved, has_plenty},
    wait::{Kernel, PollEntry},
};
use arc_swap::ArcSwapOption;
use rustix::{
    event::{PollFlags, epoll},
    io::Errno,
};
use slipway_fabric::sync::{AtomicU32, Ordering::Relaxed};
use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    sync::Arc,
    time::Duration,
};

/// What the set is asked of the program's socket.
const ENDS: PollFlags = PollFlags::IN.union(PollFlags::RDHUP);

/// The events' data: the places of their descriptors among the entries that poll(2) would get.
const SOCKET: u64 = 0;
const LINE: u64 = 1;
/// Of none.
const DOOR: u64 = 2;

/// The set, if there is one.
#[derive(Debug, Default)]
pub(super) struct Alone {
    set: ArcSwapOption<Reserved>,
    /// 1: it was made, or can't be.
    tried: AtomicU32,
}

impl Alone {
    pub(super) fn drop_set(&self) {
        self.set.store(None);
    }
}

impl Stream {
    /// The set, for the first sleeper on the stream, which waits for `want` and for nothing else. None: it sleeps in poll(2).
    pub(super) fn set_alone(&self, fd: BorrowedFd<'_>, want: PollFlags) -> Option<Arc<Reserved>> {
        let shares = || self.state.common.forked.load(Relaxed) != 0 || self.in_sets.load(Relaxed) != 0;
        if !self.hears_door() || self.kernel_interest(want) - PollFlags::RDNORM != ENDS || shares() || !self.line_alive() {
            return None;
        }
        if self.alone.tried.swap(1, Relaxed) == 0 {
            self.alone.set.store(self.make_set(fd).ok().map(Arc::new));
        }
        self.alone.set.load_full()
    }

    /// Counts a bell of the line's socket that woke a sleeper on nothing else: it asks for a doorbell after as many as a set.
    pub(crate) fn hear_alone(&self) {
        if self.in_sets.load(Relaxed) == 0 && self.state.common.forked.load(Relaxed) == 0 {
            self.expects_door(self.bells.fetch_add(1, Relaxed).wrapping_add(1));
        }
    }

    /// Sleeps in the set as in poll(2) over the `entries` of the socket and the line.
    pub(crate) fn sleep_alone(
        &self,
        set: &Reserved,
        entries: &mut [PollEntry],
        timeout: Option<Duration>,
        kernel: &mut dyn Kernel,
    ) -> Result<usize, Errno> {
        let mut events = Vec::new();
        kernel.epoll(set.as_fd(), &mut events, 3, timeout)?;
        for event in &events {
            match entries.get_mut(event.data as usize) {
                Some(entry) => entry.revents = event.events as i16,
                None => add(&self.counts.heard, 1),
            }
        }
        Ok(events.len())
    }

    fn make_set(&self, fd: BorrowedFd<'_>) -> io::Result<Reserved> {
        let door = self.door().ok_or(Errno::NOENT)?;
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        if !has_plenty(set.as_raw_fd()) {
            return Err(Errno::MFILE.into());
        }
        let set = Reserved::aside(set)?;
        let ends = epoll::EventFlags::from_bits_retain(u32::from(ENDS.bits()));
        let data = epoll::EventData::new_u64;
        epoll::add(&set, fd, data(SOCKET), ends)?;
        epoll::add(&set, self.line_socket().as_fd(), data(LINE), epoll::EventFlags::IN)?;
        // Each read of it is an edge for those that wait for room to write.
        epoll::add(&set, door.as_fd(), data(DOOR), epoll::EventFlags::OUT | epoll::EventFlags::ET)?;
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        epoll::Event,
        stream::{
            How, ask_kernel,
            pair::{Ends, Itself, ends},
        },
        wait::{Member, wait},
    };
    use std::io::{IoSlice, IoSliceMut};

    /// The kernel; something happens whenever it is about to let the thread sleep.
    struct Meanwhile<F> {
        happens: F,
        kernel: Itself,
    }

    impl<F: FnMut()> Kernel for Meanwhile<F> {
        fn poll(&mut self, entries: &mut [PollEntry], timeout: Option<Duration>) -> Result<usize, Errno> {
            if timeout != Some(Duration::ZERO) {
                (self.happens)();
            }
            self.kernel.poll(entries, timeout)
        }

        fn epoll(&mut self, set: BorrowedFd<'_>, out: &mut Vec<Event>, most: usize, time: Option<Duration>) -> Result<(), Errno> {
            if time != Some(Duration::ZERO) {
                (self.happens)();
            }
            self.kernel.epoll(set, out, most, time)
        }

        fn restarts(&mut self) -> bool {
            false
        }
    }

    /// What the server is ready for when it has slept until `happens`; and how often it asked poll(2) and the set.
    fn sleep(ends: &Ends, want: PollFlags, happens: impl FnMut()) -> (PollFlags, [u32; 2]) {
        let (server, socket) = (&ends.server.0, ends.server.1.as_fd());
        let mut members = [Member { stream: server, fd: socket, want, got: PollFlags::empty() }];
        let mut kernel = Meanwhile { happens, kernel: Itself::default() };
        assert_eq!(wait(&mut members, &mut [], None, &mut kernel), Ok(1));
        (members[0].got, [kernel.kernel.polls, kernel.kernel.epolls])
    }

    fn send(ends: &Ends) {
        assert_eq!(ends.client.0.send(ends.client.1.as_fd(), &[IoSlice::new(b"x")], &[]), Ok(1));
    }

    fn read(ends: &Ends) {
        let got = ends.server.0.receive(ends.server.1.as_fd(), &mut [IoSliceMut::new(&mut [0; 8])], How::default());
        assert_eq!(got.map(|got| got.bytes), Ok(1));
    }

    fn rings_line(ends: &Ends) -> bool {
        ask_kernel(ends.server.0.line_socket().as_fd(), PollFlags::IN).contains(PollFlags::IN)
    }

    /// Two ends, of which the server sleeps in its set.
    fn at_the_set() -> Ends {
        let ends = ends();
        let pass = |_: &u32| {
            let (got, [_, epolls]) = sleep(&ends, PollFlags::IN, || send(&ends));
            assert_eq!(got, PollFlags::IN);
            read(&ends);
            epolls == 0
        };
        let before = (0..1000).take_while(pass).count();
        assert!((64..200).contains(&before), "{before}");
        ends
    }

    #[test]
    fn a_sleeper_that_is_rung_often_is_given_a_doorbell() {
        let ends = at_the_set();
        for _ in 0..100 {
            let (got, [polls, epolls]) = sleep(&ends, PollFlags::IN, || send(&ends));
            assert_eq!((got, polls), (PollFlags::IN, 0));
            assert!((1..=2).contains(&epolls) && !rings_line(&ends), "nothing is left to be drained");
            read(&ends);
        }
        // What the set is not asked for is poll(2)'s.
        let (_, [polls, epolls]) = sleep(&ends, PollFlags::IN | PollFlags::PRI, || send(&ends));
        assert_eq!((polls > 0, epolls), (true, 0));
    }

    #[test]
    fn two_sleepers_hear_the_lines_bell() {
        let ends = at_the_set();
        let (server, socket) = (&ends.server.0, ends.server.1.as_fd());
        let mut stirs = Itself::default();
        let (first, set) = server.lie_down_alone(socket, PollFlags::IN, 2000);
        let set = set.expect("the first sleeps in the set");
        let (second, none) = server.lie_down_alone(socket, PollFlags::IN, 1000);
        assert!(none.is_none());
        send(&ends);
        assert!(rings_line(&ends));
        let mut events = Vec::new();
        stirs.epoll(set.as_fd(), &mut events, 3, Some(Duration::ZERO)).expect("a look");
        assert!(events.iter().any(|event| event.data == LINE));
        assert!(first.get_up(true) && rings_line(&ends), "one is left");
        assert!(!second.get_up(true) && !rings_line(&ends));
        read(&ends);
    }

    #[test]
    fn the_end_of_the_stream_is_heard_in_the_set() {
        let ends = at_the_set();
        let shut = || rustix::net::shutdown(&ends.client.1, rustix::net::Shutdown::Write).expect("a socket");
        let (got, [polls, _]) = sleep(&ends, PollFlags::IN, shut);
        assert_eq!((got & PollFlags::IN, polls), (PollFlags::IN, 0));
    }

    #[test]
    fn a_connection_that_others_may_hear_has_no_set() {
        let ends = at_the_set();
        let server = &ends.server.0;
        let alone = || server.set_alone(ends.server.1.as_fd(), PollFlags::IN).is_some();
        assert!(alone());
        server.in_sets.store(1, Relaxed);
        assert!(!alone());
        server.in_sets.store(0, Relaxed);
        server.state.common.forked.store(1, Relaxed);
        assert!(!alone());
    }
}
