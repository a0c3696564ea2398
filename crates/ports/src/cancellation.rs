//! Threads that are cancelled, by pthread_cancel(3): not while they are in the library. Many functions of the C library end such a thread, as close(2)
//! does, and its unwinding would pass frames that end the process; its locks would stay held.
#![allow(unsafe_code, reason = "the C library's state of the calling thread")]

use std::ffi::c_int;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

const DISABLED: c_int = 1;

/// While it is there the calling thread, which drops it, too, is not cancelled. What came meanwhile ends the thread at a later call of the program's.
#[derive(Debug)]
pub struct Uncancelled {
    /// As the program has it.
    before: c_int,
}

impl Uncancelled {
    /// From here on.
    pub fn begin() -> Self {
        let mut before = 0;
        // SAFETY: the result has a place. It fails for other states alone.
        unsafe { pthread_setcancelstate(DISABLED, &raw mut before) };
        Self { before }
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        // SAFETY: it was the thread's state. No unwinding begins here: that is for threads alone that may be cancelled anywhere.
        unsafe { pthread_setcancelstate(self.before, std::ptr::null_mut()) };
    }
}
