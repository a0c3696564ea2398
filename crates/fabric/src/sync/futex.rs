//! A 32-bit word that threads of several processes can sleep on (futex(2), shared).
#![allow(clippy::disallowed_methods, reason = "this module is the replacement")]

use super::{AtomicU32, Ordering};

/// A futex word. Zero bytes are a valid word of value 0, so it may lie in fresh shared memory.
#[derive(Debug, Default)]
#[cfg_attr(not(loom), repr(transparent))]
pub struct FutexWord {
    word: AtomicU32,
    #[cfg(loom)]
    queue: Queue,
}

impl std::ops::Deref for FutexWord {
    type Target = AtomicU32;
    fn deref(&self) -> &AtomicU32 {
        &self.word
    }
}

#[cfg(not(loom))]
impl FutexWord {
    /// Sleeps while the word is `expected`; returns on a wake, a signal, after `timeout_ms`, or at
    /// once if the word differs. The caller looks at the word again in every case.
    pub fn wait(&self, expected: u32, timeout_ms: Option<u32>) {
        use rustix::thread::futex;
        let timeout =
            timeout_ms.map(|ms| futex::Timespec { tv_sec: i64::from(ms / 1000), tv_nsec: i64::from(ms % 1000) * 1_000_000 });
        let _ = futex::wait(&self.word, futex::Flags::empty(), expected, timeout.as_ref());
    }

    /// Wakes one sleeper.
    pub fn wake_one(&self) {
        let _ = rustix::thread::futex::wake(&self.word, rustix::thread::futex::Flags::empty(), 1);
    }
}

/// The kernel's wait queue of one futex word, as a model: the check of the word and the falling
/// asleep are one step, as futex(2) promises.
#[cfg(loom)]
#[derive(Debug, Default)]
struct Queue {
    lock: loom::sync::Mutex<()>,
    sleepers: loom::sync::Condvar,
}

#[cfg(loom)]
impl FutexWord {
    /// As futex(2) FUTEX_WAIT; the model has no time, so `_timeout_ms` never runs out.
    pub fn wait(&self, expected: u32, _timeout_ms: Option<u32>) {
        let guard = self.queue.lock.lock().unwrap();
        if self.word.load(Ordering::SeqCst) == expected {
            drop(self.queue.sleepers.wait(guard).unwrap());
        }
    }

    /// As futex(2) FUTEX_WAKE with a count of one.
    pub fn wake_one(&self) {
        let _guard = self.queue.lock.lock().unwrap();
        self.queue.sleepers.notify_one();
    }
}

impl FutexWord {
    /// Takes the word from `from` to `to`; the value found on failure.
    pub fn claim(&self, from: u32, to: u32) -> Result<u32, u32> {
        self.word.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed)
    }
}
