//! Receivers that are received from together.

use super::{channel::IpcReceiver, opaque::OpaqueIpcReceiver};
use crate::{
    error::TrySelectError,
    platform::{IpcMessage, OsIpcReceiverSet, OsIpcSelectionResult},
};
use serde::{Deserialize, Serialize};
use std::{io, time::Duration};

/// What happened at a receiver of a set, which its number tells.
#[derive(Debug)]
pub enum IpcSelectionResult {
    /// A message came; [`IpcMessage::to`] has its value.
    MessageReceived(u64, IpcMessage),
    /// All its senders are gone, and it is not in the set any more.
    ChannelClosed(u64),
}

impl IpcSelectionResult {
    /// The receiver's number and the message.
    ///
    /// # Panics
    /// If the channel was closed.
    pub fn unwrap(self) -> (u64, IpcMessage) {
        match self {
            Self::MessageReceived(id, message) => (id, message),
            Self::ChannelClosed(id) => panic!("channel {id} closed"),
        }
    }
}

impl From<OsIpcSelectionResult> for IpcSelectionResult {
    fn from(result: OsIpcSelectionResult) -> Self {
        match result {
            OsIpcSelectionResult::DataReceived(id, message) => Self::MessageReceived(id, message),
            OsIpcSelectionResult::ChannelClosed(id) => Self::ChannelClosed(id),
        }
    }
}

/// Receivers that are received from together.
///
/// ```
/// use slipway_ipc_channel::ipc::{self, IpcReceiverSet, IpcSelectionResult};
///
/// let mut set = IpcReceiverSet::new()?;
/// let (sender, receiver) = ipc::channel()?;
/// let number = set.add(receiver)?;
/// sender.send(7)?;
/// drop(sender);
/// let (from, message) = set.select()?.remove(0).unwrap();
/// assert_eq!((from, message.to::<i32>()?), (number, 7));
/// assert!(matches!(set.select()?[..], [IpcSelectionResult::ChannelClosed(closed)] if closed == number));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct IpcReceiverSet {
    os_receiver_set: OsIpcReceiverSet,
}

impl IpcReceiverSet {
    /// An empty set.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new() -> Result<Self, io::Error> {
        Ok(Self { os_receiver_set: OsIpcReceiverSet::new()? })
    }

    /// Moves a receiver into the set: its number there.
    ///
    /// # Errors
    /// It was moved into a message.
    pub fn add<T>(&mut self, receiver: IpcReceiver<T>) -> Result<u64, io::Error>
    where
        T: for<'de> Deserialize<'de> + Serialize,
    {
        Ok(self.os_receiver_set.add(receiver.into_os())?)
    }

    /// Moves a receiver without a type into the set: its number there.
    ///
    /// # Errors
    /// It was moved into a message.
    pub fn add_opaque(&mut self, receiver: OpaqueIpcReceiver) -> Result<u64, io::Error> {
        Ok(self.os_receiver_set.add(receiver.os_receiver)?)
    }

    /// Waits until something happens at a receiver: one thing or more. A set without receivers waits for ever.
    ///
    /// # Errors
    /// A code of Mach that should not occur.
    pub fn select(&mut self) -> Result<Vec<IpcSelectionResult>, io::Error> {
        Ok(results(self.os_receiver_set.select()?))
    }

    /// What has happened.
    ///
    /// # Errors
    /// `Empty` if nothing has; as [`Self::select`].
    pub fn try_select(&mut self) -> Result<Vec<IpcSelectionResult>, TrySelectError> {
        Ok(results(self.os_receiver_set.try_select()?))
    }

    /// Waits until something happens, for some time.
    ///
    /// # Errors
    /// `Empty` if nothing did; as [`Self::select`].
    pub fn try_select_timeout(&mut self, duration: Duration) -> Result<Vec<IpcSelectionResult>, TrySelectError> {
        Ok(results(self.os_receiver_set.try_select_timeout(duration)?))
    }
}

fn results(results: Vec<OsIpcSelectionResult>) -> Vec<IpcSelectionResult> {
    results.into_iter().map(IpcSelectionResult::from).collect()
}
