//! What goes wrong, as the interface has it.

use std::io;

/// A value could not be serialized, or a message is none of the type that was expected.
#[derive(Debug, thiserror::Error)]
#[error("Serialization/Deserialization error")]
pub struct SerDeError(#[from] pub(crate) postcard::Error);

/// Why something was not sent or received.
#[derive(Debug, thiserror::Error)]
pub enum IpcError {
    /// The value can't be serialized, or the message is none of that type.
    #[error("Error in decoding or encoding: {0}.")]
    SerializationError(#[from] SerDeError),
    /// The message could not be sent or received: `BrokenPipe` if its receiver is gone.
    #[error("Error in IO: {0}.")]
    Io(#[from] io::Error),
    /// All senders are gone, and all that they sent was received.
    #[error("Ipc Disconnected.")]
    Disconnected,
}

/// Why nothing was received at once, or in time.
#[derive(Debug, thiserror::Error)]
pub enum TryRecvError {
    /// It failed.
    #[error("IPC error {0}.")]
    IpcError(#[from] IpcError),
    /// There is no message.
    #[error("Channel empty.")]
    Empty,
}

/// Why nothing was selected at once, or in time.
#[derive(Debug, thiserror::Error)]
pub enum TrySelectError {
    /// It failed.
    #[error("Error in IO: {0}.")]
    IoError(#[from] io::Error),
    /// No receiver has a message, or lost its last sender.
    #[error("No messages were received and no disconnections occurred.")]
    Empty,
}
