//! A lock that may lie in memory shared by a process and the children it forked.

use super::{FutexWord, Ordering};

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// A sleeping mutual exclusion lock of one word (the three-state futex lock). Zeroed memory is a
/// free lock. A holder that is killed leaves it held: see [`Lock::lock`].
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Lock(FutexWord);

/// Holds the lock until dropped.
#[derive(Debug)]
pub struct Guard<'a>(&'a Lock);

/// How long a waiter sleeps before it suspects that the holder was killed, in milliseconds.
/// Holders run for microseconds and never sleep with the lock held.
const SUSPECT_MS: u32 = 2_000;

impl Lock {
    /// Waits for the lock. A holder is gone for good if it was killed in between; as every change
    /// made under such a lock is one store that commits it, the lock is then taken over.
    pub fn lock(&self) -> Guard<'_> {
        if self.0.claim(FREE, HELD).is_err() {
            self.wait();
        }
        Guard(self)
    }

    /// The lock if it is free.
    pub fn try_lock(&self) -> Option<Guard<'_>> {
        self.0.claim(FREE, HELD).ok().map(|_| Guard(self))
    }

    #[cold]
    fn wait(&self) {
        #[cfg(not(loom))]
        for _ in 0..50 {
            if self.0.claim(FREE, HELD).is_ok() {
                return;
            }
            super::spin_loop();
        }
        let started = std::time::Instant::now();
        while self.0.swap(CONTENDED, Ordering::Acquire) != FREE {
            self.0.wait(CONTENDED, Some(SUSPECT_MS));
            if started.elapsed().as_millis() > u128::from(SUSPECT_MS) {
                return;
            }
        }
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.0.0.swap(FREE, Ordering::Release) == CONTENDED {
            self.0.0.wake_one();
        }
    }
}
