//! What a thread keeps between its waits, and why a wait ends.

use crate::{
    at_end::AtEnd,
    dispatch::Inner,
    lock::{Guard, Process},
    settings, signals,
    state::LineId,
    waiting::Waiter,
};
use slipway_fabric::spin::now;
use slipway_fabric::{
    ring::{Ring, RxCursor},
    sync::Ordering,
};
use std::{cell::Cell, ffi::c_void, mem::ManuallyDrop, sync::Arc};

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// There is something on a line.
    Stirred,
    /// The thread was woken: anything may have changed.
    Look,
    /// The time is over.
    TimedOut,
}

/// A sender has handed a message to the thread that waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HasMessage;

/// What a thread keeps between its waits.
#[derive(Debug)]
pub(super) struct Me {
    pub process: &'static Process,
    /// Its number among the process's waiters.
    pub number: u32,
    pub waiter: Arc<Waiter>,
    /// The hot lines, as of `epoch`.
    pub epoch: u64,
    pub rings: Vec<Watched>,
    /// Whether the last wait was won by spinning: then the next begins with it.
    pub eager: bool,
    /// Whether it may look before it sleeps at all.
    pub looks: bool,
}

/// A hot line, while a wait lasts.
#[derive(Debug)]
pub(super) struct Watched {
    pub line: LineId,
    pub ring: Ring,
    /// How far it was read when the wait began.
    pub head: u64,
    /// The position at the front of the ring's area.
    base: u64,
    /// The bytes of the record before.
    last: u64,
}

impl Me {
    /// This thread, as the process knows it.
    #[inline(always)]
    pub fn get(guard: &mut Guard<'_>) -> Box<Self> {
        let me = match ME.take().map(ManuallyDrop::into_inner) {
            Some(me) if std::ptr::eq(me.process, guard.process()) => me,
            other => Self::new(guard, other),
        };
        me.waiter.word.store(0, Ordering::Relaxed);
        me
    }

    /// Takes the lock after a wait, if no sender has handed a message to the thread: then nothing knows of the wait any more.
    #[inline]
    pub fn lock<'a>(&self) -> Result<Guard<'a>, HasMessage> {
        if !self.waiter.has_message() {
            let guard = self.process.lock();
            if !self.waiter.has_message() {
                return Ok(guard);
            }
        }
        Err(HasMessage)
    }

    /// Sleeps until it is woken, the time is over or, in a call that signals end, one comes. Not with the lock held.
    pub fn sleep(&self, timeout_ns: Option<u64>) {
        if signals::are_held() && self.waiter.lacks_event() {
            let mut guard = self.process.lock();
            // It finds out when the program has closed the event.
            if guard.start_watcher().is_ok() {
                self.waiter.make_event();
            }
        }
        self.waiter.sleep(timeout_ns);
    }

    /// Why its wait ended.
    #[inline(always)]
    pub fn ended(&self, deadline: Option<u64>) -> Ended {
        match deadline {
            _ if self.waiter.is_woken() => Ended::Look,
            Some(deadline) if now() >= deadline => Ended::TimedOut,
            _ => Ended::Stirred,
        }
    }

    /// Keeps it for the thread's next wait.
    #[inline(always)]
    pub fn keep(self: Box<Self>) {
        if let Some(other) = ME.replace(Some(ManuallyDrop::new(self))) {
            ManuallyDrop::into_inner(other).discard();
        }
    }

    /// The record that a signal handler made, which waited within another wait. Its number stays taken.
    #[cold]
    fn discard(self: Box<Self>) {}

    #[cold]
    fn new(guard: &mut Guard<'_>, _of_parent: Option<Box<Self>>) -> Box<Self> {
        END.ask();
        let waiter = Arc::new(Waiter::new());
        let number = guard.waiting.threads.insert(Arc::clone(&waiter)) as u32;
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

    /// Takes note of the hot lines as they are now: `read` is how far the only one was read, if that is known.
    #[inline(always)]
    pub fn note(&mut self, inner: &Inner, read: Option<RxCursor>) {
        match (&mut self.rings[..], read) {
            ([watched], Some(RxCursor { head, base, last, .. })) if self.epoch == inner.waiting.epoch => {
                (watched.head, watched.base, watched.last) = (head, base, last);
            }
            ([watched], None) if self.epoch == inner.waiting.epoch => watched.note(inner),
            _ => self.note_all(inner),
        }
    }

    #[cold]
    fn note_all(&mut self, inner: &Inner) {
        if self.epoch == inner.waiting.epoch {
            self.rings.iter_mut().for_each(|watched| watched.note(inner));
            return;
        }
        self.epoch = inner.waiting.epoch;
        self.rings.clear();
        self.rings.extend(inner.waiting.hot.iter().filter_map(|line| {
            let ring = inner.lines.get(*line)?.segment.rx.clone();
            let mut watched = Watched { line: *line, ring, head: 0, base: 0, last: 0 };
            watched.note(inner);
            Some(watched)
        }));
    }

    /// Lowers the flags of the lines that it slept on. One that was cooled meanwhile is to ring its bell.
    #[cold]
    pub fn disarm(&self, inner: &Inner) {
        for watched in self.rings.iter().filter(|watched| inner.waiting.hot.contains(&watched.line)) {
            watched.ring.disarm_reader();
        }
    }

    #[inline]
    pub fn stirs(&self) -> bool {
        self.rings.iter().any(Watched::stirs) || self.waiter.is_woken()
    }
}

impl Watched {
    /// Takes note of how far the line was read.
    #[inline(always)]
    fn note(&mut self, inner: &Inner) {
        if let Some(line) = inner.lines.get(self.line) {
            (self.head, self.base, self.last) = (line.looked_at(), line.rx.base, line.rx.last);
        }
    }

    #[inline(always)]
    fn stirs(&self) -> bool {
        self.ring.stirs(self.head, self.base, self.last)
    }
}

thread_local! {
    // It has no destructor, but work at the thread's end: it is first used with the lock held.
    static ME: Cell<Option<ManuallyDrop<Box<Me>>>> = const { Cell::new(None) };
}

static END: AtEnd = AtEnd::new(leave);

/// Takes a thread that ends out of its process's list.
extern "C" fn leave(_: *mut c_void) {
    if let Some(me) = ME.take().map(ManuallyDrop::into_inner)
        && Process::made().is_some_and(|made| std::ptr::eq(me.process, made))
    {
        me.process.lock().waiting.threads.try_remove(me.number as usize);
    }
}

/// In a forked child: forgets what the calling thread kept of its parent's waits. Its lines are not mapped here, and
/// what lies at their addresses may be the child's own before long.
pub(crate) fn leave_all() {
    ME.set(None);
}

#[inline]
pub(super) fn remaining(deadline: Option<u64>) -> Option<u64> {
    deadline.map(|deadline| deadline.saturating_sub(now()))
}
