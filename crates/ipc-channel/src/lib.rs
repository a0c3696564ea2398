//! Channels between processes, with the interface of the crate [ipc-channel](https://docs.rs/ipc-channel) 0.23, over Mach ports in
//! shared memory. One line of `Cargo.toml` moves a program over:
//!
//! ```toml
//! ipc-channel = { package = "slipway-ipc-channel", version = "0.1" }
//! ```
//!
//! A channel is a port: its receiver has the receive right, its senders share a send right. Values are serialized by serde;
//! senders, receivers and shared memory in them travel as rights and out-of-line memory of the same message.
//!
//! * [`ipc`]: channels, sets of receivers, one-shot servers, shared memory. * [`router`]: receivers that call functions.
//! * `asynch`, with the feature `async`: receivers as streams. * [`platform`]: channels of bytes, below all of these.
//!
//! Linux only. After fork(2) without exec the child has none of its parent's channels: it can make new ones and connect by name. The crate brings
//! libmach with it, so that a shared object that uses it is not a task that shares its process with others.

// Links libmach into the program.
use mach as _;

#[cfg(feature = "async")]
pub mod asynch;
mod error;
pub mod ipc;
pub mod platform;
pub mod router;

pub use error::{IpcError, SerDeError, TryRecvError, TrySelectError};
