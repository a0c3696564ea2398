//! Threads that sleep until a stream's bell rings, and those that are counted so and never get up: a thread whose signal handler has jumped out of its
//! wait (siglongjmp), and one of a process of the family that was killed.

use super::{
    Stream, locked,
    mail::SLEEPERS_GRACE,
    now,
    ready::{INPUT, OUTPUT, ask_kernel},
    state::{EndState, phase},
};
use crate::{descriptor::Reserved, line::LONGEST};
use rustix::event::PollFlags;
use slipway_fabric::sync::{Ordering::Relaxed, Shared};
use std::{
    cell::RefCell,
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
};

thread_local! {
    /// Where the thread lies, the latest last.
    static BEDS: RefCell<Vec<Bed>> = const { RefCell::new(Vec::new()) };
}

/// One that a thread is counted by among a bell's sleepers.
struct Bed {
    /// Where the wait's frame lies on the stack.
    frame: usize,
    /// What it waits for.
    want: PollFlags,
    /// It was to count what the kernel gives it.
    counts: bool,
    state: Shared<EndState>,
}

/// Has the thread get up where it lies still, though it has left the wait that lay down: its frame is gone, as `frame`, that of a wait which begins, lies no
/// deeper. A signal handler that waits on the thread's stack lies deeper. One with a stack of its own may not; the wait that it interrupts ends
/// with it (`INTR`), and has no use for the bell.
pub fn get_up_at_last(frame: usize) {
    let take = |beds: &RefCell<Vec<Bed>>| {
        let mut beds = beds.try_borrow_mut().ok()?;
        let gone = beds.last().is_some_and(|bed| bed.frame <= frame);
        if gone { beds.pop() } else { None }
    };
    while let Some(bed) = BEDS.try_with(take).ok().flatten() {
        if bed.counts {
            lose_count(&bed.state);
        }
        leave(&bed.state, bed.want, || {});
    }
}

/// A thread that left the kernel's receive may have got bytes that nobody has counted: the connection stays on its socket. Called while it counts as a
/// sleeper, so that no other has got the line.
fn lose_count(state: &EndState) {
    let _ = state.common.phase.compare_exchange(phase::QUIET, phase::PLAIN, Relaxed, Relaxed);
}

/// One that waits for `want` is a sleeper no longer; `last` is run by the last. How many are left.
fn leave(state: &EndState, want: PollFlags, last: impl FnOnce()) -> u32 {
    let left = state.common.sleepers.leave(last);
    if want.intersects(OUTPUT) {
        state.common.writers.fetch_sub(1, Relaxed);
    }
    left
}

/// A thread that sleeps until the bell rings, or is about to. Dropped, as in a thread that is cancelled, it has got up without having heard it.
#[derive(Debug)]
pub struct Lying<'a> {
    stream: &'a Stream,
    want: PollFlags,
    /// If the thread has noted where it lies.
    frame: Option<usize>,
    rang: bool,
    /// It is to count what the kernel gives it.
    counts: bool,
}

impl Lying<'_> {
    /// The last to get up drains the bell, so that no sleeper is left behind with
    /// a bell that somebody else heard; until then the others are awake and on their way out. True if it `rang` and there are others.
    pub fn get_up(mut self, rang: bool) -> bool {
        self.rang = rang;
        let crowded = self.leave() > 0 && rang;
        std::mem::forget(self);
        crowded
    }

    /// What the kernel gave it is counted.
    pub fn counted(&mut self) {
        self.counts = false;
    }

    fn leave(&self) -> u32 {
        let Self { stream, want, frame, rang, counts } = *self;
        if counts {
            lose_count(&stream.state);
        }
        let is_counted = frame.is_none_or(|frame| {
            let take = |beds: &RefCell<Vec<Bed>>| {
                let mut beds = beds.try_borrow_mut().ok()?;
                let at = beds.iter().rposition(|bed| bed.frame == frame && std::ptr::eq(&*bed.state, &*stream.state))?;
                Some(beds.remove(at))
            };
            BEDS.try_with(take).ok().flatten().is_some()
        });
        if is_counted { stream.get_up(want, rang) } else { 0 }
    }
}

impl Drop for Lying<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Stream {
    /// Enters the state of one that sleeps until the bell rings: from here on nobody else drains
    /// the bell. Arms the flags. `frame` is an address in the frame of the wait.
    pub fn lie_down(&self, want: PollFlags, frame: usize) -> Lying<'_> {
        let (lying, _) = self.enter(want, frame);
        self.arm(want);
        lying
    }

    /// As [`Stream::lie_down`], for a thread that waits for nothing else. It sleeps in the set, if there is one; `fd` is a descriptor of the socket.
    pub(crate) fn lie_down_alone(&self, fd: BorrowedFd<'_>, want: PollFlags, frame: usize) -> (Lying<'_>, Option<Arc<Reserved>>) {
        let (lying, first) = self.enter(want, frame);
        let set = if first { self.set_alone(fd, want) } else { None };
        // Another that lies down from here on has the flag ask for the line's bell, which the set hears.
        if set.is_some() {
            self.arm_at_door(want)
        } else {
            self.arm(want)
        }
        (lying, set)
    }

    /// Whether a thread sleeps on the bell, or is on its way out.
    pub fn is_slept_on(&self) -> bool {
        !self.state.common.sleepers.if_none(|| {})
    }

    /// As [`Stream::lie_down`], before the flags are armed; and whether it is the first.
    pub(crate) fn enter(&self, want: PollFlags, frame: usize) -> (Lying<'_>, bool) {
        self.enter_as(want, frame, false)
    }

    /// As [`Stream::enter`], for a receive whose bytes are counted before the thread gets up.
    pub(crate) fn enter_to_count(&self, frame: usize) -> Lying<'_> {
        self.enter_as(INPUT, frame, true).0
    }

    fn enter_as(&self, want: PollFlags, frame: usize, counts: bool) -> (Lying<'_>, bool) {
        if want.intersects(OUTPUT) {
            self.state.common.writers.fetch_add(1, Relaxed);
        }
        let first = self.state.common.sleepers.enter();
        let note = |beds: &RefCell<Vec<Bed>>| {
            beds.try_borrow_mut().ok()?.push(Bed { frame, want, counts, state: self.state.clone() });
            Some(frame)
        };
        let frame = BEDS.try_with(note).ok().flatten();
        (Lying { stream: self, want, frame, rang: false, counts }, first)
    }

    /// Leaves that state. How many others are left.
    fn get_up(&self, want: PollFlags, rang: bool) -> u32 {
        let left = leave(&self.state, want, || {
            if rang {
                self.attend_to(Some(1));
            }
            // An epoll set may rest on the same flag. It is told below when the bell rang; if not, or if it is another process's, it
            // still counts on it.
            let sets = locked(&self.sets);
            if (rang || sets.is_empty())
                && self.state.common.forked.load(Relaxed) == 0
                && let Some(segment) = self.line()
            {
                segment.rx.disarm_reader();
            }
        });
        if rang {
            self.alert_sets();
            if left > 0 {
                rustix::thread::sched_yield();
            }
        }
        left
    }

    /// The bell keeps ringing, and no sleeper wakes: takes a message, if there is nothing for any sleeper. The flags are up before that is
    /// looked at, so what comes later rings again, and behind the message that is taken. One that has not got up in [`SLEEPERS_GRACE`], though the bell rang all
    /// the time and there is something for it, was killed or is stopped: its connection goes back to its socket.
    pub(crate) fn hush(&self) {
        if self.line().is_none() {
            return;
        }
        self.state.common.sleepers.alone(|| {
            // There is space mostly: nothing, where nobody waits for it.
            let wanted = if self.state.common.writers.load(Relaxed) == 0 { INPUT } else { INPUT | OUTPUT };
            let rings = ask_kernel(self.line_socket().as_fd(), PollFlags::IN).contains(PollFlags::IN);
            self.arm(wanted);
            if !rings || self.is_wanted_back() {
                return;
            }
            if !self.stirs(wanted) {
                self.attend_to(Some(0));
            } else if self.rings_on(now()) {
                let _ = self.late_sleepers.compare_exchange(0, 1, Relaxed, Relaxed);
            }
        });
    }

    /// The bell rings at `time`: whether it has so long that whoever runs has heard it, as no process of the family has taken any.
    fn rings_on(&self, time: u64) -> bool {
        let mark = self.counts.heard.load(Relaxed) + 1;
        if self.ringing.swap(mark, Relaxed) != mark {
            self.rings_since.store(time, Relaxed);
        }
        time.saturating_sub(self.rings_since.load(Relaxed)) > SLEEPERS_GRACE
    }

    /// A bell rang for an epoll set, which is told by edges and needn't drain; now and then
    /// somebody must, or the queue fills up and no further edge comes. Sleepers, and such as are counted so and never get up, are left one that they hear.
    pub fn heard_in_set(&self) {
        let sleepers = &self.state.common.sleepers;
        if !sleepers.if_none(|| self.attend()) {
            sleepers.alone(|| {
                let holds_several =
                    || rustix::io::ioctl_fionread(self.line_socket().as_fd()).is_ok_and(|bytes| bytes > LONGEST as u64);
                // A batch of descriptors may stay, and what lies behind it.
                while self.line_alive() && holds_several() && self.attend_to(Some(0)) {}
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        line,
        stream::{
            How,
            pair::{Asked, Ends, Itself, ends, quiet},
        },
        wait::{Kernel, Member, PollEntry, wait},
    };
    use rustix::io::Errno;
    use std::{
        io::{IoSlice, IoSliceMut},
        time::Duration,
    };

    fn nobody_lies(stream: &Stream) -> bool {
        stream.state.common.sleepers.if_none(|| {})
    }

    /// A byte comes while the server is armed, and is read.
    fn pass(ends: &Ends) {
        let ((client, x), (server, y)) = (&ends.client, &ends.server);
        server.arm(INPUT);
        assert_eq!(client.send(x.as_fd(), &[IoSlice::new(b"x")], &[]), Ok(1));
        let got = server.receive(y.as_fd(), &mut [IoSliceMut::new(&mut [0; 8])], How::default());
        assert_eq!(got.map(|got| got.bytes), Ok(1));
    }

    #[test]
    fn a_connection_whose_bytes_nobody_may_have_counted_stays_on_its_socket() {
        // A thread that is cancelled in the kernel's receive.
        let (cancelled, socket, _peer) = quiet();
        let unwinds = || cancelled.receive_waiting(socket.as_fd(), || std::panic::resume_unwind(Box::new(())));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(unwinds)).is_err());
        assert!(cancelled.is_plain());
        // One whose handler jumps out of it, and that waits again.
        let (left, socket, _peer) = quiet();
        std::mem::forget(left.enter_to_count(0));
        assert!(left.is_quiet());
        get_up_at_last(0);
        assert!(left.is_plain());
        // And one that has counted.
        let (counted, socket, _peer) = {
            drop((socket, _peer));
            quiet()
        };
        assert_eq!(counted.receive_waiting(socket.as_fd(), || Ok(1)), Some(Ok(1)));
        assert!(counted.is_quiet());
    }

    #[test]
    fn a_cancelled_thread_gets_up() {
        let ends = ends();
        let lying = ends.server.0.lie_down(INPUT, 1000);
        assert!(!nobody_lies(&ends.server.0));
        drop(lying);
        assert!(nobody_lies(&ends.server.0));
    }

    #[test]
    fn a_thread_that_has_jumped_away_gets_up_in_a_later_wait() {
        let ends = ends();
        let (server, client) = (&ends.server.0, &ends.client.0);
        let outer = client.lie_down(INPUT, 2000);
        std::mem::forget(server.lie_down(INPUT, 1000));
        get_up_at_last(999);
        assert!(!nobody_lies(server), "a signal handler waits");
        get_up_at_last(1000);
        assert!(nobody_lies(server) && !nobody_lies(client));
        // The wait that a signal handler of another stack has interrupted ends; another sleeper is not taken for it.
        let other = server.lie_down(INPUT, 500);
        get_up_at_last(2000);
        assert!(nobody_lies(server) && nobody_lies(client));
        let sleeper = server.lie_down(INPUT, 3000);
        assert!(!other.get_up(false) && !outer.get_up(false) && !nobody_lies(server));
        sleeper.get_up(false);
        assert!(nobody_lies(server));
    }

    #[test]
    fn a_wait_sleeps_beside_one_that_never_gets_up() {
        let ends = ends();
        let (server, fd) = (&ends.server.0, ends.server.1.as_fd());
        // Of a process of the family that was killed.
        server.state.common.sleepers.enter();
        pass(&ends);
        let mut kernel = Itself::default();
        let mut members = [Member { stream: server, fd, want: INPUT, got: PollFlags::empty() }];
        assert_eq!(wait(&mut members, &mut [], Some(Duration::from_millis(50)), &mut kernel), Ok(0));
        assert!(kernel.polls < 10, "{}", kernel.polls);
        // What comes then is heard.
        assert_eq!(ends.client.0.send(ends.client.1.as_fd(), &[IoSlice::new(b"x")], &[]), Ok(1));
        assert_eq!(wait(&mut members, &mut [], None, &mut kernel), Ok(1));
    }

    /// Of a process of the family that was killed: one that waited for space, and one that waited for bytes while another waits for space.
    #[test]
    fn a_connection_with_something_for_one_that_never_gets_up_goes_to_its_socket() {
        for (dead, live) in [(OUTPUT, INPUT), (INPUT, OUTPUT)] {
            let ends = ends();
            let ((client, x), (server, y)) = ((&ends.client.0, ends.client.1.as_fd()), (&ends.server.0, ends.server.1.as_fd()));
            pass(&ends);
            assert_eq!(server.send(y, &[IoSlice::new(&[0; 4096])], &[]), Ok(4096));
            std::mem::forget(server.lie_down(dead, 1000));
            // It is another thread's.
            BEDS.with(|beds| beds.borrow_mut().clear());
            // What it waited for comes; for the other nothing.
            if dead == OUTPUT {
                let got = client.receive(x, &mut [IoSliceMut::new(&mut [0; 4096])], How::default());
                assert_eq!(got.map(|got| got.bytes), Ok(4096));
            } else {
                assert_eq!(client.send(x, &[IoSlice::new(b"x")], &[]), Ok(1));
            }
            let begin = now();
            let mut slept = false;
            let mut kernel = Asked(|entries: &mut [PollEntry], timeout: Option<Duration>| {
                let found = Itself::default().poll(entries, Some(Duration::ZERO))?;
                slept = found == 0 && timeout != Some(Duration::ZERO);
                assert!(now() - begin < 60_000_000_000, "it looks and looks");
                if slept { Err(Errno::INTR) } else { Ok(found) }
            });
            let mut members = [Member { stream: server, fd: y, want: live, got: PollFlags::empty() }];
            let result = wait(&mut members, &mut [], None, &mut kernel);
            // On the socket there is room.
            assert_eq!(result, if live == OUTPUT { Ok(1) } else { Err(Errno::INTR) });
            assert!(slept == (live == INPUT) && !server.on_ring());
        }
    }

    #[test]
    fn what_there_is_for_a_sleeper_is_not_hushed() {
        let ends = ends();
        let server = &ends.server.0;
        let rings = || ask_kernel(server.line_socket().as_fd(), PollFlags::IN).contains(PollFlags::IN);
        pass(&ends);
        assert_eq!(ends.client.0.send(ends.client.1.as_fd(), &[IoSlice::new(b"x")], &[]), Ok(1));
        server.hush();
        assert!(rings());
        let got = server.receive(ends.server.1.as_fd(), &mut [IoSliceMut::new(&mut [0; 8])], How::default());
        assert_eq!(got.map(|got| got.bytes), Ok(1));
        server.hush();
        assert!(!rings());
    }

    #[test]
    fn an_epoll_set_beside_one_that_never_gets_up_keeps_hearing_edges() {
        let ends = ends();
        let server = &ends.server.0;
        server.state.common.sleepers.enter();
        let queued = || rustix::io::ioctl_fionread(server.line_socket().as_fd()).expect("a socket");
        for _ in 0..20 {
            (0..32).for_each(|_| pass(&ends));
            server.heard_in_set();
            assert!((1..=line::LONGEST as u64).contains(&queued()), "one is left, for a sleeper");
        }
    }
}
