//! The process: its one [`Inner`], and what fork(2) does to it.
#![allow(unsafe_code, reason = "the current process is a pointer that fork replaces")]

use crate::{
    abi,
    io::{Inner, objects},
    special::{Special, place},
    state::{PortId, Right, SpaceId, space::SelfName},
};
use slipway_fabric::{
    descriptor::{Reserved, close_in_child},
    sync::{AtomicPtr, Mutex, MutexGuard, Ordering},
};
use std::{
    cell::RefCell,
    ops::{Deref, DerefMut},
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, Once, OnceLock},
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
    /// The port that stands for the host, once somebody has asked for it.
    pub(crate) host: OnceLock<PortId>,
}

/// Tasks whose names for themselves are known without the lock.
const OTHERS: usize = 64;

/// The two descriptors that stand for a send right outside of Mach.
type Pair = (OwnedFd, OwnedFd);
/// The special ports that a child inherits, in the order of [`Special::ALL`].
type Heirlooms = [Option<Pair>; 2];

/// The lock on a process's [`Inner`]. What the state left to do is done before it is released.
#[derive(Debug)]
pub struct Guard<'a> {
    process: &'static Process,
    inner: MutexGuard<'a, Inner>,
}

static CURRENT: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
/// Turns of the processor that are left to those who wait for the lock.
const PATIENCE: u32 = 1000;

static START: Once = Once::new();

impl Process {
    /// This process's. The first call makes it.
    #[inline]
    pub fn get() -> &'static Self {
        match Self::made() {
            Some(process) => process,
            None => Self::start(),
        }
    }

    /// This process's, if there is one yet.
    #[inline]
    pub(crate) fn made() -> Option<&'static Self> {
        // SAFETY: what CURRENT points to is leaked, so it lives as long as the process.
        unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
    }

    /// Tells it from others that the calling process forked from or was.
    #[inline]
    pub(crate) fn address(&'static self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Which process this is, among those that it forked from; 0 before the first call of [`Process::get`].
    #[inline]
    pub fn number() -> usize {
        CURRENT.load(Ordering::Relaxed).addr()
    }

    #[cold]
    fn start() -> &'static Self {
        START.call_once(|| {
            Self::install([None, None], false);
            // SAFETY: the handlers are functions of this library, which is never unloaded (it has threads).
            unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child)) };
            // SAFETY: as above.
            unsafe { libc::atexit(at_exit) };
        });
        Self::made().expect("the first call makes it")
    }

    /// Makes a fresh `Process` the current one. The old one, if any, is left as it is, and leaks.
    fn install(heirlooms: Heirlooms, forked: bool) {
        let mut inner = Inner::default();
        let first = inner.new_task();
        let ended = forked.then(|| inner.state.new_space());
        ended.iter().for_each(|space| inner.state.terminate(*space));
        for (which, heirloom) in Special::ALL.into_iter().zip(heirlooms) {
            let right = heirloom.and_then(|(s, t)| inner.import_send(Reserved::new(s).ok()?, Reserved::new(t).ok()?).ok());
            *place(which, inner.state.space_mut(first)) = right.unwrap_or(Right::Null);
        }
        inner.settle();
        let self_name = inner.state.space(first).self_name.clone();
        let other_names = [const { OnceLock::new() }; OTHERS];
        let host = OnceLock::new();
        let process = Box::new(Self { inner: Mutex::new(inner), first, ended, self_name, other_names, host });
        CURRENT.store(Box::into_raw(process), Ordering::Release);
    }

    /// Takes the lock. A panic with the lock held left the state in order: every change is complete
    /// before the next can fail.
    #[inline]
    pub fn lock(&'static self) -> Guard<'static> {
        Guard { process: self, inner: self.inner.lock() }
    }

    /// Lets those who wait for the lock have it first, if somebody does: it goes to who asks, not to who waits
    /// longest. Not with the lock held.
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
}

impl Process {
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
        self.inner.io.shortcuts.forget();
        &mut self.inner
    }
}

impl Guard<'_> {
    /// What is guarded, for one who changes nothing that a [`Shortcuts`](crate::msg::fast::Shortcuts) says.
    #[inline(always)]
    pub(crate) fn quietly(&mut self) -> &mut Inner {
        &mut self.inner
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let inner = &mut *self.inner;
        if inner.is_unsettled() {
            settle_at_last(inner);
        }
    }
}

#[cold]
fn settle_at_last(inner: &mut Inner) {
    if !std::thread::panicking() {
        inner.settle();
    }
}

thread_local! {
    /// The lock, held over a fork, and what the child inherits.
    static FORKING: RefCell<Option<(Guard<'static>, Heirlooms)>> = const { RefCell::new(None) };
}

/// What others want back goes to them whole, instead of as the kernel would leave it.
extern "C" fn at_exit() {
    Process::get().lock().give_back();
}

extern "C" fn before_fork() {
    let process = Process::get();
    let mut guard = process.lock();
    // The task that forks is the one that its thread works for.
    let space = crate::task::Task::current().space();
    let heirlooms = Special::ALL.map(|which| guard.heirloom(space, which));
    FORKING.set(Some((guard, heirlooms)));
}

extern "C" fn after_fork_in_parent() {
    FORKING.take();
}

/// The child has an empty space of its own, and its parent's special ports.
extern "C" fn after_fork_in_child() {
    let Some((guard, heirlooms)) = FORKING.take() else { return };
    // The lock, the lines and the waiters are the parent's; only its copy of the descriptors must go.
    std::mem::forget(guard);
    crate::trap::leave_all();
    crate::io::wait::leave_all();
    close_in_child();
    Process::install(heirlooms, true);
}

impl Inner {
    /// Copies of a special port of a space, if it was set, as descriptors for the child.
    fn heirloom(&mut self, space: SpaceId, which: Special) -> Option<Pair> {
        let Right::Send(port) = *place(which, self.state.space_mut(space)) else { return None };
        let (s, t): (Arc<Reserved>, Arc<Reserved>) = if self.io.far(port).is_some() {
            (self.io.far(port)?.s.clone()?, self.holder(port).ok()?)
        } else {
            self.export_pair(port).ok()?
        };
        let copy = |fd: &Reserved| rustix::io::fcntl_dupfd_cloexec(fd.as_fd(), 3).ok();
        let _ = objects::PARCEL;
        Some((copy(&s)?, copy(&t)?))
    }
}
