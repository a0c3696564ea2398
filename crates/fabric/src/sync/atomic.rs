//! The atomics of the project: std's, or loom's when the model checker runs.
#![allow(unsafe_code, clippy::disallowed_types, clippy::disallowed_methods, reason = "this module is the replacement")]

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// As `fence(Ordering::SeqCst)`.
#[inline(always)]
pub fn full_fence() {
    // SAFETY: it adds 0 to the word at the end of the stack. A locked instruction is a full fence, in half the time of the
    // `mfence` that the compiler would take; and it leaves nothing to move across the statement.
    #[cfg(all(not(loom), target_arch = "x86_64"))]
    unsafe {
        std::arch::asm!("lock add dword ptr [rsp], 0", options(nostack));
    }
    #[cfg(any(loom, not(target_arch = "x86_64")))]
    fence(Ordering::SeqCst);
}

/// One turn of a spin loop.
pub fn spin_loop() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    std::hint::spin_loop();
}
