//! Channels of bytes, without serde.

use super::carried::carried;
use crate::{
    error::{IpcError, TryRecvError},
    platform::{self, OsIpcReceiver, OsIpcSender},
};
use std::io;

/// A new channel of bytes: its sender and its receiver.
///
/// # Errors
/// The process has no memory for it.
pub fn bytes_channel() -> Result<(IpcBytesSender, IpcBytesReceiver), io::Error> {
    let (os_sender, os_receiver) = platform::channel()?;
    Ok((IpcBytesSender { os_sender }, IpcBytesReceiver { os_receiver }))
}

/// The receiving end of a channel of bytes.
#[derive(Debug)]
pub struct IpcBytesReceiver {
    os_receiver: OsIpcReceiver,
}

carried!(IpcBytesReceiver, os_receiver, put_receiver, take_receiver);

impl IpcBytesReceiver {
    /// Waits for a message.
    ///
    /// # Errors
    /// `Disconnected` once all senders are gone and all that they sent was received; `InvalidData` for a message that lost its bytes.
    #[inline]
    pub fn recv(&self) -> Result<Vec<u8>, IpcError> {
        Ok(self.os_receiver.recv_bytes()??)
    }

    /// A message that is there.
    ///
    /// # Errors
    /// `Empty`; as [`Self::recv`].
    pub fn try_recv(&self) -> Result<Vec<u8>, TryRecvError> {
        Ok(self.os_receiver.try_recv()?.into_data().map_err(IpcError::from)?)
    }
}

/// The sending end of a channel of bytes.
#[derive(Clone, Debug)]
pub struct IpcBytesSender {
    os_sender: OsIpcSender,
}

carried!(IpcBytesSender, os_sender, put_sender, take_sender);

impl IpcBytesSender {
    /// Sends a message. Waits while as much waits at the receiver as may ([`OsIpcSender::send`]).
    ///
    /// # Errors
    /// `BrokenPipe` if the receiver is gone.
    #[inline]
    pub fn send(&self, data: &[u8]) -> Result<(), io::Error> {
        Ok(self.os_sender.send(data, Vec::new(), Vec::new())?)
    }
}
