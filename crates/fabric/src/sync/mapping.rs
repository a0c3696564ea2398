//! Mappings of shared memory, typed views into them, and the copying of bytes in and out.
//!
//! This file holds all raw access to memory that another process can write. The rule for such
//! memory: a byte is read once for each use and never trusted to stay as it was read.
#![allow(unsafe_code, clippy::disallowed_methods, reason = "the one place with raw shared memory")]

use super::{AtomicU64, COPIED_AT_ONCE, Ordering};
use rustix::{
    io::Errno,
    mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap},
};
use std::{io, ops::Range, os::fd::BorrowedFd, ptr::NonNull, sync::Arc};

/// As `copy_nonoverlapping`.
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn copy(mut from: *const u8, mut to: *mut u8, mut len: usize) {
    // SAFETY: the pieces are those of the whole, which is the caller's promise.
    unsafe {
        while len > COPIED_AT_ONCE {
            std::ptr::copy_nonoverlapping(from, to, COPIED_AT_ONCE);
            (from, to, len) = (from.add(COPIED_AT_ONCE), to.add(COPIED_AT_ONCE), len - COPIED_AT_ONCE);
        }
        std::ptr::copy_nonoverlapping(from, to, len);
    }
}

/// Types that are valid when all their bytes are zero, and stay valid whatever a peer writes.
///
/// # Safety
/// The type consists of atomics of plain integers only (no references, enums, bools), so every bit
/// pattern is a value and every access to it is atomic.
pub unsafe trait Zeroed: Sync {}

// SAFETY: atomics of integers.
unsafe impl<const N: usize> Zeroed for [super::AtomicU64; N] {}

/// A mapping shared with other processes; unmapped when the last view of it goes.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is plain memory that no thread owns; views of it are atomics or raw copies.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes of `fd` from its start, readable and writable, shared.
    ///
    /// # Errors
    /// As mmap(2).
    ///
    /// # Safety
    /// The file is at least `len` bytes and can't shrink (F_SEAL_SHRINK), or nothing beyond its end is touched:
    /// that would kill this process.
    pub unsafe fn of_file(fd: BorrowedFd<'_>, len: usize) -> io::Result<Arc<Self>> {
        Self::map(fd, len, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// As [`Mapping::of_file`], readable only: a write to it kills this process.
    ///
    /// # Errors
    /// As mmap(2).
    ///
    /// # Safety
    /// As there.
    pub unsafe fn to_read(fd: BorrowedFd<'_>, len: usize) -> io::Result<Arc<Self>> {
        Self::map(fd, len, ProtFlags::READ)
    }

    fn map(fd: BorrowedFd<'_>, len: usize, prot: ProtFlags) -> io::Result<Arc<Self>> {
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing.
        let start = unsafe { mmap(std::ptr::null_mut(), len, prot, MapFlags::SHARED, fd, 0)? };
        Ok(Arc::new(Self { start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?, len }))
    }

    /// Maps `len` zeroed bytes that this process shares with the children it will fork, and with
    /// nobody else.
    ///
    /// # Errors
    /// As mmap(2).
    pub fn of_family(len: usize) -> io::Result<Arc<Self>> {
        // SAFETY: as in `of_file`.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED)? };
        Ok(Arc::new(Self { start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?, len }))
    }

    /// Fills it with zeroes once more, if this process has no view of it any more; whether it did.
    pub fn renew(self: &mut Arc<Self>) -> bool {
        let Some(words) = Arc::get_mut(self).map(|it| it.len / 8) else { return false };
        // SAFETY: the mapping is as long and aligned to a page, and another process that has it uses it by atomics, too.
        let words = unsafe { std::slice::from_raw_parts(self.start.cast::<AtomicU64>().as_ptr(), words) };
        words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        true
    }

    /// Leaves it out of the memory of children that this process forks. A child that touches it all the same, by
    /// way of a view that it inherited, is killed.
    ///
    /// # Errors
    /// As madvise(2).
    pub fn keep_from_children(&self) -> io::Result<()> {
        // SAFETY: the range is this mapping, whole; in this process nothing changes.
        unsafe { madvise(self.start.as_ptr().cast(), self.len, Advice::LinuxDontFork)? };
        Ok(())
    }

    /// Has the kernel find memory for a part of it, which is to be written, or read only: without it a touch kills this process.
    ///
    /// # Errors
    /// `ENOMEM`: there is none.
    pub fn populate(&self, part: Range<usize>, write: bool) -> io::Result<()> {
        let (start, end) = (part.start.min(self.len), part.end.min(self.len));
        super::pages::populate(self.start.as_ptr().addr() + start, end.saturating_sub(start), write)
            .map_err(|_| Errno::NOMEM.into())
    }

    /// The object of type `T` at `offset`, or None if it doesn't lie in the mapping, aligned.
    pub fn view<T: Zeroed>(self: &Arc<Self>, offset: usize) -> Option<Shared<T>> {
        let end = offset.checked_add(size_of::<T>())?;
        (end <= self.len && offset.is_multiple_of(align_of::<T>())).then(|| Shared {
            // SAFETY: `offset` is within the mapping.
            object: unsafe { self.start.add(offset) }.cast(),
            _mapping: Arc::clone(self),
        })
    }

    /// The `len` bytes at `offset`, or None if they don't lie in the mapping, `len` is no power of two, or `offset` no
    /// multiple of 8.
    pub fn bytes(self: &Arc<Self>, offset: usize, len: usize) -> Option<Bytes> {
        let end = offset.checked_add(len)?;
        (end <= self.len && len.is_power_of_two() && offset.is_multiple_of(8)).then(|| Bytes {
            // SAFETY: `offset` is within the mapping.
            start: unsafe { self.start.add(offset) },
            len,
            _mapping: Arc::clone(self),
        })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: every view holds an Arc of this mapping, so none is left.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// A typed view into a mapping, which it keeps alive.
#[derive(Debug)]
pub struct Shared<T> {
    object: NonNull<T>,
    _mapping: Arc<Mapping>,
}

// SAFETY: `T: Zeroed` is required to make one and implies `Sync`; the mapping may move to any thread.
unsafe impl<T: Zeroed> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Zeroed> Sync for Shared<T> {}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self { object: self.object, _mapping: Arc::clone(&self._mapping) }
    }
}

impl<T: Zeroed> std::ops::Deref for Shared<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: `view` checked bounds and alignment, `_mapping` keeps the memory, `Zeroed`
        // makes any content valid and every access atomic.
        unsafe { self.object.as_ref() }
    }
}

/// A power-of-two area of bytes, aligned for words, that a ring runs round in.
#[derive(Debug, Clone)]
pub struct Bytes {
    start: NonNull<u8>,
    len: usize,
    _mapping: Arc<Mapping>,
}

// SAFETY: raw memory; the ring's protocol says which end may touch which part when, and a peer that
// breaks it changes only the bytes that are read, never where this process reads.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Bytes {
    /// The size in bytes, a power of two.
    pub fn size(&self) -> usize {
        self.len
    }

    /// Whether the first `len` bytes have memory, which the kernel is asked for: without it a touch kills this process.
    pub fn populate(&self, len: usize) -> bool {
        super::pages::populate(self.start.as_ptr().addr(), len.min(self.len), true).is_ok()
    }

    /// Copies `from` into the area at `at`, going round the end. At most `size` bytes.
    #[inline]
    pub fn copy_in(&self, at: u64, from: &[u8]) {
        let from = &from[..from.len().min(self.len)];
        let offset = at as usize & (self.len - 1);
        let (a, b) = from.split_at(from.len().min(self.len - offset));
        // SAFETY: `offset + a.len() <= len` and `b.len() <= len - a.len()`; the source is this
        // process's own memory, which no mapping of ours overlaps.
        unsafe {
            copy(a.as_ptr(), self.start.as_ptr().add(offset), a.len());
            if !b.is_empty() {
                copy(b.as_ptr(), self.start.as_ptr(), b.len());
            }
        }
    }

    /// The `N` words at `at`, going round the end. Each is read once.
    #[inline(always)]
    pub fn load<const N: usize>(&self, at: u64) -> [u64; N] {
        let offset = at as usize & (self.len - 1);
        if 8 * N > self.len - offset || !offset.is_multiple_of(8) {
            return self.load_bytes(at);
        }
        let mut words = [0; N];
        for (i, word) in words.iter_mut().enumerate() {
            // SAFETY: `offset + 8 * N <= len`; the area is aligned for words, and so is `offset`.
            *word = unsafe { self.start.as_ptr().add(offset).cast::<u64>().add(i).read_volatile() };
        }
        words
    }

    /// Reads the word at `at`, or one near it: nothing comes of it but that the processor has its cache line.
    #[inline(always)]
    pub fn touch(&self, at: u64) {
        let offset = at as usize & (self.len - 1) & !7;
        // SAFETY: the area is a power of two of bytes, at least 8, and aligned for words.
        unsafe { self.start.as_ptr().add(offset).cast::<u64>().read_volatile() };
    }

    #[cold]
    fn load_bytes<const N: usize>(&self, at: u64) -> [u64; N] {
        let mut bytes = [[0; 8]; N];
        self.copy_out(at, bytes.as_flattened_mut());
        bytes.map(u64::from_ne_bytes)
    }

    /// Stores `N` words at `at`, going round the end.
    #[inline(always)]
    pub fn store<const N: usize>(&self, at: u64, words: [u64; N]) {
        let offset = at as usize & (self.len - 1);
        if 8 * N > self.len - offset {
            return self.store_bytes(at, words);
        }
        // SAFETY: `offset + 8 * N <= len`; the write needs no alignment.
        unsafe { self.start.as_ptr().add(offset).cast::<[u64; N]>().write_unaligned(words) };
    }

    #[cold]
    fn store_bytes<const N: usize>(&self, at: u64, words: [u64; N]) {
        self.copy_in(at, words.map(u64::to_ne_bytes).as_flattened());
    }

    /// Copies the bytes at `at` out into `to`, going round the end. At most `size` bytes.
    #[inline]
    pub fn copy_out(&self, at: u64, to: &mut [u8]) {
        let len = to.len().min(self.len);
        let offset = at as usize & (self.len - 1);
        let (a, b) = to[..len].split_at_mut(len.min(self.len - offset));
        // SAFETY: as in `copy_in`, the other way round.
        unsafe {
            copy(self.start.as_ptr().add(offset), a.as_mut_ptr(), a.len());
            if !b.is_empty() {
                copy(self.start.as_ptr(), b.as_mut_ptr(), b.len());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use std::os::fd::AsFd;

    /// By the errno a peer is told that it may ask again.
    #[test]
    fn memory_that_is_not_to_be_had_is_a_shortage() {
        let file = memfd_create(c"test", MemfdFlags::CLOEXEC).expect("a file");
        ftruncate(&file, 4096).expect("a size");
        // SAFETY: the file is that large.
        let mapping = unsafe { Mapping::to_read(file.as_fd(), 4096) }.expect("a mapping");
        mapping.populate(0..4096, false).expect("memory to read");
        // As where there is no memory: what can't be written.
        let error = mapping.populate(0..4096, true).expect_err("no memory to write");
        assert_eq!(Errno::from_io_error(&error), Some(Errno::NOMEM));
    }
}
