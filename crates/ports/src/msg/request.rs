//! What `mach_msg` is asked to do.

use crate::abi::option;
use slipway_fabric::spin::now;

pub use slipway_abi::call::Request;

/// The end of a wait of so many milliseconds from now, if one is asked for, on [`now`]'s clock.
pub(super) fn deadline(asked: bool, milliseconds: u32) -> Option<u64> {
    asked.then(|| now().saturating_add(u64::from(milliseconds) * 1_000_000))
}

/// The options with which a signal ends a call.
pub(super) const INTERRUPTS: u32 = option::SEND_INTERRUPT | option::RCV_INTERRUPT;
