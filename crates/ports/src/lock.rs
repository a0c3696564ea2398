//! The lock: a process's one [`Inner`], and what is known of the process without it.
//!
//! What makes a `Process`, and what fork(2) does to it, is above: see [`process`](crate::process).
#![allow(unsafe_code, reason = "the current process is a pointer that fork replaces")]

use crate::{
    abi,
    closer::{Closer, Spawn},
    dispatch::Inner,
    state::{PortId, SpaceId, space::SelfName},
};
use slipway_fabric::{
    descriptor::Closing,
    sync::{AtomicPtr, Mutex, MutexGuard, Ordering},
};
use std::{
    ops::{Deref, DerefMut},
    sync::OnceLock,
};

/// A process's Mach.
#[derive(Debug)]
pub struct Process {
    inner: Mutex<Inner>,
    /// The space of the task that the process began as.
    first: SpaceId,
    /// In a forked child, the space of tasks that ended with the fork: those of its parent.
    ended: Option<SpaceId>,
    /// By which name that task knows itself.
    self_name: SelfName,
    /// The same of the first of its other tasks, by their spaces.
    other_names: [OnceLock<SelfName>; OTHERS],
    /// The port that stands for the host, made when it is first asked for.
    pub(crate) host: OnceLock<PortId>,
    /// Closes what was dropped under the lock.
    closer: Closer,
}

/// Tasks whose names for themselves are known without the lock.
const OTHERS: usize = 64;

/// The lock on a process's [`Inner`]. What the state left to do is done before it is released.
#[derive(Debug)]
pub struct Guard<'a> {
    process: &'static Process,
    inner: MutexGuard<'a, Inner>,
    /// Closes what was dropped under the lock; after it is released, as fields are dropped in order.
    closes: Option<Closes>,
}

/// Closes a thread's descriptors when it is dropped.
#[derive(Debug)]
struct Closes {
    process: &'static Process,
    /// Until then.
    closing: Option<Closing>,
}

impl Drop for Closes {
    fn drop(&mut self) {
        let doomed = self.closing.take().map(Closing::end).unwrap_or_default();
        if !doomed.is_empty() {
            self.process.closer.close(doomed);
        }
    }
}

static CURRENT: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
/// How often a thread yields its processor to threads that wait for the lock.
const PATIENCE: u32 = 1000;

impl Process {
    /// This process's, if this copy of the crate has made one.
    #[inline]
    pub(crate) fn made() -> Option<&'static Self> {
        // SAFETY: what CURRENT points to is leaked, so it lives as long as the process.
        unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
    }

    /// Makes a fresh `Process` the current one. The old one, if any, is left as it is, and leaks.
    pub(crate) fn install(inner: Inner, first: SpaceId, ended: Option<SpaceId>, spawn: Spawn) {
        let self_name = inner.state.space(first).self_name.clone();
        let other_names = [const { OnceLock::new() }; OTHERS];
        let (host, closer) = (OnceLock::new(), Closer::new(spawn));
        let process = Box::new(Self { inner: Mutex::new(inner), first, ended, self_name, other_names, host, closer });
        CURRENT.store(Box::into_raw(process), Ordering::Release);
    }

    /// Tells it from others that the calling process forked from or was.
    #[inline]
    pub(crate) fn address(&'static self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Which process this is, among those that it forked from; 0 before it is made.
    #[inline]
    pub fn number() -> usize {
        CURRENT.load(Ordering::Relaxed).addr()
    }

    /// Takes the lock. A panic with the lock held left the state in order: every change is complete
    /// before the next can fail.
    #[inline]
    pub fn lock(&'static self) -> Guard<'static> {
        Guard { process: self, inner: self.inner.lock(), closes: None }
    }

    /// Lets threads that wait for the lock have it first: the mutex is not fair. Not to be called with the lock held.
    pub(crate) fn let_others_in(&self) {
        for _ in 0..PATIENCE {
            if !self.inner.is_wanted() {
                return;
            }
            rustix::thread::sched_yield();
        }
    }

    /// The space of the task that the process began as.
    #[inline]
    pub fn first_space(&self) -> SpaceId {
        self.first
    }

    /// A space whose task has ended.
    #[cold]
    pub(crate) fn ended_space(&self) -> SpaceId {
        self.ended.unwrap_or(self.first)
    }

    /// By which name the task with the space knows itself, without the lock; null if that is not known so.
    #[inline]
    pub(crate) fn self_name(&self, space: SpaceId) -> u32 {
        if space == self.first {
            return self.self_name.get();
        }
        self.other_names.get(space.0 as usize).and_then(OnceLock::get).map_or(abi::NULL, SelfName::get)
    }

    /// A task was made, which knows itself by this name.
    pub(crate) fn note_self_name(&self, space: SpaceId, name: SelfName) {
        if let Some(place) = self.other_names.get(space.0 as usize) {
            // Spaces are numbered once.
            let _ = place.set(name);
        }
    }
}

impl Guard<'_> {
    /// The process whose lock it is.
    pub fn process(&self) -> &'static Process {
        self.process
    }

    /// From here on what is dropped is closed when the lock is released.
    #[inline]
    fn defer_closes(&mut self) {
        if self.closes.is_none() {
            self.closes = Some(Closes { process: self.process, closing: Some(Closing::begin()) });
        }
    }

    /// What is guarded, for a caller that drops no descriptor, and changes nothing that [`Shortcuts`](crate::dispatch::shortcuts::Shortcuts) say.
    #[inline(always)]
    pub(crate) fn quietly(&mut self) -> &mut Inner {
        &mut self.inner
    }
}

impl Deref for Guard<'_> {
    type Target = Inner;
    #[inline]
    fn deref(&self) -> &Inner {
        &self.inner
    }
}

impl DerefMut for Guard<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Inner {
        self.inner.shortcuts.forget();
        self.defer_closes();
        &mut self.inner
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.inner.is_unsettled() {
            settle_at_last(self);
        }
    }
}

#[cold]
fn settle_at_last(guard: &mut Guard<'_>) {
    if !std::thread::panicking() {
        guard.settle();
    }
}
