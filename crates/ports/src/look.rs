//! Looking before sleeping: a wake-up costs more than most waits, where the other end has a processor of its own.

use crate::{clock::now, settings};
use slipway_fabric::{spin::Outcome, sync::spin_loop};

/// How to look before a sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// The other end works on another processor.
    Spin,
    /// The other end needs this processor.
    Yield,
}

/// Looks without pause at first: an answer from another processor takes a fraction of a microsecond.
pub(crate) const EAGER: u32 = 200;
/// Looks between two looks at the clock.
const TURNS: u32 = 16;
/// Times a waiter lets others run on the processor that it shares with its peer.
const YIELDS: u32 = 4;
/// A turn of the processor that others took for longer than this, in nanoseconds, was a bad trade.
const DEAR: u64 = 700_000;

/// Looks until something stirs, or looking longer is not worth it.
pub(crate) fn look(outlook: Outlook, deadline: Option<u64>, stirs: &dyn Fn() -> bool) -> Outcome {
    if outlook == Outlook::Yield {
        for _ in 0..YIELDS {
            let start = now();
            rustix::thread::sched_yield();
            if now().saturating_sub(start) > DEAR {
                return Outcome::Burnt;
            }
            if stirs() {
                return Outcome::Won;
            }
        }
        return Outcome::Lost;
    }
    if (0..EAGER).any(|_| stirs()) {
        return Outcome::Won;
    }
    let longest = settings::spin_ns();
    let end = now().saturating_add(longest).min(deadline.unwrap_or(u64::MAX));
    loop {
        for _ in 0..TURNS {
            if stirs() {
                return Outcome::Won;
            }
            spin_loop();
        }
        if now() >= end {
            return Outcome::Lost;
        }
    }
}
