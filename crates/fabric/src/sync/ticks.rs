//! A clock that costs a few nanoseconds: for the order in which things came about, and for nothing that must be certain.

/// A count that grows with time, by the same clock in all processes of a machine. Where the processors of one disagree, so do their counts.
#[inline]
#[allow(unsafe_code, reason = "an instruction")]
pub fn ticks() -> u64 {
    // SAFETY: an instruction of every processor of this kind, which a process that has not given it up may use: as its clocks do.
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(all(target_arch = "aarch64", not(loom)))]
    {
        let count: u64;
        // SAFETY: reads a register that Linux lets programs read.
        unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack, preserves_flags)) }
        count
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(loom))))]
    0
}
