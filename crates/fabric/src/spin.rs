//! How long a waiter keeps looking before it sleeps.
//!
//! A wake-up costs more than most waits on a machine where the peer runs on another processor
//! (40 to 56 us on a small virtual machine), so spinning that long never doubles the cost of a wait. Where spinning has not won
//! lately, or can't win because the peer needs this very processor, a waiter sleeps at once.

use crate::sync::{AtomicU32, Ordering};

/// Learns from the outcomes of one waiter's waits whether spinning is worth it.
#[derive(Debug, Default)]
pub struct Habit {
    /// Grows with waits that spinning won, shrinks with waits it lost.
    trust: AtomicU32,
    /// Waits since the last try while trust is gone.
    skipped: AtomicU32,
}

/// Trust never grows beyond this: so many lost waits in a row end the spinning.
const MOST: u32 = 8;

/// With no trust left, one wait in this many is spun, to notice better times.
const RETRY: u32 = 64;

impl Habit {
    /// A habit that begins by giving spinning a few chances.
    pub const fn hopeful() -> Self {
        Self { trust: AtomicU32::new(MOST / 2), skipped: AtomicU32::new(0) }
    }

    /// Whether to spin in the wait that begins now.
    pub fn spins(&self) -> bool {
        if self.trust.load(Ordering::Relaxed) > 0 {
            return true;
        }
        let skipped = self.skipped.load(Ordering::Relaxed);
        self.skipped.store(if skipped >= RETRY { 0 } else { skipped + 1 }, Ordering::Relaxed);
        skipped >= RETRY
    }

    /// The wait ended while spinning.
    pub fn won(&self) {
        let trust = self.trust.load(Ordering::Relaxed);
        if trust < MOST {
            self.trust.store((trust + 2).min(MOST), Ordering::Relaxed);
        }
    }

    /// The wait outlasted the spin.
    pub fn lost(&self) {
        let trust = self.trust.load(Ordering::Relaxed);
        self.trust.store(trust.saturating_sub(1), Ordering::Relaxed);
    }
}
