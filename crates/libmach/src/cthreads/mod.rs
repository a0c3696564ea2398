//! C Threads over POSIX threads: the functions behind `cthreads.h`.
//!
//! Every C thread is a POSIX thread. Mutexes, conditions and spin locks are in the header; here is what needs
//! a thread's own record: its result, its data and name, and how many threads there are.
//!
//! * [`record`]: what is known of a thread, and when that goes. * [`count`]: how many there are.

#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

mod count;
mod record;

use libc::{c_char, c_int, c_void};
use record::Record;
use std::ptr;

/// A thread's function, `cthread_fn_t`. It may end by `pthread_exit`, which unwinds through its caller.
type Function = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

unsafe extern "C-unwind" {
    pub(crate) fn pthread_exit(result: *mut c_void) -> !;
}

/// Does nothing: all is set up on first use.
#[unsafe(no_mangle)]
pub extern "C" fn cthread_init() -> c_int {
    0
}

/// A new thread; null when the system allows no more.
///
/// # Safety
/// `function` may be called with `argument` on another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cthread_fork(function: Option<Function>, argument: *mut c_void) -> *mut Record {
    let Some(function) = function else { return ptr::null_mut() };
    record::start(function, argument)
}

/// Waits for the thread's end and gives its result.
///
/// # Safety
/// `thread` is from [`cthread_fork`] and was neither joined nor detached.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cthread_join(thread: *mut Record) -> *mut c_void {
    if thread.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the caller's promise: the record is there and is the caller's to end.
    unsafe { record::join(thread) }
}

/// Nobody will join the thread.
///
/// # Safety
/// `thread` is from [`cthread_fork`] and was neither joined nor detached.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cthread_detach(thread: *mut Record) {
    if !thread.is_null() {
        // SAFETY: the caller's promise: the record is there and is the caller's to end.
        unsafe { record::detach(thread) }
    }
}

/// Ends the calling thread; the first thread ends the process once the others are done.
///
/// # Safety
/// As for `pthread_exit`: the frames up to the thread's function may be unwound.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn cthread_exit(result: *mut c_void) -> ! {
    if record::on_first_thread() {
        count::wait_for_none();
        std::process::exit(result as usize as c_int);
    }
    // SAFETY: nothing in this frame needs to be dropped; the caller answers for the others.
    unsafe { pthread_exit(result) }
}

/// The calling thread; null only while it is being taken down.
#[unsafe(no_mangle)]
pub extern "C" fn cthread_self() -> *mut Record {
    record::current()
}

/// Lets other threads run.
#[unsafe(no_mangle)]
pub extern "C" fn cthread_yield() {
    std::thread::yield_now();
}

/// Sets the program's own word of a thread.
///
/// # Safety
/// `thread` is null or a thread that is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cthread_set_data(thread: *mut Record, data: *mut c_void) {
    // SAFETY: the caller's promise.
    if let Some(record) = unsafe { thread.as_ref() } {
        record.set_data(data);
    }
}

/// The program's own word of a thread.
///
/// # Safety
/// `thread` is null or a thread that is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cthread_data(thread: *mut Record) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { thread.as_ref() }.map_or(ptr::null_mut(), Record::data)
}

/// Sets a thread's name, here and for the system's tools.
///
/// # Safety
/// `thread` is null or a thread that is there; `name` is null or a string that lasts as long.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cthread_set_name(thread: *mut Record, name: *const c_char) {
    // SAFETY: the caller's promise, for both.
    unsafe {
        if let Some(record) = thread.as_ref() {
            record.set_name(name);
        }
    }
}

/// A thread's name.
///
/// # Safety
/// `thread` is null or a thread that is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cthread_name(thread: *mut Record) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { thread.as_ref() }.map_or(c"".as_ptr(), Record::name)
}

/// Threads that run: the first one, and those that were forked and have not ended.
#[unsafe(no_mangle)]
pub extern "C" fn cthread_count() -> c_int {
    count::forked().saturating_add(1)
}

/// Keeps the number of kernel threads that the program asks for.
#[unsafe(no_mangle)]
pub extern "C" fn cthread_set_limit(limit: c_int) {
    count::set_limit(limit);
}

/// What [`cthread_set_limit`] was last given; 0 at first.
#[unsafe(no_mangle)]
pub extern "C" fn cthread_limit() -> c_int {
    count::limit()
}
