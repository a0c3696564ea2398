//! Waits against a model: random operations on both ends of a hooked connection and of a plain socketpair, with
//! interest in input and output coming and going. A wait for which the model has something ends at once, without
//! sleeping; one for which it has nothing ends when the other end has done what ends it on the socketpair, with the same answer.
//!
//! A life's seed is in every message. WAITS_SEED sets the first.

mod early;
mod uncounted;

use std::{
    fmt::Debug,
    ops::Range,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use libc::{EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD, EPOLLET, EPOLLIN, EPOLLONESHOT, EPOLLOUT, EPOLLRDHUP, POLLIN, POLLOUT};

use slipway_test_support::Dice;

use crate::support::{
    Connection, Fd, Server, begins_on_ring,
    calls::{call, errno, good, poll, read_once, set_nonblocking, write_all},
    hooked, hooked_with,
    watchdog::{Step, at_step, doing},
};

/// Steps in a life: more than a line's socket holds bells.
const STEPS: usize = 12_000;

/// The call that epoll_wait(2) makes, where it has its own.
pub const EPOLL_WAIT: libc::c_long = if cfg!(target_arch = "x86_64") { 232 } else { libc::SYS_epoll_pwait };

/// The call that poll(2) makes, where it has its own.
const POLL: libc::c_long = if cfg!(target_arch = "x86_64") { 7 } else { libc::SYS_ppoll };

/// What the program has registered with its descriptors.
const DATA: u64 = 7;

/// Uses of a connection after which it moves to its ring: more than there are.
const NEVER: &str = "1000000";

/// How long a wait goes on that nothing ends, in milliseconds.
const PATIENCE: i32 = 60_000;

/// A way to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Poll(i16),
    Select(i16),
    Epoll,
    /// For the epoll set's descriptor, by poll(2).
    Set,
}

/// An end of one of the two connections, with an epoll set.
#[derive(Debug, Clone, Copy)]
struct End {
    fd: Fd,
    set: Fd,
}

impl End {
    fn new(fd: Fd) -> Self {
        set_nonblocking(fd, true);
        Self { fd, set: good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd }
    }

    /// What the wait answers, in poll(2)'s bits; None if the time passed.
    fn wait(self, how: How, timeout: i32) -> Option<u32> {
        match how {
            How::Poll(events) => {
                poll(&[(self.fd, events)], timeout).expect("poll").first().map(|r| *r as u32).filter(|r| *r != 0)
            }
            How::Select(events) => self.select(events, timeout),
            How::Set => poll(&[(self.set, POLLIN)], timeout).expect("poll").first().map(|r| *r as u32).filter(|r| *r != 0),
            How::Epoll => {
                let mut event = libc::epoll_event { events: 0, u64: 0 };
                let count = good(call!(epoll_wait(self.set, &raw mut event, 1, timeout)));
                let data = event.u64;
                assert!(count == 0 || data == DATA, "an event that the program did not ask for: {data}");
                (count == 1).then_some(event.events)
            }
        }
    }

    fn select(self, events: i16, timeout: i32) -> Option<u32> {
        // SAFETY: sets of zeros are empty.
        let mut sets: [libc::fd_set; 2] = unsafe { std::mem::zeroed() };
        for (set, event) in sets.iter_mut().zip([POLLIN, POLLOUT]) {
            if events & event != 0 {
                call!(FD_SET(self.fd, set));
            }
        }
        let mut time = libc::timeval { tv_sec: i64::from(timeout / 1000), tv_usec: i64::from(timeout % 1000) * 1000 };
        let [read, write] = &mut sets;
        let count = good(call!(select(self.fd + 1, read, write, std::ptr::null_mut(), &raw mut time)));
        let answers = sets.iter().zip([POLLIN, POLLOUT]);
        (count > 0)
            .then(|| answers.filter(|(set, _)| call!(FD_ISSET(self.fd, *set))).fold(0, |all, (_, event)| all | event as u32))
    }

    fn control(self, operation: i32, events: u32) -> i32 {
        let mut event = libc::epoll_event { events, u64: DATA };
        if call!(epoll_ctl(self.set, operation, self.fd, &raw mut event)) == 0 { 0 } else { errno() }
    }

    /// Sends until there is no space.
    fn fill(self) {
        let bytes = [7; 4096];
        while call!(write(self.fd, bytes.as_ptr().cast(), bytes.len())) > 0 {}
        assert_eq!(errno(), libc::EAGAIN);
    }

    /// Receives until there is nothing; how much it was.
    fn drain(self) -> usize {
        let mut sum = 0;
        loop {
            match read_once(self.fd, 1 << 16) {
                got if got.value > 0 => sum += got.bytes.len(),
                got if got.value == 0 => return sum,
                got => {
                    assert_eq!(got.errno, libc::EAGAIN);
                    return sum;
                }
            }
        }
    }
}

/// A thread that waits.
struct Waiter {
    jobs: Sender<(End, How)>,
    answers: Receiver<Option<u32>>,
    thread: i64,
}

impl Waiter {
    fn new() -> Self {
        let (jobs, work) = channel::<(End, How)>();
        let (done, answers) = channel();
        let (tell, told) = channel();
        thread::spawn(move || {
            tell.send(call!(syscall(libc::SYS_gettid))).expect("told");
            while let Ok((end, how)) = work.recv() {
                let _ = done.send(end.wait(how, PATIENCE));
            }
        });
        Self { jobs, answers, thread: told.recv().expect("its number") }
    }

    /// Waits until the thread sleeps in the wait that it was given.
    fn until_asleep(&self) {
        let path = format!("/proc/self/task/{}/syscall", self.thread);
        let waits = [POLL, libc::SYS_ppoll, EPOLL_WAIT, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2].map(|n| n.to_string());
        loop {
            let now = std::fs::read_to_string(&path).expect("a thread's state");
            if waits.iter().any(|wait| now.split(' ').next() == Some(wait)) {
                return;
            }
            thread::yield_now();
        }
    }
}

/// Times that this thread went to sleep.
fn sleeps() -> i64 {
    // SAFETY: plain integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    good(call!(getrusage(libc::RUSAGE_THREAD, &raw mut usage)));
    usage.ru_nvcsw
}

struct Life {
    seed: u64,
    dice: Dice,
    /// Of the hooked connection, and of the model.
    worlds: [[End; 2]; 2],
    registered: [Option<u32>; 2],
    /// Bytes on their way from each end.
    unread: [usize; 2],
    waiter: Waiter,
}

impl Life {
    /// Does the same in both worlds; the answers must be equal.
    #[track_caller]
    fn both<T: PartialEq + Debug>(&mut self, end: usize, act: impl Fn(End) -> T) -> T {
        let [hooked, model] = self.worlds.map(|ends| act(ends[end]));
        assert_eq!(hooked, model, "hooked, model (seed {})", self.seed);
        model
    }

    fn send(&mut self, end: usize) {
        let length = 1 + self.dice.below(600);
        if self.unread[end] + length > 2500 {
            return self.drain(1 - end);
        }
        self.both(end, |end| call!(write(end.fd, [5_u8; 600].as_ptr().cast(), length)));
        self.unread[end] += length;
    }

    fn receive(&mut self, end: usize) {
        let space = 1 + self.dice.below(900);
        let got = self.both(end, |end| read_once(end.fd, space));
        self.unread[1 - end] -= got.value.max(0) as usize;
    }

    fn drain(&mut self, end: usize) {
        for ends in self.worlds {
            ends[end].drain();
        }
        self.unread[1 - end] = 0;
    }

    /// Adds, changes or takes out a registration.
    fn register(&mut self, end: usize, events: Option<u32>) {
        let operation = match (self.registered[end], events) {
            (_, None) => EPOLL_CTL_DEL,
            (None, Some(_)) => EPOLL_CTL_ADD,
            (Some(_), Some(_)) if self.dice.below(3) == 0 => {
                self.both(end, |end| end.control(EPOLL_CTL_DEL, 0));
                EPOLL_CTL_ADD
            }
            (Some(_), Some(_)) => EPOLL_CTL_MOD,
        };
        self.both(end, |end| end.control(operation, events.unwrap_or(0)));
        // What is there already, or isn't, is said so; and nothing changes by it.
        if self.dice.below(8) == 0 {
            let wrong = if events.is_some() { EPOLL_CTL_ADD } else { EPOLL_CTL_MOD };
            self.both(end, |end| end.control(wrong, EPOLLIN as u32));
        }
        self.registered[end] = events;
    }

    fn any_registration(&mut self, end: usize) {
        let conditions = self.dice.of(&[EPOLLIN, EPOLLOUT, EPOLLIN | EPOLLOUT, EPOLLIN | EPOLLRDHUP, 0]);
        let mode = self.dice.of(&[0, 0, 0, EPOLLET, EPOLLONESHOT, EPOLLET | EPOLLONESHOT]);
        self.register(end, Some((conditions | mode) as u32));
    }

    fn how(&mut self) -> How {
        let events = self.dice.of(&[POLLIN, POLLOUT, POLLIN | POLLOUT]);
        // A program that only ever waits in epoll leaves the bells that it hears in their queue.
        match self.dice.below(4) {
            0 if self.seed.is_multiple_of(2) => How::Poll(events),
            1 if self.seed.is_multiple_of(2) => How::Select(events),
            2 if self.seed.is_multiple_of(3) => How::Set,
            _ => How::Epoll,
        }
    }

    fn wait(&mut self, end: usize) {
        let how = self.how();
        let [hooked, model] = self.worlds.map(|ends| ends[end]);
        let registered = self.registered[end].unwrap_or(0);
        let edge = matches!(how, How::Epoll | How::Set) && registered & EPOLLET as u32 != 0;
        if let Some(events) = model.wait(how, 0) {
            if edge {
                // The kernel reports some edges that no program can count on: see `property`.
                self.register(end, self.registered[end]);
                model.wait(how, 0);
            }
            // Once it may have slept for a lock of the kernel's.
            let sleeps_again = (0..2).all(|_| {
                let before = sleeps();
                assert_eq!(hooked.wait(how, PATIENCE), Some(events), "{how:?} of {registered:#x} (seed {})", self.seed);
                let slept = sleeps() != before;
                self.agree(end, how, registered);
                slept
            });
            assert!(!sleeps_again, "slept with {events:#x} to report, {how:?} (seed {})", self.seed);
        } else if !edge {
            assert_eq!(hooked.wait(how, 0), None, "{how:?} of {registered:#x} (seed {})", self.seed);
        }
    }

    /// Where a report used something up, both worlds begin again.
    fn agree(&mut self, end: usize, how: How, registered: u32) {
        if how == How::Epoll && registered & (EPOLLET | EPOLLONESHOT) as u32 != 0 {
            self.register(end, Some(registered));
        }
    }

    /// A wait that sleeps until something is done.
    fn wake(&mut self, end: usize) {
        let other = 1 - end;
        let way = self.dice.below(4);
        let how = self.how();
        let mode = self.dice.of(&[0, 0, EPOLLET, EPOLLONESHOT]);
        // To wait for space, there must be none.
        let output = way == 0;
        let (interest, events) = if output { (POLLOUT, EPOLLOUT) } else { (POLLIN, EPOLLIN) };
        let how = match how {
            How::Poll(_) => How::Poll(interest),
            How::Select(_) => How::Select(interest),
            How::Epoll | How::Set => how,
        };
        self.drain(end);
        if output {
            for ends in self.worlds {
                ends[end].fill();
            }
        }
        self.register(end, Some((events | mode) as u32));
        let [hooked, model] = self.worlds.map(|ends| ends[end]);
        assert_eq!(model.wait(how, 0), None, "the model waits (seed {})", self.seed);
        if self.dice.below(2) == 0 {
            assert_eq!(hooked.wait(how, 0), None, "{how:?} for {events:#x} (seed {})", self.seed);
        }
        self.waiter.jobs.send((hooked, how)).expect("the thread waits");
        match self.dice.below(3) {
            0 => self.waiter.until_asleep(),
            1 => (0..self.dice.below(50)).for_each(|_| thread::yield_now()),
            _ => {}
        }
        let mut again = self.registered[end];
        match way {
            0 => self.drain(other),
            // What another thread asks for counts for one that sleeps.
            1 if matches!(how, How::Epoll | How::Set) => {
                again = Some((EPOLLIN | EPOLLOUT | mode) as u32);
                self.both(end, |end| end.control(EPOLL_CTL_MOD, (EPOLLIN | EPOLLOUT | mode) as u32));
                self.registered[end] = again;
            }
            _ => self.send(other),
        }
        let expected = model.wait(how, 0);
        assert!(expected.is_some(), "the model is woken, {how:?} (seed {})", self.seed);
        let answer = self.waiter.answers.recv_timeout(Duration::from_millis(PATIENCE as u64 + 2000));
        assert_ne!(answer, Err(RecvTimeoutError::Timeout), "{how:?} hangs (seed {})", self.seed);
        assert_eq!(answer, Ok(expected), "{how:?} for {events:#x}, by way {way} (seed {})", self.seed);
        if output {
            self.unread[end] = 0;
        }
        self.agree(end, how, again.unwrap_or(0));
    }

    /// Blocking calls, with the other end's in a thread.
    fn block(&mut self, end: usize) {
        self.drain(end);
        self.drain(1 - end);
        let [hooked, other] = [self.worlds[0][end].fd, self.worlds[0][1 - end].fd];
        set_nonblocking(hooked, false);
        if self.dice.below(2) == 0 {
            let reader = thread::spawn(move || read_once(hooked, 100));
            write_all(other, b"wake");
            assert_eq!(reader.join().expect("reads").bytes, b"wake", "seed {}", self.seed);
        } else {
            let length = 30_000 + self.dice.below(60_000);
            let writer = thread::spawn(move || write_all(hooked, &vec![9; length]));
            let mut left = length;
            while left > 0 {
                poll(&[(other, POLLIN)], -1).expect("poll");
                left -= read_once(other, 5000).value.max(0) as usize;
            }
            writer.join().expect("writes");
        }
        set_nonblocking(hooked, true);
    }

    fn go_on(mut self, steps: usize) {
        for step in 0..steps {
            at_step(step);
            let end = self.dice.below(2);
            match self.dice.below(40) {
                0..8 => self.send(end),
                8..14 => self.receive(end),
                14..19 => self.any_registration(end),
                19 if self.registered[end].is_some() => self.register(end, None),
                20..32 => self.wait(end),
                32..39 => self.wake(end),
                39 if self.seed.is_multiple_of(2) => self.block(end),
                _ => {}
            }
        }
        let end = self.dice.below(2);
        self.end(end);
    }

    /// The end of it: an end is shut down or closed while the other waits.
    fn end(mut self, end: usize) {
        let other = 1 - end;
        self.drain(end);
        self.drain(other);
        self.register(end, Some((EPOLLIN | EPOLLRDHUP) as u32));
        let how = self.dice.of(&[How::Poll(POLLIN), How::Select(POLLIN), How::Epoll]);
        let [hooked, model] = self.worlds.map(|ends| ends[end]);
        self.waiter.jobs.send((hooked, how)).expect("the thread waits");
        if self.dice.below(2) == 0 {
            self.waiter.until_asleep();
        }
        if self.dice.below(2) == 0 {
            self.both(other, |end| call!(shutdown(end.fd, libc::SHUT_WR)));
        } else {
            self.both(other, |end| call!(close(end.fd)));
        }
        let answer = self.waiter.answers.recv_timeout(Duration::from_millis(PATIENCE as u64 + 2000));
        assert_eq!(answer, Ok(model.wait(how, 0)), "{how:?} at the end (seed {})", self.seed);
        self.both(end, |end| read_once(end.fd, 10));
        for end in self.worlds.as_flattened() {
            call!(close(end.fd));
            call!(close(end.set));
        }
    }
}

fn live(server: &Server, seed: u64) {
    let _step = Step::begin("a life of waits");
    doing(format!("seed {seed}"));
    let begin = if begins_on_ring() { Server::connection } else { Server::fresh_connection };
    let hooked = std::mem::ManuallyDrop::new(begin(server));
    let model = std::mem::ManuallyDrop::new(Connection::plain());
    let life = Life {
        seed,
        dice: Dice::new(seed),
        worlds: [[hooked.client, hooked.server], [model.client, model.server]].map(|ends| ends.map(End::new)),
        registered: [None; 2],
        unread: [0; 2],
        waiter: Waiter::new(),
    };
    life.go_on(STEPS);
}

fn lives(seeds: Range<u64>) {
    let first = std::env::var("WAITS_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(seeds.start);
    let server = if std::env::var_os("SLIPWAY_SOCKETS").is_none() {
        Server::listen()
    } else {
        Server::listen_at(format!("\0slipway-waits-{}", std::process::id()).as_bytes())
    };
    for seed in first..first + (seeds.end - seeds.start) {
        live(&server, seed);
    }
}

#[test]
fn every_wait_ends_when_a_sockets_would() {
    hooked(|| lives(1..6));
}

#[test]
fn and_on_any_socket() {
    hooked_with(&[("SLIPWAY_SOCKETS", "+@slipway-waits-*")], || lives(50..54));
}

#[test]
fn every_wait_ends_without_spinning_too() {
    hooked_with(&[("SLIPWAY_X11_STAGE", "2b")], || lives(100..102));
}

/// Each wait is as it was before the connection moves to its ring, and afterwards.
#[test]
fn every_wait_ends_when_the_ring_comes_late() {
    for after in ["3", "40", "2000", NEVER] {
        hooked_with(&[("SLIPWAY_X11_AFTER", after)], || lives(200..202));
    }
}

#[test]
#[ignore = "long: many lives"]
fn every_wait_of_many_lives() {
    hooked(|| lives(1000..1060));
}
