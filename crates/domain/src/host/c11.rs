//! Threads and their values by C's own names, which are those of POSIX underneath: the C library would not come by the
//! functions of the host.
#![allow(unsafe_code, reason = "functions of the C library, called in its place")]

use crate::{hooks, keys};
use std::{
    ffi::{c_int, c_void},
    ptr::{null, without_provenance_mut},
};

const SUCCESS: c_int = 0;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;

/// What a thread is to do.
struct Beginning {
    start: extern "C-unwind" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
}

/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_create(
    thread: *mut libc::pthread_t,
    start: extern "C-unwind" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
) -> c_int {
    extern "C-unwind" fn begin(beginning: *mut c_void) -> *mut c_void {
        // SAFETY: it is this thread's, made below.
        let Beginning { start, argument } = *unsafe { Box::from_raw(beginning.cast::<Beginning>()) };
        without_provenance_mut(start(argument) as usize)
    }
    let beginning = Box::into_raw(Box::new(Beginning { start, argument }));
    // SAFETY: the caller's promise; the beginning is the new thread's.
    let failed = unsafe { hooks::pthread_create(thread, null(), begin, beginning.cast()) };
    if failed != 0 {
        // SAFETY: no thread has it.
        drop(unsafe { Box::from_raw(beginning) });
    }
    match failed {
        0 => SUCCESS,
        libc::ENOMEM => NO_MEMORY,
        _ => ERROR,
    }
}

/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn tss_create(key: *mut libc::pthread_key_t, end: Option<keys::End>) -> c_int {
    // SAFETY: the caller's promise.
    if unsafe { keys::pthread_key_create(key, end) } == 0 { SUCCESS } else { ERROR }
}

/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn tss_delete(key: libc::pthread_key_t) {
    // SAFETY: the caller's promise.
    unsafe { keys::pthread_key_delete(key) };
}
