//! The body of a received message, read from front to back.

use super::{Kind, ReceiveRight, Region, SendOnceRight, SendRight};
use crate::{
    abi::{SLOT, types},
    msg::typed::Descriptor,
    task::Task,
};

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
    bytes.get(at..at + SLOT).map_or(0, |word| word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
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
        (self.at + SLOT <= self.bytes.len()).then(|| word(&self.bytes, self.at))
    }

    /// The place of the next item's data, of which there are `len` bytes; the item is behind us then.
    fn pass(&mut self, len: usize) -> Option<usize> {
        let place = self.at + SLOT;
        let end = place.checked_add(len.checked_next_multiple_of(SLOT)?)?;
        if end > self.bytes.len() {
            return None;
        }
        self.at = end;
        Some(place)
    }

    /// The `len` bytes of an item in the message.
    pub fn data(&mut self, len: usize) -> Option<&[u8]> {
        let place = self.pass(len)?;
        self.bytes.get(place..place + len)
    }

    /// The memory of `len` bytes of an item out of line; empty if there was no room for it in this process.
    pub fn memory(&mut self, len: usize) -> Option<Region> {
        if !self.complex {
            return None;
        }
        let address = self.pass(SLOT).map(|place| word(&self.bytes, place) as usize)?;
        #[allow(unsafe_code, reason = "received memory")]
        // SAFETY: the receive mapped it for this message, whose items are taken once each.
        Some(unsafe { Region::new(address, if address == 0 { 0 } else { len }) })
    }

    /// The names of `number` rights of an item in the message.
    pub fn inline_names(&mut self, number: usize) -> Option<Vec<u32>> {
        if !self.complex {
            return None;
        }
        let place = self.pass(number.checked_mul(SLOT)?)?;
        Some((0..number).map(|i| word(&self.bytes, place + i * SLOT) as u32).collect())
    }

    /// The names of `number` rights of an item out of line; none if there was no room for them in this process.
    pub fn far_names(&mut self, number: usize) -> Option<Vec<u32>> {
        let names = self.memory(number.checked_mul(4)?)?;
        Some(names.chunks_exact(4).map(|name| u32::from_le_bytes([name[0], name[1], name[2], name[3]])).collect())
    }

    /// The next item, whatever it is.
    pub fn next(&mut self) -> Option<(Kind, Item)> {
        let of = Descriptor::parse(self.word()? & !(1 << 31)).ok();
        let item = of.and_then(|of| {
            let (len, number) = (usize::try_from(of.size()).ok()?, of.number as usize);
            let item = match (of.is_port() && self.complex, of.inline) {
                (true, true) => Item::Names(self.inline_names(number)?),
                (true, false) => Item::Names(self.far_names(number)?),
                (false, false) if self.complex => Item::Memory(self.memory(len)?),
                (false, inline) => Item::Data(self.data(if inline { len } else { SLOT })?.to_vec()),
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
    if !super::is_right(name) {
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
