//! Messages on their way: taken apart, with rights instead of names.

use super::{ids::LineId, right::Right};
use slipway_fabric::descriptor::{Carried, Reserved};
use smallvec::SmallVec;
use std::sync::Arc;

/// A message between the send and the receive.
#[derive(Debug)]
pub struct Message {
    /// `msgh_id`.
    pub id: i32,
    /// Whether `MACH_MSGH_BITS_COMPLEX` was set.
    pub complex: bool,
    /// The right it was sent with, which says where to; used up by the delivery.
    pub dest: Right,
    /// The right that the receiver may answer with.
    pub reply: Right,
    /// What follows the header: if it is [complex](Self::complex), in the typed dialect, with the places of names and pointers still to be
    /// filled in; else as its sender wrote it, filled up to whole words.
    pub body: Vec<u8>,
    /// Whether the last four bytes of the body are no part of it.
    pub short: bool,
    /// The process that sent it.
    pub sender: Sender,
    /// What goes into these places, in order.
    pub items: SmallVec<[Item; 1]>,
    /// What is to be told when it leaves the queue.
    pub origin: Option<Origin>,
    /// The memory that it takes, if a peer sent it: dropped with the message.
    pub charge: Charge,
}

/// What a message is charged as, which the state does not look into.
#[derive(Debug, Default)]
pub struct Charge(#[allow(dead_code, reason = "its drop is what counts")] Option<Box<dyn Carried>>);

impl Charge {
    /// A charge that ends when it is dropped.
    pub fn new(held: impl Carried) -> Self {
        Self(Some(Box::new(held)))
    }
}

/// The process that a message came from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sender {
    /// This one, or the library in it.
    #[default]
    Own,
    /// Another one: its number, 0 if that is not known, and the user and group that it ran as.
    Other {
        /// The process.
        pid: i32,
        /// Its user.
        uid: u32,
        /// Its group.
        gid: u32,
    },
}

impl Sender {
    /// A process that nothing is known of.
    pub const UNKNOWN: Self = Self::Other { pid: 0, uid: !0, gid: !0 };
}

/// What is to be told when a message leaves its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The sender at the other end of a line, whose limit it counts for.
    Line {
        /// The line.
        line: LineId,
        /// The slot.
        slot: u32,
    },
    /// A sender here that found the queue full, and asked with this request ([`State::request_acceptance`](super::State::request_acceptance)).
    Notify(u32),
}

/// Rights or memory in a message's body. `at` is an offset in [`Message::body`].
#[derive(Debug)]
pub enum Item {
    /// Inline rights, in places of 8 bytes each from `at` on.
    Ports {
        /// Where the first is.
        at: u32,
        /// The rights.
        rights: SmallVec<[Right; 1]>,
    },
    /// Rights out of line; the pointer is at `at`.
    PortArray {
        /// Where the pointer is.
        at: u32,
        /// The rights.
        rights: Vec<Right>,
    },
    /// Memory out of line; the pointer is at `at`.
    Memory {
        /// Where the pointer is.
        at: u32,
        /// The bytes.
        memory: Memory,
    },
}

/// Out-of-line memory on its way.
#[derive(Debug)]
pub enum Memory {
    /// A copy.
    Bytes(Vec<u8>),
    /// A sealed memory file of at least so many bytes, which can change no more.
    Pages(Arc<Reserved>, u64),
    /// So many bytes that were lost: there was no descriptor for their file.
    Lost(u64),
}

impl Item {
    /// The rights that go here.
    pub fn rights(&self) -> &[Right] {
        match self {
            Self::Ports { rights, .. } => rights,
            Self::PortArray { rights, .. } => rights,
            Self::Memory { .. } => &[],
        }
    }

    /// As [`Item::rights`].
    pub fn rights_mut(&mut self) -> &mut [Right] {
        match self {
            Self::Ports { rights, .. } => rights,
            Self::PortArray { rights, .. } => rights,
            Self::Memory { .. } => &mut [],
        }
    }
}

impl Memory {
    /// The size in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Pages(_, len) | Self::Lost(len) => *len,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Message {
    /// The size of the whole message as the receiver sees it, in bytes.
    pub fn size(&self) -> usize {
        crate::abi::HEADER + self.body.len()
    }

    /// Shows every right in it, but for the one it was sent with.
    pub fn each_right(&mut self, see: &mut dyn FnMut(&mut Right)) {
        see(&mut self.reply);
        self.items.iter_mut().flat_map(Item::rights_mut).for_each(see);
    }

    /// Whether it was sent with a send-once right: then it waits for no limit.
    pub fn is_once(&self) -> bool {
        matches!(self.dest, Right::SendOnce(_) | Right::RemoteSendOnce(_))
    }
}
