//! What goes wrong with ports, and what the interface says of it.

use crate::error::{IpcError, TryRecvError, TrySelectError};
use slipway_mach::rights;
use std::io;

/// Why something was not sent or received.
#[derive(Debug, thiserror::Error)]
pub enum OsError {
    /// All senders are gone, and all that they sent was received.
    #[error("all senders of the channel are gone")]
    Disconnected,
    /// There is no message, or none came in time.
    #[error("the channel is empty")]
    Empty,
    /// Something else.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl OsError {
    /// Whether all senders are gone.
    pub fn channel_is_closed(&self) -> bool {
        matches!(self, Self::Disconnected)
    }

    /// That of a receiver that was moved into a message.
    pub(super) fn moved() -> Self {
        io::Error::new(io::ErrorKind::NotConnected, "the receiver was sent to another place").into()
    }
}

impl From<rights::Error> for OsError {
    fn from(error: rights::Error) -> Self {
        match error {
            error if error.is_dead() => io::Error::from(io::ErrorKind::BrokenPipe).into(),
            error if error.code == slipway_mach::abi::Code::RCV_TIMED_OUT => Self::Empty,
            error => io::Error::other(error).into(),
        }
    }
}

impl From<OsError> for io::Error {
    fn from(error: OsError) -> Self {
        match error {
            OsError::Disconnected => Self::new(io::ErrorKind::ConnectionReset, error),
            OsError::Empty => Self::new(io::ErrorKind::WouldBlock, error),
            OsError::Io(error) => error,
        }
    }
}

impl From<OsError> for IpcError {
    fn from(error: OsError) -> Self {
        match error {
            OsError::Disconnected => Self::Disconnected,
            error => Self::Io(error.into()),
        }
    }
}

impl From<OsError> for TryRecvError {
    fn from(error: OsError) -> Self {
        match error {
            OsError::Empty => Self::Empty,
            error => Self::IpcError(error.into()),
        }
    }
}

/// Why nothing was selected at once, or in time.
#[derive(Debug, thiserror::Error)]
pub enum OsTrySelectError {
    /// It failed.
    #[error(transparent)]
    IoError(OsError),
    /// No receiver has a message, or lost its last sender.
    #[error("no messages were received and no disconnections occurred")]
    Empty,
}

impl From<OsError> for OsTrySelectError {
    fn from(error: OsError) -> Self {
        match error {
            OsError::Empty => Self::Empty,
            error => Self::IoError(error),
        }
    }
}

impl From<OsTrySelectError> for TrySelectError {
    fn from(error: OsTrySelectError) -> Self {
        match error {
            OsTrySelectError::Empty => Self::Empty,
            OsTrySelectError::IoError(error) => Self::IoError(error.into()),
        }
    }
}
