//! Whole pages of the program's own address space, by address: what Mach's `vm_*` calls and out-of-line
//! memory need. Addresses come from programs, so nothing here follows one: the kernel copies, and says
//! if there is no memory.
#![allow(unsafe_code, clippy::disallowed_methods, reason = "mappings belong to this module")]

use rustix::{
    io::Errno,
    mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap, mmap_anonymous, mprotect, munmap},
};
use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd},
};

/// The size of a page in bytes.
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// `len` rounded up to whole pages; None if that is no number of bytes.
pub fn whole_pages(len: usize) -> Option<usize> {
    Some(len.checked_add(page_size() - 1)? & !(page_size() - 1))
}

fn address(wanted: Option<usize>) -> (*mut std::ffi::c_void, MapFlags) {
    match wanted {
        Some(at) => (std::ptr::without_provenance_mut(at), MapFlags::FIXED_NOREPLACE),
        None => (std::ptr::null_mut(), MapFlags::empty()),
    }
}

/// Fresh zeroed memory, readable and writable, at `wanted` or anywhere: its address.
///
/// # Errors
/// As mmap(2): `EEXIST` if there is something at `wanted` already.
pub fn allocate(wanted: Option<usize>, len: usize) -> io::Result<usize> {
    let (at, flags) = address(wanted);
    // SAFETY: a new mapping, which replaces nothing.
    let start = unsafe { mmap_anonymous(at, len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | flags)? };
    as_wanted(start as usize, len, wanted)
}

/// As [`allocate`]; children made by fork see the same memory, and not a copy of it.
///
/// # Errors
/// As there.
pub fn allocate_shared(wanted: Option<usize>, len: usize) -> io::Result<usize> {
    let (at, flags) = address(wanted);
    // SAFETY: as in `allocate`.
    let start = unsafe { mmap_anonymous(at, len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | flags)? };
    as_wanted(start as usize, len, wanted)
}

/// A kernel before 4.17 takes a wanted address for a hint.
fn as_wanted(start: usize, len: usize, wanted: Option<usize>) -> io::Result<usize> {
    if wanted.is_none_or(|wanted| wanted == start) {
        return Ok(start);
    }
    // SAFETY: it was just made, and nobody has its address.
    unsafe { deallocate(start, len)? };
    Err(Errno::EXIST.into())
}

/// Memory that begins as `len` bytes of a file and then belongs to this process alone.
/// The file must be sealed against shrinking, or a touch may kill the process.
///
/// # Errors
/// As mmap(2).
pub fn map_private(file: BorrowedFd<'_>, len: usize) -> io::Result<usize> {
    let prot = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: as in `allocate`.
    let start = unsafe { mmap(std::ptr::null_mut(), len, prot, MapFlags::PRIVATE, file, 0)? };
    Ok(start as usize)
}

/// As [`map_private`], in place of what is mapped at `at`.
///
/// # Errors
/// As mmap(2).
///
/// # Safety
/// As there; and `at` and `len` are whole pages of the program's own, in which nothing finds other bytes than in the file, or depends on them.
pub unsafe fn map_private_at(file: BorrowedFd<'_>, at: usize, len: usize) -> io::Result<()> {
    let prot = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the caller's promise.
    unsafe { mmap(std::ptr::without_provenance_mut(at), len, prot, MapFlags::PRIVATE | MapFlags::FIXED, file, 0)? };
    Ok(())
}

/// Puts `len` bytes of a file where there is memory of this process alone, with the same bytes in it, so that it can be [shared](share). They can be
/// read and written.
///
/// # Errors
/// As pwrite(2) and mmap(2).
///
/// # Safety
/// `at` and `len` are whole pages of the program's own, which nothing writes meanwhile.
pub unsafe fn make_sharable(file: BorrowedFd<'_>, at: usize, len: usize) -> io::Result<()> {
    write_to_file(file, 0, at, len)?;
    let prot = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the caller's promise: the bytes are the same.
    unsafe { mmap(std::ptr::without_provenance_mut(at), len, prot, MapFlags::SHARED | MapFlags::FIXED, file, 0)? };
    Ok(())
}

/// Gives memory back.
///
/// # Errors
/// As munmap(2).
///
/// # Safety
/// Nothing refers to the memory any more, as for free(3).
pub unsafe fn deallocate(at: usize, len: usize) -> io::Result<()> {
    // SAFETY: the caller's promise.
    unsafe { munmap(std::ptr::without_provenance_mut(at), len)? };
    Ok(())
}

/// Sets whether memory can be read, written and run.
///
/// # Errors
/// As mprotect(2).
///
/// # Safety
/// What refers to the memory does not count on more than is allowed from now on.
pub unsafe fn protect(at: usize, len: usize, read: bool, write: bool, run: bool) -> io::Result<()> {
    let mut flags = MprotectFlags::empty();
    flags.set(MprotectFlags::READ, read);
    flags.set(MprotectFlags::WRITE, write);
    flags.set(MprotectFlags::EXEC, run);
    // SAFETY: the caller's promise.
    unsafe { mprotect(std::ptr::without_provenance_mut(at), len, flags)? };
    Ok(())
}

/// Has `len` bytes at `to` be the same memory as those at `from`. What is mapped at `to` goes.
///
/// # Errors
/// As mremap(2): `EINVAL` for memory that belongs to this process alone, which can't be in two places.
///
/// # Safety
/// Nothing refers to what was at `to`, and nothing but the program to what is written at either place.
pub unsafe fn share(from: usize, to: usize, len: usize) -> io::Result<()> {
    use rustix::mm::{MremapFlags, mremap_fixed};
    let (from, to) = (std::ptr::without_provenance_mut(from), std::ptr::without_provenance_mut(to));
    // SAFETY: the caller's promise. Of 0 bytes none are taken away from the old place.
    unsafe { mremap_fixed(from, 0, len, MremapFlags::MAYMOVE, to)? };
    Ok(())
}

/// Children made by fork don't get the memory.
///
/// # Errors
/// As madvise(2).
///
/// # Safety
/// No such child uses what refers to it.
pub unsafe fn keep_from_children(at: usize, len: usize) -> io::Result<()> {
    // SAFETY: the caller's promise.
    unsafe { madvise(std::ptr::without_provenance_mut(at), len, Advice::LinuxDontFork)? };
    Ok(())
}

/// Whether something is mapped everywhere in the range, accessible or not.
pub fn is_mapped(at: usize, len: usize) -> bool {
    /// Pages that are asked for at once: one byte each comes back.
    const PAGES: usize = 512;
    let mut resident = [0u8; PAGES];
    let end = at.saturating_add(len);
    let mut at = at & !(page_size() - 1);
    while at < end {
        let part = (end - at).min(PAGES * page_size());
        // SAFETY: the kernel looks at its map of the range, and writes one byte for each page of it.
        if unsafe { libc::mincore(std::ptr::without_provenance_mut(at), part, resident.as_mut_ptr()) } != 0 {
            return false;
        }
        at += part;
    }
    true
}

/// Has the kernel make the memory of a range present as a read or a write of all of it would, without changing
/// it. A kernel that can't (before 5.14) says yes.
///
/// # Errors
/// `EFAULT` where the read or the write would fail.
pub fn populate(at: usize, len: usize, write: bool) -> io::Result<()> {
    let start = at & !(page_size() - 1);
    let advice = if write { Advice::LinuxPopulateWrite } else { Advice::LinuxPopulateRead };
    let len = len.checked_add(at - start).ok_or(Errno::FAULT)?;
    // SAFETY: it changes no byte that the program can see.
    let done = unsafe { madvise(std::ptr::without_provenance_mut(start), len, advice) };
    match done {
        Ok(()) => Ok(()),
        // The memory may not be used so, or the kernel knows no such advice: then not for memory that may, either.
        Err(Errno::INVAL) if !populates() => Ok(()),
        Err(_) => Err(Errno::FAULT.into()),
    }
}

/// Whether the kernel populates at all, tried on the stack.
fn populates() -> bool {
    let here = 0u8;
    let page = std::ptr::from_ref(&here).addr() & !(page_size() - 1);
    // SAFETY: as in `populate`.
    unsafe { madvise(std::ptr::without_provenance_mut(page), page_size(), Advice::LinuxPopulateRead).is_ok() }
}

/// Copies bytes from one place of this process's memory to another, which doesn't overlap it.
///
/// # Errors
/// `EFAULT` if not all is there, with an unknown part of them copied.
///
/// # Safety
/// Nothing but the caller refers to what is written.
pub unsafe fn copy(from: usize, to: usize, len: usize) -> io::Result<()> {
    /// The kernel copies no more than 2 GiB at once.
    const MOST: usize = 1 << 30;
    let mut done = 0;
    while done < len {
        let part = (len - done).min(MOST);
        let own = libc::iovec { iov_base: std::ptr::without_provenance_mut(to + done), iov_len: part };
        let other = libc::iovec { iov_base: std::ptr::without_provenance_mut(from + done), iov_len: part };
        // SAFETY: the kernel checks both ranges and fails with EFAULT. That the memory may be written is the caller's promise.
        whole(part, unsafe { libc::process_vm_readv(libc::getpid(), &own, 1, &other, 1, 0) })?;
        done += part;
    }
    Ok(())
}

/// Copies bytes of this process's memory out.
///
/// # Errors
/// `EFAULT` if they are not all there to be read.
pub fn read(at: usize, to: &mut [u8]) -> io::Result<()> {
    let own = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    let other = libc::iovec { iov_base: std::ptr::without_provenance_mut(at), iov_len: to.len() };
    // SAFETY: the kernel checks both ranges and fails with EFAULT; `own` is writable memory of ours.
    whole(to.len(), unsafe { libc::process_vm_readv(libc::getpid(), &own, 1, &other, 1, 0) })
}

/// Copies bytes into this process's memory.
///
/// # Errors
/// `EFAULT` if it is not all there to be written.
///
/// # Safety
/// As for [`copy`].
pub unsafe fn write(at: usize, from: &[u8]) -> io::Result<()> {
    let own = libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: from.len() };
    let other = libc::iovec { iov_base: std::ptr::without_provenance_mut(at), iov_len: from.len() };
    // SAFETY: the kernel checks both ranges and fails with EFAULT; `own` is only read. The rest is the caller's promise.
    whole(from.len(), unsafe { libc::process_vm_writev(libc::getpid(), &own, 1, &other, 1, 0) })
}

/// Copies bytes of this process's memory into a file at `offset`.
///
/// # Errors
/// `EFAULT` if they are not all there, or as pwrite(2).
pub fn write_to_file(file: BorrowedFd<'_>, offset: u64, at: usize, len: usize) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        let (from, offset) = (std::ptr::without_provenance::<u8>(at + done), (offset + done as u64) as libc::off_t);
        // SAFETY: the kernel checks the range and fails with EFAULT. By the C library's function the thread could be cancelled.
        let n = unsafe { libc::syscall(libc::SYS_pwrite64, file.as_raw_fd(), from, len - done, offset) };
        match n {
            1.. => done += n as usize,
            0 => return Err(io::ErrorKind::WriteZero.into()),
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(io::Error::last_os_error()),
        }
    }
    Ok(())
}

/// The outcome of a copy of `len` bytes of which `n` were made, or none.
fn whole(len: usize, n: isize) -> io::Result<()> {
    match usize::try_from(n) {
        Ok(n) if n == len => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}
