//! Message bodies that describe themselves, in the 64-bit layout.

use super::{
    Right,
    message::{Item, Memory},
};
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

pub(crate) const NAME_MASK: u64 = 0xff;
const UNUSED: u64 = 0x1f << 24;
const INLINE_BIT: u64 = 1 << 29;
pub(crate) const DEALLOCATE: u64 = 1 << 31;

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

/// The word at a place in a body.
pub(crate) fn word(body: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(body.get(at..at + SLOT)?.try_into().ok()?))
}

/// Writes the word at a place in a body.
pub(crate) fn set_word(body: &mut [u8], at: usize, value: u64) {
    if let Some(place) = body.get_mut(at..at + SLOT) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// Whether a body that another process wrote says of its rights and memory just what came with it: else its receiver
/// would take any name for a right that it was given, and any address for memory of its own.
pub fn describes(body: &[u8], items: &[Item]) -> bool {
    let mut items = items.iter();
    let mut at = 0;
    while at < body.len() {
        let Some(Ok(descriptor)) = word(body, at).map(Descriptor::parse) else { return false };
        at += SLOT;
        let len = descriptor.size();
        if descriptor.is_port() || !descriptor.inline {
            let fits = match items.next() {
                Some(Item::Ports { at: place, rights }) => {
                    descriptor.inline && *place as usize == at && all_as_said(&descriptor, rights)
                }
                Some(Item::PortArray { at: place, rights }) => {
                    descriptor.is_port() && !descriptor.inline && *place as usize == at && all_as_said(&descriptor, rights)
                }
                Some(Item::Memory { at: place, memory }) => {
                    let given = match memory {
                        Memory::Bytes(bytes) => bytes.len() as u64,
                        Memory::Pages(_, len) | Memory::Lost(len) => *len,
                    };
                    !descriptor.is_port() && *place as usize == at && given == len
                }
                None => false,
            };
            if !fits {
                return false;
            }
        }
        let size = if descriptor.inline { len.next_multiple_of(SLOT as u64) } else { SLOT as u64 };
        match (at as u64).checked_add(size).filter(|end| *end <= body.len() as u64) {
            Some(end) => at = end as usize,
            None => return false,
        }
    }
    items.next().is_none()
}

/// Whether the rights are as many and of the type that the descriptor says. A right that died may have been any.
fn all_as_said(descriptor: &Descriptor, rights: &[Right]) -> bool {
    let as_said = |right: &Right| matches!(right, Right::Null | Right::Dead) || right.received_type() == descriptor.name;
    rights.len() == descriptor.number as usize && rights.iter().all(as_said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{FarOnce, PortId, notify::type_word};
    use smallvec::smallvec;

    fn body(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn a_body_says_what_came_with_it() {
        let out_of_line = |name, bits, number| type_word(name, bits, number) & !INLINE_BIT;
        let (send, once) = (Right::Send(PortId(1)), || Right::FarOnce(FarOnce(1)));
        let words = [
            type_word(types::INTEGER_32, 32, 1),
            7,
            type_word(types::PORT_SEND, 64, 2),
            0,
            0,
            out_of_line(9, 8, 5),
            0,
            out_of_line(types::PORT_SEND_ONCE, 32, 1) | DEALLOCATE,
            0,
        ];
        let whole = || {
            vec![
                Item::Ports { at: 24, rights: smallvec![Right::Send(PortId(1)), Right::Dead] },
                Item::Memory { at: 48, memory: Memory::Bytes(vec![1; 5]) },
                Item::PortArray { at: 64, rights: vec![once()] },
            ]
        };
        assert!(describes(&body(&words), &whole()) && describes(&[], &[]) && describes(&body(&words[..2]), &[]));

        // Names and addresses that nothing came for.
        assert!(!describes(&body(&words), &whole()[..2]), "a name");
        assert!(!describes(&body(&words[2..5]), &[]), "two names");
        assert!(!describes(&body(&words[5..7]), &[]), "an address");
        assert!(!describes(&body(&words[..7]), &whole()), "a right that is not told of");
        // Others than came.
        let with = |at: usize, word: u64| {
            let mut changed = words;
            changed[at] = word;
            describes(&body(&changed), &whole())
        };
        assert!(!with(2, type_word(types::PORT_RECEIVE, 64, 2)), "a receive right for a send right");
        assert!(!with(2, type_word(types::PORT_SEND, 64, 1)), "fewer");
        assert!(!with(5, out_of_line(9, 8, 6)), "more memory");
        assert!(!with(5, out_of_line(types::PORT_SEND, 32, 1)), "names for bytes");
        assert!(!with(7, out_of_line(9, 8, 4)), "bytes for names");
        assert!(!with(0, type_word(9, 8, 9)), "all of it elsewhere");
        assert!(!with(0, 0), "no type");
        assert!(!describes(&body(&words[..8]), &whole()), "cut");
        let swapped = vec![Item::Ports { at: 8, rights: smallvec![send] }];
        assert!(!describes(&body(&[type_word(types::PORT_SEND_ONCE, 64, 1), 0]), &swapped), "a send-once right for a send right");
    }
}
