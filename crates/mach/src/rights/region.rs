//! Memory that came with a message.
#![allow(unsafe_code, reason = "memory by address, as messages carry it")]

use slipway_fabric::sync::pages;
use std::io;

/// Out-of-line memory that was received, or memory to be sent so: this process's own whole pages, given back when dropped.
#[derive(Debug)]
pub struct Region {
    at: usize,
    len: usize,
}

impl Region {
    /// Fresh zeroed memory.
    ///
    /// # Errors
    /// As mmap(2).
    pub fn zeroed(len: usize) -> io::Result<Self> {
        match pages::whole_pages(len).ok_or(io::ErrorKind::OutOfMemory)? {
            0 => Ok(Self { at: 0, len: 0 }),
            whole => Ok(Self { at: pages::allocate(None, whole)?, len }),
        }
    }

    /// Where it lies, for writes too.
    pub fn as_mut_ptr(&self) -> *mut u8 {
        if self.len == 0 { std::ptr::dangling_mut() } else { std::ptr::with_exposed_provenance_mut(self.at) }
    }

    /// Takes over memory that was received.
    ///
    /// # Safety
    /// The `len` bytes at `at` can be read and belong to nobody else.
    pub(super) unsafe fn new(at: usize, len: usize) -> Self {
        Self { at, len }
    }
}

impl std::ops::Deref for Region {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the receive mapped `len` readable bytes at `at` for this value alone.
        unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(self.at), self.len) }
    }
}

impl std::ops::DerefMut for Region {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for reads; the pages can be written, and the value is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr(), self.len) }
    }
}

impl AsRef<[u8]> for Region {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(len) = pages::whole_pages(self.len).filter(|len| *len > 0) {
            // SAFETY: it is this value's, whose borrows are over.
            let _ = unsafe { pages::deallocate(self.at, len) };
        }
    }
}
