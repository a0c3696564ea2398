//! For the host of several tasks in one process (`slipway-domain`), which finds these functions by name. No header
//! declares them: programs have no use for them.
#![allow(unsafe_code, reason = "functions that another program's code calls, with pointers that it passes")]

use crate::call::guarded;
use slipway_mach::bootstrap::contact;
use slipway_ports::{abi::Code, task::Task, trap::leave};
use std::{
    ffi::{CStr, OsStr, c_char, c_int},
    os::unix::ffi::OsStrExt,
    panic::catch_unwind,
    path::Path,
};

/// `MACH_TASK_ABI`: the version of what tasks as shared objects expect.
const ABI: u32 = 1;

/// The version of what tasks as shared objects expect of this library.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_domain_abi() -> u32 {
    ABI
}

/// A new task in this process: its number for the functions below; 0, the process's first task, if it can't be made.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_domain_create() -> u32 {
    catch_unwind(|| Task::new().number()).unwrap_or(0)
}

/// Names a task for tools that look at the process.
///
/// # Safety
/// The name is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_domain_label(task: u32, name: *const c_char) {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    guarded(Code::FAILURE, || {
        Task::by_number(task).set_label(&name);
        Code::SUCCESS
    });
}

/// The calling thread works for the task from here on.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_domain_enter(task: u32) {
    guarded(Code::FAILURE, || {
        Task::by_number(task).enter();
        Code::SUCCESS
    });
}

/// The task that the calling thread works for; 0, the process's first, if that can't be told.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_domain_current() -> u32 {
    catch_unwind(|| Task::current().number()).unwrap_or(0)
}

/// Gives the task the name server at the socket: `KERN_SUCCESS`, or `KERN_FAILURE` if there is none.
///
/// # Safety
/// The path is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_domain_bootstrap(task: u32, socket: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let path = OsStr::from_bytes(unsafe { CStr::from_ptr(socket) }.to_bytes());
    guarded(Code::FAILURE, || {
        let task = Task::by_number(task);
        let Ok((s, t)) = contact::greet(Path::new(path)) else { return Code::FAILURE };
        let Ok(name) = task.import(s, t) else { return Code::FAILURE };
        task.set_bootstrap(name).err().unwrap_or(Code::SUCCESS)
    })
}

/// Whether a thread waits for requests on the task's behalf, or polls for them: 1 or 0.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_domain_waits_for_requests(task: u32) -> c_int {
    catch_unwind(|| Task::by_number(task).waits_for_requests()).unwrap_or(false).into()
}

/// Ends the task: its rights are given up, and nobody comes into its routines any more.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_domain_terminate(task: u32) {
    guarded(Code::FAILURE, || {
        Task::by_number(task).terminate();
        Code::SUCCESS
    });
}

/// Waits until no other thread is in a routine of a task that was ended.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_domain_wait_for_callers(task: u32) {
    guarded(Code::FAILURE, || {
        Task::by_number(task).wait_for_callers();
        Code::SUCCESS
    });
}

/// Ends the innermost call to another task that the calling thread is in with `MIG_SERVER_DIED`, without unwinding what is in
/// between; returns if it is in none.
///
/// # Safety
/// As for [`leave::leave_call`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_domain_leave_call() {
    // SAFETY: the caller's promise.
    unsafe { leave::leave_call() }
}

/// Goes on at `place` in the innermost function of the calling thread that made its call between `from` and `to`, without
/// unwinding what is in between; returns if there is none.
///
/// # Safety
/// As for [`leave::leave`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_domain_leave(from: usize, to: usize, place: usize) {
    // SAFETY: the caller's promise.
    unsafe { leave::leave(from, to, place) }
}
