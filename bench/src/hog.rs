//! A process that wants a whole CPU, for the placements in which others compete for it.

use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::hint::black_box;

/// Spins until the parent dies. Pinning is the caller's business.
///
/// # Errors
/// When the kernel refuses to tie this process to its parent.
pub fn spin() -> anyhow::Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A parent that died before the call above will never send the signal.
    if getppid() != parent {
        return Ok(());
    }
    let mut word = 1_u64;
    loop {
        word = black_box(word.rotate_left(7) ^ 0x9e37_79b9);
    }
}
