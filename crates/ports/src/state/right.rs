//! A right outside of spaces.

use super::ids::{PortId, RemoteSendOnce};
use crate::abi::types;

/// A right in a message, or on the way to or from one.
///
/// It stands for a count that must be taken back: put it into a space ([`copyout`](super::State::copyout)) or destroy it
/// ([`destroy_right`](super::State::destroy_right)).
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use]
pub enum Right {
    /// No right: `MACH_PORT_NULL`.
    #[default]
    Null,
    /// A right whose port is dead: `MACH_PORT_DEAD`.
    Dead,
    /// A send right.
    Send(PortId),
    /// A send-once right to a port that was here when it was made.
    SendOnce(PortId),
    /// A send-once right to a port in another process.
    RemoteSendOnce(RemoteSendOnce),
    /// The receive right of a port that is here.
    Receive(PortId),
}

impl Right {
    /// The type that the receiver of the right sees.
    pub fn received_type(&self) -> u32 {
        match self {
            Self::Null | Self::Dead | Self::Send(_) => types::PORT_SEND,
            Self::SendOnce(_) | Self::RemoteSendOnce(_) => types::PORT_SEND_ONCE,
            Self::Receive(_) => types::PORT_RECEIVE,
        }
    }
}
