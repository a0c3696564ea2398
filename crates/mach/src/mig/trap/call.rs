//! The caller: a block of arguments, and the call.
#![allow(unsafe_code, reason = "a routine that another task registered gets pointers")]

use super::{
    buffer::{Buffer, List, Packed, Text},
    item::{Facts, Item, Offsets, Trap, counted_by, offsets_of},
};
use crate::{
    abi::Code,
    mig::plain::Plain,
    rights::{Error, SendRight},
    trap,
};
use std::{ffi::CStr, marker::PhantomData};
use zerocopy::IntoBytes;

/// A block of at most so many words of 8 bytes, which is filled item by item.
///
/// What an item does not allow is remembered: there is no call then, but a message, whose stub says what is wrong.
#[derive(Debug)]
pub struct Call<'a, R: Trap, const WORDS: usize> {
    block: [u64; WORDS],
    next: usize,
    at: usize,
    good: bool,
    /// What the block has pointers to.
    buffers: PhantomData<&'a mut [u8]>,
    routine: PhantomData<R>,
}

impl<'a, R: Trap, const WORDS: usize> Call<'a, R, WORDS> {
    /// A call that has no argument yet.
    #[inline]
    #[allow(clippy::new_without_default, reason = "stubs call it by name")]
    pub fn new() -> Self {
        Self { block: [0; WORDS], next: 0, at: 0, good: true, buffers: PhantomData, routine: PhantomData }
    }

    /// The next item, and where it is, if it is one that `fits`.
    #[inline]
    fn next(&mut self, fits: impl FnOnce(&Item) -> bool) -> Option<(&'static Item, Offsets)> {
        let item = R::ITEMS.get(self.next).filter(|item| fits(item));
        self.next += 1;
        let Some(item) = item else {
            self.good = false;
            return None;
        };
        let offsets = item.offsets(self.at);
        self.at = offsets.end;
        Some((item, offsets))
    }

    #[inline]
    fn check(&mut self, good: bool) {
        self.good &= good;
    }

    #[inline]
    fn set(&mut self, at: usize, bytes: &[u8]) {
        match self.block.as_mut_bytes().get_mut(at..at + bytes.len()) {
            Some(to) => to.copy_from_slice(bytes),
            None => self.good = false,
        }
    }

    #[inline]
    fn point(&mut self, at: usize, to: *const u8) {
        self.set(at, &(to.expose_provenance() as u64).to_ne_bytes());
    }

    /// A value that is in the block itself.
    #[inline]
    pub fn value<T: Plain>(&mut self, value: &T) {
        let Some((_, offsets)) = self.next(|item| item.is_word() && item.is_in() && item.bytes() == T::SIZE) else { return };
        match self.block.as_mut_bytes().get_mut(offsets.data..offsets.data + T::SIZE) {
            Some(to) => value.store(to),
            None => self.good = false,
        }
    }

    /// A value or an array of fixed length that goes in, or goes in and comes out.
    #[inline]
    pub fn input<T: Plain>(&mut self, buffer: &'a mut impl Buffer, value: &T) {
        let fits = |item: &Item| item.is_far_value() && item.is_in() && item.size() == T::SIZE;
        let Some((item, offsets)) = self.next(fits) else { return };
        let bytes: &'a mut [u8] = buffer.words().as_mut_bytes();
        let Some(bytes) = bytes.get_mut(..item.size()) else { return self.check(false) };
        value.store(bytes);
        self.point(offsets.data, bytes.as_mut_ptr());
    }

    /// A value or an array of fixed length that comes out.
    #[inline]
    pub fn output(&mut self, buffer: &'a mut impl Buffer) {
        let Some((item, offsets)) = self.next(|item| item.is_far_value() && !item.is_in()) else { return };
        let bytes: &'a mut [u8] = buffer.words().as_mut_bytes();
        self.check(bytes.len() >= item.size());
        self.point(offsets.data, bytes.as_mut_ptr());
    }

    /// An array that goes in.
    #[inline]
    pub fn array(&mut self, array: &'a Packed<'_>) {
        let fits = |item: &Item| !item.is_out() && !item.is_text() && !item.is_word();
        let Some((item, offsets)) = self.next(fits) else { return };
        let (count, size) = array.len();
        let number = if item.is_list() { count <= item.most() as usize } else { count * size == item.size() };
        self.check(number && (size == item.bytes() || !item.is_list()));
        self.point(offsets.data, array.data());
        if item.has_count() {
            self.set(offsets.count, &(count as u32).to_ne_bytes());
        } else if item.is_list() {
            self.check_count(count as u32);
        }
    }

    /// An array with a count that comes out, or goes in and comes out.
    #[inline]
    pub fn list<T: Plain>(&mut self, list: &'a mut List<T>) {
        let Some((item, offsets)) = self.next(|item| item.is_list() && item.is_out()) else { return };
        let (data, count): (&'a mut [u8], &'a mut u32) = list.parts();
        // Of what comes out, the buffer needs to take only as much as the server is told of.
        let enough = if item.is_told() && !item.is_in() { (*count).min(item.most()) } else { item.most() };
        let fits = T::SIZE == item.bytes() && data.len() >= enough as usize * T::SIZE;
        self.check(fits && (!item.is_in() || *count <= item.most()));
        self.point(offsets.data, data.as_mut_ptr());
        if item.has_count() {
            self.point(offsets.count, std::ptr::from_mut(count).cast());
        } else if item.is_in() {
            self.check_count(*count);
        }
    }

    /// The number of elements is that of the array whose count this one shares.
    fn check_count(&mut self, count: u32) {
        if !self.good {
            return;
        }
        let index = self.next - 1;
        let same = counted_by(R::ITEMS, index).and_then(|counted_by| {
            let item = R::ITEMS.get(counted_by)?;
            let at = offsets_of(R::ITEMS, counted_by).count;
            let bytes = self.block.as_bytes();
            if !item.is_out() {
                return bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
            }
            let address = bytes.get(at..at + 8)?.try_into().ok().map(usize::from_ne_bytes)?;
            // SAFETY: all items up to here were as they should be, so this is the address of a list's count, which is
            // borrowed for 'a.
            Some(unsafe { std::ptr::with_exposed_provenance::<u32>(address).read() })
        });
        self.check(same == Some(count));
    }

    /// A string that goes in.
    #[inline]
    pub fn text(&mut self, text: &'a CStr) {
        let Some((_, offsets)) = self.next(|item| item.is_text() && !item.is_out()) else { return };
        self.point(offsets.data, text.as_ptr().cast());
    }

    /// A string that comes out, or goes in and comes out.
    #[inline]
    pub fn room(&mut self, text: &'a mut Text) {
        let Some((item, offsets)) = self.next(|item| item.is_text() && item.is_out()) else { return };
        let bytes = text.bytes();
        self.check(bytes.len() >= item.size() && bytes.last() == Some(&0));
        self.point(offsets.data, bytes.as_mut_ptr());
    }

    /// Makes the call, if it can be made. If not, nothing has happened, and a message is to be sent.
    ///
    /// # Errors
    /// What the routine returned, `MIG_SERVER_DIED` or `MACH_TRAP_DEADLOCK`.
    #[inline]
    pub fn make(mut self, to: &SendRight) -> Option<Result<(), Error>> {
        if !self.good || self.next != R::ITEMS.len() {
            return None;
        }
        let block = self.block.as_mut_ptr();
        // SAFETY: the block was filled item by item as the signature has it, and its pointers are to what is borrowed for 'a,
        // at least as long as the items say.
        match unsafe { to.task().trap(to.name(), R::ID, Facts::<R>::SIGNATURE, block.cast()) } {
            None => None,
            Some(0) => Some(Ok(())),
            Some(code) => Some(Err(Error { tried: R::TRIED, code: Code(code) })),
        }
    }
}

/// Whether a [`Call`] of the routine is likely to be made now, for stubs that have to get memory for it. If not, nothing is to
/// be done but to send a message.
pub fn may_call<R: Trap>(to: &SendRight) -> bool {
    to.task().is_current() && trap::may_call(to.name(), R::ID, Facts::<R>::SIGNATURE)
}

const _: () = assert!(size_of::<usize>() == 8, "the block has pointers of 8 bytes");
