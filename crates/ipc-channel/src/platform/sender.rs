//! The sending end of a channel: a send right that its clones share.

use super::{
    error::OsError,
    memory::OsIpcSharedMemory,
    message::{self, INLINE_MAX, OsIpcChannel},
    server,
};
use slipway_mach::rights::SendRight;
use std::{io, sync::Arc};

/// The sending end of a channel. By default that of a channel whose receiver is gone.
#[derive(Debug, Clone, Default)]
pub struct OsIpcSender(Option<Arc<SendRight>>);

impl OsIpcSender {
    pub(super) fn new(right: SendRight) -> Self {
        Self(Some(Arc::new(right)))
    }

    pub(super) fn right(&self) -> Option<&SendRight> {
        self.0.as_deref()
    }

    /// The most bytes of a message that are in one message of Mach; more go in several, and above 16 MiB out of line.
    pub fn get_max_fragment_size() -> usize {
        INLINE_MAX
    }

    /// Sends bytes, ends of channels and memory. Waits while as much waits as may: 1,024 messages from this process, or as many as the
    /// shared memory between the two processes holds.
    ///
    /// # Errors
    /// `BrokenPipe` if the receiver is gone; there is no memory.
    pub fn send(&self, data: &[u8], channels: Vec<OsIpcChannel>, regions: Vec<OsIpcSharedMemory>) -> Result<(), OsError> {
        let right = self.right().ok_or(io::ErrorKind::BrokenPipe).map_err(io::Error::from)?;
        Ok(message::send(right, data, channels, regions)?)
    }

    /// A sender to the one-shot server of that name.
    ///
    /// # Errors
    /// There is none, or it belongs to another user.
    pub fn connect(name: String) -> Result<Self, OsError> {
        server::connect(&name)
    }
}

/// Whether both send to the same channel.
impl PartialEq for OsIpcSender {
    fn eq(&self, other: &Self) -> bool {
        // A task has one name for all its send rights to a port.
        self.right().map(SendRight::name) == other.right().map(SendRight::name)
    }
}
