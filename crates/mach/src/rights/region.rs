//! Memory that came with a message.
#![allow(unsafe_code, reason = "memory by address, as messages carry it")]

use crate::{sys, task::known};
use slipway_fabric::sync::{AtomicU8, Ordering, pages};
use std::io;

/// Out-of-line memory that was received, or memory to be sent so: this process's own whole pages, given back when dropped.
///
/// Memory that is [lent](Self::lend) is sent any number of times without a copy, as long as nothing asks to write to it.
#[derive(Debug)]
pub struct Region {
    at: usize,
    len: usize,
    /// Whether it is lent, or as it was received: [`OWN`], [`LENDING`], [`LENT`] or [`RECEIVED`].
    state: AtomicU8,
}

/// It is not.
const OWN: u8 = 0;
/// A thread is about to lend it, and takes it back if it is [`OWN`] again by then.
const LENDING: u8 = 1;
/// It is.
const LENT: u8 = 2;
/// It is not, and nothing has asked to write to it since a message brought it.
const RECEIVED: u8 = 3;

impl Region {
    /// Fresh zeroed memory.
    ///
    /// # Errors
    /// As mmap(2).
    pub fn zeroed(len: usize) -> io::Result<Self> {
        match pages::whole_pages(len).ok_or(io::ErrorKind::OutOfMemory)? {
            0 => Ok(Self::at(0, 0)),
            whole => Ok(Self::at(pages::allocate(None, whole)?, len)),
        }
    }

    /// Memory with these bytes, which is lent.
    ///
    /// # Errors
    /// There are no bytes, no memory, or no descriptor.
    pub fn lent(bytes: &[u8]) -> io::Result<Self> {
        let mut at = 0;
        // SAFETY: the copy is this value's, which reclaims it before anything writes; the result has a place.
        known(unsafe { sys::slipway_memory_lend(bytes.as_ptr().addr(), bytes.len(), false, &raw mut at) })?;
        Ok(Self { at, len: bytes.len(), state: AtomicU8::new(LENT) })
    }

    /// Lends the memory to the messages that take it along from here on, if it is not lent: its pages become those of a sealed file, which costs a copy
    /// and a descriptor. It stays so until [`Self::as_mut_ptr`] or a mutable borrow.
    ///
    /// # Errors
    /// As [`Self::lent`]. The memory can be sent all the same.
    pub fn lend(&self) -> io::Result<()> {
        let change = |from, to| self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if !change(OWN, LENDING) && !change(RECEIVED, LENDING) {
            return Ok(());
        }
        let mut at = 0;
        // SAFETY: the pages are this value's, which reclaims them before anything writes; the result has a place.
        let lent = known(unsafe { sys::slipway_memory_lend(self.at, self.len, true, &raw mut at) });
        if lent.is_err() {
            change(LENDING, OWN);
        } else if !change(LENDING, LENT) {
            self.end_loan();
        }
        lent
    }

    fn reclaim(&self) {
        if self.state.swap(OWN, Ordering::AcqRel) == LENT {
            self.end_loan();
        }
    }

    fn end_loan(&self) {
        // SAFETY: it has no needs.
        unsafe { sys::slipway_memory_reclaim(self.at) };
    }

    fn at(at: usize, len: usize) -> Self {
        Self { at, len, state: AtomicU8::new(OWN) }
    }

    /// Where it lies, for writes too. Messages that it was lent to keep what they took; what is written before the next [`Self::lend`] is in
    /// those that are sent after it.
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.reclaim();
        if self.len == 0 { std::ptr::dangling_mut() } else { std::ptr::with_exposed_provenance_mut(self.at) }
    }

    /// Takes over memory that was received.
    ///
    /// # Safety
    /// The `len` bytes at `at` can be read and belong to nobody else.
    pub(super) unsafe fn new(at: usize, len: usize) -> Self {
        Self { at, len, state: AtomicU8::new(RECEIVED) }
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
        let state = *self.state.get_mut();
        self.reclaim();
        if let Some(len) = pages::whole_pages(self.len).filter(|len| *len > 0) {
            // SAFETY: it is this value's, whose borrows are over.
            unsafe { sys::slipway_memory_give_back(self.at, len, state == RECEIVED) };
        }
    }
}
