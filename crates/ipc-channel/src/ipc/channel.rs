//! Channels of values of one type.

use super::{
    carried::{carried, serialize},
    opaque::{OpaqueIpcReceiver, OpaqueIpcSender},
};
use crate::{
    error::{IpcError, TryRecvError},
    platform::{self, IpcMessage, OsIpcReceiver, OsIpcSender},
};
use serde::{Deserialize, Serialize};
use std::{fmt, io, marker::PhantomData, time::Duration};

/// A new channel for values of one type: its sender and its receiver. Both can be sent over other channels.
///
/// ```
/// use slipway_ipc_channel::ipc;
///
/// let (sender, receiver) = ipc::channel()?;
/// let (answers, answer) = ipc::channel::<u64>()?;
/// sender.send((vec![1, 2, 3], answers))?;
///
/// let (numbers, answers) = receiver.recv()?;
/// answers.send(numbers.iter().sum())?;
/// assert_eq!(answer.recv()?, 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The process has no memory for it.
pub fn channel<T>() -> Result<(IpcSender<T>, IpcReceiver<T>), io::Error>
where
    T: for<'de> Deserialize<'de> + Serialize,
{
    let (os_sender, os_receiver) = platform::channel()?;
    Ok((IpcSender::new(os_sender), IpcReceiver::new(os_receiver)))
}

/// The receiving end of a channel of values. Only one thread at a time may use it.
pub struct IpcReceiver<T> {
    os_receiver: OsIpcReceiver,
    phantom: PhantomData<T>,
}

carried!(IpcReceiver<T>, os_receiver, put_receiver, take_receiver, phantom);

impl<T> IpcReceiver<T> {
    pub(super) fn new(os_receiver: OsIpcReceiver) -> Self {
        Self { os_receiver, phantom: PhantomData }
    }

    pub(super) fn into_os(self) -> OsIpcReceiver {
        self.os_receiver
    }
}

impl<T> IpcReceiver<T>
where
    T: for<'de> Deserialize<'de> + Serialize,
{
    /// Waits for a value.
    ///
    /// # Errors
    /// `Disconnected` once all senders are gone and all that they sent was received; the message is no such value.
    pub fn recv(&self) -> Result<T, IpcError> {
        Ok(self.os_receiver.recv()?.to()?)
    }

    /// A value that is there.
    ///
    /// # Errors
    /// `Empty`; as [`Self::recv`].
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        value(self.os_receiver.try_recv()?)
    }

    /// Waits for a value for some time.
    ///
    /// # Errors
    /// `Empty`; as [`Self::recv`].
    pub fn try_recv_timeout(&self, duration: Duration) -> Result<T, TryRecvError> {
        value(self.os_receiver.try_recv_timeout(duration)?)
    }

    /// The receiver without its type, as a [router](crate::router) takes it.
    pub fn to_opaque(self) -> OpaqueIpcReceiver {
        OpaqueIpcReceiver { os_receiver: self.os_receiver }
    }
}

fn value<T>(message: IpcMessage) -> Result<T, TryRecvError>
where
    T: for<'de> Deserialize<'de> + Serialize,
{
    Ok(message.to().map_err(IpcError::from)?)
}

impl<T> fmt::Debug for IpcReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IpcReceiver").field(&self.os_receiver).finish()
    }
}

/// The sending end of a channel of values. Any thread may use it, and so may its clones.
pub struct IpcSender<T> {
    os_sender: OsIpcSender,
    phantom: PhantomData<T>,
}

carried!(IpcSender<T>, os_sender, put_sender, take_sender, phantom);

impl<T> IpcSender<T> {
    pub(super) fn new(os_sender: OsIpcSender) -> Self {
        Self { os_sender, phantom: PhantomData }
    }
}

impl<T: Serialize> IpcSender<T> {
    /// A sender to the [one-shot server](super::IpcOneShotServer) of that name, for one client.
    ///
    /// # Errors
    /// There is no such server, or it belongs to another user.
    pub fn connect(name: String) -> Result<Self, io::Error> {
        Ok(Self::new(OsIpcSender::connect(name)?))
    }

    /// Sends a value. Waits while as much waits at the receiver as may ([`OsIpcSender::send`]).
    ///
    /// # Errors
    /// `BrokenPipe` if the receiver is gone; the value can't be serialized. The receivers in the value are gone then.
    pub fn send(&self, data: T) -> Result<(), IpcError> {
        let (bytes, carried) = serialize(&data)?;
        Ok(self.os_sender.send(&bytes, carried.channels, carried.regions)?)
    }

    /// The sender without its type.
    pub fn to_opaque(self) -> OpaqueIpcSender {
        OpaqueIpcSender { os_sender: self.os_sender }
    }
}

impl<T: Serialize> Clone for IpcSender<T> {
    fn clone(&self) -> Self {
        Self::new(self.os_sender.clone())
    }
}

impl<T> fmt::Debug for IpcSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IpcSender").field(&self.os_sender).finish()
    }
}
