//! One-shot servers: how two processes that have no channel yet get one.

use super::channel::IpcReceiver;
use crate::{error::IpcError, platform::OsIpcOneShotServer};
use serde::{Deserialize, Serialize};
use std::{io, marker::PhantomData};

/// A channel whose sender goes to whoever [connects](super::IpcSender::connect) to its name first. The name is for processes of the same user;
/// no name server is needed.
///
/// ```
/// use slipway_ipc_channel::ipc::{IpcOneShotServer, IpcSender};
///
/// let (server, name) = IpcOneShotServer::new()?;
/// // As another process does, which was started with the name as an argument.
/// let sender = IpcSender::connect(name)?;
/// sender.send("hello".to_owned())?;
///
/// let (receiver, first) = server.accept()?;
/// assert_eq!(first, "hello");
/// # let _: slipway_ipc_channel::ipc::IpcReceiver<String> = receiver;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct IpcOneShotServer<T> {
    os_server: OsIpcOneShotServer,
    phantom: PhantomData<T>,
}

impl<T> IpcOneShotServer<T>
where
    T: for<'de> Deserialize<'de> + Serialize,
{
    /// A server, and its name.
    ///
    /// # Errors
    /// There is no directory for its socket that is the user's own (`SLIPWAY_RUNTIME_DIR`), no memory, or no thread.
    pub fn new() -> Result<(Self, String), io::Error> {
        let (os_server, name) = OsIpcOneShotServer::new()?;
        Ok((Self { os_server, phantom: PhantomData }, name))
    }

    /// Waits for the client's first value: the receiver of the channel, and the value.
    ///
    /// # Errors
    /// `Disconnected` if the client connected and went without sending anything; the message is no such value.
    pub fn accept(self) -> Result<(IpcReceiver<T>, T), IpcError> {
        let (os_receiver, message) = self.os_server.accept()?;
        Ok((IpcReceiver::new(os_receiver), message.to()?))
    }
}
