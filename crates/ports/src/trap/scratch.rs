//! Memory that a trap function takes for its routine, and that must not stay when an exception leaves the routine: C has
//! nothing that would free it on the way.
#![allow(unsafe_code, reason = "memory by pointer, and the calling thread's innermost frame")]

use super::{frame, thread};
use std::ffi::c_void;

/// Takes memory for the innermost call of this thread, for as long as it lasts: null if there is none. Aligned to 16
/// bytes.
pub fn allocate(size: usize) -> *mut c_void {
    // SAFETY: the innermost frame lies on this thread's stack as long as it is on the list.
    thread::with(|thread| frame::allocate(unsafe { thread.frame.get().as_ref() }, size))
}

/// Gives memory back.
///
/// # Safety
/// It came from [`allocate`] in this call, or outside of any, and is given back once.
pub unsafe fn release(memory: *mut c_void) {
    // SAFETY: the frame as in `allocate`, the rest is the caller's promise.
    thread::with(|thread| unsafe { frame::release(thread.frame.get().as_ref(), memory) });
}
