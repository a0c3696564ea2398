//! Lending memory to messages.
#![allow(unsafe_code, reason = "the program's memory, by address")]

use crate::{objects, task::Task};
use slipway_fabric::sync::pages;
use std::{io, os::fd::AsFd, sync::Arc};

impl Task {
    /// Puts a copy of the `len` bytes at `from` into pages of their own: their address. Messages take them along without a copy, until [`Self::reclaim`]. At
    /// `from` itself, if `in_place`, the bytes stay and the pages become others.
    ///
    /// The pages can be written, once they are reclaimed: no file changes by that. A descriptor is open for them until then. In a child made by fork they are not lent.
    ///
    /// # Errors
    /// `InvalidInput` for no bytes; there is no memory, no descriptor, or nothing to be read at `from`.
    ///
    /// # Safety
    /// Nothing writes to the bytes before they are reclaimed. In place they begin a page, and the rest of the last page is nobody else's.
    pub unsafe fn lend(&self, from: usize, len: usize, in_place: bool) -> io::Result<usize> {
        let whole = pages::whole_pages(len).filter(|whole| *whole > 0).ok_or(io::ErrorKind::InvalidInput)?;
        let file = objects::copied(from, len)?;
        let at = match in_place {
            // SAFETY: the caller's promise: the bytes are the same.
            true => unsafe { pages::map_private_at(file.as_fd(), from, whole) }.map(|()| from)?,
            false => pages::map_private(file.as_fd(), whole)?,
        };
        self.lock().lent.insert(at, Arc::new(file), len);
        Ok(at)
    }

    /// Gives back `len` bytes at `at`, whole pages that a message may have brought. `clean`: one has, and they were not written to: then they may stay mapped, for
    /// when the same memory comes again.
    ///
    /// # Safety
    /// Nothing refers to the memory any more.
    pub unsafe fn give_back(&self, at: usize, len: usize, clean: bool) {
        let unmapped = self.lock().mapped.give_back(at, len, clean);
        // Without the lock. SAFETY: the caller's promise, for this memory or for what was given back before.
        unmapped.into_iter().for_each(|(at, len)| drop(unsafe { pages::deallocate(at, len) }));
    }

    /// The memory at an address that [`Self::lend`] gave belongs to the program alone from here on. It stays where it is.
    pub fn reclaim(&self, at: usize) {
        let file = self.lock().lent.remove(at);
        // Without the lock.
        drop(file);
    }
}
