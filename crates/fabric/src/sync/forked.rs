//! A lock for the threads of one process that a forked child, which has only one of them, does not find held for ever.
//!
//! Nothing is locked while the process forks: a handler of the program's own (pthread_atfork) may wait for a thread that then waits for the lock. So the child
//! does without what another thread was at, and begins anew with nothing.
#![allow(unsafe_code, clippy::disallowed_types, reason = "a lock that nobody is left to release is replaced")]

use super::held::{Held, holds_any};
use std::{
    cell::UnsafeCell,
    marker::PhantomData,
    ops::{Deref, DerefMut},
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
};

/// A value that one thread at a time can reach.
pub struct ForkMutex<T>(UnsafeCell<Mutex<T>>);

// SAFETY: as the standard library's mutex; it is replaced only where there is no other thread.
unsafe impl<T: Send> Send for ForkMutex<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for ForkMutex<T> {}

impl<T: Default> Default for ForkMutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> std::fmt::Debug for ForkMutex<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ForkMutex")
    }
}

/// Holds the lock until dropped, by the thread that took it.
#[derive(Debug)]
pub struct ForkGuard<'a, T> {
    // In this order: while the lock is held the thread says so.
    guard: MutexGuard<'a, T>,
    _held: Held,
}

/// Says that the process was just forked: it has one thread.
#[derive(Debug)]
pub struct Forked(PhantomData<*const ()>);

impl Forked {
    /// For a child's first steps.
    ///
    /// # Safety
    /// The process has no other thread as long as this lives.
    pub unsafe fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> ForkMutex<T> {
    /// A free lock.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(Mutex::new(value)))
    }

    fn mutex(&self) -> &Mutex<T> {
        // SAFETY: it is replaced only while nobody refers to it.
        unsafe { &*self.0.get() }
    }

    /// Waits for the lock. What it guards is there also after a thread panicked with it.
    pub fn lock(&self) -> ForkGuard<'_, T> {
        let _held = Held::enter();
        ForkGuard { guard: self.mutex().lock().unwrap_or_else(PoisonError::into_inner), _held }
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<ForkGuard<'_, T>> {
        let _held = Held::enter();
        match self.mutex().try_lock() {
            Ok(guard) => Some(ForkGuard { guard, _held }),
            Err(TryLockError::Poisoned(error)) => Some(ForkGuard { guard: error.into_inner(), _held }),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// In a child: makes a lock anew, with the default in it, that a thread of the parent's held; true if it did. What was guarded may be half changed, and stays where
    /// it is. A lock that a signal handler has interrupted, which then forked, is left alone with all others: its holder goes on here, too.
    pub fn after_fork(&self, _: &Forked) -> bool
    where
        T: Default,
    {
        let orphaned = !holds_any() && self.try_lock().is_none();
        if orphaned {
            // SAFETY: the only thread holds no guard, and so nothing refers to the lock.
            unsafe { self.0.get().write(Mutex::default()) };
        }
        orphaned
    }
}

impl<T> Deref for ForkGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for ForkGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}
