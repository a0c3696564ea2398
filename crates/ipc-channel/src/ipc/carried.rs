//! What a value carries beside its bytes. The bytes have numbers, which lead to it in lists of the message.
//!
//! serde's functions have no place for the lists. So those of the value that the thread serializes, or deserializes, lie in the thread's
//! storage. A value's own `Serialize` may send others meanwhile: each has lists of its own.

use crate::{
    error::SerDeError,
    platform::{IpcMessage, OsIpcChannel, OsIpcReceiver, OsIpcSender, OsIpcSharedMemory, OsOpaqueIpcChannel},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::{cell::RefCell, thread::LocalKey};

/// What is to go with a message.
#[derive(Default)]
pub(super) struct Outgoing {
    pub channels: Vec<OsIpcChannel>,
    pub regions: Vec<OsIpcSharedMemory>,
}

/// What came with a message, and was not taken yet.
#[derive(Default)]
struct Incoming {
    channels: Vec<OsOpaqueIpcChannel>,
    regions: Vec<Option<OsIpcSharedMemory>>,
}

thread_local! {
    static OUTGOING: RefCell<Outgoing> = RefCell::default();
    static INCOMING: RefCell<Incoming> = RefCell::default();
}

/// Puts what was there before back.
struct Restore<T: Default + 'static>(&'static LocalKey<RefCell<T>>, T);

impl<T: Default> Restore<T> {
    fn new(of: &'static LocalKey<RefCell<T>>, new: T) -> Self {
        Self(of, of.replace(new))
    }
}

impl<T: Default> Drop for Restore<T> {
    fn drop(&mut self) {
        self.0.set(std::mem::take(&mut self.1));
    }
}

/// A value's bytes, and what goes with them.
pub(super) fn serialize<T: Serialize>(value: &T) -> Result<(Vec<u8>, Outgoing), SerDeError> {
    let _outer = Restore::new(&OUTGOING, Outgoing::default());
    let bytes = postcard::to_stdvec(value)?;
    Ok((bytes, OUTGOING.take()))
}

impl IpcMessage {
    /// The value that the message has.
    ///
    /// # Errors
    /// It has none of that type.
    pub fn to<T>(mut self) -> Result<T, SerDeError>
    where
        T: for<'de> Deserialize<'de> + Serialize,
    {
        // Memory that is empty was lost: what has no bytes is not sent as memory.
        let regions = std::mem::take(&mut self.os_ipc_shared_memory_regions);
        let regions = regions.into_iter().map(|region| Some(region).filter(|region| !region.is_empty())).collect();
        let channels = std::mem::take(&mut self.os_ipc_channels);
        let _outer = Restore::new(&INCOMING, Incoming { channels, regions });
        let data = self.into_data().map_err(postcard::Error::custom)?;
        Ok(postcard::from_bytes(&data)?)
    }
}

fn put<S: Serializer>(channel: OsIpcChannel, serializer: S) -> Result<S::Ok, S::Error> {
    let number = OUTGOING.with_borrow_mut(|outgoing| {
        outgoing.channels.push(channel);
        outgoing.channels.len() - 1
    });
    (number as u32).serialize(serializer)
}

/// Takes what a number leads to.
fn take<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    of: &str,
    take: impl FnOnce(&mut Incoming, usize) -> Option<T>,
) -> Result<T, D::Error> {
    let number = u32::deserialize(deserializer)?;
    let taken = INCOMING.with_borrow_mut(|incoming| take(incoming, number as usize));
    taken.ok_or_else(|| D::Error::custom(format_args!("the message has no {of} of the number {number}, or no more")))
}

pub(super) fn put_sender<S: Serializer>(sender: &OsIpcSender, serializer: S) -> Result<S::Ok, S::Error> {
    put(OsIpcChannel::Sender(sender.clone()), serializer)
}

pub(super) fn take_sender<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OsIpcSender, D::Error> {
    take(deserializer, "sender", |incoming, number| incoming.channels.get_mut(number)?.sender())
}

/// The receiver moves into the message.
pub(super) fn put_receiver<S: Serializer>(receiver: &OsIpcReceiver, serializer: S) -> Result<S::Ok, S::Error> {
    put(OsIpcChannel::Receiver(receiver.consume()), serializer)
}

pub(super) fn take_receiver<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OsIpcReceiver, D::Error> {
    take(deserializer, "receiver", |incoming, number| incoming.channels.get_mut(number)?.receiver())
}

pub(super) fn put_region<S: Serializer>(region: &OsIpcSharedMemory, serializer: S) -> Result<S::Ok, S::Error> {
    let number = OUTGOING.with_borrow_mut(|outgoing| {
        outgoing.regions.push(region.clone());
        outgoing.regions.len() - 1
    });
    (number as u32).serialize(serializer)
}

pub(super) fn take_region<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OsIpcSharedMemory, D::Error> {
    take(deserializer, "memory", |incoming, number| incoming.regions.get_mut(number)?.take())
}

/// Serializes a type as what it has in its field, and back.
macro_rules! carried {
    ($type:ident $(<$of:ident>)?, $field:ident, $put:ident, $take:ident $(, $rest:ident)?) => {
        impl $(<$of>)? serde::Serialize for $type $(<$of>)? {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::ipc::carried::$put(&self.$field, serializer)
            }
        }

        impl<'de $(, $of)?> serde::Deserialize<'de> for $type $(<$of>)? {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Ok(Self { $field: $crate::ipc::carried::$take(deserializer)? $(, $rest: std::marker::PhantomData)? })
            }
        }
    };
}
pub(super) use carried;
