//! How long a writer waits until the reader of a full ring has made space.
//!
//! A bell for that would cost the reader a system call, and on a virtual machine an interrupt of the
//! other processor; and the reader is the end whose time is short. So the writer guesses, from two looks at the reader's cursor.

use crate::{
    ring::{Ring, TxCursor},
    spin::now,
    sync::{AtomicU64, Ordering::Relaxed},
};

/// A wait shorter than this, in nanoseconds, isn't worth going to sleep for.
const SHORTEST: u64 = 50_000;

/// A longer one, in nanoseconds, is no guess any more.
const LONGEST: u64 = 5_000_000;

/// Whether a ring of `size` bytes with `used` unread ones has space for a writer that found it full. Less
/// than what a bell waits for: a writer that is awake by then need not wait for half of the ring.
pub fn enough(used: u64, size: usize) -> bool {
    (size as u64).saturating_sub(used) >= size as u64 / 4
}

/// The pace of a ring's reader, as its writer learns it.
#[derive(Debug, Default)]
pub struct Pace {
    /// When and where the reader was at the first look; the time is 0 while nobody waits.
    since: AtomicU64,
    from: AtomicU64,
    /// Bytes in 1024 ns; 0 is unknown.
    rate: AtomicU64,
}

impl Pace {
    /// How long it will take until more than [`enough`] of the ring is free, in nanoseconds; None if that isn't known
    /// or not worth a wait. `time` is [`now`].
    pub fn space_wait(&self, ring: &Ring, mut cursor: TxCursor, time: u64) -> Option<u64> {
        let used = ring.unread(&mut cursor).ok()?;
        if self.since.load(Relaxed) == 0 {
            self.from.store(cursor.head_seen, Relaxed);
            self.since.store(time, Relaxed);
        }
        let rate = self.rate.load(Relaxed);
        if rate == 0 {
            return None;
        }
        let excess = used.saturating_sub(ring.size() as u64 / 8 * 5);
        Some(excess.saturating_mul(1024) / rate).filter(|wait| (SHORTEST..=LONGEST).contains(wait))
    }

    /// There is space again, after a wait that may have begun with [`Pace::space_wait`]; the reader is at `head`.
    pub fn learn(&self, head: u64) {
        let since = self.since.load(Relaxed);
        if since != 0 {
            self.since.store(0, Relaxed);
            let time = now().saturating_sub(since).max(1);
            let read = head.wrapping_sub(self.from.load(Relaxed));
            let rate = read.saturating_mul(1024) / time;
            let before = self.rate.load(Relaxed);
            self.rate.store(if before == 0 { rate } else { (3 * before + rate) / 4 }, Relaxed);
        }
    }
}
