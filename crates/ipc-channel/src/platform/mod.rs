//! Channels of bytes, rights and memory, over ports: what [`ipc`](crate::ipc) has values in.

mod error;
mod memory;
mod message;
mod parts;
mod receiver;
mod sender;
mod server;
mod set;

pub use error::{OsError, OsTrySelectError};
pub use memory::OsIpcSharedMemory;
pub use message::{IpcMessage, OsIpcChannel, OsOpaqueIpcChannel};
pub use receiver::OsIpcReceiver;
pub use sender::OsIpcSender;
pub use server::OsIpcOneShotServer;
pub use set::{OsIpcReceiverSet, OsIpcSelectionResult};

use slipway_mach::{abi::QLIMIT_MAX, rights::ReceiveRight};

/// A new channel: its sender and its receiver.
///
/// # Errors
/// The process has no memory for a port.
pub fn channel() -> Result<(OsIpcSender, OsIpcReceiver), OsError> {
    let port = port()?;
    let sender = port.make_send()?;
    Ok((OsIpcSender::new(sender), OsIpcReceiver::new(port)))
}

/// A port on which as much may wait as on any.
fn port() -> Result<ReceiveRight, OsError> {
    let port = ReceiveRight::new()?;
    port.set_queue_limit(QLIMIT_MAX)?;
    Ok(port)
}
