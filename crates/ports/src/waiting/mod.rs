//! Threads that wait, as the rest of the process sees them: which they are, what they wait for, and waking them.
//!
//! Of the threads that wait for messages one is the *leader*: it looks at the lines that were lately active (the
//! *hot* ones), first spinning and then asleep on their words. The others sleep on a word of their own and are
//! woken when a message for them is in a queue. All other lines, and the hot ones while receivers wait
//! without a leader, ring their bell, which the watcher hears.
//!
//! The waiting itself releases the lock, and is above it: see [`wait`](crate::wait).

mod event;
mod pollable;

use crate::{
    dialect::Dialect,
    line::table::Lines,
    settings, signals,
    state::{LineId, PortId, Serial, SetId, SpaceId},
};
use event::Event;
use slab::Slab;
use slipway_fabric::{
    spin::{SpinHistory, SpinStrategy, look, processor},
    sync::{AtomicU32, FutexWord, Mutex, Ordering},
};
use smallvec::SmallVec;
use std::{cell::Cell, sync::Arc};

/// How many lines receivers look at themselves.
pub const HOT: usize = 4;

/// How many messages are taken off the line that was last active before the others are looked at.
const IN_A_ROW: u32 = 8;

/// How long a thread sleeps between two looks where nothing can wake it, in nanoseconds.
pub(crate) const GLANCE: u64 = 1_000_000;

/// The longest sleep on an event, in nanoseconds: nothing wakes a thread on one that the program has closed.
const LONGEST: u64 = 2_000_000_000;

/// The largest message that a sender hands to a waiting thread, in bytes.
pub const HANDED: usize = 256;

/// A thread that waits.
#[derive(Debug)]
pub struct Waiter {
    /// 0 while it looks, [`WOKEN`], [`HAS_MESSAGE`], [`ASLEEP`] or [`POLLS`].
    pub(crate) word: FutexWord,
    /// What it polls where signals are to end its sleep, made when it is first needed.
    event: Mutex<Option<Arc<Event>>>,
    /// The message that a sender has handed to it. Nobody waits for this lock: a thread has it before it sets
    /// [`HAS_MESSAGE`], and the other after it has seen that.
    handed: Mutex<Handed>,
    /// Whether looking for what other threads of the process do is worth it.
    pub(crate) history: SpinHistory,
    /// The processor of the thread that woke it last, plus one; 0 before that.
    waker: AtomicU32,
}

/// The waiter has something to look at.
const WOKEN: u32 = 1;
/// The waiter sleeps on its word.
pub(crate) const ASLEEP: u32 = 2;
/// The waiter sleeps on its event.
const POLLS: u32 = 4;
/// The waiter has its message, and is in no list any more.
const HAS_MESSAGE: u32 = 3;

/// A message as its receiver gets it.
#[derive(Debug)]
struct Handed {
    size: usize,
    bytes: [u8; HANDED],
}

impl Waiter {
    /// One that has not waited yet.
    pub(crate) fn new() -> Self {
        let handed = Mutex::new(Handed { size: 0, bytes: [0; HANDED] });
        Self {
            word: FutexWord::default(),
            event: Mutex::default(),
            handed,
            history: SpinHistory::hopeful(),
            waker: AtomicU32::new(0),
        }
    }

    #[inline]
    pub(crate) fn is_woken(&self) -> bool {
        matches!(self.word.load(Ordering::Acquire), WOKEN | HAS_MESSAGE)
    }

    #[inline]
    pub(crate) fn has_message(&self) -> bool {
        self.word.load(Ordering::Acquire) == HAS_MESSAGE
    }

    /// Copies the message that was handed to it, which [fits](Wait::takes).
    pub(crate) fn copy_message(&self, to: &mut [u8]) {
        let handed = self.handed.lock();
        to[..handed.size].copy_from_slice(&handed.bytes[..handed.size]);
    }

    /// Sleeps until it is woken, the time is over or a signal comes. Not with the lock held.
    pub(crate) fn sleep(&self, timeout_ns: Option<u64>) {
        match signals::are_held() {
            false => self.sleep_on(&[(&self.word, ASLEEP)], timeout_ns),
            true => self.poll(timeout_ns),
        }
    }

    /// As [`Waiter::sleep`], where signals are not [held](signals::are_held), on several words, the waiter's own among them.
    pub(crate) fn sleep_on(&self, words: &[(&FutexWord, u32)], timeout_ns: Option<u64>) {
        if self.word.claim(0, ASLEEP).is_ok() {
            FutexWord::wait_any(words, timeout_ns);
        }
    }

    /// What it polls, if it has that, and the program has not closed it as far as is known.
    fn event(&self) -> Option<Arc<Event>> {
        self.event.lock().clone().filter(|event| event.is_open())
    }

    /// Whether it has to look now and then where signals are to end its sleep, for want of an event.
    pub(crate) fn lacks_event(&self) -> bool {
        self.event().is_none()
    }

    /// Makes it an event. There is a watcher, which finds out when the program has closed it.
    pub(crate) fn make_event(&self) {
        if let Ok(event) = Event::new() {
            let old = self.event.lock().replace(Arc::new(event));
            drop(old);
        }
    }

    /// As [`Waiter::sleep`], where a signal that came before it ends it, too.
    fn poll(&self, timeout_ns: Option<u64>) {
        let event = self.event();
        if self.word.claim(0, POLLS).is_err() {
            return;
        }
        let at_most = |longest: u64| Some(timeout_ns.map_or(longest, |timeout| timeout.min(longest)));
        let Some(event) = event else {
            let _ = signals::sleep(None, at_most(GLANCE));
            return;
        };
        let ready = signals::sleep(Some(event.polled()), at_most(LONGEST));
        if ready.is_ok_and(|ready| ready > 0) && !event.drain() {
            // The program has closed it, and the number is ready for something else.
            let _ = signals::sleep(None, at_most(GLANCE));
        }
    }

    /// How it looks for what other threads of its process do, on the processor `own`.
    pub(crate) fn strategy(&self, own: u32) -> SpinStrategy {
        let waker = self.waker.load(Ordering::Relaxed);
        if waker == 0 || !self.history.spins() { SpinStrategy::Sleep } else { SpinStrategy::between(own, waker) }
    }

    /// Looks before it sleeps, if it may be worth it. Whether it was woken.
    pub(crate) fn look(&self, deadline: Option<u64>) -> bool {
        let longest = settings::spin_ns();
        let strategy = if longest > 0 { self.strategy(processor()) } else { SpinStrategy::Sleep };
        if strategy != SpinStrategy::Sleep {
            self.history.learn(look(strategy, longest, deadline, || self.is_woken()));
        }
        self.is_woken()
    }
}

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// A message at a port.
    Port(PortId),
    /// A message at a member of a set.
    Set(SetId),
    /// A queue of a port here that is not full.
    NotFull(PortId),
    /// Free space on the line with that index, or credit.
    Line(u32),
    /// The end of a call in the [turn](slipway_fabric::turn::Turn) with that key.
    Turn(u32),
}

impl For {
    /// Whether a message is waited for.
    pub fn receives(&self) -> bool {
        matches!(self, Self::Port(_) | Self::Set(_))
    }
}

/// Picks what a thread waits for that gets messages of a port, which is a member of those sets.
pub(crate) fn receivers(port: PortId, sets: SmallVec<[SetId; 1]>) -> impl Fn(&For) -> bool {
    move |what| *what == For::Port(port) || matches!(what, For::Set(set) if sets.contains(set))
}

/// A thread's wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    /// Its number.
    pub thread: u32,
    /// What it waits for.
    pub what: For,
    /// The space that gets the rights of a message that a sender hands to the thread.
    pub space: SpaceId,
    /// The most bytes of such a message; 0 if there may be none.
    pub takes: u32,
    /// How it is to look.
    pub dialect: Dialect,
}

impl Wait {
    /// That of a thread that is handed nothing.
    pub(crate) fn of_nothing(thread: u32, what: For) -> Self {
        Self { thread, what, space: SpaceId(0), takes: 0, dialect: Dialect::Typed }
    }
}

/// A port or set that a program polls.
#[derive(Debug)]
pub struct Pollable {
    /// What is polled.
    pub what: For,
    /// The serial of that when the descriptor was asked for.
    pub since: Serial,
    /// Readable while there may be a message.
    event: Event,
    /// Whether it is readable.
    told: Cell<bool>,
    /// Whether nobody polls it for now: lines need not ring their bells for it.
    pub rests: bool,
    /// Whether it is a port in a set: its messages come to the set's receivers alone.
    pub in_set: bool,
}

impl Pollable {
    fn hears(&self) -> bool {
        !self.rests && !self.in_set
    }
}

/// The threads that wait.
#[derive(Debug, Default)]
pub struct Waiting {
    /// Those that don't lead.
    pub(crate) list: Vec<Wait>,
    /// The one that looks at the hot lines.
    pub(crate) leader: Option<Wait>,
    /// The one line on whose word alone the leader sleeps.
    pub(crate) sleeps_on: Option<LineId>,
    /// Every thread that ever waited and lives.
    pub(crate) threads: Slab<Arc<Waiter>>,
    /// Changes with the list of hot lines.
    pub(crate) epoch: u64,
    /// The lines that receivers look at themselves, most recently active first.
    pub(crate) hot: Vec<LineId>,
    /// Receives since the other hot lines were last looked at.
    in_a_row: u32,
    /// Threads that are suspended. The one that looks at lines may be among them, so all lines ring their bells.
    pub(crate) stopped: usize,
    /// Ports and sets that programs poll.
    pub(crate) pollables: Vec<Pollable>,
}

impl Waiting {
    /// Wakes one thread that waits for messages at what `of` picks, and tells those that poll for it.
    pub(crate) fn wake_one(&self, lines: &Lines, of: impl Fn(&For) -> bool) {
        if let Some(wait) = self.all().find(|wait| of(&wait.what) && self.is_asleep(wait.thread)) {
            self.wake(lines, wait.thread, WOKEN);
        }
        self.tell_pollers(of);
    }

    /// A thread that waits for messages at what `of` picks, and has room to be handed one that has that size in its dialect; its space, and its
    /// dialect. Not a leader that sleeps on a line's word, or is about to: the next leader would put it to sleep again.
    pub(crate) fn taker(&self, size: impl Fn(Dialect) -> usize, of: impl Fn(&For) -> bool) -> Option<(u32, SpaceId, Dialect)> {
        let takes = |wait: &&Wait| size(wait.dialect) <= wait.takes as usize && of(&wait.what) && self.is_asleep(wait.thread);
        let leader = self.leader.iter().filter(|_| self.sleeps_on.is_none());
        self.list.iter().chain(leader).find(takes).map(|wait| (wait.thread, wait.space, wait.dialect))
    }

    /// Hands a message of `size` bytes to the thread, which waits no more.
    pub(crate) fn hand(&mut self, lines: &Lines, thread: u32, size: usize, write: impl FnOnce(&mut [u8])) {
        if let Some(waiter) = self.word(thread) {
            let mut handed = waiter.handed.lock();
            handed.size = size;
            write(&mut handed.bytes[..size]);
        }
        self.wake(lines, thread, HAS_MESSAGE);
        match self.leads(thread) {
            true => self.leader = None,
            false => self.forget(thread),
        }
    }

    /// Wakes all threads that wait for what `of` picks.
    pub(crate) fn wake_where(&self, lines: &Lines, of: impl Fn(&For) -> bool) {
        self.all().filter(|wait| of(&wait.what)).for_each(|wait| self.wake(lines, wait.thread, WOKEN));
    }

    fn wake(&self, lines: &Lines, number: u32, word: u32) {
        let Some(waiter) = self.word(number) else { return };
        waiter.waker.store(processor(), Ordering::Relaxed);
        let was = waiter.word.swap(word, Ordering::AcqRel);
        let line = self.sleeps_on.filter(|_| self.leads(number));
        match line.and_then(|id| lines.get(id)) {
            Some(line) => line.segment.rx.rouse_reader(),
            None if was == ASLEEP => waiter.word.wake_all(),
            None if was == POLLS => {
                if let Some(event) = waiter.event() {
                    event.tell();
                }
            }
            None => {}
        }
    }

    /// Wakes the leader: the lines that it looks at are others now.
    pub(crate) fn wake_leader(&self, lines: &Lines) {
        if let Some(leader) = self.leader {
            self.wake(lines, leader.thread, WOKEN);
        }
    }

    /// The line was active: it is the first that a receiver looks at. Gives back a line that is not looked at any more, and has to ring
    /// its bell again.
    pub(crate) fn heat(&mut self, lines: &Lines, id: LineId) -> Option<LineId> {
        if self.hot.first() == Some(&id) {
            return None;
        }
        let known = self.hot.contains(&id);
        self.epoch += 1;
        self.hot.retain(|hot| *hot != id);
        self.hot.insert(0, id);
        if known {
            return None;
        }
        self.wake_leader(lines);
        if self.hot.len() > HOT { self.hot.pop() } else { None }
    }

    /// A message is about to be received, with several hot lines: the first of them. Now and then another one that has something becomes that: a sender
    /// that never pauses keeps no others out.
    #[inline(never)]
    pub(crate) fn take_turns(&mut self, lines: &Lines) -> LineId {
        self.in_a_row += 1;
        if self.in_a_row >= IN_A_ROW {
            self.in_a_row = 0;
            let is_readable = |id: &LineId| lines.get(*id).is_some_and(|line| line.segment.rx.readable(line.rx.head));
            if let Some(next) = self.hot.iter().skip(1).position(is_readable) {
                self.hot.rotate_left(next + 1);
            }
        }
        self.hot[0]
    }

    /// The line is gone, and looked at no more.
    pub(crate) fn forget_hot(&mut self, id: LineId) {
        self.epoch += 1;
        self.hot.retain(|hot| *hot != id);
    }

    /// Whether others may depend on the lines that a receiver looked at.
    #[inline(always)]
    pub(crate) fn others_wait(&self) -> bool {
        !self.list.is_empty() || self.is_polled()
    }

    /// Whether others depend on the lines that a receiver looked at, which looks no more: no thread leads.
    pub(crate) fn needs_bells(&self) -> bool {
        let receivers_wait = || self.list.iter().any(|wait| wait.what.receives());
        self.leader.is_none() && !self.hot.is_empty() && (self.is_polled() || receivers_wait())
    }

    /// Whether a program polls for messages, and does not look for them itself.
    #[inline(always)]
    fn is_polled(&self) -> bool {
        !self.pollables.is_empty() && self.pollables.iter().any(Pollable::hears)
    }

    /// Everything that is waited or polled for.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = For> {
        self.all().map(|wait| wait.what).chain(self.pollables.iter().map(|pollable| pollable.what))
    }

    /// Whether a thread looks at the hot lines.
    pub(crate) fn is_led(&self) -> bool {
        self.leader.is_some()
    }

    /// Every thread that waits. The leader comes last: waking it stops no other thread's looking.
    fn all(&self) -> impl Iterator<Item = &Wait> {
        self.list.iter().chain(&self.leader)
    }

    fn leads(&self, number: u32) -> bool {
        self.leader.is_some_and(|leader| leader.thread == number)
    }

    /// Whether the thread was not woken yet.
    fn is_asleep(&self, number: u32) -> bool {
        self.word(number).is_some_and(|it| !it.is_woken())
    }

    fn word(&self, number: u32) -> Option<&Waiter> {
        self.threads.get(number as usize).map(|waiter| &**waiter)
    }

    /// The thread waits no more.
    pub(crate) fn forget(&mut self, number: u32) {
        self.list.retain(|wait| wait.thread != number);
    }
}
