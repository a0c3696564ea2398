//! A call that a thread is in, and the memory that its trap function has.
#![allow(unsafe_code, reason = "memory by pointer, in a list that hangs on the frame")]

use slipway_fabric::turn::Turn;
use std::{
    alloc::{Layout, alloc, dealloc},
    cell::Cell,
    ffi::c_void,
    ptr::null_mut,
};

/// A call that a thread is in; it lies on the thread's stack.
pub(super) struct Frame {
    /// The one around it.
    pub outer: *const Frame,
    /// Where it took its turn, which lasts as long as the call is counted there.
    pub turn: *const Turn,
    /// The space of the task that the thread goes back to.
    pub space: Cell<u32>,
    /// Memory that its trap function has.
    blocks: Cell<*mut Block>,
}

/// What lies before the memory.
#[repr(align(16))]
struct Block {
    next: *mut Block,
    size: usize,
}

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(size_of::<Block>())?, align_of::<Block>()).ok()
}

/// Takes memory from the heap, for a call if there is one: null if there is none left.
pub(super) fn allocate(frame: Option<&Frame>, size: usize) -> *mut c_void {
    let Some(layout) = layout(size) else { return null_mut() };
    // SAFETY: the layout has the size of a header at least.
    let block = unsafe { alloc(layout) }.cast::<Block>();
    if block.is_null() {
        return null_mut();
    }
    let next = frame.map_or(null_mut(), |frame| frame.blocks.replace(block));
    // SAFETY: it is new, and large enough; behind the header is as much as was asked for.
    unsafe {
        block.write(Block { next, size });
        block.add(1).cast()
    }
}

/// Gives memory back.
///
/// # Safety
/// It came from [`allocate`] with the same frame, or without one, and is given back once.
pub(super) unsafe fn release(frame: Option<&Frame>, memory: *mut c_void) {
    // SAFETY: the caller's promise.
    let block = unsafe { memory.cast::<Block>().sub(1) };
    if let Some(frame) = frame {
        let mut at = frame.blocks.as_ptr();
        // SAFETY: a list of blocks that were not given back, each of which has the next. Only this thread uses it.
        unsafe {
            while !(*at).is_null() && *at != block {
                at = &raw mut (**at).next;
            }
            if *at == block {
                *at = (*block).next;
            }
        }
    }
    // SAFETY: the caller's promise; nothing leads to it any more.
    unsafe { free(block) };
}

/// # Safety
/// The block came from [`allocate`].
unsafe fn free(block: *mut Block) {
    // SAFETY: the caller's promise: it was made with this layout.
    unsafe {
        let layout = Layout::from_size_align_unchecked((*block).size + size_of::<Block>(), align_of::<Block>());
        dealloc(block.cast(), layout);
    }
}

impl Frame {
    /// A call in a turn, from which the thread goes back to the task with the space.
    #[inline(always)]
    pub fn new(outer: *const Self, turn: *const Turn, space: u32) -> Self {
        Self { outer, turn, space: Cell::new(space), blocks: Cell::new(null_mut()) }
    }

    /// Gives back what the call has taken and not given back: an exception has left it.
    pub fn free_all(&self) {
        let mut at = self.blocks.replace(null_mut());
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
