//! Calls in place of messages, between tasks of one process.
#![allow(unsafe_code, reason = "routines of other tasks, with arguments by pointer")]

use crate::sys;
use std::ffi::c_void;

pub use crate::abi::call::{Entry, Routine};

/// The routines for the identifiers from `base` on.
#[derive(Debug, Clone)]
pub struct Table {
    /// The first identifier.
    pub base: i32,
    /// One for each.
    pub entries: Box<[Entry]>,
    /// The address that is handed to every routine. Only they know what is there.
    pub context: usize,
}

/// Calls the routine for the identifier at the port that the calling task knows as `name`: what it returned. None, and
/// nothing has happened, if a message is to be sent.
///
/// # Safety
/// The arguments are what a routine with this signature takes.
#[inline]
pub unsafe fn call(name: u32, id: i32, signature: u64, arguments: *mut c_void) -> Option<i32> {
    let mut code = 0;
    // SAFETY: the caller's promise, and a place for the code.
    (unsafe { sys::mach_trap(name, id, signature, arguments, &raw mut code) } != 0).then_some(code)
}

/// Whether [`call`] with these would most likely call, or return `MACH_TRAP_DEADLOCK`: the routine is there and its turn is
/// free. For a caller that has to make much ready for a call, and would not need it for a message.
#[inline]
pub fn may_call(name: u32, id: i32, signature: u64) -> bool {
    // SAFETY: numbers.
    unsafe { sys::slipway_may_trap(name, id, signature) != 0 }
}
