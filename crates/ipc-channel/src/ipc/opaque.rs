//! Ends of channels without their types.

use super::{
    carried::carried,
    channel::{IpcReceiver, IpcSender},
};
use crate::platform::{OsIpcReceiver, OsIpcSender};
use serde::{Deserialize, Serialize};

/// A sender whose type was left off.
#[derive(Clone, Debug)]
pub struct OpaqueIpcSender {
    pub(super) os_sender: OsIpcSender,
}

carried!(OpaqueIpcSender, os_sender, put_sender, take_sender);

impl OpaqueIpcSender {
    /// The sender with a type. That it is the channel's is the caller's word: what is not fails when it is received.
    pub fn to<'de, T>(self) -> IpcSender<T>
    where
        T: Deserialize<'de> + Serialize,
    {
        IpcSender::new(self.os_sender)
    }
}

/// A receiver whose type was left off.
#[derive(Debug)]
pub struct OpaqueIpcReceiver {
    pub(super) os_receiver: OsIpcReceiver,
}

carried!(OpaqueIpcReceiver, os_receiver, put_receiver, take_receiver);

impl OpaqueIpcReceiver {
    /// The receiver with a type, as [`OpaqueIpcSender::to`].
    pub fn to<'de, T>(self) -> IpcReceiver<T>
    where
        T: Deserialize<'de> + Serialize,
    {
        IpcReceiver::new(self.os_receiver)
    }
}
