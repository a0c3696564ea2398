//! A routine as it is described: its arguments, and their offsets in the block.

use crate::mig::kind::Kind;
use std::marker::PhantomData;

/// It goes in.
pub const IN: u32 = 16;
/// It comes out.
pub const OUT: u32 = 8;
/// It is a string that ends with NUL.
pub const TEXT: u32 = 4;
/// The caller says how many elements its buffer takes.
pub const COUNT_IN_OUT: u32 = 2;
/// It has as many elements as the nearest array before it that goes the same way and has a count.
pub const SAME_COUNT: u32 = 1;

/// How many elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// No array: one element.
    One,
    /// Just so many.
    Fixed(u32),
    /// At most so many.
    UpTo(u32),
}

/// An argument.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    flags: u32,
    kind: Kind,
    count: Count,
    bytes: u32,
    align: u32,
}

/// Where an argument is in the block, in bytes from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offsets {
    /// The value, or a pointer to it.
    pub data: usize,
    /// The number of elements, or a pointer to it, if there is one.
    pub count: usize,
    /// Where the next one may begin.
    pub end: usize,
}

const POINTER: usize = 8;

impl Item {
    /// An argument with [`IN`], [`OUT`] and other flags. Its elements have the size and the alignment, in bytes, that they have
    /// in C.
    pub const fn new(flags: u32, kind: Kind, count: Count, bytes: u32, align: u32) -> Self {
        Self { flags, kind, count, bytes, align }
    }

    pub(super) const fn is_in(&self) -> bool {
        self.flags & IN != 0
    }

    pub(super) const fn is_out(&self) -> bool {
        self.flags & OUT != 0
    }

    pub(super) const fn is_text(&self) -> bool {
        self.flags & TEXT != 0
    }

    /// Whether the caller says how many elements its buffer takes. There is nowhere to say so for an array without a count of
    /// its own, which has a buffer for the most.
    pub(super) const fn is_told(&self) -> bool {
        self.flags & COUNT_IN_OUT != 0 && !self.shares_count()
    }

    pub(super) const fn shares_count(&self) -> bool {
        self.flags & SAME_COUNT != 0
    }

    /// Whether its number of elements varies, and is not told by a NUL.
    pub(super) const fn is_list(&self) -> bool {
        matches!(self.count, Count::UpTo(_)) && !self.is_text()
    }

    /// Whether the number of elements is in the block.
    pub(super) const fn has_count(&self) -> bool {
        self.is_list() && !self.shares_count()
    }

    /// The most elements.
    pub(super) const fn most(&self) -> u32 {
        match self.count {
            Count::One => 1,
            Count::Fixed(n) | Count::UpTo(n) => n,
        }
    }

    /// Bytes of an element.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// Bytes of all elements.
    pub(super) const fn size(&self) -> usize {
        self.most() as usize * self.bytes as usize
    }

    /// Whether the value itself is in the block.
    pub(super) const fn is_word(&self) -> bool {
        !self.is_out() && !self.is_text() && matches!(self.count, Count::One) && matches!(self.bytes, 1 | 2 | 4 | 8)
    }

    /// Whether it is a value or an array of fixed length, and not in the block itself.
    pub(super) const fn is_far_value(&self) -> bool {
        !self.is_word() && !self.is_text() && !matches!(self.count, Count::UpTo(_))
    }

    /// Where it is, if nothing else is at `from`: as C lays out a structure.
    pub(super) const fn offsets(&self, from: usize) -> Offsets {
        let size = if self.is_word() { self.bytes as usize } else { POINTER };
        let data = from.next_multiple_of(size);
        let (mut count, mut end) = (0, data + size);
        if self.has_count() {
            let size = if self.is_out() { POINTER } else { 4 };
            count = end.next_multiple_of(size);
            end = count + size;
        }
        Offsets { data, count, end }
    }
}

/// Where one of the items is.
pub(super) fn offsets_of(items: &[Item], index: usize) -> Offsets {
    let from = items[..index].iter().fold(0, |at, item| item.offsets(at).end);
    items[index].offsets(from)
}

/// The item that has an item's count.
pub(super) fn counted_by(items: &[Item], index: usize) -> Option<usize> {
    let ways = IN | OUT;
    items[..index].iter().rposition(|other| other.has_count() && (other.flags ^ items[index].flags) & ways == 0)
}

/// Whether anything comes out.
pub(super) const fn has_out(items: &[Item]) -> bool {
    let mut index = 0;
    while index < items.len() {
        if items[index].is_out() {
            return true;
        }
        index += 1;
    }
    false
}

/// FNV-1a, 64 bits.
const fn add(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut index = 0;
    while index < bytes.len() {
        hash = (hash ^ bytes[index] as u64).wrapping_mul(0x100_0000_01b3);
        index += 1;
    }
    hash
}

/// The hash of a routine's name and arguments that mig writes into stubs in C.
///
/// # Panics
/// The name has a NUL, with which it could be another name and arguments; the compiler evaluates this.
pub(super) const fn signature(name: &str, items: &[Item]) -> u64 {
    let mut index = 0;
    while index < name.len() {
        assert!(name.as_bytes()[index] != 0, "a routine's name has no NUL");
        index += 1;
    }
    let mut hash = add(add(0xcbf2_9ce4_8422_2325, name.as_bytes()), &[0]);
    index = 0;
    while index < items.len() {
        let item = &items[index];
        let form = match item.count {
            Count::One => 0,
            Count::Fixed(_) => 1,
            Count::UpTo(_) => 2,
        };
        let (name, bits, units) = item.kind.parts();
        let numbers = [item.flags, name, form, item.most(), bits, units, item.bytes, item.align];
        let mut at = 0;
        while at < numbers.len() {
            hash = add(hash, &numbers[at].to_le_bytes());
            at += 1;
        }
        index += 1;
    }
    hash
}

/// A routine that can be called.
pub trait Trap: 'static {
    /// The identifier of its request.
    const ID: i32;
    /// Its name in the interface, without a NUL.
    const NAME: &'static str;
    /// What errors say was tried.
    const TRIED: &'static str;
    /// Its arguments, but for the port.
    const ITEMS: &'static [Item];
}

/// What follows from a routine's description.
pub(super) struct Facts<R>(PhantomData<R>);

impl<R: Trap> Facts<R> {
    pub const SIGNATURE: u64 = signature(R::NAME, R::ITEMS);
    pub const HAS_OUT: bool = has_out(R::ITEMS);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mig::kind;

    #[test]
    fn offsets_are_those_of_a_structure_in_c() {
        let one = |flags, bytes| Item::new(flags, kind::CHAR, Count::One, bytes, bytes);
        let list = |flags| Item::new(flags, kind::INTEGER_32, Count::UpTo(9), 4, 4);
        // char, short, int, list and its count, a pointer, list and its count by pointers, char, a structure.
        let items = [one(IN, 1), one(IN, 2), one(IN, 4), list(IN), one(OUT, 4), list(IN | OUT), one(IN, 1), one(IN, 24)];
        let offsets: Vec<_> = (0..items.len()).map(|index| offsets_of(&items, index)).collect();
        assert_eq!(offsets.iter().map(|offsets| offsets.data).collect::<Vec<_>>(), [0, 2, 4, 8, 24, 32, 48, 56]);
        assert_eq!((offsets[3].count, offsets[5].count, offsets[7].end), (16, 40, 64));
        let shared = [list(IN), list(OUT), Item::new(IN | SAME_COUNT, kind::INTEGER_32, Count::UpTo(9), 4, 4)];
        assert_eq!((counted_by(&shared, 2), shared[2].has_count(), counted_by(&shared, 1)), (Some(0), false, None));
    }
    #[test]
    #[should_panic(expected = "a routine's name has no NUL")]
    fn a_name_holds_no_arguments() {
        signature("name\0\x10\0\0\0", &[]);
    }
}
