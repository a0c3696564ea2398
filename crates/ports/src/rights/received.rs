//! Messages that were received.

use super::{ReceiveRight, Region, SendOnceRight, SendRight};
use crate::{
    abi::{self, COMPLEX, HEADER, LOCAL_MASK, REMOTE_MASK, SLOT, notify, types},
    msg::typed::Descriptor,
    task::Task,
};

/// A message that was received, taken apart. What nobody takes out of it is given up when it is dropped.
#[derive(Debug)]
pub struct Received {
    id: i32,
    port: u32,
    by_send_once: bool,
    reply: Option<Reply>,
    parts: std::collections::VecDeque<Part>,
}

#[derive(Debug)]
enum Reply {
    Send(SendRight),
    Once(SendOnceRight),
}

/// What the elements of a part are: `MACH_MSG_TYPE_*`, and their size in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The type.
    pub name: u32,
    /// The size of an element in bits.
    pub bits: u32,
}

/// One item of a message's body.
#[derive(Debug)]
pub enum Part {
    /// Plain data.
    Data(Kind, Vec<u8>),
    /// Memory out of line.
    Memory(Kind, Region),
    /// A send right; None if it was null or its port dead.
    Send(Option<SendRight>),
    /// A send-once right; None if it was null or its port dead.
    SendOnce(Option<SendOnceRight>),
    /// A receive right; None if it was null.
    Receive(Option<ReceiveRight>),
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + SLOT).map_or(0, |word| word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn is_right(name: u32) -> bool {
    name != abi::NULL && name != abi::DEAD
}

fn right(task: Task, kind: u32, name: u32) -> Part {
    let some = is_right(name);
    match kind {
        types::PORT_RECEIVE => Part::Receive(some.then(|| ReceiveRight::from_name(task, name))),
        types::PORT_SEND_ONCE => Part::SendOnce(some.then(|| SendOnceRight::from_name(task, name))),
        _ => Part::Send(some.then(|| SendRight::from_name(task, name))),
    }
}

impl Received {
    /// Takes over what a message in `buffer`, just received, carries.
    pub(super) fn parse(task: Task, buffer: &[u8]) -> Self {
        let first = word(buffer, 0);
        let (bits, size) = (first as u32, (first >> 32) as usize);
        let name = word(buffer, 8) as u32;
        let reply = match bits & REMOTE_MASK {
            _ if !is_right(name) => None,
            types::PORT_SEND_ONCE => Some(Reply::Once(SendOnceRight::from_name(task, name))),
            _ => Some(Reply::Send(SendRight::from_name(task, name))),
        };
        let mut it = Self {
            id: (word(buffer, 24) >> 32) as i32,
            port: word(buffer, 16) as u32,
            by_send_once: (bits & LOCAL_MASK) >> 8 == types::PORT_SEND_ONCE,
            reply,
            parts: std::collections::VecDeque::new(),
        };
        it.take_parts(task, buffer.get(HEADER..size.min(buffer.len())).unwrap_or_default(), bits & COMPLEX != 0);
        it
    }

    /// Gives up what came back with a message that could not be sent. Its destination stays the caller's.
    pub(super) fn taken_back(task: Task, buffer: &[u8]) {
        let bits = word(buffer, 0) as u32;
        let mut it = Self { id: 0, port: 0, by_send_once: false, reply: None, parts: std::collections::VecDeque::new() };
        it.take_parts(task, buffer.get(HEADER..).unwrap_or_default(), bits & COMPLEX != 0);
    }

    fn take_parts(&mut self, task: Task, body: &[u8], complex: bool) {
        let mut at = 0;
        while at < body.len() {
            let Ok(type_of) = Descriptor::parse(word(body, at) & !(1 << 31)) else { return };
            at += SLOT;
            let kind = Kind { name: type_of.name, bits: type_of.bits };
            let len = type_of.size() as usize;
            let size = if type_of.inline { len.next_multiple_of(SLOT) } else { SLOT };
            match (type_of.is_port() && complex, type_of.inline) {
                (true, true) => {
                    (0..type_of.number as usize)
                        .for_each(|i| self.parts.push_back(right(task, type_of.name, word(body, at + i * SLOT) as u32)));
                }
                (true, false) => {
                    let names = Region::new(word(body, at) as usize, len);
                    let names = names.chunks_exact(4).map(|name| u32::from_le_bytes([name[0], name[1], name[2], name[3]]));
                    self.parts.extend(names.map(|name| right(task, type_of.name, name)));
                }
                (false, false) if complex => self.parts.push_back(Part::Memory(kind, Region::new(word(body, at) as usize, len))),
                _ => self.parts.push_back(Part::Data(kind, body.get(at..at + len).unwrap_or_default().to_vec())),
            }
            at += size;
        }
    }

    /// `msgh_id`.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// The name of the port that it came to, or the port's protected payload.
    pub fn port(&self) -> u32 {
        self.port
    }

    /// Whether it was sent with a send-once right, as answers and notifications are.
    pub fn is_by_send_once(&self) -> bool {
        self.by_send_once
    }

    /// Whether it is a notification of Mach's with this id ([`notify`]).
    pub fn is_notification(&self, id: i32) -> bool {
        self.by_send_once && self.id == id && (notify::PORT_DELETED..=notify::DEAD_NAME).contains(&id)
    }

    /// The right to answer with, if it is a send-once right.
    pub fn take_reply(&mut self) -> Option<SendOnceRight> {
        match self.reply.take() {
            Some(Reply::Once(right)) => Some(right),
            other => {
                self.reply = other;
                None
            }
        }
    }

    /// The reply port, if it is a send right.
    pub fn take_reply_send(&mut self) -> Option<SendRight> {
        match self.reply.take() {
            Some(Reply::Send(right)) => Some(right),
            other => {
                self.reply = other;
                None
            }
        }
    }

    /// The next item of the body.
    pub fn next_part(&mut self) -> Option<Part> {
        self.parts.pop_front()
    }

    /// The next item, if it is a send right.
    pub fn next_send(&mut self) -> Option<SendRight> {
        match self.next_part()? {
            Part::Send(right) => right,
            _ => None,
        }
    }

    /// The next item, if it is plain bytes or memory: the bytes.
    pub fn next_bytes(&mut self) -> Option<Vec<u8>> {
        match self.next_part()? {
            Part::Data(_, bytes) => Some(bytes),
            Part::Memory(_, region) => Some(region.to_vec()),
            _ => None,
        }
    }

    /// The next item, if it is one 32-bit integer.
    pub fn next_int(&mut self) -> Option<u32> {
        match self.next_part()? {
            Part::Data(Kind { bits: 32, .. }, bytes) => Some(u32::from_le_bytes(bytes.try_into().ok()?)),
            _ => None,
        }
    }

    /// The next item, if it is one 64-bit integer.
    pub fn next_long(&mut self) -> Option<u64> {
        match self.next_part()? {
            Part::Data(Kind { bits: 64, .. }, bytes) => Some(u64::from_le_bytes(bytes.try_into().ok()?)),
            _ => None,
        }
    }
}
