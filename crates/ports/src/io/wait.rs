//! Threads that wait: for a message, for room in a queue, for room on a line.
//!
//! Of the threads that wait for messages one is the *leader*: it looks at the lines that were lately active (the
//! *hot* ones), first spinning and then asleep on their words. The others sleep on a word of their own and are
//! woken when a message for them is in a queue. All other lines, and the hot ones when nobody leads
//! although somebody waits, ring their bell, which the watcher hears.

mod lead;
mod room;

pub use super::look::now;
use super::{
    Inner,
    later::Later,
    line::Line,
    look::{Outlook, look},
};
use crate::{
    process::{Guard, Process},
    settings,
    state::{Home, PortId, SetId, SpaceId, port::Local},
};
pub use lead::for_message;
pub use room::{for_line, for_room, for_socket, for_turn};
use slab::Slab;
use slipway_fabric::{
    ring::Ring,
    spin::{Habit, Outcome},
    sync::{AtomicU32, FutexWord, Ordering},
};
use smallvec::SmallVec;
use std::{cell::Cell, sync::Arc};

/// How many lines are looked at in one go whose bells the watcher may not have heard.
pub(super) const MANY: usize = 64;

/// How many lines receivers look at themselves.
pub const HOT: usize = 4;

/// A thread that waits.
#[derive(Debug)]
pub struct Waiter {
    /// 0 while it looks, [`WOKEN`] or [`ASLEEP`].
    word: FutexWord,
    /// Whether looking for what other threads of the process do is worth it.
    habit: Habit,
    /// The processor of the thread that woke it last, plus one; 0 before that.
    waker: AtomicU32,
}

/// Somebody has something for the waiter.
const WOKEN: u32 = 1;
/// The waiter sleeps on its word.
const ASLEEP: u32 = 2;

impl Waiter {
    fn is_woken(&self) -> bool {
        self.word.load(Ordering::Acquire) == WOKEN
    }

    /// Sleeps until it is woken, the time is over or a signal comes, which is told.
    fn sleep(&self, timeout_ns: Option<u64>) -> bool {
        self.word.claim(0, ASLEEP).is_ok() && FutexWord::wait_any(&[(&self.word, ASLEEP)], timeout_ns)
    }

    /// Whether and how it looks for what other threads of its process do, on the processor before `cpu`.
    fn outlook(&self, cpu: u32) -> Option<Outlook> {
        let waker = self.waker.load(Ordering::Relaxed);
        if waker == 0 || !(self.habit.trusts() || self.habit.spins(now())) {
            return None;
        }
        Some(if waker == cpu { Outlook::Yield } else { Outlook::Spin })
    }

    /// Looks before it sleeps, if it may be worth it. Whether it was woken.
    fn look(&self, deadline: Option<u64>) -> bool {
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

/// Who waits.
#[derive(Debug, Default)]
pub struct Waiting {
    /// Those who don't lead.
    list: Vec<(u32, For)>,
    /// The one that looks at the hot lines.
    leader: Option<(u32, For)>,
    /// The one line on whose word alone the leader sleeps.
    dozes_on: Option<u32>,
    /// Every thread that ever waited and lives.
    threads: Slab<Arc<Waiter>>,
    /// Changes with the list of hot lines.
    epoch: u64,
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// There is something on a line.
    Stirred,
    /// Somebody woke the thread: anything may have changed.
    Look,
    /// The time is over.
    TimedOut,
    /// A signal came.
    Interrupted,
}

/// What a thread keeps between its waits.
#[derive(Debug)]
struct Me {
    process: &'static Process,
    /// Its number among the process's waiters.
    number: u32,
    waiter: Arc<Waiter>,
    /// The hot lines, as of `epoch`, and how far each was read when the wait began.
    epoch: u64,
    rings: Vec<(u32, Ring, u64)>,
    /// Whether the last wait was won by spinning: then the next begins with it.
    eager: bool,
    /// Whether it may look before it sleeps at all.
    looks: bool,
}

impl Me {
    /// This thread, as the process knows it.
    #[inline(always)]
    fn get(guard: &mut Guard<'_>) -> Box<Self> {
        let me = match ME.with(|slot| slot.0.take()) {
            Some(me) if std::ptr::eq(me.process, guard.process()) => me,
            other => Self::new(guard, other),
        };
        me.waiter.word.store(0, Ordering::Relaxed);
        me
    }

    /// Keeps it for the thread's next wait.
    #[inline(always)]
    fn keep(self: Box<Self>) {
        if let Some(other) = ME.with(|slot| slot.0.replace(Some(self))) {
            other.discard();
        }
    }

    /// One that a signal handler made, which waited in the midst of another wait. Its number stays taken.
    #[cold]
    fn discard(self: Box<Self>) {}

    #[cold]
    fn new(guard: &mut Guard<'_>, _of_parent: Option<Box<Self>>) -> Box<Self> {
        let waiter = Arc::new(Waiter { word: FutexWord::default(), habit: Habit::hopeful(), waker: AtomicU32::new(0) });
        let number = guard.io.waiting.threads.insert(Arc::clone(&waiter)) as u32;
        Box::new(Self {
            process: guard.process(),
            number,
            waiter,
            epoch: u64::MAX,
            rings: Vec::new(),
            eager: false,
            looks: settings::spin_ns() > 0,
        })
    }

    /// Takes note of the hot lines as they are now.
    #[inline(always)]
    fn note(&mut self, inner: &Inner) {
        match &mut self.rings[..] {
            [(number, _, head)] if self.epoch == inner.io.waiting.epoch => *head = looked_at(inner, *number),
            _ => self.note_all(inner),
        }
    }

    #[cold]
    fn note_all(&mut self, inner: &Inner) {
        if self.epoch == inner.io.waiting.epoch {
            self.rings.iter_mut().for_each(|(number, _, head)| *head = looked_at(inner, *number));
            return;
        }
        self.epoch = inner.io.waiting.epoch;
        self.rings.clear();
        self.rings.extend(inner.io.hot.iter().filter_map(|number| {
            let line = inner.io.lines.get(*number as usize)?;
            Some((*number, line.segment.rx.clone(), line.looked_at()))
        }));
    }

    /// Lowers the flags of the lines that it slept on. One that was cooled meanwhile is to ring its bell.
    #[cold]
    fn disarm(&self, inner: &Inner) {
        for (_, ring, _) in self.rings.iter().filter(|(number, ..)| inner.io.hot.contains(number)) {
            ring.disarm_reader();
        }
    }

    #[inline]
    fn stirs(&self) -> bool {
        self.rings.iter().any(|(_, ring, head)| ring.readable(*head)) || self.waiter.is_woken()
    }
}

/// How far a line was read.
#[inline(always)]
fn looked_at(inner: &Inner, number: u32) -> u64 {
    inner.io.lines.get(number as usize).map_or(0, Line::looked_at)
}

/// Takes a thread that ends out of its process's list.
#[derive(Default)]
struct Slot(Cell<Option<Box<Me>>>);

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(me) = self.0.take().filter(|me| std::ptr::eq(me.process, Process::get())) {
            me.process.lock().io.waiting.threads.try_remove(me.number as usize);
        }
    }
}

thread_local! {
    static ME: Slot = Slot::default();
}

/// In a forked child: forgets what the calling thread kept of its parent's waits. Its lines are not mapped here, and
/// what lies at their addresses may be the child's own before long.
pub(crate) fn leave_all() {
    std::mem::forget(ME.with(|slot| slot.0.take()));
}

impl Inner {
    /// Wakes whoever waits for messages at the port.
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

    /// Wakes everybody who waits on the port in any way.
    pub(crate) fn wake_all_of(&mut self, port: PortId) {
        let set = self.state.ports.get(port.0 as usize).and_then(|it| it.local()?.set);
        let of = |what: &For| {
            matches!(what, For::Port(p) | For::Room(p) if *p == port) || set.is_some_and(|set| *what == For::Set(set))
        };
        self.wake_where(of);
        self.tell_pollers(of);
        // What polls finds no receive right then. Its number may become another port's.
        if !self.state.ports.get(port.0 as usize).is_some_and(|it| matches!(it.home, Home::Here(_))) {
            self.io.pollables.retain(|pollable| pollable.what != For::Port(port));
        }
    }

    /// Wakes everybody who waits on the set.
    pub(crate) fn wake_all_of_set(&mut self, set: SetId) {
        self.wake_where(|what| *what == For::Set(set));
        self.io.pollables.retain(|pollable| pollable.what != For::Set(set));
    }

    /// Wakes senders that wait for room in the queue.
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
        let line = waiting.dozes_on.filter(|_| waiting.leads(number));
        match line.and_then(|number| self.io.lines.get(number as usize)) {
            Some(line) => line.segment.rx.rouse_reader(),
            None if asleep => waiter.word.wake_all(),
            None => {}
        }
    }

    /// Wakes the leader, whoever it is: the lines that it looks at are others now.
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

    /// Wakes whoever waits for room on the line.
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

    /// The line is gone: nobody looks at it any more.
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
            self.pump(number, None);
            if self.io.lines.get(number as usize).is_some_and(|line| line.rx.head == before) {
                // What is left can't be taken yet; whoever makes it so rings.
                return;
            }
        }
        // It does not end.
        self.put_off(Later::Stir(number));
    }

    /// Has all lines ring their bells: nobody looks at them from here on.
    pub(crate) fn cool_all(&mut self) {
        self.io.waiting.epoch += 1;
        while let Some(number) = self.io.hot.pop() {
            self.cool(number);
        }
    }

    /// Whether anybody else may depend on the lines that a receiver looked at.
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
            self.pump(number, None);
        }
    }

    /// Whether somebody waits for requests on behalf of a task: at a port set, or at a port that others have or were given
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

    /// Everybody who waits. The leader comes last: waking it stops nobody's looking but its own.
    fn all(&self) -> impl Iterator<Item = &(u32, For)> {
        self.list.iter().chain(&self.leader)
    }

    fn leads(&self, number: u32) -> bool {
        self.leader.is_some_and(|(leader, _)| leader == number)
    }

    fn word(&self, number: u32) -> Option<&Waiter> {
        self.threads.get(number as usize).map(|waiter| &**waiter)
    }

    fn forget(&mut self, number: u32) {
        self.list.retain(|(other, _)| *other != number);
    }
}

#[inline(always)]
fn overdue(ended: Ended, waiter: &Waiter, deadline: Option<u64>) -> Ended {
    match ended {
        _ if waiter.is_woken() => Ended::Look,
        Ended::Look if deadline.is_none_or(|deadline| now() < deadline) => Ended::Stirred,
        Ended::Look => Ended::TimedOut,
        ended => ended,
    }
}

#[inline]
fn remaining(deadline: Option<u64>) -> Option<u64> {
    deadline.map(|deadline| deadline.saturating_sub(now()))
}
