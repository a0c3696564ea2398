//! What sleeps on a line's bell, and what may silence it; and what sleeps in an epoll set, and is to be kicked.
//!
//! Several threads, and the processes of one family, can sleep on one bell. It is level-triggered:
//! it stays audible until somebody drains it. So only the last sleeper to leave drains, and no
//! other is left behind asleep next to a bell that was heard by somebody else. Some never leave, as those of a process that was killed: one that
//! finds the bell ringing on for others may silence it where there is nothing to wake them for ([`Sleepers::alone`]).

use crate::sync::{AtomicU32, Lock, Ordering::Relaxed, full_fence};

/// The sleepers of one bell. Zeroed memory has none.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Sleepers {
    lock: Lock,
    /// Threads that sleep, or are about to; changed under the lock, by one store: a holder that is killed leaves it as it
    /// was, or as it should be.
    count: AtomicU32,
}

impl Sleepers {
    /// Makes it good for sleepers in several processes.
    ///
    /// # Errors
    /// As [`Lock::prepare`].
    ///
    /// # Safety
    /// As [`Lock::prepare`].
    #[cfg(not(loom))]
    #[allow(unsafe_code, reason = "as for the lock")]
    pub unsafe fn prepare(&self) -> std::io::Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.lock.prepare() }
    }

    /// One more is about to sleep. From here on nobody drains the bell. The caller arms its flags
    /// after this, looks once more, and sleeps. True if it is the first.
    pub fn enter(&self) -> bool {
        let _guard = self.lock.lock();
        let before = self.count.load(Relaxed);
        self.count.store(before + 1, Relaxed);
        before == 0
    }

    /// One sleeper is awake. The last runs `last`, which drains the bell and lowers flags, before
    /// another can enter. Returns how many are left.
    pub fn leave(&self, last: impl FnOnce()) -> u32 {
        let _guard = self.lock.lock();
        let left = self.count.load(Relaxed).saturating_sub(1);
        self.count.store(left, Relaxed);
        if left == 0 {
            last();
        }
        left
    }

    /// Runs `drain` if nobody sleeps, before somebody can enter; whether it ran.
    pub fn if_none(&self, drain: impl FnOnce()) -> bool {
        let _guard = self.lock.lock();
        let none = self.count.load(Relaxed) == 0;
        if none {
            drain();
        }
        none
    }

    /// Runs `drain`, whoever sleeps, while nobody else drains. It must leave the bell audible, or find that there is nothing to wake a sleeper for.
    pub fn alone(&self, drain: impl FnOnce()) {
        let _guard = self.lock.lock();
        drain();
    }
}

/// One more in a count, until it is dropped: also when the thread is cancelled.
#[derive(Debug)]
pub struct Counted<'a>(&'a AtomicU32);

impl<'a> Counted<'a> {
    fn enter(count: &'a AtomicU32) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        // One that was forked in the midst of it, by a signal handler, has been forgotten.
        let _ = self.0.fetch_update(Relaxed, Relaxed, |count| count.checked_sub(1));
    }
}

/// The threads that sleep in one epoll set. Whoever changes what the set would report does so with the set's
/// lock held, and wakes them after that.
#[derive(Debug, Default)]
pub struct SetSleepers(AtomicU32);

impl SetSleepers {
    /// Lets go of the set's lock and sleeps. The thread has found nothing to report since it took the lock, and
    /// looks again afterwards.
    pub fn sleep<T>(&self, held: impl Sized, wait: impl FnOnce() -> T) -> T {
        // Ordered by the lock: the thread that takes it next sees the sleeper.
        let _asleep = Counted::enter(&self.0);
        drop(held);
        wait()
    }

    /// One that waits for the set's own descriptor is as good as asleep in it until this is dropped: whoever changes what the set would report makes that
    /// descriptor ready. It looks at the set afterwards, under its lock.
    pub fn enter(&self) -> Counted<'_> {
        Counted::enter(&self.0)
    }

    /// This process was forked, and has no other thread.
    pub fn forget(&self) {
        self.0.store(0, Relaxed);
    }

    /// Whether no thread sleeps; with the set's lock held, also that none will before it is let go. A thread that changes what the set would report asks after it
    /// has let go of the lock, and ends a sleep if there is one to end.
    pub fn is_empty(&self) -> bool {
        self.0.load(Relaxed) == 0
    }
}

/// Waits in a set that nobody knew of when they began, so that they are not counted among the set's sleepers. Whoever makes the set known
/// asks afterwards whether there may be one.
#[derive(Debug, Default)]
pub struct Unseen(AtomicU32);

impl Unseen {
    /// None.
    #[cfg(not(loom))]
    pub const fn none() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Looks whether the set is known, and waits if it is not, by `wait`.
    pub fn wait<T>(&self, wait: impl FnOnce() -> T) -> T {
        let _waiting = Counted::enter(&self.0);
        full_fence(); // orders the count before the look; paired with that in `may_wait`
        wait()
    }

    /// This process was forked, and has no other thread.
    pub fn forget(&self) {
        self.0.store(0, Relaxed);
    }

    /// Whether a thread may wait in the set that was just made known.
    pub fn may_wait(&self) -> bool {
        full_fence(); // orders what made it known before the look
        self.waits_still()
    }

    /// Whether one of those that there may have been when the set was made known may be left.
    pub fn waits_still(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
}
