//! Memory that goes with a message, out of line.
#![allow(unsafe_code, reason = "the interface has an unsafe function")]

use slipway_mach::rights::Region;
use std::{fmt, ops::Deref, slice, sync::Arc};

/// The most bytes that are copied into each message: they go through a line's ring.
const COPIED_MAX: usize = 32 << 10;

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
        if bytes.len() > COPIED_MAX
            && let Ok(region) = Region::lent(bytes)
        {
            return Self(region.into());
        }
        let mut region = Region::zeroed(bytes.len()).expect("memory");
        region.copy_from_slice(bytes);
        Self(region.into())
    }

    /// The memory, to go with a message. What is large is lent to it and to those after it, if there is a descriptor: else it is copied.
    pub(super) fn into_region(self) -> Arc<Region> {
        if self.0.len() > COPIED_MAX {
            let _ = self.0.lend();
        }
        self.0
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ipc;

    /// A clone that is written to before it is sent again.
    #[test]
    fn what_is_sent_is_as_it_is_then() {
        let (sender, receiver) = ipc::channel::<ipc::IpcSharedMemory>().expect("a channel");
        for length in [COPIED_MAX, COPIED_MAX + 1, 200_000] {
            for memory in [ipc::IpcSharedMemory::from_byte(1, length), ipc::IpcSharedMemory::from_bytes(&vec![1; length])] {
                let mut clone = memory.clone();
                for round in 1..4 {
                    sender.send(memory.clone()).expect("it is received");
                    // SAFETY: this thread alone has the memory.
                    let bytes = unsafe { clone.deref_mut() };
                    bytes[length - 1] = round + 1;
                    sender.send(memory.clone()).expect("it is received");
                    for last in [round, round + 1] {
                        let got = receiver.recv().expect("memory");
                        assert!(got.len() == length && got[..length - 1].iter().all(|byte| *byte == 1));
                        assert_eq!((got[length - 1], memory[length - 1]), (last, round + 1));
                    }
                }
            }
        }
    }
}
