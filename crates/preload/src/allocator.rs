//! The C library's allocator, which counts as a lock that the thread holds. A program may have its signals come in its waits alone, and allocate in their
//! handlers; with the hooks a wait allocates, too, and the C library would wait for the lock that it holds itself.

use slipway_fabric::sync::Held;
use std::alloc::{GlobalAlloc, Layout, System};

struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: the system's, which keeps the contract.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _held = Held::enter();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let _held = Held::enter();
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _held = Held::enter();
        // SAFETY: the caller's promise.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let _held = Held::enter();
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}
