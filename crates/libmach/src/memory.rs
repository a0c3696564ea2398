//! `vm_*`: memory of the calling process, which is what every task here has; of another process, by its task's port.
//!
//! Linux keeps no highest protection of memory: to set one is refused, and that of `vm_map` only bounds the current one.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    buffer,
    call::{Name, Out, Return, count, routine},
    tasks::{ask, memory::Mach},
};
use slipway_mach::mig;
use slipway_ports::{abi::Code, pages};
use std::io;

pub(crate) const PROT_READ: i32 = 1;
pub(crate) const PROT_WRITE: i32 = 2;
pub(crate) const PROT_EXECUTE: i32 = 4;
pub(crate) const PROT_ALL: i32 = PROT_READ | PROT_WRITE | PROT_EXECUTE;

pub(crate) const INHERIT_SHARE: i32 = 0;
pub(crate) const INHERIT_COPY: i32 = 1;
pub(crate) const INHERIT_NONE: i32 = 2;

/// The pages that a range touches: where they begin, and their length, which is not 0.
fn whole(address: usize, size: usize) -> Result<(usize, usize), Code> {
    let start = address & !(pages::page_size() - 1);
    let end = address.checked_add(size).and_then(pages::whole_pages).ok_or(Code::INVALID_ARGUMENT)?;
    Ok((start, end - start))
}

/// Why memory can't be read or written as the kernel was asked to.
pub(crate) fn fault(at: usize, len: usize) -> Code {
    if pages::is_mapped(at, len) { Code::PROTECTION_FAILURE } else { Code::INVALID_ADDRESS }
}

fn exhausted(error: &io::Error) -> Code {
    match error.raw_os_error() {
        Some(libc::EEXIST | libc::ENOMEM | libc::EPERM | libc::EINVAL) => Code::NO_SPACE,
        _ => Code::RESOURCE_SHORTAGE,
    }
}

/// `INVALID_ADDRESS` or `PROTECTION_FAILURE` unless all of the range can be read, or written.
pub(crate) fn check(at: usize, len: usize, write: bool) -> Result<(), Code> {
    at.checked_add(len).ok_or(Code::INVALID_ADDRESS)?;
    if len == 0 || pages::populate(at, len, write).is_ok() { Ok(()) } else { Err(fault(at, len)) }
}

/// Copies memory that was checked. The two may overlap.
///
/// # Safety
/// Nothing but the program refers to what is written.
pub(crate) unsafe fn copy(from: usize, to: usize, len: usize) -> Result<(), Code> {
    if from.abs_diff(to) >= len {
        // SAFETY: the caller's promise.
        return unsafe { pages::copy(from, to, len) }.map_err(|_| fault(to, len));
    }
    let size = pages::whole_pages(len).ok_or(Code::INVALID_ARGUMENT)?;
    let scratch = pages::allocate(None, size).map_err(|_| Code::RESOURCE_SHORTAGE)?;
    // SAFETY: the caller's promise; nobody else knows of the scratch memory.
    let copied = unsafe {
        let copied = pages::copy(from, scratch, len).and_then(|()| pages::copy(scratch, to, len));
        let _ = pages::deallocate(scratch, size);
        copied
    };
    copied.map_err(|_| fault(to, len))
}

/// New memory, filled with zeros.
///
/// # Safety
/// The address has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vm_allocate(of: Name, address: *mut usize, size: usize, anywhere: i32) -> Return {
    let how = Map { current: PROT_READ | PROT_WRITE, inherit: INHERIT_COPY };
    routine(|| {
        if address.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: the caller's promise, for both.
        let (place, wanted) = unsafe { (Out::new(address)?, address.read_unaligned()) };
        let here = |_| {
            let mut at = wanted;
            // SAFETY: a place of this call's own.
            unsafe { map(&raw mut at, size, 0, anywhere != 0, how)? };
            Ok(at)
        };
        let there = |there: &Mach| there.vm_allocate(wanted as u64, size as u64, anywhere != 0).map(|at| at as usize);
        place.set(ask::memory(of, here, there)?);
        Ok(())
    })
}

/// Takes pages away; that nothing is mapped in the range is no error.
///
/// # Safety
/// Nothing refers to them any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vm_deallocate(of: Name, address: usize, size: usize) -> Return {
    let here = |_| {
        if size == 0 {
            return Ok(());
        }
        let (start, len) = whole(address, size)?;
        buffer::forget();
        // SAFETY: the caller's promise.
        unsafe { pages::deallocate(start, len) }.map_err(|_| Code::INVALID_ARGUMENT)
    };
    routine(|| ask::memory(of, here, |there| there.vm_deallocate(address as u64, size as u64)))
}

/// Copies memory into new memory of the caller's.
///
/// # Safety
/// Each result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vm_read(of: Name, address: usize, size: usize, data: *mut usize, data_count: *mut u32) -> Return {
    routine(|| {
        // SAFETY: the caller's promise, for both.
        let (data, data_count) = unsafe { (Out::new(data)?, Out::new(data_count)?) };
        let n = count(size).map_err(|_| Code::INVALID_ARGUMENT)?;
        let there = |there: &Mach| there.vm_read(address as u64, size as u64).map(Some);
        let read = ask::memory(of, |_| check(address, size, false).map(|()| None), there)?;
        let from = match &read {
            Some(bytes) if bytes.len() == size => bytes.as_ptr().addr(),
            // The other process is no task that follows the rules. A caller may count on the size that it asked for.
            Some(_) => return Err(Code::FAILURE),
            None => address,
        };
        data.set(copied(from, size)?);
        data_count.set(n);
        Ok(())
    })
}

/// A copy of memory in pages of its own: its address; 0 for no bytes.
fn copied(from: usize, size: usize) -> Result<usize, Code> {
    if size == 0 {
        return Ok(0);
    }
    let len = pages::whole_pages(size).ok_or(Code::INVALID_ARGUMENT)?;
    let at = pages::allocate(None, len).map_err(|error| exhausted(&error))?;
    // SAFETY: it was just made, and nobody else has its address.
    if unsafe { pages::copy(from, at, size) }.is_err() {
        // SAFETY: as above.
        let _ = unsafe { pages::deallocate(at, len) };
        return Err(fault(from, size));
    }
    Ok(at)
}

/// Writes memory: all of it, or on an error none.
///
/// # Safety
/// Nothing but the program refers to what is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vm_write(of: Name, address: usize, data: usize, data_count: u32) -> Return {
    let size = data_count as usize;
    // SAFETY: the caller's promise.
    let here = |_| unsafe { write(data, size, address) };
    let there = |there: &Mach| {
        let fails = |code| mig::Error { tried: "mach.vm_write", code };
        check(data, size, false).map_err(fails)?;
        // Copied by the kernel, which says if it is not there any more.
        let mut bytes = vec![0; size];
        pages::read(data, &mut bytes).map_err(|_| fails(fault(data, size)))?;
        there.vm_write(address as u64, &bytes)
    };
    routine(|| ask::memory(of, here, there))
}

/// Copies memory: all of it, or on an error none.
///
/// # Safety
/// As for [`vm_write`].
unsafe fn write(from: usize, size: usize, to: usize) -> Result<(), Code> {
    check(from, size, false)?;
    check(to, size, true)?;
    // SAFETY: the caller's promise.
    unsafe { copy(from, to, size) }
}

/// Copies memory: all of it, or on an error none.
///
/// # Safety
/// As for [`vm_write`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vm_copy(of: Name, source_address: usize, size: usize, dest_address: usize) -> Return {
    // SAFETY: the caller's promise.
    let here = |_| unsafe { write(source_address, size, dest_address) };
    let there = |there: &Mach| there.vm_copy(source_address as u64, size as u64, dest_address as u64);
    routine(|| ask::memory(of, here, there))
}

/// Sets whether memory can be read, written and run.
///
/// # Safety
/// What refers to it does not count on more than is allowed from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vm_protect(of: Name, address: usize, size: usize, set_maximum: i32, new_protection: i32) -> Return {
    let here = |_| {
        if set_maximum != 0 || new_protection & !PROT_ALL != 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        if size == 0 {
            return Ok(());
        }
        let (start, len) = whole(address, size)?;
        buffer::forget();
        // SAFETY: the caller's promise.
        unsafe { protect(start, len, new_protection) }
    };
    let there = |there: &Mach| there.vm_protect(address as u64, size as u64, set_maximum != 0, new_protection);
    routine(|| ask::memory(of, here, there))
}

/// # Safety
/// As for [`vm_protect`].
pub(crate) unsafe fn protect(start: usize, len: usize, protection: i32) -> Result<(), Code> {
    let allows = |bit| protection & bit != 0;
    // SAFETY: the caller's promise.
    unsafe { pages::protect(start, len, allows(PROT_READ), allows(PROT_WRITE), allows(PROT_EXECUTE)) }.map_err(
        |error| match error.raw_os_error() {
            Some(libc::ENOMEM) if !pages::is_mapped(start, len) => Code::INVALID_ADDRESS,
            Some(libc::ENOMEM) => Code::RESOURCE_SHORTAGE,
            _ => Code::PROTECTION_FAILURE,
        },
    )
}

/// New memory, filled with zeros, at an address that has no bit of `mask`, with a protection and an inheritance. There
/// are no pagers: `KERN_INVALID_ARGUMENT` for a memory object.
///
/// # Safety
/// The address has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vm_map(
    of: Name,
    address: *mut usize,
    size: usize,
    mask: usize,
    anywhere: i32,
    memory_object: Name,
    offset: usize,
    copy: i32,
    cur_protection: i32,
    max_protection: i32,
    inheritance: i32,
) -> Return {
    let here = |_| {
        let bad = memory_object != 0
            || (cur_protection | max_protection) & !PROT_ALL != 0
            || cur_protection & !max_protection != 0
            || !matches!(inheritance, INHERIT_SHARE | INHERIT_COPY | INHERIT_NONE);
        if bad {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: the caller's promise.
        unsafe { map(address, size, mask, anywhere != 0, Map { current: cur_protection, inherit: inheritance }) }
    };
    let there = |there: &Mach| {
        // SAFETY: the caller's promise; null is refused below.
        let wanted = if address.is_null() { 0 } else { unsafe { address.read_unaligned() } };
        let object = ask::lent(memory_object);
        let (wanted, size, mask, offset) = (wanted as u64, size as u64, mask as u64, offset as u64);
        let (anywhere, copy, object) = (anywhere != 0, copy != 0, object.as_ref());
        let at = there.vm_map(wanted, size, mask, anywhere, object, offset, copy, cur_protection, max_protection, inheritance)?;
        // SAFETY: the caller's promise.
        let place = unsafe { Out::new(address) }.map_err(|code| mig::Error { tried: "mach.vm_map", code })?;
        place.set(at as usize);
        Ok(())
    };
    routine(|| ask::memory(of, here, there))
}

/// How new memory is to be.
pub(crate) struct Map {
    pub(crate) current: i32,
    pub(crate) inherit: i32,
}

/// Maps new memory at `*address` or anywhere, and sets `*address`. Nothing is 0 bytes of memory, at no address.
///
/// # Safety
/// `address` is null, or may be read and written with an address.
pub(crate) unsafe fn map(address: *mut usize, size: usize, mask: usize, anywhere: bool, how: Map) -> Result<(), Code> {
    // SAFETY: the caller's promise.
    let place = unsafe { Out::new(address)? };
    if size == 0 {
        place.set(0);
        return Ok(());
    }
    // SAFETY: the caller's promise; it is not null.
    let wanted = unsafe { address.read_unaligned() } & !(pages::page_size() - 1);
    let len = pages::whole_pages(size).ok_or(Code::NO_SPACE)?;
    let at = if !anywhere {
        if wanted == 0 || wanted & mask != 0 {
            return Err(Code::NO_SPACE);
        }
        fresh(Some(wanted), len, &how)?
    } else {
        aligned(len, mask, &how)?
    };
    buffer::forget();
    // SAFETY: it was just made, and nobody has its address.
    let arranged = unsafe { arrange(at, len, &how) };
    if arranged.is_err() {
        // SAFETY: it was just made, and nobody has its address.
        let _ = unsafe { pages::deallocate(at, len) };
    }
    arranged?;
    place.set(at);
    Ok(())
}

fn fresh(wanted: Option<usize>, len: usize, how: &Map) -> Result<usize, Code> {
    let made = if how.inherit == INHERIT_SHARE { pages::allocate_shared(wanted, len) } else { pages::allocate(wanted, len) };
    made.map_err(|error| exhausted(&error))
}

/// New memory at a multiple of what the low bits of the mask ask for; `NO_SPACE` if that leaves bits of it in the address.
fn aligned(len: usize, mask: usize, how: &Map) -> Result<usize, Code> {
    let step = 1usize.checked_shl(mask.trailing_ones()).ok_or(Code::NO_SPACE)?.max(pages::page_size());
    let spare = step - pages::page_size();
    let whole = len.checked_add(spare).ok_or(Code::NO_SPACE)?;
    let start = fresh(None, whole, how)?;
    let at = start.next_multiple_of(step);
    for (from, to) in [(start, at), (at + len, start + whole)] {
        if to > from {
            // SAFETY: it was just made, and nobody has its address.
            let _ = unsafe { pages::deallocate(from, to - from) };
        }
    }
    if at & mask & !(pages::page_size() - 1) != 0 {
        // SAFETY: as above.
        let _ = unsafe { pages::deallocate(at, len) };
        return Err(Code::NO_SPACE);
    }
    Ok(at)
}

/// # Safety
/// Nothing refers to the memory.
unsafe fn arrange(at: usize, len: usize, how: &Map) -> Result<(), Code> {
    if how.inherit == INHERIT_NONE {
        // SAFETY: the caller's promise.
        unsafe { pages::keep_from_children(at, len) }.map_err(|_| Code::RESOURCE_SHORTAGE)?;
    }
    // SAFETY: as above.
    if how.current == PROT_READ | PROT_WRITE { Ok(()) } else { unsafe { protect(at, len, how.current) } }
}
