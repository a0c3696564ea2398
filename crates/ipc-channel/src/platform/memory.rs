//! Memory that goes with a message, out of line.
#![allow(unsafe_code, reason = "the interface has an unsafe function")]

use slipway_mach::rights::Region;
use std::{fmt, ops::Deref, slice, sync::Arc};

/// Memory that its clones share. Who receives it has pages of its own with the bytes as they were when it was sent.
#[derive(Clone)]
pub struct OsIpcSharedMemory(pub(super) Arc<Region>);

impl OsIpcSharedMemory {
    /// Memory of `length` bytes, each of them `byte`.
    ///
    /// # Panics
    /// If there is no memory.
    pub fn from_byte(byte: u8, length: usize) -> Self {
        let mut region = Region::zeroed(length).expect("memory");
        if byte != 0 {
            region.fill(byte);
        }
        Self(region.into())
    }

    /// Memory with these bytes.
    ///
    /// # Panics
    /// If there is no memory.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut region = Region::zeroed(bytes.len()).expect("memory");
        region.copy_from_slice(bytes);
        Self(region.into())
    }

    /// The bytes, for writing.
    ///
    /// # Safety
    /// Nobody uses the bytes, of this value or of a clone, at the same time.
    pub unsafe fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the memory is the region's, and borrowed alone, as the caller says.
        unsafe { slice::from_raw_parts_mut(self.0.as_mut_ptr(), self.0.len()) }
    }

    /// The bytes as a vector.
    pub fn take(self) -> Option<Vec<u8>> {
        Some(self.0.to_vec())
    }
}

impl Deref for OsIpcSharedMemory {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq for OsIpcSharedMemory {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for OsIpcSharedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
