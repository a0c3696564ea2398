//! What `mach_msg` is asked to do.

use slipway_fabric::spin::now;

/// What `mach_msg` is asked to do, beside the buffer.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Request {
    /// `MACH_SEND_*` and `MACH_RCV_*` options.
    pub option: u32,
    /// The size of the message to be sent in bytes.
    pub send_size: usize,
    /// The most bytes to be received.
    pub receive_size: usize,
    /// The port or port set to receive from.
    pub receive_name: u32,
    /// The time-out of each half in milliseconds, if its option asks for one.
    pub timeout: u32,
    /// The name that MACH_SEND_NOTIFY and MACH_RCV_NOTIFY use.
    pub notify: u32,
}

/// The end of a wait of so many milliseconds from now, if one is asked for, on [`now`]'s clock.
pub(super) fn deadline(asked: bool, milliseconds: u32) -> Option<u64> {
    asked.then(|| now().saturating_add(u64::from(milliseconds) * 1_000_000))
}
