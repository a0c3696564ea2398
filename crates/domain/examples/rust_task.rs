//! A task in Rust: a service whose routines may be called by the tasks of its process. It uses libmach by its C
//! functions, as every task does, so that there is one for all of them.
//!
//! ```text
//! cargo build -p slipway-domain --example rust_task
//! slipway run --private target/debug/examples/librust_task.so client.so
//! ```

#![allow(unsafe_code, reason = "functions of a C library")]

use std::{
    ffi::{OsString, c_char, c_int, c_void},
    ptr::null_mut,
};

slipway_domain::task_main!(serve);

type Name = u32;

/// `struct mach_trap_entry`.
#[repr(C)]
struct Entry {
    routine: unsafe extern "C-unwind" fn(Name, *mut c_void, *mut c_void) -> c_int,
    signature: u64,
}

/// `mach_trap_table_t`.
#[repr(C)]
struct Table {
    version: u32,
    base: i32,
    count: u32,
    traps: *const Entry,
    context: *mut c_void,
}

unsafe extern "C-unwind" {
    fn mach_task_self() -> Name;
    fn mach_port_allocate(task: Name, right: u32, name: *mut Name) -> c_int;
    fn mach_port_insert_right(task: Name, name: Name, port: Name, disposition: u32) -> c_int;
    fn mach_port_register_traps(task: Name, receive: Name, table: *const Table, flags: c_int) -> c_int;
    fn bootstrap_register(server: Name, service: *const c_char, port: Name) -> c_int;
    fn mach_msg(msg: *mut c_void, option: c_int, send: u32, receive: u32, name: Name, timeout: u32, notify: Name) -> c_int;
}

const RECEIVE: u32 = 1;
const MAKE_SEND: u32 = 20;
const CONCURRENT: c_int = 1;
const RCV_MSG: c_int = 2;

/// Doubles the number that a caller brings; a negative one is a mistake of the caller's that this server panics about.
unsafe extern "C-unwind" fn double(_request: Name, argument: *mut c_void, _context: *mut c_void) -> c_int {
    // SAFETY: who calls with this routine's signature brings a number.
    let number = unsafe { &mut *argument.cast::<c_int>() };
    assert!(*number >= 0, "a negative number");
    *number *= 2;
    0
}

fn serve(_arguments: Vec<OsString>) -> i32 {
    let entry = Entry { routine: double, signature: 7 };
    let table = Table { version: 1, base: 7000, count: 1, traps: &raw const entry, context: null_mut() };
    let mut port = 0;
    let mut message = [0u64; 64];
    // SAFETY: the places are there, and the strings end.
    unsafe {
        let task = mach_task_self();
        if mach_port_allocate(task, RECEIVE, &raw mut port) != 0
            || mach_port_insert_right(task, port, port, MAKE_SEND) != 0
            || mach_port_register_traps(task, port, &raw const table, CONCURRENT) != 0
            || bootstrap_register(0, c"slipway.example.double".as_ptr(), port) != 0
        {
            return 1;
        }
        // Messages are not understood here: they are taken, and that is all.
        while mach_msg(message.as_mut_ptr().cast(), RCV_MSG, 0, size_of_val(&message) as u32, port, 0, 0) == 0 {}
    }
    0
}
