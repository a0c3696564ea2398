//! Waiting on a set: look at the active streams, spin, wait for a time, sleep.

use super::{EpollSet, Event, Poller, State, Tag, borrow, entry::Entry};
use crate::{
    ports::office::DIRECTLY,
    settings::{Settings, Stage},
    stream::{Won, locked, now},
    wait::{longest_spin, may_spin},
};
use rustix::{
    event::{PollFlags, epoll},
    io::Errno,
};
use slipway_fabric::spin::{Outcome, SpinStrategy, Spinner, processor};
use std::{
    os::fd::{AsFd, RawFd},
    time::Duration,
};

/// Between two looks at the kernel's part of a set while rings keep the program busy, in nanoseconds, where one stream alone
/// has had the program's attention. A look costs as much as a quarter of a round trip; a wake-up as long as this.
const GLANCE: u64 = 40_000;

/// As [`GLANCE`], for a stream in company.
const GLANCE_IN_COMPANY: u64 = 5_000;

/// A wait for the next batch of a flow that is longer than this, in nanoseconds, is worth a timed wait.
const LONG: u64 = 8_000;

/// For so long, in nanoseconds, after somebody else had an event a stream has company.
const COMPANY: u64 = 20_000_000;

/// Bells that a stream's sets leave in the line's queue, which holds some 270: a bell that finds no place there is no edge.
const UNHEARD: u32 = 32;

/// One wait as it goes on.
struct Course {
    /// The time of the last look at the clock, if that is not long ago.
    time: Option<u64>,
    deadline: Option<u64>,
    won: Won,
    /// Whether the stream that stirs was waited for, and for long.
    waited: Option<bool>,
    timed: bool,
}

impl EpollSet {
    /// epoll_wait(2): appends at most `max` events to `out`.
    pub fn wait(&self, out: &mut Vec<Event>, max: usize, timeout: Option<Duration>, poller: Poller<'_>) -> Result<(), Errno> {
        let mut course = Course { time: None, deadline: None, won: Won::Looking, waited: None, timed: false };
        let mut timed = false;
        let mut scratch = Vec::new();
        loop {
            let mut state = locked(&self.state);
            self.catch_up(&mut state);
            let office = state.office.clone();
            office.iter().for_each(|office| if self.is_nested() { office.collect_watched() } else { office.collect() });
            // A wait that was won knows the time: reading it again would make the answer late.
            let time = course.time.take().unwrap_or_else(now);
            self.gather(&mut state, out, max, &course, time);
            if !timed {
                timed = true;
                course.deadline = timeout.map(|t| time.saturating_add(u64::try_from(t.as_nanos()).unwrap_or(u64::MAX)));
            }
            let expired = course.deadline.is_some_and(|d| time >= d);
            if !out.is_empty() && (out.len() >= max || time.wrapping_sub(state.glanced) < state.glance(time)) {
                return Ok(());
            }
            if !out.is_empty() || expired {
                // Nobody on a ring keeps the others waiting: the kernel's part has its turn.
                state.glanced = time;
                drop(state);
                scratch.clear();
                let asked = max - out.len();
                let result = poller(&mut scratch, asked, Some(Duration::ZERO));
                let mut state = locked(&self.state);
                state.note_glance(time, result.is_ok() && scratch.len() < asked);
                self.sort(&mut state, &scratch, out);
                if out.is_empty() {
                    result?;
                    self.gather(&mut state, out, max, &course, time);
                }
                return Ok(());
            }
            let wait = if course.timed || !may_spin() { None } else { state.timed_wait(time) };
            let flowing = wait.is_some();
            if course.won == Won::Looking && !flowing {
                let stirred = self.spin(&mut state, course.deadline, poller, &mut scratch, out, max)?;
                if !out.is_empty() {
                    return Ok(());
                }
                if stirred.is_some() {
                    course.won = Won::Spinning;
                    course.waited = stirred.map(|at| at.saturating_sub(time) > LONG);
                    course.time = stirred;
                    continue;
                }
            }
            if let Some(office) = &office
                && course.won == Won::Looking
                && state.may_wait_directly(time, course.deadline)
            {
                drop(state);
                if office.wait() {
                    course.won = Won::Spinning;
                    continue;
                }
                state = locked(&self.state);
            }
            office.iter().for_each(|office| office.lie_down());
            let ready = if flowing { !state.arm_timed() } else { !self.lie_down(&mut state) };
            course.timed |= flowing;
            if ready {
                office.iter().for_each(|office| office.get_up());
                continue;
            }
            let remaining = course.deadline.map(|d| Duration::from_nanos(d.saturating_sub(now())));
            let wait = wait.map(Duration::from_nanos);
            let remaining = wait.map_or(remaining, |wait| Some(remaining.unwrap_or(wait).min(wait)));
            scratch.clear();
            let result = self.sleepers.sleep(state, || poller(&mut scratch, max, remaining));
            office.iter().for_each(|office| office.get_up());
            let mut state = locked(&self.state);
            if flowing {
                state.wake_up();
            }
            let told = result.is_ok() && scratch.len() < max;
            result?;
            state.note_glance(now(), told);
            self.sort(&mut state, &scratch, out);
            course.won = Won::Sleeping;
            course.waited = flowing.then_some(true);
            if !out.is_empty() {
                let time = state.glanced;
                self.gather(&mut state, out, max, &course, time);
                return Ok(());
            }
        }
    }

    /// Reports of the active streams, beginning with another one each time.
    fn gather(&self, state: &mut State, out: &mut Vec<Event>, max: usize, course: &Course, time: u64) {
        let count = state.active.len();
        if count == 0 {
            return;
        }
        state.turn = state.turn.wrapping_add(1);
        let company = state.glanced < state.company_until;
        let vouched = state.vouched;
        let mut retired = Vec::new();
        let mut dormant = 0;
        for i in 0..count {
            if out.len() >= max {
                break;
            }
            let fd = state.active[(state.turn + i) % count];
            let Some(entry) = state.entry(fd) else { continue };
            if entry.dormant {
                dormant += 1;
            } else if entry.stream.is_plain() && !entry.rests() {
                retired.push(fd);
            } else if let Some(event) = entry.report() {
                out.push(event);
                entry.stream.count_wait(course.won);
                entry.learn_flow(course.waited, course.won == Won::Looking, time);
                entry.take_turn(company);
                if !entry.stream.needs_kernel() {
                    entry.stream.vouch(vouched);
                }
                if state.last_reported.replace(fd).is_some_and(|last| last != fd) {
                    state.company_until = time.saturating_add(COMPANY);
                }
            }
        }
        // A program that takes a stream out mostly adds it again before it waits.
        if 2 * dormant > count {
            state.drop_dormant();
        }
        for fd in retired {
            self.retire(state, fd);
        }
    }

    /// Hands a stream that is back on its socket to the kernel, as the program registered it.
    pub(super) fn retire(&self, state: &mut State, fd: RawFd) {
        if let Some(entry) = self.take_out(state, fd) {
            let flags = epoll::EventFlags::from_bits_retain(entry.events);
            let _ = borrow(fd, |fd| self.register(fd, flags, entry.data));
        }
    }

    /// The program's among events that the kernel reported to a wait of its own, which began before the set had streams.
    pub fn sift(&self, events: &[Event]) -> Vec<Event> {
        let mut out = Vec::new();
        self.sort(&mut locked(&self.state), events, &mut out);
        out
    }

    /// Sorts the kernel's events into the program's, which go out, and ours.
    fn sort(&self, state: &mut State, events: &[Event], out: &mut Vec<Event>) {
        let mut company = false;
        for event in events {
            if !(state.first_tag < event.data && event.data <= state.next_tag) {
                // Nearly always, of a server with many clients: neither looked up nor timed one by one.
                out.push(*event);
                company = company || !state.is_alone(event.data);
                continue;
            }
            match state.tags.get(&event.data).cloned() {
                // Of a stream that another thread has just taken out.
                None => {}
                Some(Tag::Kick) => {
                    let _ = rustix::io::read(self.kick.load().as_fd(), &mut [0u8; 8]);
                }
                // Its messages are taken at every turn.
                Some(Tag::Office) => {}
                Some(Tag::Hub(hub)) => hub.upgrade().iter().for_each(|hub| hub.serve()),
                Some(Tag::Socket(fd)) => {
                    if let Some(entry) = state.entry(fd) {
                        entry.kernel_news = true;
                        entry.stream.note_socket_event();
                        state.activate(fd);
                    }
                }
                Some(Tag::Line(fd)) => {
                    if let Some(entry) = state.entry(fd) {
                        let bells = entry.stream.count_bell();
                        let hang_up = event.events & u32::from(PollFlags::HUP.bits()) != 0;
                        // At stage one a bell comes with every write, and a full queue gives no edges.
                        let answer = entry.stream.is_undecided();
                        if hang_up || answer || bells.is_multiple_of(UNHEARD) || Settings::get().stage == Stage::One {
                            entry.stream.heard_in_set();
                        }
                        // What the bell is for may be known to the kernel only (a return to the socket).
                        entry.kernel_news |= entry.stream.needs_kernel();
                        let copied = entry.stream.is_copied();
                        if !entry.stream.is_undecided() {
                            self.take_over(state, fd);
                        }
                        state.activate(fd);
                        if copied {
                            state.activate_twins(fd);
                        }
                    }
                }
            }
        }
        if company {
            state.company_until = now().saturating_add(COMPANY);
        }
    }

    /// Spins while it may win. The time when a stream stirs, or the kernel's part has events for `out`.
    fn spin(
        &self,
        state: &mut State,
        deadline: Option<u64>,
        poller: Poller<'_>,
        scratch: &mut Vec<Event>,
        out: &mut Vec<Event>,
        max: usize,
    ) -> Result<Option<u64>, Errno> {
        if state.active.is_empty() || !may_spin() {
            return Ok(None);
        }
        let own = processor();
        let strategy = state.busy().filter(|e| !e.rests()).map(|e| e.stream.strategy(own)).max();
        let strategy = strategy.unwrap_or(SpinStrategy::Sleep);
        let Some(longest) = self.spins.longest(longest_spin()).filter(|_| strategy != SpinStrategy::Sleep) else {
            return Ok(None);
        };
        let mut spinner = Spinner::new(strategy, longest, deadline);
        loop {
            if let Some(outcome) = spinner.round(|| state.busy().any(Entry::stirs)) {
                self.spins.learn_how(outcome, spinner.spent(), longest_spin());
                let stirring = outcome == Outcome::Won || outcome == Outcome::Burnt && state.busy().any(Entry::stirs);
                return Ok(stirring.then_some(spinner.time()));
            }
            let time = spinner.time();
            if time.wrapping_sub(state.glanced) >= state.glance(time) {
                scratch.clear();
                poller(scratch, max, Some(Duration::ZERO))?;
                state.note_glance(time, scratch.len() < max);
                if !scratch.is_empty() {
                    self.sort(state, scratch, out);
                    return Ok(Some(time));
                }
            }
        }
    }

    /// Arms the active streams and lets them rest. False if one of them stirs after all.
    fn lie_down(&self, state: &mut State) -> bool {
        let mut stirring = false;
        for fd in std::mem::take(&mut state.active) {
            let Some(entry) = state.entry(fd) else { continue };
            if !entry.rests() {
                entry.stream.arm(entry.rings_for());
            }
            if entry.stirs() {
                entry.stream.disarm();
                stirring = true;
                state.active.push(fd);
            } else if entry.stream.office().is_some() {
                // No bell of its own would tell of it.
                state.active.push(fd);
            } else {
                entry.active = false;
            }
        }
        !stirring
    }
}

impl State {
    /// Whether what the kernel reported under `data` is the set's only stream, before it was taken over: it is not its own company.
    fn is_alone(&self, data: u64) -> bool {
        let mut entries = self.entries.iter().flatten();
        matches!((entries.next(), entries.next()), (Some(entry), None) if entry.data == data)
    }

    /// The dormant streams are active no longer.
    fn drop_dormant(&mut self) {
        for fd in std::mem::take(&mut self.active) {
            match self.entry(fd) {
                Some(entry) if entry.dormant => entry.active = false,
                _ => self.active.push(fd),
            }
        }
    }

    /// The kernel's part was looked at: `told` if there was room for all that it had to tell.
    fn note_glance(&mut self, time: u64, told: bool) {
        self.glanced = time;
        if told {
            self.vouched = time;
        }
    }

    /// How long the kernel's part may wait for a look.
    fn glance(&self, time: u64) -> u64 {
        if time < self.company_until { GLANCE_IN_COMPANY } else { GLANCE }
    }

    /// Whether to wait for messages at ports before all else: if nothing else had an event lately, and the deadline is not near.
    fn may_wait_directly(&self, now: u64, deadline: Option<u64>) -> bool {
        now >= self.company_until && deadline.is_none_or(|deadline| deadline > now + DIRECTLY.as_nanos() as u64)
    }

    /// How long a timed wait may last, in nanoseconds: if all that is active flows, from senders that need other processors
    /// than this one.
    fn timed_wait(&self, now: u64) -> Option<u64> {
        let shortest = self.busy().map(|entry| entry.timed_wait(now)).min()??;
        let own = processor();
        self.busy().all(|entry| entry.stream.strategy(own) == SpinStrategy::Spin).then_some(shortest)
    }

    /// Asks the senders of the active streams to ring only when their ring is half full or they
    /// wait themselves. False if one of the streams stirs after all.
    fn arm_timed(&self) -> bool {
        self.busy().for_each(|entry| entry.stream.arm_lazily());
        let stirring = self.busy().any(Entry::stirs);
        if stirring {
            self.busy().for_each(|entry| entry.stream.disarm());
        }
        !stirring
    }

    /// After a timed wait: looks at the active streams again. One with nothing new no longer flows.
    fn wake_up(&mut self) {
        for fd in self.active.clone() {
            if let Some(entry) = self.entry(fd) {
                entry.stream.disarm();
                if !entry.stirs() {
                    entry.ran_dry();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::entry::EDGE, *};
    use crate::stream::{
        How, ask_kernel,
        pair::{age, asked, ends},
    };
    use std::{
        io::{IoSlice, IoSliceMut},
        os::fd::AsRawFd,
        sync::Arc,
    };

    #[test]
    fn what_the_kernel_has_no_news_of_is_not_asked_for_again() {
        let ends = ends();
        let (client, fd) = (&Arc::new(ends.client.0), ends.client.1.as_fd());
        let (server, peer) = (&ends.server.0, ends.server.1.as_fd());
        for (stream, fd) in [(&**client, fd), (server, peer)] {
            assert_eq!(stream.send(fd, &[IoSlice::new(b"a")], &[]), Ok(1));
        }
        let epfd = epoll::create(epoll::CreateFlags::CLOEXEC).expect("a set");
        let set = EpollSet::new(epfd.as_raw_fd()).expect("a set");
        // With room for two, when the kernel has so many.
        let wait = |found: usize| {
            let mut out = Vec::new();
            let mut kernel = |events: &mut Vec<Event>, _, _| {
                events.extend((0..found).map(|_| Event { events: 1, data: 1 }));
                Ok(())
            };
            assert_eq!(set.wait(&mut out, 2, Some(Duration::ZERO), &mut kernel), Ok(()));
            out
        };
        assert_eq!(wait(2).len(), 2);
        assert_eq!(locked(&set.state).vouched, 0, "there may be more");
        assert_eq!(wait(1).len(), 1);
        assert_ne!(locked(&set.state).vouched, 0);
        set.add(fd.as_raw_fd(), client, libc::EPOLLIN as u32, 7).expect("room");
        let come = [Event { events: libc::EPOLLIN as u32, data: 7 }];
        let turn = |vouched| {
            age(client, true);
            locked(&set.state).vouched = vouched;
            assert_eq!(wait(0), come);
            let mut bytes = [0; 8];
            assert_eq!(client.receive(fd, &mut [IoSliceMut::new(&mut bytes)], How::default()).map(|got| got.bytes), Ok(1));
            assert_eq!(server.send(peer, &[IoSlice::new(b"b")], &[]), Ok(1));
        };
        // When it is new it is looked at.
        turn(0);
        for (vouched, answers) in [(now(), [Err(Errno::AGAIN), Ok(1)]), (0, [Ok(0), Err(Errno::PIPE)])] {
            turn(vouched);
            assert_eq!(client.receive(fd, &mut [IoSliceMut::new(&mut [0; 8])], How::default()).map(|got| got.bytes), Ok(1));
            assert_eq!(asked(client), answers);
            assert_eq!(server.send(peer, &[IoSlice::new(b"b")], &[]), Ok(1));
        }
    }

    #[test]
    fn a_bell_for_space_rings_for_a_set_that_lacked_it() {
        let ends = ends();
        let (client, fd) = (&Arc::new(ends.client.0), ends.client.1.as_fd());
        let (server, peer) = (&ends.server.0, ends.server.1.as_fd());
        let epfd = epoll::create(epoll::CreateFlags::CLOEXEC).expect("a set");
        let set = EpollSet::new(epfd.as_raw_fd()).expect("a set");
        set.add(fd.as_raw_fd(), client, libc::EPOLLIN as u32 | libc::EPOLLOUT as u32 | EDGE, 7).expect("room");
        let wait = || {
            let mut out = Vec::new();
            assert_eq!(set.wait(&mut out, 2, Some(Duration::ZERO), &mut |_, _, _| Ok(())), Ok(()));
            out.iter().map(|event| event.events).collect::<Vec<_>>()
        };
        let rings = || ask_kernel(client.line_socket().as_fd(), PollFlags::IN).contains(PollFlags::IN);
        let read = || server.receive(peer, &mut [IoSliceMut::new(&mut [0; 8192])], How::default()).map(|got| got.bytes);
        let space = [libc::EPOLLOUT as u32];
        assert_eq!(wait(), space, "at first");
        // The server opens its ring, too.
        assert_eq!((client.send(fd, &[IoSlice::new(b"a")], &[]), read()), (Ok(1), Ok(1)));
        assert!(set.lie_down(&mut locked(&set.state)), "nothing is new");
        assert_eq!((client.send(fd, &[IoSlice::new(b"b")], &[]), read(), rings()), (Ok(1), Ok(1), false));
        assert!(wait().is_empty());
        // One thread finds no space while another sleeps in the set.
        assert!(set.lie_down(&mut locked(&set.state)));
        let full = [IoSlice::new(&[0; 5000])];
        assert_eq!((client.send(fd, &full, &[]), client.send(fd, &full, &[])), (Ok(4096), Err(Errno::AGAIN)));
        assert_eq!((read(), rings()), (Ok(4096), true));
        client.attend();
        set.alert(client);
        assert_eq!(wait(), space);
        // It sends less than all, and waits without asking for more.
        assert!(set.lie_down(&mut locked(&set.state)));
        assert_eq!(client.send(fd, &full, &[]), Ok(4096));
        assert!(wait().is_empty());
        assert!(set.lie_down(&mut locked(&set.state)));
        assert_eq!((read(), rings()), (Ok(4096), true));
        set.alert(client);
        assert_eq!(wait(), space);
    }

    #[test]
    fn a_read_that_ends_with_its_turn_is_not_the_last() {
        let ends = ends();
        let (client, fd) = (&ends.client.0, ends.client.1.as_fd());
        let (server, peer) = (&Arc::new(ends.server.0), ends.server.1.as_fd());
        let read = || server.receive(peer, &mut [IoSliceMut::new(&mut [0; 8192])], How::default()).map(|got| got.bytes);
        assert_eq!((client.send(fd, &[IoSlice::new(b"a")], &[]), read()), (Ok(1), Ok(1)));
        let epfd = epoll::create(epoll::CreateFlags::CLOEXEC).expect("a set");
        let set = EpollSet::new(epfd.as_raw_fd()).expect("a set");
        set.add(peer.as_raw_fd(), server, libc::EPOLLIN as u32 | EDGE, 7).expect("room");
        let reports = || {
            let mut out = Vec::new();
            assert_eq!(set.wait(&mut out, 2, Some(Duration::ZERO), &mut |_, _, _| Ok(())), Ok(()));
            out.len()
        };
        assert_eq!((client.send(fd, &[IoSlice::new(&[0; 4000])], &[]), reports()), (Ok(4000), 1));
        server.allot(1000);
        assert_eq!(read(), Ok(1000));
        assert!(!set.lie_down(&mut locked(&set.state)));
        assert_eq!(reports(), 1, "there is more");
        server.allot(1000);
        assert_eq!([read(), read(), read()], [Ok(1000), Err(Errno::AGAIN), Ok(2000)]);
        assert_eq!(reports(), 0, "it has read on unasked");
        assert!(set.lie_down(&mut locked(&set.state)));
    }
}
