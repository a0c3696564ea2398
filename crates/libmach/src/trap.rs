//! Calls in place of messages: `include/mach/trap.h`.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::call::{Name, Return, routine, task};
pub use slipway_abi::call::TrapTable;
use slipway_abi::{
    Code,
    call::{CONCURRENT, SERIAL, TRAP_VERSION},
};
use slipway_ports::trap::{self, Table};
use std::{
    ffi::{c_int, c_void},
    slice,
};

/// The most routines in a table.
const MOST: u32 = 1 << 16;

/// Copies a table.
///
/// # Safety
/// It is what it says, for the time of the call.
unsafe fn copy(table: *const TrapTable) -> Result<Table, Code> {
    // SAFETY: every version's table begins with it. Of another version there may be less behind it than of this one.
    if unsafe { (&raw const (*table).version).read() } != TRAP_VERSION {
        return Err(Code::INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise.
    let table = unsafe { &*table };
    if table.count > MOST || (table.trap.is_null() && table.count > 0) {
        return Err(Code::INVALID_ARGUMENT);
    }
    if table.base.checked_add(table.count as i32).is_none() {
        return Err(Code::INVALID_ARGUMENT);
    }
    let rows = match table.count {
        0 => &[],
        // SAFETY: the caller's promise.
        count => unsafe { slice::from_raw_parts(table.trap, count as usize) },
    };
    Ok(Table { base: table.base, entries: rows.into(), context: table.context.expose_provenance() })
}

/// Registers a port's routines; with null it withdraws them, and waits for the calls in them.
///
/// # Safety
/// The table is null, or one whose routines take what their signatures say, for as long as they are registered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_port_register_traps(of: Name, receive: Name, table: *const TrapTable, flags: c_int) -> Return {
    routine(|| {
        let task = task(of)?;
        if !matches!(flags, SERIAL | CONCURRENT) {
            return Err(Code::INVALID_ARGUMENT);
        }
        if table.is_null() {
            return task.withdraw_traps(receive);
        }
        // SAFETY: the caller's promise.
        task.register_traps(receive, unsafe { copy(table)? }, flags == SERIAL)
    })
}

/// Calls a routine of a port in this process. False if a message is to be sent.
///
/// # Safety
/// The arguments are what a routine with the signature takes; the code has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mach_trap(
    destination: Name,
    id: i32,
    signature: u64,
    arguments: *mut c_void,
    code: *mut Return,
) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { trap::call(destination, id, signature, arguments) } {
        Some(outcome) => {
            // SAFETY: the caller's promise.
            unsafe { code.write(outcome) };
            1
        }
        None => 0,
    }
}

/// Memory for the trap function that the calling thread is in, until it gives it back or an exception leaves it; null if
/// there is none.
#[unsafe(no_mangle)]
pub extern "C" fn mig_trap_allocate(size: usize) -> *mut c_void {
    trap::scratch::allocate(size)
}

/// Gives memory back.
///
/// # Safety
/// It is what `mig_trap_allocate` gave, in this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mig_trap_free(memory: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { trap::scratch::release(memory) };
}
