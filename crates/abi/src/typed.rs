//! The typed dialect: message bodies that describe themselves, in the 64-bit layout. The one parser of a body.

use crate::{Code, SLOT, types};
use std::ops::Range;

/// One `mach_msg_type_t`.
#[derive(Debug, Clone, Copy)]
pub struct Descriptor {
    /// What the elements are.
    pub name: u32,
    /// The size of an element in bits.
    pub bits: u32,
    /// How many there are.
    pub number: u32,
    /// Whether they are in the message.
    pub inline: bool,
    /// Whether out-of-line data is given away with the message.
    pub deallocate: bool,
}

/// What of a type word says what the elements are.
pub const NAME_MASK: u64 = 0xff;
const UNUSED: u64 = 0x1f << 24;
/// The bit of a type word whose data is in the message.
pub const INLINE: u64 = 1 << 29;
/// The bit of a type word whose out-of-line data is given away with the message.
pub const DEALLOCATE: u64 = 1 << 31;

/// A type word: `mach_msg_type_t` with `number` elements of `bits` bits each, inline.
pub fn type_word(name: u32, bits: u32, number: u32) -> u64 {
    u64::from(name) | u64::from(bits) << 8 | INLINE | u64::from(number) << 32
}

impl Descriptor {
    /// Reads one.
    ///
    /// # Errors
    /// `SEND_INVALID_TYPE` if it has bits that mean nothing.
    #[inline]
    pub fn parse(word: u64) -> Result<Self, Code> {
        let it = Self {
            name: (word & NAME_MASK) as u32,
            bits: (word >> 8 & 0xffff) as u32,
            number: (word >> 32) as u32,
            inline: word & INLINE != 0,
            deallocate: word & DEALLOCATE != 0,
        };
        let right_size = !it.is_port() || it.bits == if it.inline { 64 } else { 32 };
        if word & UNUSED != 0 || (it.inline && it.deallocate) || !right_size {
            return Err(Code::SEND_INVALID_TYPE);
        }
        Ok(it)
    }

    /// Whether the elements are rights.
    pub fn is_port(&self) -> bool {
        (types::MOVE_RECEIVE..=types::MAKE_SEND_ONCE).contains(&self.name)
    }

    /// The size of all elements in bytes.
    pub fn size(&self) -> u64 {
        (u64::from(self.number) * u64::from(self.bits)).div_ceil(8)
    }
}

/// The 8 bytes at `at`, as a number; None where there are none.
pub fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Writes the 8 bytes at `at`, if they are there.
pub fn set_word(bytes: &mut [u8], at: usize, value: u64) {
    if let Some(place) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = value.to_le_bytes();
    }
}

/// An item of a body: what it is, and where it lies.
#[derive(Debug, Clone)]
pub struct Field {
    /// What its type word says.
    pub of: Descriptor,
    /// The elements, or for out-of-line data the address; what follows up to the next item is filled up.
    pub data: Range<usize>,
    /// Where the next item begins.
    pub end: usize,
}

impl Field {
    /// The item that begins at `at` of a body.
    ///
    /// # Errors
    /// `SEND_INVALID_TYPE`; `SEND_MSG_TOO_SMALL` for a body that ends within the item.
    #[inline]
    pub fn at(body: &[u8], at: usize) -> Result<Self, Code> {
        let of = Descriptor::parse(word(body, at).ok_or(Code::SEND_MSG_TOO_SMALL)?)?;
        let len = if of.inline { of.size() } else { SLOT as u64 };
        let start = at + SLOT;
        let end = (start as u64).checked_add(len.next_multiple_of(SLOT as u64)).filter(|end| *end <= body.len() as u64);
        let end = end.ok_or(Code::SEND_MSG_TOO_SMALL)? as usize;
        Ok(Self { of, data: start..start + len as usize, end })
    }

    /// Where its type word is.
    pub fn type_at(&self) -> usize {
        self.data.start - SLOT
    }

    /// Whether the item is nothing but bytes of the body.
    pub fn is_plain(&self) -> bool {
        self.of.inline && !self.of.is_port()
    }

    /// The names of the rights that are in the message, if rights are.
    pub fn names<'a>(&self, body: &'a [u8]) -> impl Iterator<Item = u32> + use<'a> {
        let data = if self.of.is_port() && self.of.inline { self.data.clone() } else { 0..0 };
        body[data].chunks_exact(SLOT).map(|slot| word(slot, 0).unwrap_or(0) as u32)
    }

    /// The address of what is out of line.
    pub fn address(&self, body: &[u8]) -> usize {
        if self.of.inline { 0 } else { word(body, self.data.start).unwrap_or(0) as usize }
    }
}

/// The items of a body that are rights, or out of line; ends with an error at what is no item.
pub fn carried(body: &[u8]) -> impl Iterator<Item = Result<Field, Code>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < body.len() {
            let field = Field::at(body, at);
            at = field.as_ref().map_or(body.len(), |field| field.end);
            if !field.as_ref().is_ok_and(Field::is_plain) {
                return Some(field);
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn items_lie_one_behind_the_other() {
        let three = type_word(types::BYTE, 8, 3);
        let rights = type_word(types::PORT_SEND, 64, 2);
        let far = type_word(types::BYTE, 8, 5000) & !INLINE | DEALLOCATE;
        let body = body(&[three, 0, rights, 7, 9, far, 0x1000]);
        let items = [0, 16, 40].map(|at| Field::at(&body, at).expect("an item"));
        assert_eq!(items.each_ref().map(|item| item.data.clone()), [8..11, 24..40, 48..56]);
        assert_eq!(items.each_ref().map(|item| item.end), [16, 40, 56]);
        assert_eq!(items[1].names(&body).collect::<Vec<_>>(), [7, 9]);
        assert_eq!((items[2].address(&body), items[0].names(&body).count()), (0x1000, 0));
    }

    #[test]
    fn what_ends_within_an_item_or_is_none_is_refused() {
        let huge = body(&[type_word(types::BYTE, 0xffff, !0), 0]);
        assert_eq!(Field::at(&huge, 0).err(), Some(Code::SEND_MSG_TOO_SMALL));
        assert_eq!(Field::at(&huge[..4], 0).err(), Some(Code::SEND_MSG_TOO_SMALL));
        assert_eq!(Field::at(&huge, 16).err(), Some(Code::SEND_MSG_TOO_SMALL));
        for odd in [1 << 24, DEALLOCATE, u64::from(types::PORT_SEND) | 32 << 8] {
            let body = body(&[odd | INLINE | 1 << 32, 0]);
            assert_eq!(Field::at(&body, 0).err(), Some(Code::SEND_INVALID_TYPE), "{odd:x}");
        }
    }
}
