//! Memory that came with a message.
#![allow(unsafe_code, reason = "memory by address, as messages carry it")]

use slipway_fabric::sync::pages;

/// Out-of-line memory that was received: this process's own, given back when dropped.
#[derive(Debug)]
pub struct Region {
    at: usize,
    len: usize,
}

impl Region {
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

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(len) = pages::whole_pages(self.len).filter(|len| *len > 0) {
            // SAFETY: it is this value's, whose borrows are over.
            let _ = unsafe { pages::deallocate(self.at, len) };
        }
    }
}
