//! What threads keep of something that changes rarely, to use without its lock; and the number by which they learn that
//! they have to look again.

use crate::sync::{AtomicU64, Ordering};

/// Moves on when something that threads have kept is no longer so.
///
/// It is advanced with the lock held under which that changes, and so before anybody else can look. A thread keeps
/// with what it saw the epoch as it was *before* the look: so what changes meanwhile makes it look once more, and it never
/// takes old things for new ones.
#[derive(Debug)]
pub struct Epoch(AtomicU64);

/// No epoch: what was kept with it is not used.
pub const NEVER: u64 = 0;

impl Epoch {
    /// The first epoch.
    #[cfg(not(loom))]
    #[allow(clippy::new_without_default, reason = "the default would be no constant")]
    pub const fn new() -> Self {
        Self(AtomicU64::new(NEVER + 1))
    }

    /// As the native one.
    #[cfg(loom)]
    #[allow(clippy::new_without_default, reason = "as the native one")]
    pub fn new() -> Self {
        Self(AtomicU64::new(NEVER + 1))
    }

    /// Has every thread look again. Called with the lock held.
    pub fn advance(&self) {
        self.0.fetch_add(1, Ordering::Release);
    }

    /// Whether what was kept with the epoch `kept` can be used.
    #[inline]
    pub fn is(&self, kept: u64) -> bool {
        self.0.load(Ordering::Acquire) == kept
    }

    /// Runs `look`, which takes the lock: what it saw, and the epoch to keep with it.
    pub fn look<T>(&self, look: impl FnOnce() -> T) -> (T, u64) {
        let before = self.0.load(Ordering::Acquire);
        (look(), before)
    }
}
