//! Threads that wait, as the rest of the process sees them: which they are, what they wait for, and waking them.
//!
//! Of the threads that wait for messages one is the *leader*: it looks at the lines that were lately active (the
//! *hot* ones), first spinning and then asleep on their words. The others sleep on a word of their own and are
//! woken when a message for them is in a queue. All other lines, and the hot ones while receivers wait
//! without a leader, ring their bell, which the watcher hears.
//!
//! The waiting itself releases the lock, and is above it: see [`wait`](crate::wait).

pub use super::look::now;
use super::{
    Inner,
    later::Later,
    line::Line,
    look::{Outlook, look},
};
use crate::{
    settings,
    state::{PortId, SetId, SpaceId, port::Local},
};
use slab::Slab;
use slipway_fabric::{
    spin::{Habit, Outcome},
    sync::{AtomicU32, FutexWord, Ordering},
};
use smallvec::SmallVec;
use std::sync::Arc;

/// How many lines are looked at in one go whose bells the watcher may not have heard.
pub(super) const MANY: usize = 64;

/// How many lines receivers look at themselves.
pub const HOT: usize = 4;

/// A thread that waits.
#[derive(Debug)]
pub struct Waiter {
    /// 0 while it looks, [`WOKEN`] or [`ASLEEP`].
    pub(crate) word: FutexWord,
    /// Whether looking for what other threads of the process do is worth it.
    pub(crate) habit: Habit,
    /// The processor of the thread that woke it last, plus one; 0 before that.
    waker: AtomicU32,
}

/// The waiter has something to look at.
const WOKEN: u32 = 1;
/// The waiter sleeps on its word.
pub(crate) const ASLEEP: u32 = 2;

impl Waiter {
    /// One that has not waited yet.
    pub(crate) fn new() -> Self {
        Self { word: FutexWord::default(), habit: Habit::hopeful(), waker: AtomicU32::new(0) }
    }

    #[inline]
    pub(crate) fn is_woken(&self) -> bool {
        self.word.load(Ordering::Acquire) == WOKEN
    }

    /// Sleeps until it is woken, the time is over or a signal comes, which is told.
    pub(crate) fn sleep(&self, timeout_ns: Option<u64>) -> bool {
        self.word.claim(0, ASLEEP).is_ok() && FutexWord::wait_any(&[(&self.word, ASLEEP)], timeout_ns)
    }

    /// Whether and how it looks for what other threads of its process do, on the processor before `cpu`.
    pub(crate) fn outlook(&self, cpu: u32) -> Option<Outlook> {
        let waker = self.waker.load(Ordering::Relaxed);
        if waker == 0 || !(self.habit.trusts() || self.habit.spins(now())) {
            return None;
        }
        Some(if waker == cpu { Outlook::Yield } else { Outlook::Spin })
    }

    /// Looks before it sleeps, if it may be worth it. Whether it was woken.
    pub(crate) fn look(&self, deadline: Option<u64>) -> bool {
        if settings::spin_ns() > 0
            && let Some(outlook) = self.outlook(rustix::thread::sched_getcpu() as u32 + 1)
        {
            let outcome = look(outlook, deadline, &|| self.is_woken());
            self.habit.learn(outcome, if outcome == Outcome::Burnt { now() } else { 0 });
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
    /// Room in the queue of a port here.
    Room(PortId),
    /// Room on a line, or in the queue that it leads to.
    Line(u32),
    /// The end of a call in a [turn](slipway_fabric::turn::Turn).
    Turn(usize),
}

impl For {
    /// Whether a message is waited for.
    pub fn receives(&self) -> bool {
        matches!(self, Self::Port(_) | Self::Set(_))
    }
}

/// The threads that wait.
#[derive(Debug, Default)]
pub struct Waiting {
    /// Those that don't lead.
    pub(crate) list: Vec<(u32, For)>,
    /// The one that looks at the hot lines.
    pub(crate) leader: Option<(u32, For)>,
    /// The one line on whose word alone the leader sleeps.
    pub(crate) sleeps_on: Option<u32>,
    /// Every thread that ever waited and lives.
    pub(crate) threads: Slab<Arc<Waiter>>,
    /// Changes with the list of hot lines.
    pub(crate) epoch: u64,
}

impl Inner {
    /// Wakes a thread that waits for messages at the port.
    pub(crate) fn wake_receiver(&mut self, port: PortId) {
        let set = self.state.ports.get(port.0 as usize).and_then(|it| it.local()?.set);
        let waits = |what: &For| *what == For::Port(port) || set.is_some_and(|set| *what == For::Set(set));
        let asleep = |number: &u32| self.io.waiting.word(*number).is_some_and(|it| !it.is_woken());
        if let Some(number) =
            self.io.waiting.all().find(|(number, what)| waits(what) && asleep(number)).map(|(number, _)| *number)
        {
            self.wake(number);
        }
        self.tell_pollers(waits);
    }

    /// Wakes all threads that wait on the port in any way.
    pub(crate) fn wake_all_of(&mut self, port: PortId) {
        let set = self.state.ports.get(port.0 as usize).and_then(|it| it.local()?.set);
        let of = |what: &For| {
            matches!(what, For::Port(p) | For::Room(p) if *p == port) || set.is_some_and(|set| *what == For::Set(set))
        };
        self.wake_where(of);
        self.tell_pollers(of);
    }

    /// Wakes all threads that wait on the set.
    pub(crate) fn wake_all_of_set(&mut self, set: SetId) {
        self.wake_where(|what| *what == For::Set(set));
        self.io.pollables.retain(|pollable| pollable.what != For::Set(set));
    }

    /// Wakes senders that wait for room in the port's queue.
    pub(crate) fn wake_senders(&mut self, port: PortId) {
        self.wake_where(|what| *what == For::Room(port));
    }

    pub(crate) fn wake_where(&self, of: impl Fn(&For) -> bool) {
        let some = self.io.waiting.all().filter(|(_, what)| of(what));
        some.for_each(|(number, _)| self.wake(*number));
    }

    fn wake(&self, number: u32) {
        let waiting = &self.io.waiting;
        let Some(waiter) = waiting.word(number) else { return };
        waiter.waker.store(rustix::thread::sched_getcpu() as u32 + 1, Ordering::Relaxed);
        let asleep = waiter.word.swap(WOKEN, Ordering::AcqRel) == ASLEEP;
        let line = waiting.sleeps_on.filter(|_| waiting.leads(number));
        match line.and_then(|number| self.io.lines.get(number as usize)) {
            Some(line) => line.segment.rx.rouse_reader(),
            None if asleep => waiter.word.wake_all(),
            None => {}
        }
    }

    /// Wakes threads that wait for the end of a call in a turn.
    pub(crate) fn wake_turn(&self, key: usize) {
        self.wake_where(|what| *what == For::Turn(key));
    }

    /// Wakes the leader: the lines that it looks at are others now.
    fn wake_leader(&self) {
        if let Some((leader, _)) = self.io.waiting.leader {
            self.wake(leader);
        }
    }

    /// Wakes threads of this process that sleep on a line's own words: it is gone.
    pub(crate) fn wake_writers_of(&self, number: u32, line: &Line) {
        line.segment.rx.rouse_reader();
        self.wake_leader();
        self.wake_line_senders(number);
    }

    /// Wakes senders that wait for room on the line.
    pub(crate) fn wake_line_senders(&self, number: u32) {
        self.wake_where(|what| *what == For::Line(number));
    }

    /// Something came over a line that rings its bell: it is hot from now on.
    pub(crate) fn heat(&mut self, number: u32) {
        if self.io.hot.first() == Some(&number) {
            return;
        }
        let known = self.io.hot.contains(&number);
        self.io.waiting.epoch += 1;
        self.io.hot.retain(|hot| *hot != number);
        self.io.hot.insert(0, number);
        if !known {
            while self.io.hot.len() > HOT {
                if let Some(cold) = self.io.hot.pop() {
                    self.cool(cold);
                }
            }
            self.wake_leader();
        }
    }

    /// The line is gone, and looked at no more.
    pub(crate) fn forget_hot(&mut self, number: u32) {
        self.io.waiting.epoch += 1;
        self.io.hot.retain(|hot| *hot != number);
    }

    /// Has a line ring its bell for the next record, and takes what came before that.
    fn cool(&mut self, number: u32) {
        for _ in 0..4 {
            let Some(line) = self.io.lines.get(number as usize) else { return };
            line.segment.rx.arm_reader();
            if !line.segment.rx.readable(line.rx.head) {
                return;
            }
            line.segment.rx.disarm_reader();
            let before = line.rx.head;
            self.pump(number);
            if self.io.lines.get(number as usize).is_some_and(|line| line.rx.head == before) {
                // What is left can't be taken yet; the change that makes it possible rings.
                return;
            }
        }
        // The peer keeps writing.
        self.put_off(Later::Stir(number));
    }

    /// Has all lines ring their bells: no receiver looks at them from here on.
    pub(crate) fn cool_all(&mut self) {
        self.io.waiting.epoch += 1;
        while let Some(number) = self.io.hot.pop() {
            self.cool(number);
        }
    }

    /// Whether others may depend on the lines that a receiver looked at.
    #[inline(always)]
    pub(crate) fn others_wait(&self) -> bool {
        !self.io.pollables.is_empty() || !self.io.waiting.list.is_empty()
    }

    /// Called when a receiver is done: if others depend on the lines that it looked at, these ring.
    #[cold]
    pub(crate) fn hand_over(&mut self) {
        if self.io.waiting.leader.is_none() && !self.io.hot.is_empty() && (!self.io.pollables.is_empty() || self.receivers_wait())
        {
            self.cool_all();
        }
    }

    /// Takes what lies in lines whose bells the watcher has not heard yet; of many lines some.
    pub(crate) fn catch_up(&mut self) {
        let lines: SmallVec<[u32; 16]> = self
            .io
            .lines
            .iter()
            .filter(|(_, line)| line.segment.rx.readable(line.rx.head))
            .map(|(number, _)| number as u32)
            .take(MANY)
            .collect();
        for number in lines {
            self.pump(number);
        }
    }

    /// Whether a thread waits for requests on behalf of a task, or polls for them: at a port set, or at a port that others have or were given
    /// send rights for, as a port for replies alone has none.
    pub(crate) fn waits_for_requests(&self, space: SpaceId) -> bool {
        let of_task = |what: For| match what {
            For::Set(set) => self.state.sets.get(set.0 as usize).is_some_and(|set| set.holder.0 == space),
            For::Port(port) => self.state.ports.get(port.0 as usize).is_some_and(|port| {
                let owned = |receiver: Option<(SpaceId, u32)>| receiver.is_some_and(|(receiver, _)| receiver == space);
                let sent_to = |local: &Local| port.srights > 0 || local.abroad > 0 || local.mscount > 0;
                port.local().is_some_and(|local| owned(local.receiver) && sent_to(local))
            }),
            For::Room(_) | For::Line(_) | For::Turn(_) => false,
        };
        let polled = self.io.pollables.iter().map(|pollable| pollable.what);
        self.io.waiting.all().map(|(_, what)| *what).chain(polled).any(of_task)
    }

    fn receivers_wait(&self) -> bool {
        self.io.waiting.list.iter().any(|(_, what)| what.receives())
    }
}

impl Waiting {
    /// Whether a thread looks at the hot lines.
    pub(super) fn is_led(&self) -> bool {
        self.leader.is_some()
    }

    /// Every thread that waits. The leader comes last: waking it stops no other thread's looking.
    fn all(&self) -> impl Iterator<Item = &(u32, For)> {
        self.list.iter().chain(&self.leader)
    }

    fn leads(&self, number: u32) -> bool {
        self.leader.is_some_and(|(leader, _)| leader == number)
    }

    fn word(&self, number: u32) -> Option<&Waiter> {
        self.threads.get(number as usize).map(|waiter| &**waiter)
    }

    /// The thread waits no more.
    pub(crate) fn forget(&mut self, number: u32) {
        self.list.retain(|(other, _)| *other != number);
    }
}
