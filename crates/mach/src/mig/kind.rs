//! What data is called in a message.

use crate::abi::typed::{DEALLOCATE, INLINE, type_word};

/// A transmission type: the name and the size in bits of a unit, and how many units an element has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    name: u32,
    bits: u32,
    units: u32,
    long: bool,
}

/// The mark of a type word of the long form, which on 64-bit machines is the same otherwise. Nothing depends on it.
pub(super) const LONG: u64 = 1 << 30;

/// Parts of a type word that may be as the sender likes.
const NUMBER: u64 = !0 << 32;

impl Kind {
    /// Units of `bits` bits each that are called `name` (`MACH_MSG_TYPE_*`).
    pub const fn new(name: u32, bits: u32) -> Self {
        Self { name, bits, units: 1, long: false }
    }

    /// Elements of so many units each.
    pub const fn times(self, units: u32) -> Self {
        Self { units: self.units * units, ..self }
    }

    /// The same, with type words that are marked as being of the long form when they are sent.
    pub const fn long(self) -> Self {
        Self { long: true, ..self }
    }

    /// The mark that type words have when they are sent.
    pub(super) const fn mark(self) -> u64 {
        if self.long { LONG } else { 0 }
    }

    /// The name, the size of a unit in bits, and the units of an element.
    pub(super) const fn parts(self) -> (u32, u32, u32) {
        (self.name, self.bits, self.units)
    }

    /// Units of an element.
    pub(super) fn units(self) -> u32 {
        self.units
    }

    /// The type word of so many elements in the message.
    pub(super) fn inline(self, elements: u32) -> u64 {
        type_word(self.name & 0xff, self.bits & 0xffff, elements.wrapping_mul(self.units))
    }

    /// The type word of so many elements out of line.
    pub(super) fn outside(self, elements: u32) -> u64 {
        self.inline(elements) & !INLINE
    }
}

/// Whether the word is of data in the message.
pub(super) fn is_inline(word: u64) -> bool {
    word & INLINE != 0
}

/// Whether two words differ in anything but the number of elements.
pub(super) fn differs_but_number(a: u64, b: u64) -> bool {
    (a ^ b) & !NUMBER != 0
}

/// Whether two words differ in anything but the deallocate bit.
pub(super) fn differs_but_deallocate(a: u64, b: u64) -> bool {
    (a ^ b) & !DEALLOCATE != 0
}

/// Whether two words differ in anything but the number of elements and the deallocate bit.
pub(super) fn differs_outside(a: u64, b: u64) -> bool {
    (a ^ b) & !(NUMBER | DEALLOCATE) != 0
}

/// The bytes that a word's elements have altogether.
pub(super) fn size(word: u64) -> u64 {
    (u64::from(number(word)) * (word >> 8 & 0xffff)).div_ceil(8)
}

/// The number of units that a word tells.
pub(super) fn number(word: u64) -> u32 {
    (word >> 32) as u32
}

/// `MACH_MSG_TYPE_UNSTRUCTURED`, in bytes.
pub const UNSTRUCTURED: Kind = Kind::new(0, 8);
/// `MACH_MSG_TYPE_BIT`, in bytes.
pub const BIT: Kind = Kind::new(0, 8);
/// `MACH_MSG_TYPE_BOOLEAN`.
pub const BOOLEAN: Kind = Kind::new(0, 32);
/// `MACH_MSG_TYPE_INTEGER_16`.
pub const INTEGER_16: Kind = Kind::new(1, 16);
/// `MACH_MSG_TYPE_INTEGER_32`.
pub const INTEGER_32: Kind = Kind::new(2, 32);
/// `MACH_MSG_TYPE_CHAR`.
pub const CHAR: Kind = Kind::new(8, 8);
/// `MACH_MSG_TYPE_BYTE`.
pub const BYTE: Kind = Kind::new(9, 8);
/// `MACH_MSG_TYPE_INTEGER_8`.
pub const INTEGER_8: Kind = Kind::new(9, 8);
/// `MACH_MSG_TYPE_REAL`, of 32 bits.
pub const REAL_32: Kind = Kind::new(10, 32);
/// `MACH_MSG_TYPE_REAL`, of 64 bits.
pub const REAL_64: Kind = Kind::new(10, 64);
/// `MACH_MSG_TYPE_INTEGER_64`.
pub const INTEGER_64: Kind = Kind::new(11, 64);
/// `MACH_MSG_TYPE_STRING_C`, by bytes.
pub const STRING: Kind = Kind::new(12, 8);
/// `MACH_MSG_TYPE_PORT_NAME`.
pub const PORT_NAME: Kind = Kind::new(15, 32);
