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

/// How a sleep on a word ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slept {
    /// Somebody woke the sleeper.
    Woken,
    /// The word had another value.
    Changed,
    /// No word is there.
    Gone,
    /// The time ran out.
    TimedOut,
    /// A signal was handled.
    Interrupted,
}

impl std::ops::Deref for FutexWord {
    type Target = AtomicU32;
    fn deref(&self) -> &AtomicU32 {
        &self.word
    }
}

#[cfg(not(loom))]
impl FutexWord {
    /// A word of value 0.
    pub const fn new() -> Self {
        Self { word: AtomicU32::new(0) }
    }

    /// Sleeps while the word is `expected`; returns on a wake, a signal, after `timeout_ms`, or at
    /// once if the word differs. The caller looks at the word again in every case.
    pub fn wait(&self, expected: u32, timeout_ms: Option<u32>) {
        use rustix::thread::futex;
        let timeout =
            timeout_ms.map(|ms| futex::Timespec { tv_sec: i64::from(ms / 1000), tv_nsec: i64::from(ms % 1000) * 1_000_000 });
        let _ = futex::wait(&self.word, futex::Flags::empty(), expected, timeout.as_ref());
    }

    /// As [`FutexWord::wait`] without a time-out, for a word that only threads of this process sleep on.
    pub fn wait_private(&self, expected: u32) {
        use rustix::thread::futex;
        let _ = futex::wait(&self.word, futex::Flags::PRIVATE, expected, None);
    }

    /// As [`FutexWord::wake_one`], for a word that only threads of this process sleep on.
    pub fn wake_one_private(&self) {
        use rustix::thread::futex;
        let _ = futex::wake(&self.word, futex::Flags::PRIVATE, 1);
    }

    /// Wakes one sleeper.
    pub fn wake_one(&self) {
        let _ = rustix::thread::futex::wake(&self.word, rustix::thread::futex::Flags::empty(), 1);
    }

    /// Wakes all sleepers.
    pub fn wake_all(&self) {
        let _ = rustix::thread::futex::wake(&self.word, rustix::thread::futex::Flags::empty(), i32::MAX as u32);
    }

    /// Whether this kernel can sleep on several words (Linux 5.16 and later).
    pub fn can_wait_any() -> bool {
        use rustix::thread::futex;
        static CAN: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        // No words at all are refused by a kernel that knows the call.
        let probe = || futex::waitv(&[], futex::WaitvFlags::empty(), None, rustix::thread::ClockId::Monotonic);
        *CAN.get_or_init(|| probe() != Err(rustix::io::Errno::NOSYS))
    }

    /// As [`FutexWord::wait`], with a time-out of nanoseconds.
    #[inline]
    pub fn wait_while(&self, expected: u32, timeout_ns: Option<u64>) {
        use rustix::thread::futex;
        let timeout =
            timeout_ns.map(|ns| futex::Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 });
        let _ = futex::wait(&self.word, futex::Flags::empty(), expected, timeout.as_ref());
    }

    fn flags(shared: bool) -> rustix::thread::futex::Flags {
        use rustix::thread::futex::Flags;
        if shared { Flags::empty() } else { Flags::PRIVATE }
    }

    /// As [`FutexWord::wait_while`], and tells how it ended. `shared`: threads of other processes may wake the sleeper.
    pub fn sleep(&self, expected: u32, timeout_ns: Option<u64>, shared: bool) -> Slept {
        use rustix::{io::Errno, thread::futex};
        let timeout =
            timeout_ns.map(|ns| futex::Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 });
        match futex::wait(&self.word, Self::flags(shared), expected, timeout.as_ref()) {
            Ok(()) => Slept::Woken,
            Err(Errno::TIMEDOUT) => Slept::TimedOut,
            Err(Errno::INTR) => Slept::Interrupted,
            Err(Errno::FAULT) => Slept::Gone,
            Err(_) => Slept::Changed,
        }
    }

    /// Wakes at most so many sleepers: how many.
    ///
    /// # Errors
    /// `EFAULT` if no word is there.
    pub fn wake(&self, most: u32, shared: bool) -> std::io::Result<usize> {
        Ok(rustix::thread::futex::wake(&self.word, Self::flags(shared), most.min(i32::MAX as u32))?)
    }

    /// Wakes at most `wake` sleepers, and has at most `most` others sleep on another word: how many both are.
    ///
    /// # Errors
    /// `EFAULT` if one of the words is not there.
    pub fn requeue(&self, wake: u32, most: u32, to: &Self, shared: bool) -> std::io::Result<usize> {
        let [wake, most] = [wake, most].map(|n| n.min(i32::MAX as u32));
        Ok(rustix::thread::futex::requeue(&self.word, Self::flags(shared), wake, most, &to.word)?)
    }

    /// A program's own word.
    ///
    /// # Safety
    /// It is aligned to 4 bytes, and there to be read and written for as long as the result is used.
    #[allow(unsafe_code, reason = "an address that a program passed")]
    pub unsafe fn at<'a>(address: usize) -> &'a Self {
        // SAFETY: the caller's promise; any 4 bytes are such a word, which others may change at any time.
        unsafe { &*std::ptr::with_exposed_provenance(address) }
    }

    /// Sleeps while each of the words has the value beside it; returns as [`FutexWord::wait`] does. At most 128
    /// words. `timeout_ns` is from now.
    pub fn wait_any(words: &[(&Self, u32)], timeout_ns: Option<u64>) {
        use rustix::thread::futex;
        if let [(word, expected)] = words {
            return word.wait_while(*expected, timeout_ns);
        }
        let waiters: Vec<futex::Wait> = words
            .iter()
            .map(|(word, expected)| {
                let mut wait = futex::Wait::new();
                wait.val = u64::from(*expected);
                wait.uaddr = futex::WaitPtr::new(word.word.as_ptr().cast());
                wait.flags = futex::WaitFlags::SIZE_U32;
                wait
            })
            .collect();
        let deadline = timeout_ns.map(|ns| {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            let at = (now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64).saturating_add(ns);
            futex::Timespec { tv_sec: (at / 1_000_000_000) as i64, tv_nsec: (at % 1_000_000_000) as i64 }
        });
        let _ = futex::waitv(&waiters, futex::WaitvFlags::empty(), deadline.as_ref(), rustix::thread::ClockId::Monotonic);
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

    /// As [`FutexWord::wait`].
    pub fn wait_private(&self, expected: u32) {
        self.wait(expected, None);
    }

    /// As [`FutexWord::wake_one`].
    pub fn wake_one_private(&self) {
        self.wake_one();
    }

    /// As futex(2) FUTEX_WAKE with a count of one.
    pub fn wake_one(&self) {
        let _guard = self.queue.lock.lock().unwrap();
        self.queue.sleepers.notify_one();
    }

    /// As futex(2) FUTEX_WAKE for all.
    pub fn wake_all(&self) {
        let _guard = self.queue.lock.lock().unwrap();
        self.queue.sleepers.notify_all();
    }
}

impl FutexWord {
    /// Takes the word from `from` to `to`.
    ///
    /// # Errors
    /// The value that it had instead.
    #[inline]
    pub fn claim(&self, from: u32, to: u32) -> Result<u32, u32> {
        self.word.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed)
    }
}
