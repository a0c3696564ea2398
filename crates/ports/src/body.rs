//! The typed dialect: message bodies that describe themselves, in the 64-bit layout. The one parser of a body.

use crate::abi::{Code, SLOT, types};

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

/// The bits of a type word that name the type.
pub const NAME_MASK: u64 = 0xff;
/// The bit of a type word that says that the elements are in the message.
pub const INLINE_BIT: u64 = 1 << 29;
/// The bit of a type word that says that out-of-line data is given away.
pub const DEALLOCATE: u64 = 1 << 31;
const UNUSED: u64 = 0x1f << 24;

impl Descriptor {
    /// Reads one.
    ///
    /// # Errors
    /// `SEND_INVALID_TYPE` if it has bits that mean nothing.
    pub fn parse(word: u64) -> Result<Self, Code> {
        let it = Self {
            name: (word & NAME_MASK) as u32,
            bits: (word >> 8 & 0xffff) as u32,
            number: (word >> 32) as u32,
            inline: word & INLINE_BIT != 0,
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

/// One item of a body: its descriptor, and where its data is.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// What it is.
    pub descriptor: Descriptor,
    /// Where its type word is.
    pub type_at: usize,
    /// Where its data is: the elements, or the address of those that are out of line.
    pub at: usize,
    /// Where the next item begins.
    pub end: usize,
}

impl Field {
    /// The item at `at`; None at the end of the body.
    ///
    /// # Errors
    /// `SEND_INVALID_TYPE`; `SEND_MSG_TOO_SMALL` if the body ends within the item.
    pub fn parse(body: &[u8], at: usize) -> Result<Option<Self>, Code> {
        if at >= body.len() {
            return Ok(None);
        }
        let descriptor = Descriptor::parse(word(body, at).ok_or(Code::SEND_MSG_TOO_SMALL)?)?;
        let place = at + SLOT;
        let size = if descriptor.inline { descriptor.size().next_multiple_of(SLOT as u64) } else { SLOT as u64 };
        let end = (place as u64).checked_add(size).filter(|end| *end <= body.len() as u64);
        Ok(Some(Self { descriptor, type_at: at, at: place, end: end.ok_or(Code::SEND_MSG_TOO_SMALL)? as usize }))
    }

    /// Whether the item is nothing but bytes of the body.
    pub fn is_plain(&self) -> bool {
        self.descriptor.inline && !self.descriptor.is_port()
    }
}

/// The items of a body that are rights, or out of line; ends with an error at what is no item.
pub fn carried(body: &[u8]) -> impl Iterator<Item = Result<Field, Code>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            match Field::parse(body, at) {
                Ok(None) => return None,
                Ok(Some(field)) => {
                    at = field.end;
                    if !field.is_plain() {
                        return Some(Ok(field));
                    }
                }
                Err(code) => {
                    at = body.len();
                    return Some(Err(code));
                }
            }
        }
    })
}

/// The 8 bytes at `at`, as a number.
pub fn word(body: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(body.get(at..at.checked_add(SLOT)?)?.try_into().ok()?))
}

/// Writes the 8 bytes at `at`, if they are there.
pub fn set_word(body: &mut [u8], at: usize, value: u64) {
    if let Some(place) = body.get_mut(at..at + SLOT) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}
