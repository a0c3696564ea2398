//! One message: bytes, ends of channels, memory, and how they lie in a message of Mach.
//!
//! The bytes are the first item if they are inline, behind their mark if they are the [last part](super::parts) of a message, and the last item if they are
//! out of line; the id says which. The regions come next, and then the ends of channels. Behind a receiver is a 1 if its senders were known to be all
//! gone when it was sent, a 2 if its port was asked to tell, and the parts that it has of messages: their keys, and bytes out of line.

use super::{
    memory::OsIpcSharedMemory,
    parts::{self, KEPT_MAX, LAST, Mark, PART, PARTS_MAX, Unfinished},
    receiver::{OsIpcReceiver, Senders},
    sender::OsIpcSender,
};
use slipway_mach::{
    abi::typed::Field,
    rights::{Error, Outgoing, Part, Plain, Received, Region, SendRight},
};
use std::{fmt, io, sync::Arc};

/// `msgh_id` of a message whose bytes are inline.
const INLINE: i32 = 0x6970_6300;
/// `msgh_id` of a message whose bytes are out of line.
const OUT_OF_LINE: i32 = 0x6970_6301;
/// Stands behind a receiver whose port was asked to tell that its senders are gone.
const WATCHED: u8 = 2;
/// The most bytes that go in one message, with what else is in it, through a line's ring.
pub(super) const INLINE_MAX: usize = 48 << 10;
const INLINE_ABOVE: usize = INLINE_MAX + 1;

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
    /// The bytes; none if they are lost.
    pub(crate) data: Vec<u8>,
    lost: bool,
    pub(crate) os_ipc_channels: Vec<OsOpaqueIpcChannel>,
    pub(crate) os_ipc_shared_memory_regions: Vec<OsIpcSharedMemory>,
}

impl IpcMessage {
    /// A message of bytes alone.
    pub fn from_data(data: Vec<u8>) -> Self {
        Self { data, lost: false, os_ipc_channels: Vec::new(), os_ipc_shared_memory_regions: Vec::new() }
    }

    /// One without anything else, of which the bytes may be lost.
    pub(super) fn with_data(data: Option<Vec<u8>>) -> Self {
        Self { lost: data.is_none(), ..Self::from_data(data.unwrap_or_default()) }
    }

    /// The message's bytes.
    ///
    /// # Errors
    /// They are lost: the receiver had no memory for them, or their sender was killed before it had sent all.
    pub(crate) fn into_data(self) -> io::Result<Vec<u8>> {
        let lost = "the message's bytes are lost, or it is no message of a channel";
        if self.lost { Err(io::Error::new(io::ErrorKind::InvalidData, lost)) } else { Ok(self.data) }
    }

    /// What a message of Mach carries beside plain data. One of another form, which only another program can have sent, has no bytes.
    pub(super) fn from_received(mut received: Received, unfinished: &mut Unfinished) -> Self {
        let mut message = Self::from_data(Vec::new());
        let mut data = None;
        let mut room = KEPT_MAX;
        let id = received.id();
        match id {
            INLINE => data = received.next_bytes(),
            LAST => {
                let mark = received.next_bytes().and_then(|mark| Mark::from_words(&mark));
                let last = received.next_bytes();
                data = mark.zip(last).and_then(|(mark, last)| unfinished.finish(mark, &last));
            }
            OUT_OF_LINE => {}
            _ => return Self::with_data(None),
        }
        let mut key = 0;
        while let Some(part) = received.next_part() {
            match (part, message.os_ipc_channels.last()) {
                (Part::Memory(_, region), Some(OsOpaqueIpcChannel(Some(OsIpcChannel::Receiver(receiver))))) if key != 0 => {
                    // All receivers of a message together have as much as one may.
                    let part = region.get(..region.len().min(room)).unwrap_or_default();
                    room -= part.len();
                    receiver.has_part(std::mem::take(&mut key), part);
                }
                (Part::Memory(_, region), _) => message.os_ipc_shared_memory_regions.push(OsIpcSharedMemory(Arc::new(region))),
                (Part::Send(right), _) => message.push(OsIpcChannel::Sender(right.map(OsIpcSender::new).unwrap_or_default())),
                (Part::Receive(right), _) => {
                    message.push(OsIpcChannel::Receiver(right.map(OsIpcReceiver::new).unwrap_or_default()));
                }
                (Part::Data(kind, bytes), Some(OsOpaqueIpcChannel(Some(OsIpcChannel::Receiver(receiver))))) => match kind.bits {
                    64 => key = bytes.first_chunk().map_or(0, |key| u64::from_le_bytes(*key)),
                    _ => receiver.know(if bytes.first() == Some(&WATCHED) { Senders::Watched } else { Senders::Gone }),
                },
                (Part::Data(..) | Part::SendOnce(_), _) => {}
            }
        }
        if id == OUT_OF_LINE {
            // Bytes out of line are many: if there are none, there was no memory for them.
            let region = message.os_ipc_shared_memory_regions.pop().filter(|region| !region.is_empty());
            data = region.map(|region| region.to_vec());
        }
        Self { lost: data.is_none(), data: data.unwrap_or_default(), ..message }
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

/// The bytes of a message that is nothing else, and whole.
#[inline]
pub(super) fn bytes<'a>(message: &Plain<'a>) -> Option<&'a [u8]> {
    let body = message.body;
    let field = Field::at(body, 0).ok().filter(|field| field.is_plain() && message.id == INLINE)?;
    body.get(field.data)
}

/// Sends a message.
#[inline]
pub(super) fn send(
    to: &SendRight,
    data: &[u8],
    channels: Vec<OsIpcChannel>,
    regions: Vec<OsIpcSharedMemory>,
) -> Result<(), Error> {
    match data.len() {
        0..=INLINE_MAX if channels.is_empty() && regions.is_empty() => {
            to.send_plain(INLINE, &[parts::type_of_bytes(data)], data, 0)
        }
        _ => send_more(to, data, channels, regions),
    }
}

/// As [`send`], what is large or carries more than bytes.
#[inline(never)]
fn send_more(to: &SendRight, data: &[u8], channels: Vec<OsIpcChannel>, regions: Vec<OsIpcSharedMemory>) -> Result<(), Error> {
    let plain = channels.is_empty() && regions.is_empty();
    let message = match data.len() {
        0..=INLINE_MAX => Outgoing::new(INLINE).bytes(data),
        INLINE_ABOVE..=PARTS_MAX => {
            let mark = Mark::new(data.len());
            let mut rest = data;
            while let Some((part, more)) = rest.split_at_checked(INLINE_MAX).filter(|(_, more)| !more.is_empty()) {
                // What carries rights goes another way, behind the last part.
                let behind = if plain { more.len() } else { more.len().saturating_sub(INLINE_MAX) };
                parts::send(to, PART, mark, part, behind)?;
                rest = more;
            }
            if plain {
                return parts::send(to, LAST, mark, rest, 0);
            }
            Outgoing::new(LAST).longs(&mark.words()).bytes(rest)
        }
        _ => {
            let (message, _senders) = carrying(Outgoing::new(OUT_OF_LINE), channels, regions);
            return to.send_with_memory(message, data, None);
        }
    };
    // What is copied lives until then.
    let (message, _senders) = carrying(message, channels, regions);
    to.send(message, None)
}

/// Adds regions and ends of channels to a message; the senders of which it has copies.
fn carrying(mut message: Outgoing, channels: Vec<OsIpcChannel>, regions: Vec<OsIpcSharedMemory>) -> (Outgoing, Vec<OsIpcSender>) {
    for region in regions {
        message = message.memory(Shared(region.into_region()));
    }
    let mut senders = Vec::new();
    for channel in channels {
        message = match channel {
            OsIpcChannel::Sender(sender) => {
                message = match sender.right() {
                    Some(right) => message.copy_send(right),
                    None => message.no_right(),
                };
                senders.push(sender);
                message
            }
            OsIpcChannel::Receiver(receiver) => carrying_receiver(message, receiver),
        };
    }
    (message, senders)
}

fn carrying_receiver(message: Outgoing, receiver: OsIpcReceiver) -> Outgoing {
    let (right, senders, unfinished) = receiver.into_right();
    let Some(right) = right else { return message.no_receive_right() };
    let mut message = message.receive_right(right);
    match senders {
        Senders::Unwatched => {}
        Senders::Watched => message = message.ints(&[WATCHED.into()]),
        Senders::Gone => message = message.ints(&[1]),
    }
    unfinished.into_parts().fold(message, |message, (key, part)| message.longs(&[key]).memory(part))
}

/// Memory that this process goes on using.
struct Shared(Arc<Region>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
