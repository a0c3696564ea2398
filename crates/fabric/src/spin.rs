//! How long a waiter keeps looking before it sleeps.
//!
//! A wake-up costs more than most waits on a machine where the peer runs on another processor
//! (40 to 56 us on a small virtual machine), so spinning that long never doubles the cost of a wait. Where spinning has not won
//! lately, or can't win because the peer needs this very processor, a waiter sleeps at once.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Learns from the outcomes of one waiter's waits whether spinning is worth it.
#[derive(Debug, Default)]
pub struct Habit {
    /// Grows with waits that spinning won, shrinks with waits it lost.
    trust: AtomicU32,
    /// Waits since the last try while trust is gone.
    skipped: AtomicU32,
    /// Tries that cost dearly, one after the other.
    burns: AtomicU32,
    /// Until then, in nanoseconds of the caller's clock, there is no other try.
    burnt_until: AtomicU64,
}

/// Trust never grows beyond this: so many lost waits in a row end the spinning.
const MOST: u32 = 8;

/// With no trust left, one wait in this many is spun, to notice better times.
const RETRY: u32 = 64;

/// The pause after the first try that cost dearly, in nanoseconds, doubled with each further one up to
/// [`BURNS`] times. Long, because a thread that gave its turn away to a busy third party pays for it
/// with many more of its turns.
const PAUSE: u64 = 100_000_000;

/// Most doublings of [`PAUSE`].
const BURNS: u32 = 9;

/// How the looking before a sleep went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It saw what it waited for.
    Won,
    /// It saw nothing.
    Lost,
    /// Whether or not it did, it took so long that a sleep would have been cheaper by far: a third
    /// party took the processor that was offered to the peer.
    Burnt,
}

impl Habit {
    /// A habit that begins by giving spinning a few chances.
    #[cfg(not(loom))]
    pub const fn hopeful() -> Self {
        Self {
            trust: AtomicU32::new(MOST / 2),
            skipped: AtomicU32::new(0),
            burns: AtomicU32::new(0),
            burnt_until: AtomicU64::new(0),
        }
    }

    /// Whether spinning has won lately.
    #[inline]
    pub fn trusts(&self) -> bool {
        self.trust.load(Ordering::Relaxed) > 0
    }

    /// Whether to spin in the wait that begins at `now`, in nanoseconds of any clock that goes on.
    pub fn spins(&self, now: u64) -> bool {
        if self.trust.load(Ordering::Relaxed) > 0 {
            return true;
        }
        if now < self.burnt_until.load(Ordering::Relaxed) {
            return false;
        }
        let skipped = self.skipped.load(Ordering::Relaxed) + 1;
        let retry = skipped >= RETRY;
        self.skipped.store(if retry { 0 } else { skipped }, Ordering::Relaxed);
        retry
    }

    /// Remembers how a wait's looking went, that ended at `now`.
    pub fn learn(&self, outcome: Outcome, now: u64) {
        let trust = self.trust.load(Ordering::Relaxed);
        match outcome {
            Outcome::Won => {
                self.trust.store((trust + 2).min(MOST), Ordering::Relaxed);
                self.burns.store(0, Ordering::Relaxed);
            }
            Outcome::Lost => self.trust.store(trust.saturating_sub(1), Ordering::Relaxed),
            Outcome::Burnt => {
                let burns = self.burns.load(Ordering::Relaxed);
                self.trust.store(0, Ordering::Relaxed);
                self.burns.store((burns + 1).min(BURNS), Ordering::Relaxed);
                self.burnt_until.store(now.saturating_add(PAUSE << burns), Ordering::Relaxed);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn lost_waits_end_the_spinning_and_tries_go_on() {
        let habit = Habit::hopeful();
        for _ in 0..MOST {
            habit.learn(Outcome::Lost, 0);
        }
        assert_eq!((0..RETRY * 4).filter(|_| habit.spins(0)).count(), 4);
        habit.learn(Outcome::Won, 0);
        assert!(habit.spins(0));
    }

    #[test]
    fn burnt_tries_become_rare() {
        let habit = Habit::hopeful();
        let mut tries = 0;
        // An hour of a wait each 100 us.
        for now in (0..3_600_000_000_000).step_by(100_000) {
            if habit.spins(now) {
                habit.learn(Outcome::Burnt, now);
                tries += 1;
            }
        }
        assert!((60..90).contains(&tries), "{tries} tries");
    }
}
