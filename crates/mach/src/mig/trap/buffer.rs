//! Memory that the other side of a call reads and writes. All of it is set before, so that nothing is read that nobody wrote.

use crate::{
    abi::Code,
    mig::plain::{Plain, load_all},
    rights::Error,
};
use std::ffi::{CStr, CString};
use zerocopy::IntoBytes;

/// What a caller learns when its server left something else than was agreed.
fn unfit() -> Error {
    Error { tried: "reading what a call gave back", code: Code::MIG_TYPE_ERROR }
}

/// Memory for a value.
pub trait Buffer {
    /// It.
    fn words(&mut self) -> &mut [u64];
}

/// A buffer for a value of at most so many words of 8 bytes.
#[derive(Debug)]
pub struct Slot<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Slot<WORDS> {
    /// Of zeros.
    #[inline]
    #[allow(clippy::new_without_default, reason = "stubs call it by name")]
    pub fn new() -> Self {
        Self([0; WORDS])
    }

    /// The value. It fits, or this panics.
    #[inline]
    pub fn get<T: Plain>(&self) -> T {
        T::load(&self.0.as_bytes()[..T::SIZE])
    }
}

impl<const WORDS: usize> Buffer for Slot<WORDS> {
    #[inline]
    fn words(&mut self) -> &mut [u64] {
        &mut self.0
    }
}

/// A buffer for a value that is too large for the stack.
#[derive(Debug)]
pub struct FarSlot(Vec<u64>);

impl FarSlot {
    /// So many words of zeros.
    pub fn new(words: usize) -> Self {
        Self(vec![0; words])
    }

    /// The value. It fits, or this panics.
    pub fn get<T: Plain>(&self) -> T {
        T::load(&self.0.as_bytes()[..T::SIZE])
    }
}

impl Buffer for FarSlot {
    fn words(&mut self) -> &mut [u64] {
        &mut self.0
    }
}

/// An array that goes in: where it is, or packed as messages have it.
#[derive(Debug)]
pub struct Packed<'a> {
    lent: &'a [u8],
    own: Vec<u64>,
    count: usize,
    size: usize,
}

impl<'a> Packed<'a> {
    /// These values.
    #[inline]
    pub fn new<T: Plain>(values: &'a [T]) -> Self {
        let (count, size) = (values.len(), T::SIZE);
        if let Some(lent) = T::bytes(values).filter(|bytes| bytes.len() == count * size) {
            return Self { lent, own: Vec::new(), count, size };
        }
        Self { lent: &[], own: packed(values, count), count, size }
    }

    /// How many there are, and bytes of each.
    #[inline]
    pub(super) fn len(&self) -> (usize, usize) {
        (self.count, self.size)
    }

    #[inline]
    pub(super) fn data(&self) -> *const u8 {
        if self.own.is_empty() { self.lent.as_ptr() } else { self.own.as_ptr().cast() }
    }
}

/// Values as messages have them, in a buffer for `most`.
fn packed<T: Plain>(values: &[T], most: usize) -> Vec<u64> {
    let mut words = vec![0u64; (most * T::SIZE).div_ceil(8)];
    words.as_mut_bytes().chunks_exact_mut(T::SIZE.max(1)).zip(values).for_each(|(to, value)| value.store(to));
    words
}

/// So many elements more than twice what there is are not worth a copy.
const SPARE: usize = 64;

/// An array that comes out, or goes in and comes out.
#[derive(Debug)]
pub struct List<T: Plain> {
    values: Values<T>,
    count: u32,
    most: u32,
}

#[derive(Debug)]
enum Values<T> {
    /// Where the values lie as in messages.
    Plain(Vec<T>),
    /// Where they don't.
    Packed(Vec<u64>),
}

impl<T: Plain> List<T> {
    /// For at most so many elements.
    #[inline]
    pub fn new(most: u32) -> Self {
        Self::within(most, most)
    }

    /// For at most so many elements, where the caller wants no more than `wanted`.
    #[inline]
    pub fn within(most: u32, wanted: u32) -> Self {
        Self::filled(&[], most, most.min(wanted), wanted)
    }

    /// These, and at most so many that come back.
    #[inline]
    pub fn of(values: &[T], most: u32) -> Self {
        Self::filled(values, most, most, values.len().min(u32::MAX as usize) as u32)
    }

    fn filled(values: &[T], limit: u32, most: u32, count: u32) -> Self {
        // What is too long goes nowhere: the block refuses it.
        let values = if values.len() > limit as usize { &[] } else { values };
        let size = most as usize;
        let plain = T::zeros(size).and_then(|mut all| {
            let (to, from) = (T::bytes_mut(&mut all)?, T::bytes(values)?);
            to.get_mut(..from.len())?.copy_from_slice(from);
            Some(all)
        });
        let values = plain.map_or_else(|| Values::Packed(packed(values, size)), Values::Plain);
        Self { values, count, most }
    }

    /// The buffer for the elements, and their count.
    #[inline]
    pub(super) fn parts(&mut self) -> (&mut [u8], &mut u32) {
        let data = match &mut self.values {
            Values::Plain(values) => T::bytes_mut(values).unwrap_or_default(),
            Values::Packed(words) => words.as_mut_bytes(),
        };
        (data, &mut self.count)
    }

    /// What came back.
    ///
    /// # Errors
    /// `MIG_TYPE_ERROR`: more than the buffer takes.
    #[inline]
    pub fn take(self) -> Result<Vec<T>, Error> {
        let count = self.count as usize;
        self.take_same(count)
    }

    /// What came back, of an array that shares another one's count.
    ///
    /// # Errors
    /// As [`Self::take`].
    #[inline]
    pub fn take_same(self, count: usize) -> Result<Vec<T>, Error> {
        if count > self.most as usize {
            return Err(unfit());
        }
        Ok(match self.values {
            Values::Plain(mut values) => {
                values.truncate(count);
                // What a call gave is kept without what it might have given.
                if values.capacity() > 2 * count + SPARE {
                    values.shrink_to_fit();
                }
                values
            }
            Values::Packed(words) => load_all(&words.as_bytes()[..count * T::SIZE]),
        })
    }
}

/// A string that comes out, or goes in and comes out.
#[derive(Debug)]
pub struct Text(Vec<u8>);

impl Text {
    /// For so many bytes with the NUL.
    pub fn new(size: u32) -> Self {
        Self(vec![0; size as usize])
    }

    /// As much of a string as fits, for so many bytes with the NUL.
    pub fn of(text: &CStr, size: u32) -> Self {
        let mut buffer = Self::new(size);
        let last = buffer.0.len().saturating_sub(1);
        buffer.0[..last].iter_mut().zip(text.to_bytes()).for_each(|(to, byte)| *to = *byte);
        buffer
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.0
    }

    /// What came back.
    ///
    /// # Errors
    /// `MIG_TYPE_ERROR`: it has no end.
    pub fn take(self) -> Result<CString, Error> {
        CStr::from_bytes_until_nul(&self.0).map(CStr::to_owned).map_err(|_| unfit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_back_has_no_more_memory_than_it_needs() {
        const MOST: u32 = 100_000;
        for (count, kept) in [(0, false), (3, false), (1000, false), (60_000, true), (MOST, true)] {
            let mut list = List::<i32>::new(MOST);
            let (data, told) = list.parts();
            data[..4 * count as usize].fill(1);
            *told = count;
            let taken = list.take().expect("an array");
            assert_eq!(taken, vec![0x0101_0101; count as usize]);
            assert!(taken.capacity() <= 2 * count as usize + SPARE, "{count}");
            // What nearly fits is not copied.
            assert_eq!(taken.capacity() == MOST as usize, kept, "{count}");
        }
        assert!(List::<i32>::new(3).take_same(4).is_err());
    }
}
