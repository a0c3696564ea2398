//! The lock as loom sees it: the three-state futex lock, and what the kernel does when a holder is killed.

use super::{FutexWord, Ordering};

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;
/// As `FREE`, by the kernel's hand.
const ORPHANED: u32 = 3;

/// As the native one.
#[derive(Debug, Default)]
pub struct Lock(FutexWord);

/// As the native one.
#[derive(Debug)]
pub struct Guard<'a> {
    lock: &'a Lock,
    orphaned: bool,
}

impl Lock {
    /// As the native one.
    pub fn lock(&self) -> Guard<'_> {
        let mut found = match self.0.claim(FREE, HELD) {
            Ok(_) => FREE,
            Err(_) => self.0.swap(CONTENDED, Ordering::Acquire),
        };
        while found == HELD || found == CONTENDED {
            self.0.wait(CONTENDED, None);
            found = self.0.swap(CONTENDED, Ordering::Acquire);
        }
        Guard { lock: self, orphaned: found == ORPHANED }
    }
}

impl Guard<'_> {
    /// As the native one.
    pub fn is_orphaned(&self) -> bool {
        self.orphaned
    }

    /// The holder is killed.
    pub fn abandon(self) {
        self.lock.0.swap(ORPHANED, Ordering::Release);
        self.lock.0.wake_one();
        std::mem::forget(self);
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.lock.0.swap(FREE, Ordering::Release) == CONTENDED {
            self.lock.0.wake_one();
        }
    }
}
