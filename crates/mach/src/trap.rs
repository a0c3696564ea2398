//! Calls in place of messages, between tasks of one process.
#![allow(unsafe_code, reason = "routines of other tasks, with arguments by pointer")]

use crate::{
    abi::{
        Code,
        call::{CONCURRENT, SERIAL, TRAP_VERSION, TrapTable},
    },
    sys,
    task::{Task, outcome},
};
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

impl Task {
    /// Registers routines for the port whose receive right is `name`, besides those that it has, or in place of those
    /// with the same base. `serial`: calls are made one at a time, each in the place of a thread that waits in a
    /// receive on the port or its set.
    ///
    /// # Errors
    /// `INVALID_NAME`, `INVALID_RIGHT`, and `INVALID_ARGUMENT` for a table that can't be.
    ///
    /// # Safety
    /// Each routine takes a block that is as its signature says, and the table's context, for as long as it is registered.
    pub unsafe fn register_traps(&self, name: u32, table: Table, serial: bool) -> Result<(), Code> {
        let context = std::ptr::with_exposed_provenance_mut(table.context);
        let count = u32::try_from(table.entries.len()).map_err(|_| Code::INVALID_ARGUMENT)?;
        let table = TrapTable { version: TRAP_VERSION, base: table.base, count, trap: table.entries.as_ptr(), context };
        let flags = if serial { SERIAL } else { CONCURRENT };
        // SAFETY: the table is copied; what its routines take is the caller's promise.
        outcome(self.within(|of| unsafe { sys::mach_port_register_traps(of, name, &raw const table, flags) }))
    }

    /// Withdraws the routines of a port, and waits until no thread but the calling one is in any of them.
    ///
    /// # Errors
    /// `INVALID_NAME`, `INVALID_RIGHT`.
    pub fn withdraw_traps(&self, name: u32) -> Result<(), Code> {
        // SAFETY: null withdraws.
        outcome(self.within(|of| unsafe { sys::mach_port_register_traps(of, name, std::ptr::null(), 0) }))
    }

    /// Calls a routine of a port that this task has a send right to, if the calling thread works for it: what it returned. None, and
    /// nothing has happened, if a message is to be sent.
    ///
    /// # Safety
    /// The arguments are what a routine with this signature takes.
    #[inline]
    pub(crate) unsafe fn trap(&self, name: u32, id: i32, signature: u64, arguments: *mut c_void) -> Option<i32> {
        // SAFETY: the caller's promise.
        let outcome = unsafe { sys::slipway_trap(self.0, name, id, signature, arguments) };
        (outcome != 0).then_some(outcome as i32)
    }

    /// Calls that were made to a port of this task since it registered routines; None if it has none, or is no receive
    /// right.
    pub fn trap_calls(&self, name: u32) -> Option<u64> {
        // SAFETY: the result has a place.
        self.get(|_, calls| unsafe { sys::slipway_trap_calls(name, calls) }).ok()
    }
}
