//! The process: its one [`Inner`], and what fork(2) does to it.
#![allow(unsafe_code, reason = "the current process is a pointer that fork replaces")]

use crate::{
    io::{Inner, objects},
    state::{Right, SpaceId},
};
use slipway_fabric::{
    descriptor::{Reserved, close_in_child},
    sync::{AtomicPtr, Ordering},
};
use std::{
    cell::RefCell,
    ops::{Deref, DerefMut},
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError},
};

/// A process's Mach.
#[derive(Debug)]
pub struct Process {
    inner: Mutex<Inner>,
    /// The space of the task that the process began as.
    first: SpaceId,
}

/// The lock on a process's [`Inner`]. What the state left to do is done before it is released.
#[derive(Debug)]
pub struct Guard<'a> {
    process: &'static Process,
    inner: MutexGuard<'a, Inner>,
}

static CURRENT: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
static START: Once = Once::new();

impl Process {
    /// This process's. The first call makes it.
    #[inline]
    pub fn get() -> &'static Self {
        let current = CURRENT.load(Ordering::Acquire);
        if current.is_null() {
            return Self::start();
        }
        // SAFETY: what CURRENT points to is leaked, so it lives as long as the process.
        unsafe { &*current }
    }

    #[cold]
    fn start() -> &'static Self {
        START.call_once(|| {
            Self::install(None);
            // SAFETY: the handlers are functions of this library, which is never unloaded (it has threads).
            unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child)) };
        });
        Self::get()
    }

    /// Makes a fresh `Process` the current one. The old one, if any, is left as it is, and leaks.
    fn install(bootstrap: Option<(OwnedFd, OwnedFd)>) {
        let mut inner = Inner::default();
        let first = inner.new_task();
        let bootstrap = bootstrap.and_then(|(s, t)| inner.import_send(Reserved::new(s).ok()?, Reserved::new(t).ok()?).ok());
        inner.state.space_mut(first).bootstrap = bootstrap.unwrap_or(Right::Null);
        inner.settle();
        let process = Box::new(Self { inner: Mutex::new(inner), first });
        CURRENT.store(Box::into_raw(process), Ordering::Release);
    }

    /// Takes the lock. A panic with the lock held left the state in order: every change is complete
    /// before the next can fail.
    #[inline]
    pub fn lock(&'static self) -> Guard<'static> {
        Guard { process: self, inner: self.inner.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    /// The space of the task that the process began as.
    #[inline]
    pub fn first_space(&self) -> SpaceId {
        self.first
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
        &mut self.inner
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.inner.settle();
        }
    }
}

thread_local! {
    /// The lock, held over a fork, and the bootstrap port that the child inherits.
    static FORKING: RefCell<Option<(Guard<'static>, Option<(OwnedFd, OwnedFd)>)>> = const { RefCell::new(None) };
}

extern "C" fn before_fork() {
    let process = Process::get();
    let mut guard = process.lock();
    let heirloom = guard.heirloom(process.first);
    FORKING.set(Some((guard, heirloom)));
}

extern "C" fn after_fork_in_parent() {
    FORKING.take();
}

/// The child has an empty space of its own, and its parent's bootstrap port.
extern "C" fn after_fork_in_child() {
    let Some((guard, heirloom)) = FORKING.take() else { return };
    // The lock, the lines and the waiters are the parent's; only its copy of the descriptors must go.
    std::mem::forget(guard);
    close_in_child();
    Process::install(heirloom);
}

impl Inner {
    /// Copies of a space's bootstrap port, if it was set, as descriptors for the child.
    fn heirloom(&mut self, space: SpaceId) -> Option<(OwnedFd, OwnedFd)> {
        let Right::Send(port) = self.state.space(space).bootstrap else { return None };
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
