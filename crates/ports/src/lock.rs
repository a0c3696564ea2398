//! The lock: a process's one [`Inner`], and what is known of the process without it.
//!
//! What makes a `Process`, and what fork(2) does to it, is above: see [`process`](crate::process).
#![allow(unsafe_code, reason = "the current process is a pointer that fork replaces; a guard of one word")]

use crate::{
    abi,
    cancellation::Uncancelled,
    closer::{Closer, Spawn},
    dispatch::Inner,
    state::{PortId, SpaceId, space::SelfName},
};
use slipway_fabric::{
    descriptor::{hold_closes, release_closes},
    sync::{AtomicPtr, Mutex, MutexGuard, Ordering},
};
use std::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ops::{Deref, DerefMut},
    sync::OnceLock,
};

/// A process's Mach.
#[derive(Debug)]
pub struct Process {
    guarded: Mutex<Guarded>,
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
    pub(crate) closer: Closer,
}

/// Tasks whose names for themselves are known without the lock.
const OTHERS: usize = 64;

/// What the lock guards.
#[derive(Debug)]
struct Guarded {
    inner: Inner,
    /// There if what the holder drops is closed when the lock is released. Until then its thread is not cancelled.
    holds_closes: Option<Uncancelled>,
}

/// The lock on a process's [`Inner`]. What the state left to do is done before it is released, and what was dropped is closed after that.
/// A guard moves in and out of every wait, so it is one word: it stands for the mutex's own, which is forgotten.
#[derive(Debug)]
pub struct Guard<'a> {
    process: &'static Process,
    _guarded: PhantomData<MutexGuard<'a, Guarded>>,
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
        let process = Box::new(Self {
            guarded: Mutex::new(Guarded { inner, holds_closes: None }),
            first,
            ended,
            self_name,
            other_names,
            host,
            closer,
        });
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
        std::mem::forget(self.guarded.lock());
        Guard { process: self, _guarded: PhantomData }
    }

    /// Lets threads that wait for the lock have it first: the mutex is not fair. Not to be called with the lock held.
    pub(crate) fn let_others_in(&self) {
        for _ in 0..PATIENCE {
            if !self.guarded.is_wanted() {
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

    #[inline(always)]
    fn guarded(&self) -> &Guarded {
        // SAFETY: the guard holds the lock, and there is no other; the result does not outlive it.
        unsafe { &*self.process.guarded.data_ptr() }
    }

    #[inline(always)]
    fn guarded_mut(&mut self) -> &mut Guarded {
        // SAFETY: as above, and it is borrowed for as long.
        unsafe { &mut *self.process.guarded.data_ptr() }
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// It is the end of the guard.
    #[inline(always)]
    unsafe fn unlock(&mut self) {
        // SAFETY: the guard holds the lock: the mutex's own was forgotten.
        unsafe { self.process.guarded.force_unlock() };
    }

    /// Has the next release wake a thread that waits for the lock, also if one was woken for the last: that one may be stopped.
    pub(crate) fn wake_another(&self) {
        // SAFETY: the guard holds the lock.
        unsafe { self.process.guarded.contend() };
    }

    /// What is guarded, for a caller that drops no descriptor, and changes nothing that [`Shortcuts`](crate::dispatch::shortcuts::Shortcuts) say.
    #[inline(always)]
    pub(crate) fn quietly(&mut self) -> &mut Inner {
        &mut self.guarded_mut().inner
    }
}

impl Guard<'_> {
    /// What is guarded, for a caller that drops no descriptor, whatever else it changes.
    #[inline(always)]
    pub(crate) fn plainly(&mut self) -> &mut Inner {
        let inner = self.quietly();
        inner.shortcuts.forget();
        inner
    }
}

impl Deref for Guard<'_> {
    type Target = Inner;
    #[inline]
    fn deref(&self) -> &Inner {
        &self.guarded().inner
    }
}

impl DerefMut for Guard<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Inner {
        let Guarded { inner, holds_closes } = self.guarded_mut();
        inner.shortcuts.forget();
        if holds_closes.is_none() {
            *holds_closes = Some(Uncancelled::begin());
            hold_closes();
        }
        inner
    }
}

impl Guard<'_> {
    /// Releases the lock, as a drop does, in a place where that is worth being compiled in.
    #[inline(always)]
    pub(crate) fn release(self) {
        ManuallyDrop::new(self).end();
    }

    /// In the child of a fork, which has no such lock: the parent's thread releases it.
    pub(crate) fn abandon(mut self) {
        drop(self.guarded_mut().holds_closes.take());
        std::mem::forget(self);
    }

    /// What there is to do at the end of the guard.
    #[inline(always)]
    fn end(&mut self) {
        let Guarded { inner, holds_closes } = self.guarded();
        if holds_closes.is_some() || inner.is_unsettled() {
            release_at_last(self);
        } else {
            // SAFETY: this is the end of the guard.
            unsafe { self.unlock() };
        }
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.end();
    }
}

/// Releases the lock when there is something to do before or after that.
#[cold]
fn release_at_last(guard: &mut Guard<'_>) {
    /// Also if a panic ends what is done before.
    struct Release<'a, 'b>(&'a mut Guard<'b>);
    impl Drop for Release<'_, '_> {
        fn drop(&mut self) {
            let held = std::mem::take(&mut self.0.guarded_mut().holds_closes);
            // SAFETY: this is called once, at the end of the guard.
            unsafe { self.0.unlock() };
            let doomed = if held.is_some() { release_closes() } else { Vec::new() };
            if !doomed.is_empty() {
                self.0.process.closer.close(doomed);
            }
        }
    }
    let release = Release(guard);
    if !std::thread::panicking() {
        release.0.settle();
    }
}
