//! What differs between the dialects for the calls around `mach_msg`.
#![allow(unsafe_code, reason = "messages that C passes")]

use slipway_ports::msg::{darwin::Darwin, format::Format, header::Typed};

/// A dialect as C programs have it.
pub(crate) trait Face: Format {
    /// The size of the smallest reply that a generated server makes, in bytes.
    const REPLY: usize;
    /// Where its return code is.
    const RETURN_CODE: usize;
    /// Whether a reply can say that it is none, and that its request is to be destroyed.
    const DESTROYS: bool;
    /// The most bytes behind a received message.
    const BEHIND: usize;

    /// Deallocates the rights and the out-of-line memory of a message.
    ///
    /// # Safety
    /// `msg` is a whole message whose rights and memory are the caller's.
    unsafe fn destroy(msg: *mut u8);
}

impl Face for Typed {
    const REPLY: usize = 48;
    const RETURN_CODE: usize = 40;
    const DESTROYS: bool = true;
    const BEHIND: usize = 0;

    unsafe fn destroy(msg: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { crate::destroy::destroy(msg.cast()) }
    }
}

impl Face for Darwin {
    const REPLY: usize = 36;
    const RETURN_CODE: usize = 32;
    const DESTROYS: bool = false;
    const BEHIND: usize = 68;

    unsafe fn destroy(msg: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { crate::darwin::destroy::destroy(msg) }
    }
}
