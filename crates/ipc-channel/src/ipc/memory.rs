//! Memory that goes with a value, and is not serialized.
#![allow(unsafe_code, reason = "the interface has an unsafe function")]

use super::carried::{put_region, take_region};
use crate::platform::OsIpcSharedMemory;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::Deref;

/// Bytes that go with a value, out of line. Clones share them; their receiver has them as they were when they were sent.
///
/// ```
/// use slipway_ipc_channel::ipc::{self, IpcSharedMemory};
///
/// let (sender, receiver) = ipc::channel()?;
/// sender.send(("a picture".to_owned(), IpcSharedMemory::from_byte(255, 1 << 20)))?;
/// let (name, pixels) = receiver.recv()?;
/// assert_eq!((&name[..], pixels.len()), ("a picture", 1 << 20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct IpcSharedMemory {
    /// None: no bytes.
    os_shared_memory: Option<OsIpcSharedMemory>,
}

impl IpcSharedMemory {
    /// Memory with these bytes.
    ///
    /// # Panics
    /// If there is no memory.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self { os_shared_memory: (!bytes.is_empty()).then(|| OsIpcSharedMemory::from_bytes(bytes)) }
    }

    /// Memory of `length` bytes, each of them `byte`.
    ///
    /// # Panics
    /// If there is no memory.
    pub fn from_byte(byte: u8, length: usize) -> Self {
        Self { os_shared_memory: (length > 0).then(|| OsIpcSharedMemory::from_byte(byte, length)) }
    }

    /// The bytes, for writing.
    ///
    /// # Safety
    /// Nobody uses the bytes, of this value or of a clone, at the same time.
    #[inline]
    pub unsafe fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.os_shared_memory {
            // SAFETY: the caller's promise.
            Some(memory) => unsafe { memory.deref_mut() },
            None => &mut [],
        }
    }

    /// The bytes as a vector.
    pub fn take(self) -> Option<Vec<u8>> {
        self.os_shared_memory.map_or_else(|| Some(Vec::new()), OsIpcSharedMemory::take)
    }
}

impl Deref for IpcSharedMemory {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.os_shared_memory.as_deref().unwrap_or(&[])
    }
}

/// A region of a message, or none.
struct Carried(OsIpcSharedMemory);

impl Serialize for Carried {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        put_region(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Carried {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        take_region(deserializer).map(Self)
    }
}

impl Serialize for IpcSharedMemory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.os_shared_memory.clone().map(Carried).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for IpcSharedMemory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let carried = Option::<Carried>::deserialize(deserializer)?;
        Ok(Self { os_shared_memory: carried.map(|Carried(memory)| memory) })
    }
}
