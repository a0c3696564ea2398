//! Settings from the environment.

use std::sync::OnceLock;

/// How long a waiter looks before it sleeps, in nanoseconds: `SLIPWAY_SPIN`, in microseconds; 0 means never. The
/// default is what a sleep and a wake-up cost on a small virtual machine.
pub fn spin_ns() -> u64 {
    static SPIN: OnceLock<u64> = OnceLock::new();
    *SPIN.get_or_init(|| {
        let micros = std::env::var("SLIPWAY_SPIN").ok().and_then(|value| value.trim().parse().ok());
        micros.unwrap_or(50u64).saturating_mul(1000).min(1_000_000_000)
    })
}
