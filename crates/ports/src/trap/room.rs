//! Memory that a trap function takes for its routine, and that must not stay when an exception leaves the routine: C has
//! nothing that would free it on the way.
#![allow(unsafe_code, reason = "memory by pointer, in a list that hangs on a call's frame")]

use super::thread::{self, Frame};
use std::{
    alloc::{Layout, alloc, dealloc},
    ffi::c_void,
    ptr::null_mut,
};

/// What lies before the memory.
#[repr(align(16))]
pub(super) struct Room {
    next: *mut Room,
    size: usize,
}

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(size_of::<Room>())?, align_of::<Room>()).ok()
}

/// Takes memory for the innermost call of this thread, for as long as it lasts: null if there is none. Aligned to 16
/// bytes.
pub fn allocate(size: usize) -> *mut c_void {
    let Some(layout) = layout(size) else { return null_mut() };
    // SAFETY: the layout has the size of a header at least.
    let room = unsafe { alloc(layout) }.cast::<Room>();
    if room.is_null() {
        return null_mut();
    }
    thread::with(|thread| {
        // SAFETY: the innermost frame lies on this thread's stack as long as it is on the list.
        let frame = unsafe { thread.frame.get().as_ref() };
        let next = frame.map_or(null_mut(), |frame| frame.rooms.replace(room));
        // SAFETY: it is new, and large enough.
        unsafe { room.write(Room { next, size }) };
    });
    // SAFETY: behind the header is as much as was asked for.
    unsafe { room.add(1) }.cast()
}

/// Gives memory back.
///
/// # Safety
/// It came from [`allocate`] in this call, or outside of any, and is given back once.
pub unsafe fn release(memory: *mut c_void) {
    // SAFETY: the caller's promise.
    let room = unsafe { memory.cast::<Room>().sub(1) };
    thread::with(|thread| {
        // SAFETY: as in `allocate`.
        let Some(frame) = (unsafe { thread.frame.get().as_ref() }) else { return };
        let mut at = frame.rooms.as_ptr();
        // SAFETY: a list of rooms that were not given back, each of which has the next. Only this thread uses it.
        unsafe {
            while !(*at).is_null() && *at != room {
                at = &raw mut (**at).next;
            }
            if *at == room {
                *at = (*room).next;
            }
        }
    });
    // SAFETY: the caller's promise; nothing leads to it any more.
    unsafe { free(room) };
}

/// # Safety
/// The room came from [`allocate`].
unsafe fn free(room: *mut Room) {
    // SAFETY: the caller's promise: it was made with this layout.
    unsafe {
        let layout = Layout::from_size_align_unchecked((*room).size + size_of::<Room>(), align_of::<Room>());
        dealloc(room.cast(), layout);
    }
}

impl Frame {
    /// Gives back what the call has taken and not given back: an exception has left it.
    pub(super) fn release_rooms(&self) {
        let mut at = self.rooms.replace(null_mut());
        while !at.is_null() {
            // SAFETY: it is on this call's list, and was not given back.
            unsafe {
                let next = (*at).next;
                free(at);
                at = next;
            }
        }
    }
}
