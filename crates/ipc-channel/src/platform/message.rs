//! One message: bytes, ends of channels, memory, and how they lie in a message of Mach.
//!
//! The bytes are the first item if they are inline, and the last one if they are out of line; the id says which. The regions come
//! next, and then the ends of channels. Behind a receiver whose senders were all gone when it was sent, a 1 says so.

use super::{memory::OsIpcSharedMemory, receiver::OsIpcReceiver, sender::OsIpcSender};
use slipway_mach::rights::{Outgoing, Part, Received, SendRight};
use std::{fmt, sync::Arc};

/// `msgh_id` of a message whose bytes are inline.
const INLINE: i32 = 0x6970_6300;
/// `msgh_id` of a message whose bytes are out of line.
const OUT_OF_LINE: i32 = 0x6970_6301;
/// The most bytes that go inline: with what else is in a message, they go through a line's ring.
pub(super) const INLINE_MAX: usize = 48 << 10;

/// An end of a channel, to be sent.
#[derive(Debug)]
pub enum OsIpcChannel {
    /// A sender; a copy goes with the message.
    Sender(OsIpcSender),
    /// A receiver; it moves with the message.
    Receiver(OsIpcReceiver),
}

/// An end of a channel that was received.
#[derive(Debug)]
pub struct OsOpaqueIpcChannel(Option<OsIpcChannel>);

impl OsOpaqueIpcChannel {
    /// Takes the sender out. If it is none, or was taken before, the sender's channel has no receiver.
    pub fn to_sender(&mut self) -> OsIpcSender {
        self.sender().unwrap_or_default()
    }

    /// Takes the receiver out. If it is none, or was taken before, the receiver's channel has no sender.
    pub fn to_receiver(&mut self) -> OsIpcReceiver {
        self.receiver().unwrap_or_default()
    }

    pub(crate) fn sender(&mut self) -> Option<OsIpcSender> {
        match self.0.take() {
            Some(OsIpcChannel::Sender(sender)) => Some(sender),
            _ => None,
        }
    }

    pub(crate) fn receiver(&mut self) -> Option<OsIpcReceiver> {
        match self.0.take() {
            Some(OsIpcChannel::Receiver(receiver)) => Some(receiver),
            _ => None,
        }
    }
}

/// A message as it was received, not yet deserialized.
pub struct IpcMessage {
    pub(crate) data: Vec<u8>,
    pub(crate) os_ipc_channels: Vec<OsOpaqueIpcChannel>,
    pub(crate) os_ipc_shared_memory_regions: Vec<OsIpcSharedMemory>,
}

impl IpcMessage {
    /// A message of bytes alone.
    pub fn from_data(data: Vec<u8>) -> Self {
        Self { data, os_ipc_channels: Vec::new(), os_ipc_shared_memory_regions: Vec::new() }
    }

    /// What a message of Mach carries. One of another form, which only another program can have sent, is empty.
    pub(super) fn from_received(mut received: Received) -> Self {
        let mut message = Self::from_data(Vec::new());
        let out_of_line = match received.id() {
            INLINE => false,
            OUT_OF_LINE => true,
            _ => return message,
        };
        if !out_of_line {
            message.data = received.next_bytes().unwrap_or_default();
        }
        while let Some(part) = received.next_part() {
            match part {
                Part::Memory(_, region) => message.os_ipc_shared_memory_regions.push(OsIpcSharedMemory(Arc::new(region))),
                Part::Send(right) => message.push(OsIpcChannel::Sender(right.map(OsIpcSender::new).unwrap_or_default())),
                Part::Receive(right) => message.push(OsIpcChannel::Receiver(right.map(OsIpcReceiver::new).unwrap_or_default())),
                Part::Data(..) => {
                    if let Some(OsOpaqueIpcChannel(Some(OsIpcChannel::Receiver(receiver)))) = message.os_ipc_channels.last() {
                        receiver.end();
                    }
                }
                Part::SendOnce(_) => {}
            }
        }
        if out_of_line {
            message.data = message.os_ipc_shared_memory_regions.pop().map_or_else(Vec::new, |region| region.to_vec());
        }
        message
    }

    fn push(&mut self, channel: OsIpcChannel) {
        self.os_ipc_channels.push(OsOpaqueIpcChannel(Some(channel)));
    }
}

/// At most 256 characters of it, or bytes if it is no text.
impl fmt::Debug for IpcMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match str::from_utf8(&self.data) {
            Ok(text) => text.chars().take(256).collect::<String>().fmt(f),
            Err(_) => self.data[..self.data.len().min(256)].fmt(f),
        }
    }
}

/// Sends a message.
pub(super) fn send(
    to: &SendRight,
    data: &[u8],
    channels: Vec<OsIpcChannel>,
    regions: Vec<OsIpcSharedMemory>,
) -> Result<(), slipway_mach::rights::Error> {
    let inline = data.len() <= INLINE_MAX;
    let mut message = Outgoing::new(if inline { INLINE } else { OUT_OF_LINE });
    if inline {
        message = message.bytes(data);
    }
    for OsIpcSharedMemory(region) in regions {
        message = message.memory(Shared(region));
    }
    // What is copied lives until then.
    let mut senders = Vec::new();
    for channel in channels {
        message = match channel {
            OsIpcChannel::Sender(sender) => {
                let message = match sender.right() {
                    Some(right) => message.copy_send(right),
                    None => message.no_right(),
                };
                senders.push(sender);
                message
            }
            OsIpcChannel::Receiver(receiver) => match receiver.into_right() {
                (Some(right), false) => message.receive_right(right),
                (Some(right), true) => message.receive_right(right).ints(&[1]),
                (None, _) => message.no_receive_right(),
            },
        };
    }
    if inline { to.send(message, None) } else { to.send_with_memory(message, data, None) }
}

struct Shared(Arc<slipway_mach::rights::Region>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
