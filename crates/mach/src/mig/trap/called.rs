//! The server's routine: what came in, and what goes out.
#![allow(unsafe_code, reason = "pointers that a caller passes")]

use super::item::{Facts, Item, Offsets, Trap, counted_by, offsets_of};
use crate::{
    abi::Code,
    mig::plain::{Plain, load_all},
    rights::Target,
};
use std::{
    ffi::{CStr, CString, c_void},
    marker::PhantomData,
    slice,
};

/// A call: its arguments, which are taken from front to back, and then what comes out.
///
/// It is made for a block that is as the routine's signature says; the caller, which waits, does not change it meanwhile.
#[derive(Debug)]
pub struct Called<R: Trap> {
    block: *mut c_void,
    port: u32,
    next: usize,
    at: usize,
    given: bool,
    routine: PhantomData<R>,
}

/// A routine of a server `S`.
pub trait Trapped<S>: Trap {
    /// Takes the arguments, has the server do it, and gives back what comes out.
    ///
    /// # Errors
    /// What the caller gets; nothing of the caller's was changed then.
    fn serve(server: &mut S, call: &mut Called<Self>) -> Result<(), Code>
    where
        Self: Sized;
}

/// A part of the caller's block.
///
/// # Safety
/// There is a value of the type at that offset.
#[inline]
unsafe fn part<T: Copy>(block: *mut c_void, at: usize) -> T {
    // SAFETY: the caller's promise.
    unsafe { block.byte_add(at).cast::<T>().read() }
}

/// What stubs that take something else than there is get.
const WRONG: Code = Code::MIG_BAD_ARGUMENTS;

impl<R: Trap> Called<R> {
    /// The call of the routine at the port of that name.
    ///
    /// # Safety
    /// The block is what a routine with R's signature takes, for as long as this value is there.
    #[inline]
    pub(super) unsafe fn new(block: *mut c_void, port: u32) -> Self {
        Self { block, port, next: 0, at: 0, given: false, routine: PhantomData }
    }

    /// The port that was called. It is known by its name in any case.
    #[inline]
    pub fn target(&self) -> Target {
        Target::Port(self.port)
    }

    /// The next item that the routine is told of, if it is one that `fits`; and its number.
    #[inline]
    fn next(&mut self, fits: impl FnOnce(&Item) -> bool) -> Result<(&'static Item, Offsets, usize), Code> {
        while let Some(item) = R::ITEMS.get(self.next) {
            let (offsets, number) = (item.offsets(self.at), self.next);
            self.next += 1;
            self.at = offsets.end;
            if item.is_in() || (item.is_told() && item.has_count()) {
                return if fits(item) { Ok((item, offsets, number)) } else { Err(WRONG) };
            }
        }
        Err(WRONG)
    }

    /// The bytes of an item: the value itself, or what is pointed to.
    #[inline]
    fn bytes(&self, item: &Item, offsets: Offsets, len: usize) -> &[u8] {
        if len == 0 {
            return &[];
        }
        // SAFETY: the block has a value or a pointer to one here, which nobody changes while the caller waits.
        unsafe {
            let data = if item.is_word() { self.block.byte_add(offsets.data).cast() } else { part(self.block, offsets.data) };
            slice::from_raw_parts(data, len)
        }
    }

    /// A value or an array of fixed length.
    ///
    /// # Errors
    /// `MIG_BAD_ARGUMENTS`: the argument is something else.
    #[inline]
    pub fn value<T: Plain>(&mut self) -> Result<T, Code> {
        let fits = |item: &Item| (item.is_word() || item.is_far_value()) && item.is_in() && item.size() == T::SIZE;
        let (item, offsets, _) = self.next(fits)?;
        Ok(T::load(self.bytes(item, offsets, T::SIZE)))
    }

    /// An array with a count.
    ///
    /// # Errors
    /// `MIG_ARRAY_TOO_LARGE`: it has more elements than the interface allows. `MIG_BAD_ARGUMENTS`: the argument is something
    /// else.
    #[inline]
    pub fn list<T: Plain>(&mut self) -> Result<Vec<T>, Code> {
        let (item, offsets, number) = self.next(|item| item.is_list() && item.is_in() && item.bytes() == T::SIZE)?;
        let from = if item.shares_count() {
            let counted_by = counted_by(R::ITEMS, number).ok_or(WRONG)?;
            offsets_of(R::ITEMS, counted_by)
        } else {
            offsets
        };
        let count = self.count(item, from);
        if count > item.most() {
            return Err(Code::MIG_ARRAY_TOO_LARGE);
        }
        let bytes = self.bytes(item, offsets, count as usize * T::SIZE);
        let Some(mut all) = T::zeros(count as usize) else { return Ok(load_all(bytes)) };
        match T::bytes_mut(&mut all) {
            Some(to) if to.len() == bytes.len() => to.copy_from_slice(bytes),
            _ => return Ok(load_all(bytes)),
        }
        Ok(all)
    }

    /// The count of an item. That of an item that shares it goes the same way.
    #[inline]
    fn count(&self, item: &Item, offsets: Offsets) -> u32 {
        // SAFETY: the block has a count or a pointer to one here.
        unsafe {
            if item.is_out() { part::<*const u32>(self.block, offsets.count).read() } else { part(self.block, offsets.count) }
        }
    }

    /// How many elements of an array that comes out the caller has a buffer for, of as many as there may be.
    ///
    /// # Errors
    /// `MIG_BAD_ARGUMENTS`: the argument is something else.
    #[inline]
    pub fn room(&mut self) -> Result<u32, Code> {
        let (item, offsets, _) = self.next(|item| item.is_told() && !item.is_in())?;
        Ok(self.count(item, offsets).min(item.most()))
    }

    /// As much of a string as the interface allows.
    ///
    /// # Errors
    /// `MIG_BAD_ARGUMENTS`: the argument is something else.
    #[inline]
    pub fn text(&mut self) -> Result<CString, Code> {
        let (item, offsets, _) = self.next(|item| item.is_text() && item.is_in())?;
        let most = item.size().saturating_sub(1);
        // SAFETY: the block has a pointer to a string here, which is read up to its NUL.
        let bytes = unsafe {
            let data: *const u8 = part(self.block, offsets.data);
            let len = (0..most).find(|at| data.add(*at).read() == 0).unwrap_or(most);
            slice::from_raw_parts(data, len)
        };
        CString::new(bytes).map_err(|_| WRONG)
    }

    /// Gives the caller what comes out: all of it, or nothing if something does not fit. `give` does so twice, to see first
    /// whether all fits.
    ///
    /// # Errors
    /// `MIG_ARRAY_TOO_LARGE`: more elements than the interface allows, or than the caller has a buffer for. `KERN_INVALID_ARGUMENT`:
    /// arrays that share a count differ. `MIG_TYPE_ERROR`: something else than what comes out, or not all of it.
    #[inline]
    pub fn give(&mut self, give: impl Fn(&mut Results<R>)) -> Result<(), Code> {
        for writes in [false, true] {
            let mut given = Results {
                block: self.block,
                next: 0,
                at: 0,
                writes,
                failed: None,
                counts: [0; 2],
                narrow: false,
                routine: PhantomData::<R>,
            };
            give(&mut given);
            given.finish()?;
        }
        self.given = true;
        Ok(())
    }

    /// What the caller gets.
    #[inline]
    pub(super) fn finish(&self, result: Result<(), Code>) -> Code {
        match result {
            Ok(()) | Err(Code::SUCCESS) if !Facts::<R>::HAS_OUT || self.given => Code::SUCCESS,
            // As a reply that lacks something.
            Ok(()) | Err(Code::SUCCESS) => Code::MIG_TYPE_ERROR,
            // No reply can come later.
            Err(Code::MIG_NO_REPLY | Code::MIG_DESTROY_REQUEST) => Code::MIG_SERVER_DIED,
            Err(code) => code,
        }
    }
}

/// What comes out of a call, from front to back.
#[derive(Debug)]
pub struct Results<R: Trap> {
    block: *mut c_void,
    next: usize,
    at: usize,
    writes: bool,
    failed: Option<Code>,
    /// The counts last given: of an array that comes out, and of one that went in.
    counts: [usize; 2],
    /// Whether the buffer is too small, which counts if nothing else is wrong.
    narrow: bool,
    routine: PhantomData<R>,
}

impl<R: Trap> Results<R> {
    /// The next item that comes out, if it is one that `fits`.
    #[inline]
    fn next(&mut self, fits: impl FnOnce(&Item) -> bool) -> Option<(&'static Item, Offsets)> {
        while let Some(item) = R::ITEMS.get(self.next) {
            let offsets = item.offsets(self.at);
            self.next += 1;
            self.at = offsets.end;
            if item.is_out() {
                if fits(item) {
                    return Some((item, offsets));
                }
                break;
            }
        }
        self.fail(Code::MIG_TYPE_ERROR);
        None
    }

    #[inline]
    fn fail(&mut self, code: Code) {
        self.failed.get_or_insert(code);
    }

    /// Whether something is to be written now.
    #[inline]
    fn is_writing(&self) -> bool {
        self.writes && self.failed.is_none() && !self.narrow
    }

    #[inline]
    fn finish(mut self) -> Result<(), Code> {
        if R::ITEMS.get(self.next..).is_some_and(|rest| rest.iter().any(Item::is_out)) {
            self.fail(Code::MIG_TYPE_ERROR);
        }
        match self.failed {
            Some(code) => Err(code),
            None if self.narrow => Err(Code::MIG_ARRAY_TOO_LARGE),
            None => Ok(()),
        }
    }

    /// Writes values to what is pointed to.
    #[inline]
    fn store<T: Plain>(&self, offsets: Offsets, values: &[T]) {
        let len = values.len() * T::SIZE;
        if len == 0 {
            return;
        }
        // SAFETY: the block has a pointer here, to a buffer for as many elements as the item has and the caller told of, which
        // was compared with their number.
        unsafe {
            let data: *mut u8 = part(self.block, offsets.data);
            if let Some(bytes) = T::bytes(values).filter(|bytes| bytes.len() == len) {
                data.copy_from_nonoverlapping(bytes.as_ptr(), len);
                return;
            }
            data.write_bytes(0, len);
            let to = slice::from_raw_parts_mut(data, len);
            to.chunks_exact_mut(T::SIZE).zip(values).for_each(|(to, value)| value.store(to));
        }
    }

    /// A value or an array of fixed length.
    #[inline]
    pub fn value<T: Plain>(&mut self, value: &T) {
        let Some((_, offsets)) = self.next(|item| item.is_far_value() && item.size() == T::SIZE) else { return };
        if self.is_writing() {
            self.store(offsets, slice::from_ref(value));
        }
    }

    /// An array with a count. It has no more elements than the interface allows, and the caller has a buffer for; and as many as
    /// the one whose count it shares.
    #[inline]
    pub fn list<T: Plain>(&mut self, values: &[T]) {
        let Some((item, offsets)) = self.next(|item| item.is_list() && item.bytes() == T::SIZE) else { return };
        let way = usize::from(item.is_in());
        if item.shares_count() && values.len() != self.counts[way] {
            return self.fail(Code::INVALID_ARGUMENT);
        }
        if item.has_count() {
            self.counts[way] = values.len();
        }
        if values.len() > item.most() as usize {
            return self.fail(Code::MIG_ARRAY_TOO_LARGE);
        }
        let count = values.len() as u32;
        if item.has_count() {
            // SAFETY: the block has a pointer to a count here.
            let told = unsafe { part::<*mut u32>(self.block, offsets.count) };
            // SAFETY: as above.
            self.narrow |= item.is_told() && count > unsafe { told.read() };
            if self.is_writing() {
                self.store(offsets, values);
                // SAFETY: as above.
                unsafe { told.write(count) };
            }
        } else if self.is_writing() {
            self.store(offsets, values);
        }
    }

    /// As much of a string as fits.
    #[inline]
    pub fn text(&mut self, text: &CStr) {
        let Some((item, offsets)) = self.next(Item::is_text) else { return };
        let bytes = text.to_bytes();
        let len = bytes.len().min(item.size().saturating_sub(1));
        if self.is_writing() && item.size() > 0 {
            // SAFETY: the block has a pointer to a buffer for a string of that size here.
            unsafe {
                let data: *mut u8 = part(self.block, offsets.data);
                data.copy_from_nonoverlapping(bytes.as_ptr(), len);
                data.add(len).write(0);
            }
        }
    }
}
