//! Atomics, futexes and mappings, and nothing else: the rest of the project builds on these types.
//!
//! Under `cfg(loom)` the same names are loom's, the futex is modelled as futex(2) behaves, and a
//! mapping is a heap object, so one test body runs natively and under the model checker.

mod atomic;
#[cfg(not(loom))]
mod forked;
mod futex;
#[cfg(not(loom))]
mod held;
#[cfg(not(loom))]
mod load;
#[cfg_attr(loom, path = "lock_loom.rs")]
mod lock;
#[cfg(not(loom))]
mod mapping;
#[cfg(loom)]
#[path = "mapping_loom.rs"]
mod mapping;
mod mutex;
#[cfg(not(loom))]
pub mod pages;
mod ticks;

pub use atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence, full_fence, spin_loop};
#[cfg(not(loom))]
pub use forked::{ForkGuard, ForkMutex, Forked};
pub use futex::{FutexWord, Slept};
#[cfg(not(loom))]
pub use held::{Held, after_locks, holds_any};
#[cfg(not(loom))]
pub use load::ask_loader;
pub use lock::{Guard, Lock};
pub use mapping::{Bytes, Shared};
#[cfg(not(loom))]
pub use mapping::{Mapping, Zeroed};
pub use mutex::{Mutex, MutexGuard};
pub use ticks::ticks;

/// Memory two processors write at different times, on cache lines of its own.
///
/// 128 bytes: the processors that prefetch do so by pairs of 64-byte lines.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Padded<T>(pub T);

impl<T> std::ops::Deref for Padded<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// The most bytes that are best copied in one go. A C library may copy more by one string instruction, which some processors carry out twenty times
/// slower where the destination lies up to 63 bytes further into its page than the source: a ring's records come past such places.
pub const COPIED_AT_ONCE: usize = 2048;

/// As `to_vec`, in pieces that are best copied.
#[inline]
pub fn copied(from: &[u8]) -> Vec<u8> {
    if from.len() <= COPIED_AT_ONCE {
        return from.to_vec();
    }
    let mut to = Vec::new();
    append(&mut to, from);
    to
}

/// As `extend_from_slice`, in pieces that are best copied.
pub fn append(to: &mut Vec<u8>, from: &[u8]) {
    to.reserve(from.len());
    from.chunks(COPIED_AT_ONCE).for_each(|piece| to.extend_from_slice(piece));
}
