//! A lock for the threads of one process, with what it guards.
//!
//! It differs from std's in having no poison: its users leave things in order before anything can panic.
#![allow(unsafe_code, clippy::disallowed_types, reason = "a lock is what makes a cell safe")]

use super::{AtomicU32, FutexWord, Ordering};
#[cfg(loom)]
use loom::cell::UnsafeCell;
#[cfg(not(loom))]
use std::cell::UnsafeCell;
use std::{
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// Looks at a held lock before its waiter sleeps.
#[cfg(not(loom))]
const LOOKS: u32 = 100;

/// A value that one thread at a time can reach.
#[derive(Debug, Default)]
pub struct Mutex<T> {
    word: FutexWord,
    /// Threads that wait.
    waiting: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one thread at a time, whichever that is.
unsafe impl<T: Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Mutex<T> {}

/// Holds the lock until dropped, by the thread that took it.
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    _thread: PhantomData<*const ()>,
}

impl<T> Mutex<T> {
    /// A free lock.
    pub fn new(value: T) -> Self {
        Self { word: FutexWord::default(), waiting: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock. A thread that has it already waits for ever.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        if self.word.claim(FREE, HELD).is_err() {
            self.wait();
        }
        MutexGuard { mutex: self, _thread: PhantomData }
    }

    /// Whether somebody waits for the lock.
    pub fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// What is guarded, for the thread that holds the lock and has forgotten its guard. Outside of loom, which has to see each use.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn data_ptr(&self) -> *mut T {
        self.value.get()
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds it and has forgotten its guard; nothing refers to what it guards any more.
    #[inline(always)]
    pub unsafe fn force_unlock(&self) {
        if self.word.swap(FREE, Ordering::Release) == CONTENDED {
            self.word.wake_one_private();
        }
    }

    /// Has the next release wake a waiter, whether or not one has said that it waits.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    pub unsafe fn contend(&self) {
        self.word.store(CONTENDED, Ordering::Relaxed);
    }

    #[cold]
    fn wait(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.queue_up();
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    fn queue_up(&self) {
        #[cfg(not(loom))]
        for _ in 0..LOOKS {
            if self.word.load(Ordering::Relaxed) == FREE && self.word.claim(FREE, HELD).is_ok() {
                return;
            }
            super::spin_loop();
        }
        while self.word.swap(CONTENDED, Ordering::Acquire) != FREE {
            self.word.wait_private(CONTENDED);
        }
    }
}

impl<T> MutexGuard<'_, T> {
    /// As [`Mutex::contend`].
    pub fn contend(&self) {
        // SAFETY: the guard holds the lock.
        unsafe { self.mutex.contend() };
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held, and the result does not outlive the guard.
        #[cfg(not(loom))]
        unsafe {
            &*self.mutex.value.get()
        }
        // SAFETY: as above; loom finds any other thread that would be at it.
        #[cfg(loom)]
        self.mutex.value.with(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and the guard is borrowed for as long.
        #[cfg(not(loom))]
        unsafe {
            &mut *self.mutex.value.get()
        }
        // SAFETY: as above.
        #[cfg(loom)]
        self.mutex.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard ends, and with it every reference that it gave.
        unsafe { self.mutex.force_unlock() };
    }
}
