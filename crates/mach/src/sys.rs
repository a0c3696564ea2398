//! libmach's functions. Mach's own are those of `include/mach/*.h`; what begins with `slipway_` is between libmach and this crate.
#![allow(unsafe_code, reason = "functions of another library")]
#![allow(missing_docs, reason = "Mach's manual and libmach have them")]

use slipway_abi::call::{Header, Pieces, Request, Status, TaskId, TrapTable};
use std::ffi::{c_char, c_int, c_void};

/// A name of a port, `mach_port_t`.
pub type Name = u32;
/// `kern_return_t`.
pub type Return = c_int;

macro_rules! functions {
    ($($abi:literal fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        $(unsafe extern $abi {
            pub fn $name($($argument: $type),*) $(-> $result)?;
        })*

        /// The functions by their types. libmach makes a constant of this type of its own functions, so that declarations and definitions can't
        /// differ.
        #[derive(Debug)]
        pub struct Functions {
            $(pub $name: unsafe extern $abi fn($($argument: $type),*) $(-> $result)?,)*
        }
    };
}

functions! {
    "C" fn mach_msg(
        msg: *mut Header, option: i32, send_size: u32, rcv_size: u32, rcv_name: Name, timeout: u32, notify: Name,
    ) -> Return;
    "C" fn mach_task_self() -> Name;
    "C" fn mach_thread_self() -> Name;
    "C" fn mach_host_self() -> Name;
    "C" fn mach_reply_port() -> Name;
    "C" fn mach_port_names(
        of: Name, names: *mut *mut u32, names_count: *mut u32, types: *mut *mut u32, types_count: *mut u32,
    ) -> Return;
    "C" fn mach_port_type(of: Name, name: Name, port_type: *mut u32) -> Return;
    "C" fn mach_port_rename(of: Name, old_name: Name, new_name: Name) -> Return;
    "C" fn mach_port_allocate(of: Name, right: u32, name: *mut Name) -> Return;
    "C" fn mach_port_allocate_name(of: Name, right: u32, name: Name) -> Return;
    "C" fn mach_port_destroy(of: Name, name: Name) -> Return;
    "C" fn mach_port_deallocate(of: Name, name: Name) -> Return;
    "C" fn mach_port_get_refs(of: Name, name: Name, right: u32, refs: *mut u32) -> Return;
    "C" fn mach_port_mod_refs(of: Name, name: Name, right: u32, delta: i32) -> Return;
    "C" fn mach_port_set_qlimit(of: Name, name: Name, qlimit: u32) -> Return;
    "C" fn mach_port_set_mscount(of: Name, name: Name, mscount: u32) -> Return;
    "C" fn mach_port_set_seqno(of: Name, name: Name, seqno: u32) -> Return;
    "C" fn mach_port_get_set_status(of: Name, name: Name, members: *mut *mut u32, members_count: *mut u32) -> Return;
    "C" fn mach_port_move_member(of: Name, member: Name, after: Name) -> Return;
    "C" fn mach_port_get_receive_status(of: Name, name: Name, status: *mut Status) -> Return;
    "C" fn mach_port_set_protected_payload(of: Name, name: Name, payload: u64) -> Return;
    "C" fn mach_port_clear_protected_payload(of: Name, name: Name) -> Return;
    "C" fn mach_port_request_notification(
        of: Name, name: Name, variant: i32, sync: u32, notify: Name, notify_type: u32, previous: *mut Name,
    ) -> Return;
    "C" fn mach_port_insert_right(of: Name, name: Name, right: Name, right_type: u32) -> Return;
    "C" fn mach_port_extract_right(of: Name, name: Name, desired: u32, right: *mut Name, acquired_type: *mut u32) -> Return;
    "C" fn mach_port_register_traps(of: Name, receive: Name, table: *const TrapTable, flags: c_int) -> Return;
    "C-unwind" fn mach_trap(destination: Name, id: i32, signature: u64, arguments: *mut c_void, code: *mut Return) -> c_int;
    "C" fn task_get_special_port(of: Name, which_port: c_int, special_port: *mut Name) -> Return;
    "C" fn task_set_special_port(of: Name, which_port: c_int, special_port: Name) -> Return;
    "C" fn vm_deallocate(of: Name, address: usize, size: usize) -> Return;
    "C" fn slipway_task_current() -> TaskId;
    "C" fn slipway_task_create() -> TaskId;
    "C" fn slipway_task_enter(task: TaskId) -> TaskId;
    "C" fn slipway_task_port(task: TaskId) -> Name;
    "C" fn slipway_task_named(name: Name, task: *mut TaskId) -> Return;
    "C" fn slipway_task_label(task: TaskId, label: *const c_char);
    "C" fn slipway_task_terminate(task: TaskId);
    "C" fn slipway_task_wait_for_callers(task: TaskId);
    "C" fn slipway_task_special(which: c_int, name: *mut Name) -> Return;
    "C" fn slipway_task_note_name_server(name: Name);
    "C" fn slipway_task_is_name_server(name: Name) -> c_int;
    "C" fn slipway_msg(task: TaskId, buffer: *mut u8, len: usize, request: *const Request) -> Return;
    "C" fn slipway_send_pieces(task: TaskId, dest: Name, id: i32, pieces: *const Pieces) -> Return;
    "C" fn slipway_port_descriptor(name: Name, fd: *mut c_int) -> Return;
    "C" fn slipway_port_import(sending: c_int, holder: c_int, name: *mut Name) -> c_int;
    "C" fn slipway_port_export(name: Name, sending: *mut c_int, holder: *mut c_int) -> c_int;
    "C" fn slipway_port_holders(name: Name, holders: *mut usize) -> Return;
    "C-unwind" fn slipway_trap(task: TaskId, destination: Name, id: i32, signature: u64, arguments: *mut c_void) -> u64;
    "C" fn slipway_may_trap(destination: Name, id: i32, signature: u64) -> c_int;
    "C" fn slipway_memory_lend(from: usize, len: usize, in_place: bool, at: *mut usize) -> c_int;
    "C" fn slipway_memory_reclaim(at: usize);
    "C" fn slipway_memory_give_back(at: usize, len: usize, clean: bool);
    "C" fn slipway_trap_calls(name: Name, calls: *mut u64) -> Return;
}
