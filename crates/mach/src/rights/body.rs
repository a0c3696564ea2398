//! The body of a received message, read from front to back.

use super::{
    owned::{ReceiveRight, SendOnceRight, SendRight, is_right},
    region::Region,
};
use crate::{
    abi::{typed, types},
    task::Task,
};

/// What the elements of a part are: `MACH_MSG_TYPE_*`, and their size in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The type.
    pub name: u32,
    /// The size of an element in bits.
    pub bits: u32,
}

/// A received body. What was not read when it is dropped is given up with it.
#[derive(Debug)]
pub(crate) struct Body {
    task: Task,
    bytes: Vec<u8>,
    at: usize,
    complex: bool,
}

/// What an item carries.
pub(crate) enum Item {
    /// Plain data in the message.
    Data(Vec<u8>),
    /// Memory out of line.
    Memory(Region),
    /// The names of rights, each of which is the reader's now.
    Names(Vec<u32>),
}

/// The 8 bytes at `at`, as a number; 0 where there are none.
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    typed::word(bytes, at).unwrap_or(0)
}

impl Body {
    /// Takes over what `bytes`, the body of a message that `task` just received, names. Rights and memory are in it
    /// only if the message was `complex`.
    pub(super) fn new(task: Task, bytes: Vec<u8>, complex: bool) -> Self {
        Self { task, bytes, at: 0, complex }
    }

    pub fn task(&self) -> Task {
        self.task
    }

    pub fn is_complex(&self) -> bool {
        self.complex
    }

    /// The whole body.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The length of the whole body in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing is left.
    pub fn is_read(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The type word of the next item, if one begins here.
    pub fn word(&self) -> Option<u64> {
        typed::word(&self.bytes, self.at)
    }

    /// The next item, which is behind us then.
    fn pass(&mut self) -> Option<typed::Field> {
        let item = typed::Field::at(&self.bytes, self.at).ok()?;
        self.at = item.end;
        Some(item)
    }

    /// The bytes of an item in the message.
    pub fn data(&mut self) -> Option<&[u8]> {
        let item = self.pass()?;
        self.bytes.get(item.data)
    }

    /// The memory of an item out of line; empty if this process had no memory for it.
    pub fn memory(&mut self) -> Option<Region> {
        if !self.complex {
            return None;
        }
        let item = self.pass().filter(|item| !item.of.inline)?;
        let (at, len) = (item.address(&self.bytes), usize::try_from(item.of.size()).ok()?);
        #[allow(unsafe_code, reason = "received memory")]
        // SAFETY: the receive mapped it for this message, whose items are taken once each.
        Some(unsafe { Region::new(at, if at == 0 { 0 } else { len }) })
    }

    /// The names of an item's rights, in the message or out of line; none of the latter if this process had no memory for them.
    pub fn names(&mut self) -> Option<Vec<u32>> {
        if !self.complex {
            return None;
        }
        let item = typed::Field::at(&self.bytes, self.at).ok().filter(|item| item.of.is_port())?;
        if item.of.inline {
            self.at = item.end;
            return Some(item.names(&self.bytes).collect());
        }
        let names = self.memory()?;
        Some(names.chunks_exact(4).map(|name| u32::from_le_bytes([name[0], name[1], name[2], name[3]])).collect())
    }

    /// The next item, whatever it is.
    pub fn next(&mut self) -> Option<(Kind, Item)> {
        let of = typed::Field::at(&self.bytes, self.at).ok().map(|item| item.of);
        let item = of.and_then(|of| {
            let item = match (self.complex, of.is_port(), of.inline) {
                (true, true, _) => Item::Names(self.names()?),
                (true, false, false) => Item::Memory(self.memory()?),
                _ => Item::Data(self.data()?.to_vec()),
            };
            Some((Kind { name: of.name, bits: of.bits }, item))
        });
        // Behind an item that can't be read nothing can be.
        if item.is_none() {
            self.at = self.bytes.len();
        }
        item
    }
}

/// Gives up one reference of a right that was received.
pub(crate) fn give_up(task: Task, kind: u32, name: u32) {
    if !is_right(name) {
        return;
    }
    match kind {
        types::PORT_RECEIVE => drop(ReceiveRight::from_name(task, name)),
        types::PORT_SEND_ONCE => drop(SendOnceRight::from_name(task, name)),
        _ => drop(SendRight::from_name(task, name)),
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if !self.complex {
            return;
        }
        while let Some((kind, item)) = self.next() {
            if let Item::Names(names) = item {
                names.into_iter().for_each(|name| give_up(self.task, kind.name, name));
            }
        }
    }
}
