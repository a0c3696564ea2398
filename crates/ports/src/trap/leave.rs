//! Leaving functions of a task that ends, without unwinding them.
#![allow(unsafe_code, reason = "what the left functions hold is the caller's promise")]

pub use super::jump::leave;
use super::{catch, thread};

/// Ends the innermost call that the calling thread is in with `MIG_SERVER_DIED`, and doesn't return, if it is in one. What
/// the routine holds is not given back.
///
/// # Safety
/// No other thread uses what lies on the stack of that routine and of the functions that it called: their part of the stack
/// is the caller's again.
pub unsafe fn leave_call() {
    if thread::with(|thread| !thread.frame.get().is_null()) {
        catch::leave();
    }
}
