//! Channels of values: what serde can serialize, with senders, receivers and shared memory anywhere in it.

mod bytes;
mod carried;
mod channel;
mod memory;
mod opaque;
mod server;
mod set;

pub use crate::platform::IpcMessage;
pub use bytes::{IpcBytesReceiver, IpcBytesSender, bytes_channel};
pub use channel::{IpcReceiver, IpcSender, channel};
pub use memory::IpcSharedMemory;
pub use opaque::{OpaqueIpcReceiver, OpaqueIpcSender};
pub use server::IpcOneShotServer;
pub use set::{IpcReceiverSet, IpcSelectionResult};
