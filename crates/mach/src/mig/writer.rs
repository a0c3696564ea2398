//! Messages that stubs put together.

use super::{
    array::{Lend, packed},
    kind::{self, Kind},
    plain::{Plain, store_all},
    right::{Carry, Give},
};
use crate::{
    abi::{COMPLEX, Code, HEADER, SLOT, types},
    rights::Carried,
};
use std::{ffi::CStr, marker::PhantomData};

/// A request or a reply that is filled from front to back. What was given to it is given up with it.
///
/// What an item does not allow is remembered, and is the result of the send.
#[derive(Debug)]
pub struct Writer<'a> {
    pub(super) buffer: Vec<u8>,
    pub(super) id: i32,
    pub(super) complex: bool,
    pub(super) carried: Vec<Carried>,
    pub(super) failed: Option<Code>,
    lent: PhantomData<&'a [u8]>,
}

/// Bytes that most messages fit into.
const USUAL: usize = 512;

impl<'a> Writer<'a> {
    pub(super) fn new(id: i32) -> Self {
        let mut buffer = Vec::with_capacity(USUAL);
        buffer.resize(HEADER, 0);
        Self { buffer, id, complex: false, carried: Vec::new(), failed: None, lent: PhantomData }
    }

    /// Writes the header. `dest` and `reply` are names with their dispositions.
    pub(super) fn address(&mut self, dest: (u32, u32), reply: (u32, u32)) {
        let bits = dest.1 | reply.1 << 8 | if self.complex { COMPLEX } else { 0 };
        let size = self.buffer.len() as u32;
        let words = [u64::from(bits) | u64::from(size) << 32, u64::from(dest.0), u64::from(reply.0), 0];
        for (place, word) in self.buffer.chunks_exact_mut(SLOT).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.buffer[HEADER - 4..HEADER].copy_from_slice(&self.id.to_le_bytes());
    }

    fn word(&mut self, word: u64) {
        self.buffer.extend_from_slice(&word.to_le_bytes());
    }

    /// The type word of an item. An item with more or fewer bytes than its kind says is not sent: what is behind it would be
    /// taken for something else.
    fn item(&mut self, word: u64, size: usize) {
        if kind::size(word) != size as u64 {
            self.fail(Code::SEND_INVALID_TYPE);
        }
        self.word(word);
    }

    fn pad(&mut self) {
        self.buffer.resize(self.buffer.len().next_multiple_of(SLOT), 0);
    }

    fn fail(&mut self, code: Code) {
        self.failed.get_or_insert(code);
    }

    /// Whether so many elements are allowed, and can be told in a type word.
    fn fits(&mut self, kind: Kind, count: usize, most: u32) -> bool {
        let good = count <= most as usize && count <= (u32::MAX / kind.units().max(1)) as usize;
        if !good {
            self.fail(Code::MIG_ARRAY_TOO_LARGE);
        }
        good
    }

    /// One value, or an array of fixed length.
    pub fn value<T: Plain>(&mut self, kind: Kind, value: &T) {
        self.item(kind.inline(1) | kind.mark(), T::SIZE);
        let at = self.buffer.len();
        self.buffer.resize(at + T::SIZE.next_multiple_of(SLOT), 0);
        value.store(&mut self.buffer[at..at + T::SIZE]);
    }

    /// At most `most` elements in the message.
    pub fn list<T: Plain>(&mut self, kind: Kind, most: u32, values: &[T]) {
        if !self.fits(kind, values.len(), most) {
            return;
        }
        let bytes = T::bytes(values);
        self.item(kind.inline(values.len() as u32) | kind.mark(), bytes.map_or(values.len() * T::SIZE, <[u8]>::len));
        match bytes {
            Some(bytes) => self.buffer.extend_from_slice(bytes),
            None => store_all(values, &mut self.buffer),
        }
        self.pad();
    }

    /// An array without a limit: up to `inside` elements go in the message, more out of line.
    pub fn array<T: Plain + Send>(&mut self, kind: Kind, inside: u32, values: impl Into<Lend<'a, T>>) {
        let values = values.into();
        if values.len() <= inside as usize {
            self.list(kind, inside, &values);
        } else {
            self.memory(kind, u32::MAX, values);
        }
    }

    /// At most `most` elements out of line.
    pub fn memory<T: Plain + Send>(&mut self, kind: Kind, most: u32, values: impl Into<Lend<'a, T>>) {
        let values = values.into();
        if !self.fits(kind, values.len(), most) {
            return;
        }
        let packed = packed(&values);
        let bytes = packed.as_deref().or_else(|| T::bytes(&values)).unwrap_or_default();
        let address = if bytes.is_empty() { 0 } else { bytes.as_ptr().expose_provenance() };
        self.item(kind.outside(values.len() as u32) | kind.mark(), bytes.len());
        self.word(address as u64);
        self.complex = true;
        match (packed, values) {
            (Some(bytes), _) => self.carried.push(Carried::Memory(Box::new(bytes))),
            (None, Lend::Given(values)) => self.carried.push(Carried::Memory(Box::new(values))),
            (None, Lend::Lent(_)) => {}
        }
    }

    /// Just `count` elements out of line; another number of them is `KERN_INVALID_ARGUMENT`.
    pub fn block<T: Plain + Send>(&mut self, kind: Kind, count: u32, values: impl Into<Lend<'a, T>>) {
        let values = values.into();
        if values.len() == count as usize {
            self.memory(kind, count, values);
        } else {
            self.fail(Code::INVALID_ARGUMENT);
        }
    }

    /// One value out of line.
    pub fn far_value<T: Plain>(&mut self, kind: Kind, value: &T) {
        let mut bytes = vec![0; T::SIZE];
        value.store(&mut bytes);
        self.item(kind.outside(1), T::SIZE);
        self.word(bytes.as_ptr().expose_provenance() as u64);
        self.complex = true;
        self.carried.push(Carried::Memory(Box::new(bytes)));
    }

    /// As much of a string as fits into `size` bytes with its NUL.
    fn cut(text: &CStr, size: u32) -> &[u8] {
        let bytes = text.to_bytes();
        &bytes[..bytes.len().min((size as usize).saturating_sub(1))]
    }

    /// A string of at most `most` bytes with its NUL. A longer one is cut.
    pub fn string(&mut self, most: u32, text: &CStr) {
        let bytes = Self::cut(text, most);
        self.word(kind::STRING.inline(bytes.len() as u32 + 1));
        self.buffer.extend_from_slice(bytes);
        self.buffer.push(0);
        self.pad();
    }

    /// A string in a field of `size` bytes. A longer one is cut.
    pub fn fixed_string(&mut self, size: u32, text: &CStr) {
        self.string_in(kind::STRING.inline(size), size, text);
    }

    /// A string in a field of `size` bytes, which the older form counts as one unit. A longer one is cut.
    pub fn unit_string(&mut self, size: u32, text: &CStr) {
        self.string_in(Kind::new(12, size * 8).inline(1), size, text);
    }

    fn string_in(&mut self, word: u64, size: u32, text: &CStr) {
        self.item(word, size as usize);
        let end = self.buffer.len() + size as usize;
        self.buffer.extend_from_slice(Self::cut(text, size));
        self.buffer.resize(end, 0);
        self.pad();
    }

    /// A right that is passed as `disposition` says (`MACH_MSG_TYPE_*`).
    pub fn right(&mut self, disposition: u32, right: impl Give) {
        self.word(Kind::new(disposition, 64).inline(1));
        self.word(u64::from(right.name()));
        self.complex = true;
        self.carried.extend(right.given().0);
    }

    /// A right that is passed as the caller says.
    pub fn any_right<'b>(&mut self, right: impl Into<Carry<'b>>) {
        let (disposition, name, given) = right.into().parts();
        self.word(Kind::new(disposition, 64).inline(1));
        self.word(u64::from(name));
        self.complex = true;
        self.carried.extend(given.0);
    }

    /// At most `most` rights in the message.
    pub fn rights<R: Give>(&mut self, disposition: u32, most: u32, rights: impl IntoIterator<Item = R>) {
        let kind = Kind::new(disposition, 64);
        self.rights_of(if most < 1 << 12 { kind } else { kind.long() }, most, rights);
    }

    fn rights_of<R: Give>(&mut self, kind: Kind, most: u32, rights: impl IntoIterator<Item = R>) {
        let names = self.names(rights);
        if self.fits(kind, names.len(), most) {
            self.word(kind.inline(names.len() as u32) | kind.mark());
            names.iter().for_each(|name| self.word(u64::from(*name)));
            self.complex = true;
        }
    }

    /// At most `most` rights out of line.
    pub fn far_rights<R: Give>(&mut self, disposition: u32, most: u32, rights: impl IntoIterator<Item = R>) {
        let names = self.names(rights);
        let kind = Kind::new(disposition, 32);
        let kind = if most == u32::MAX { kind.long() } else { kind };
        if self.fits(kind, names.len(), most) {
            self.memory(kind, most, names);
        }
    }

    /// Rights without a limit: up to `inside` go in the message, more out of line.
    pub fn right_array<R: Give>(&mut self, disposition: u32, inside: u32, rights: impl IntoIterator<Item = R>) {
        let rights: Vec<R> = rights.into_iter().collect();
        if rights.len() <= inside as usize {
            self.rights_of(Kind::new(disposition, 64).long(), inside, rights);
        } else {
            self.far_rights(disposition, u32::MAX, rights);
        }
    }

    fn names<R: Give>(&mut self, rights: impl IntoIterator<Item = R>) -> Vec<u32> {
        let mut names = Vec::new();
        for right in rights {
            names.push(right.name());
            self.carried.extend(right.given().0);
        }
        names
    }

    /// Arrays that share a count must have it: else it is `KERN_INVALID_ARGUMENT`.
    pub fn same_count(&mut self, a: usize, b: usize) {
        if a != b {
            self.fail(Code::INVALID_ARGUMENT);
        }
    }

    /// Begins a reply: the return code comes first.
    pub(super) fn code(&mut self, code: Code) {
        self.value(kind::INTEGER_32, &code.0);
    }

    /// The disposition by which a received right is passed on.
    pub(super) fn passed_on(once: bool) -> u32 {
        if once { types::MOVE_SEND_ONCE } else { types::MOVE_SEND }
    }
}
