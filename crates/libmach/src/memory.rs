//! `vm_*`: memory of the calling process, which is what every task here has.
//!
//! Linux keeps no highest protection of memory: to set one is refused, and that of `vm_map` only bounds the current one.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    buffer,
    call::{Name, Out, Return, count, routine, task},
};
use slipway_ports::{abi::Code, pages};
use std::io;

pub(crate) const PROT_READ: i32 = 1;
pub(crate) const PROT_WRITE: i32 = 2;
pub(crate) const PROT_EXECUTE: i32 = 4;
const PROT_ALL: i32 = PROT_READ | PROT_WRITE | PROT_EXECUTE;

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
    // SAFETY: the caller's promise.
    routine(|| unsafe {
        task(of)?;
        map(address, size, 0, anywhere != 0, Map { current: PROT_READ | PROT_WRITE, inherit: INHERIT_COPY })
    })
}

/// Takes pages away; that nothing is mapped in the range is no error.
///
/// # Safety
/// Nothing refers to them any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vm_deallocate(of: Name, address: usize, size: usize) -> Return {
    routine(|| {
        task(of)?;
        if size == 0 {
            return Ok(());
        }
        let (start, len) = whole(address, size)?;
        buffer::forget();
        // SAFETY: the caller's promise.
        unsafe { pages::deallocate(start, len) }.map_err(|_| Code::INVALID_ARGUMENT)
    })
}

/// Copies memory into new memory of the caller's.
///
/// # Safety
/// Each result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vm_read(of: Name, address: usize, size: usize, data: *mut usize, data_count: *mut u32) -> Return {
    routine(|| {
        task(of)?;
        // SAFETY: the caller's promise, for both.
        let (data, data_count) = unsafe { (Out::new(data)?, Out::new(data_count)?) };
        let n = count(size).map_err(|_| Code::INVALID_ARGUMENT)?;
        check(address, size, false)?;
        let mut at = 0;
        if size > 0 {
            let len = pages::whole_pages(size).ok_or(Code::INVALID_ARGUMENT)?;
            at = pages::allocate(None, len).map_err(|error| exhausted(&error))?;
            // SAFETY: it was just made, and nobody else has its address.
            if unsafe { pages::copy(address, at, size) }.is_err() {
                // SAFETY: as above.
                let _ = unsafe { pages::deallocate(at, len) };
                return Err(fault(address, size));
            }
        }
        data.set(at);
        data_count.set(n);
        Ok(())
    })
}

/// Writes memory: all of it, or on an error none.
///
/// # Safety
/// Nothing but the program refers to what is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vm_write(of: Name, address: usize, data: usize, data_count: u32) -> Return {
    // SAFETY: the caller's promise.
    unsafe { vm_copy(of, data, data_count as usize, address) }
}

/// Copies memory: all of it, or on an error none.
///
/// # Safety
/// As for [`vm_write`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vm_copy(of: Name, source_address: usize, size: usize, dest_address: usize) -> Return {
    routine(|| {
        task(of)?;
        check(source_address, size, false)?;
        check(dest_address, size, true)?;
        // SAFETY: the caller's promise.
        unsafe { copy(source_address, dest_address, size) }
    })
}

/// Sets whether memory can be read, written and run.
///
/// # Safety
/// What refers to it does not count on more than is allowed from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vm_protect(of: Name, address: usize, size: usize, set_maximum: i32, new_protection: i32) -> Return {
    routine(|| {
        task(of)?;
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
    })
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
    _offset: usize,
    _copy: i32,
    cur_protection: i32,
    max_protection: i32,
    inheritance: i32,
) -> Return {
    routine(|| {
        task(of)?;
        let bad = memory_object != 0
            || (cur_protection | max_protection) & !PROT_ALL != 0
            || cur_protection & !max_protection != 0
            || !matches!(inheritance, INHERIT_SHARE | INHERIT_COPY | INHERIT_NONE);
        if bad {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: the caller's promise.
        unsafe { map(address, size, mask, anywhere != 0, Map { current: cur_protection, inherit: inheritance }) }
    })
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
