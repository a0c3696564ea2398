//! Messages that were received.

use super::{
    body::{Body, Item, Kind, give_up, word},
    owned::{ReceiveRight, SendOnceRight, SendRight, is_right},
    region::Region,
};
use crate::{
    abi::{COMPLEX, HEADER, LOCAL_MASK, REMOTE_MASK, notify, types},
    task::Task,
};
use std::collections::VecDeque;

/// A message that was received, taken apart from front to back. What nobody takes out of it is given up when it is dropped.
#[derive(Debug)]
pub struct Received {
    id: i32,
    sequence: u32,
    target: Target,
    by_send_once: bool,
    reply: Option<ReplyRight>,
    body: Body,
    /// What is left of an item with several rights.
    rest: VecDeque<Part>,
}

/// A right to answer with.
#[derive(Debug)]
pub enum ReplyRight {
    /// Any number of times.
    Send(SendRight),
    /// Once.
    Once(SendOnceRight),
}

/// Where a message came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The port of this name.
    Port(u32),
    /// The port with this protected payload.
    Payload(u64),
}

/// One item of a message's body; of an item with several rights, one of them.
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
    pub(crate) fn parse(task: Task, buffer: &[u8]) -> Self {
        let first = word(buffer, 0);
        let (bits, size) = (first as u32, (first >> 32) as usize);
        let name = word(buffer, 8) as u32;
        let reply = match bits & REMOTE_MASK {
            _ if !is_right(name) => None,
            types::PORT_SEND_ONCE => Some(ReplyRight::Once(SendOnceRight::from_name(task, name))),
            _ => Some(ReplyRight::Send(SendRight::from_name(task, name))),
        };
        let (local, port) = ((bits & LOCAL_MASK) >> 8, word(buffer, 16));
        let last = word(buffer, 24);
        let body = buffer.get(HEADER..size.min(buffer.len())).unwrap_or_default().to_vec();
        Self {
            id: (last >> 32) as i32,
            sequence: last as u32,
            target: if local == types::PROTECTED_PAYLOAD { Target::Payload(port) } else { Target::Port(port as u32) },
            by_send_once: local == types::PORT_SEND_ONCE,
            reply,
            body: Body::new(task, body, bits & COMPLEX != 0),
            rest: VecDeque::new(),
        }
    }

    /// Gives up what came back with a message that could not be sent: what it carried, and the rights in its header.
    pub(crate) fn taken_back(task: Task, buffer: &[u8]) {
        let bits = word(buffer, 0) as u32;
        give_up(task, bits & REMOTE_MASK, word(buffer, 8) as u32);
        give_up(task, (bits & LOCAL_MASK) >> 8, word(buffer, 16) as u32);
        drop(Body::new(task, buffer.get(HEADER..).unwrap_or_default().to_vec(), bits & COMPLEX != 0));
    }

    /// Cuts it into what stubs read.
    pub(crate) fn into_parts(self) -> (Target, u32, Option<ReplyRight>, Body) {
        (self.target, self.sequence, self.reply, self.body)
    }

    /// `msgh_id`.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// The name of the port that it came to, or the port's protected payload.
    pub fn port(&self) -> u32 {
        match self.target {
            Target::Port(name) => name,
            Target::Payload(payload) => payload as u32,
        }
    }

    /// The port that it came to, as its receiver knows it.
    pub fn target(&self) -> Target {
        self.target
    }

    /// `msgh_seqno`: how many messages were received from the port before this one.
    pub fn sequence(&self) -> u32 {
        self.sequence
    }

    /// The bytes of the body, with the names of rights that are still in it.
    pub fn body(&self) -> &[u8] {
        self.body.bytes()
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
            Some(ReplyRight::Once(right)) => Some(right),
            other => {
                self.reply = other;
                None
            }
        }
    }

    /// The reply port, if it is a send right.
    pub fn take_reply_send(&mut self) -> Option<SendRight> {
        match self.reply.take() {
            Some(ReplyRight::Send(right)) => Some(right),
            other => {
                self.reply = other;
                None
            }
        }
    }

    /// The next item of the body.
    pub fn next_part(&mut self) -> Option<Part> {
        if let Some(part) = self.rest.pop_front() {
            return Some(part);
        }
        loop {
            match self.body.next()? {
                (kind, Item::Data(bytes)) => return Some(Part::Data(kind, bytes)),
                (kind, Item::Memory(region)) => return Some(Part::Memory(kind, region)),
                (kind, Item::Names(names)) => {
                    let task = self.body.task();
                    self.rest.extend(names.into_iter().map(|name| right(task, kind.name, name)));
                    if let Some(part) = self.rest.pop_front() {
                        return Some(part);
                    }
                }
            }
        }
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
