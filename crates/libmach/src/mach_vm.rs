//! `vm_remap`, and the `mach_vm_*` names of the `vm_*` calls: addresses have 64 bits in both.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    call::{Name, Out, Return, routine, task},
    memory::{
        self, INHERIT_COPY, INHERIT_NONE, INHERIT_SHARE, Map, PROT_ALL, PROT_READ, PROT_WRITE, vm_allocate, vm_copy,
        vm_deallocate, vm_map, vm_protect, vm_read, vm_write,
    },
    procfs,
};
use slipway_ports::{abi::Code, pages, task::Task};
use std::{ops::Range, os::fd::AsFd};

/// `VM_FLAGS_ANYWHERE`, the only flag.
pub(crate) const ANYWHERE: i32 = 1;

/// What `vm_remap` is asked for.
pub(crate) struct Remap {
    pub size: usize,
    pub mask: usize,
    pub anywhere: bool,
    pub source: usize,
    pub copy: bool,
    pub inherit: i32,
    /// Whether memory that only this process has becomes shared memory for it.
    pub converts: bool,
}

/// Memory that is the same as, or a copy of, other memory; the protection that all of that has. The address is set if it succeeds.
///
/// # Safety
/// The address is null or has a place.
pub(crate) unsafe fn remap(address: *mut usize, how: &Remap) -> Result<i32, Code> {
    let page = pages::page_size();
    if how.source & (page - 1) != 0 || !matches!(how.inherit, INHERIT_SHARE | INHERIT_COPY | INHERIT_NONE) {
        return Err(Code::INVALID_ARGUMENT);
    }
    let len = pages::whole_pages(how.size).filter(|len| *len > 0).ok_or(Code::INVALID_ARGUMENT)?;
    let end = how.source.checked_add(len).ok_or(Code::INVALID_ADDRESS)?;
    let mappings = procfs::mappings(&(how.source..end)).map_err(|_| Code::RESOURCE_SHORTAGE)?;
    if mappings.iter().map(|(range, _)| range.len()).sum::<usize>() != len {
        return Err(Code::INVALID_ADDRESS);
    }
    let place = Map { current: PROT_READ | PROT_WRITE, inherit: if how.copy { how.inherit } else { INHERIT_COPY } };
    if address.is_null() {
        return Err(Code::INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise.
    let mut at = unsafe { address.read_unaligned() };
    // SAFETY: a place of this call's own.
    unsafe { memory::map(&raw mut at, how.size, how.mask, how.anywhere, place)? };
    // SAFETY: the memory was just made, and nobody has its address.
    let arranged = mappings.iter().try_for_each(|mapping| unsafe { fill(at, mapping, how) });
    let arranged = arranged.and_then(|()| match how.inherit {
        // SAFETY: as above.
        INHERIT_NONE => unsafe { pages::keep_from_children(at, len) }.map_err(|_| Code::RESOURCE_SHORTAGE),
        _ => Ok(()),
    });
    // SAFETY: as above.
    arranged.inspect_err(|_| drop(unsafe { pages::deallocate(at, len) }))?;
    // SAFETY: the caller's promise.
    unsafe { address.write_unaligned(at) };
    Ok(mappings.iter().fold(PROT_READ | PROT_WRITE | memory::PROT_EXECUTE, |all, (_, protection)| all & protection))
}

/// Makes fresh memory the same as one mapping of the source, or a copy of it. Each mapping has a protection of its own, and the kernel takes
/// one at a time.
///
/// # Safety
/// Nobody has the address of the memory at `at`, where the source's first byte goes.
unsafe fn fill(at: usize, (range, protection): &(Range<usize>, i32), how: &Remap) -> Result<(), Code> {
    let (to, len) = (at + (range.start - how.source), range.len());
    if !how.copy {
        // SAFETY: the caller's promise; that its two places are the same memory is what the program asks for.
        let shared = unsafe { pages::share(range.start, to, len) };
        let shared = shared.or_else(|error| match how.converts && *protection == PROT_READ | PROT_WRITE {
            // SAFETY: as above; that nothing writes it now, too.
            true => unsafe { convert(range.start, to, len) },
            false => Err(error),
        });
        return shared.map_err(|_| Code::INVALID_ARGUMENT);
    }
    memory::check(range.start, len, false)?;
    // SAFETY: the caller's promise.
    unsafe { memory::copy(range.start, to, len)? };
    // SAFETY: as above.
    if *protection == PROT_READ | PROT_WRITE { Ok(()) } else { unsafe { memory::protect(to, len, *protection) } }
}

/// Makes private memory shared, and maps it a second time.
///
/// # Safety
/// As for [`pages::make_sharable`] and [`pages::share`].
unsafe fn convert(from: usize, to: usize, len: usize) -> std::io::Result<()> {
    let file = slipway_ports::objects::memory_file(len as u64)?;
    // SAFETY: the caller's promise.
    unsafe {
        pages::make_sharable(file.as_fd(), from, len)?;
        pages::share(from, to, len)
    }
}

/// Maps memory of the task a second time, or a copy of it. Memory that only this process has can be copied, and not shared with
/// itself: `KERN_INVALID_ARGUMENT`.
///
/// # Safety
/// The address and the protections have places.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vm_remap(
    of: Name,
    address: *mut usize,
    size: usize,
    mask: usize,
    anywhere: i32,
    source_task: Name,
    source_address: usize,
    copy: i32,
    cur_protection: *mut i32,
    max_protection: *mut i32,
    inheritance: i32,
) -> Return {
    let (copy, anywhere) = (copy != 0, anywhere != 0);
    let how = Remap { size, mask, anywhere, source: source_address, copy, inherit: inheritance, converts: false };
    // SAFETY: the caller's promise.
    unsafe { remap_of([of, source_task], address, &how, cur_protection, max_protection) }
}

/// [`vm_remap`], as it is asked for.
///
/// # Safety
/// As there.
pub(crate) unsafe fn remap_of(
    tasks: [Name; 2],
    address: *mut usize,
    how: &Remap,
    cur_protection: *mut i32,
    max_protection: *mut i32,
) -> Return {
    routine(|| {
        let own = Task::current();
        let elsewhere = |of: Name| task(of).is_err() && own.leads_elsewhere(of);
        tasks.into_iter().try_for_each(|of| if elsewhere(of) { Ok(()) } else { task(of).map(drop) })?;
        // SAFETY: the caller's promise, for both.
        let (current, most) = unsafe { (Out::new(cur_protection)?, Out::new(max_protection)?) };
        // SAFETY: the caller's promise.
        let protection =
            unsafe { if tasks.into_iter().any(elsewhere) { copy_between(tasks, address, how)? } else { remap(address, how)? } };
        current.set(protection);
        // Linux keeps no highest protection.
        most.set(PROT_READ | PROT_WRITE | memory::PROT_EXECUTE);
        Ok(())
    })
}

/// As [`remap`], of which one task or both are of other processes: their memory can be copied, and not be the same.
///
/// # Safety
/// The address is null or has a place.
unsafe fn copy_between([to, from]: [Name; 2], address: *mut usize, how: &Remap) -> Result<i32, Code> {
    const BOTH: i32 = PROT_READ | PROT_WRITE;
    if !how.copy || how.size == 0 || address.is_null() {
        return Err(Code::INVALID_ARGUMENT);
    }
    let own = Task::current().self_name();
    let done = |code: Return| if code == 0 { Ok(()) } else { Err(Code(code)) };
    let (mut data, mut count) = (0, 0);
    // SAFETY: places of this call's own; the memory that is written was just made, and what was read is given back once.
    unsafe {
        done(vm_read(from, how.source, how.size, &raw mut data, &raw mut count))?;
        let mut at = address.read_unaligned();
        let anywhere = how.anywhere.into();
        let made = done(vm_map(to, &raw mut at, how.size, how.mask, anywhere, 0, 0, 0, BOTH, PROT_ALL, how.inherit));
        let copied = made.and_then(|()| {
            done(vm_write(to, at, data, count)).inspect_err(|_| {
                vm_deallocate(to, at, how.size);
            })
        });
        vm_deallocate(own, data, count as usize);
        copied?;
        address.write_unaligned(at);
    }
    Ok(BOTH)
}

/// As [`vm_remap`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_vm_remap(
    of: Name,
    address: *mut usize,
    size: usize,
    mask: usize,
    flags: i32,
    source_task: Name,
    source_address: usize,
    copy: i32,
    cur_protection: *mut i32,
    max_protection: *mut i32,
    inheritance: i32,
) -> Return {
    if flags & !ANYWHERE != 0 {
        return Code::INVALID_ARGUMENT.0;
    }
    let (current, most) = (cur_protection, max_protection);
    // SAFETY: the caller's promise.
    unsafe { vm_remap(of, address, size, mask, flags, source_task, source_address, copy, current, most, inheritance) }
}

/// As [`vm_allocate`]. `KERN_INVALID_ARGUMENT` for a flag other than `VM_FLAGS_ANYWHERE`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_vm_allocate(of: Name, address: *mut usize, size: usize, flags: i32) -> Return {
    if flags & !ANYWHERE != 0 {
        return Code::INVALID_ARGUMENT.0;
    }
    // SAFETY: the caller's promise.
    unsafe { vm_allocate(of, address, size, flags) }
}

/// As [`vm_deallocate`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_vm_deallocate(of: Name, address: usize, size: usize) -> Return {
    // SAFETY: the caller's promise.
    unsafe { vm_deallocate(of, address, size) }
}

/// As [`vm_read`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_vm_read(of: Name, address: usize, size: usize, data: *mut usize, count: *mut u32) -> Return {
    // SAFETY: the caller's promise.
    unsafe { vm_read(of, address, size, data, count) }
}

/// As [`vm_write`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_vm_write(of: Name, address: usize, data: usize, data_count: u32) -> Return {
    // SAFETY: the caller's promise.
    unsafe { vm_write(of, address, data, data_count) }
}

/// As [`vm_copy`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_vm_copy(of: Name, source_address: usize, size: usize, dest_address: usize) -> Return {
    // SAFETY: the caller's promise.
    unsafe { vm_copy(of, source_address, size, dest_address) }
}

/// As [`vm_protect`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_vm_protect(of: Name, address: usize, size: usize, set_maximum: i32, protection: i32) -> Return {
    // SAFETY: the caller's promise.
    unsafe { vm_protect(of, address, size, set_maximum, protection) }
}

/// As [`vm_map`], with flags: see [`mach_vm_allocate`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_vm_map(
    of: Name,
    address: *mut usize,
    size: usize,
    mask: usize,
    flags: i32,
    object: Name,
    offset: usize,
    copy: i32,
    cur_protection: i32,
    max_protection: i32,
    inheritance: i32,
) -> Return {
    if flags & !ANYWHERE != 0 {
        return Code::INVALID_ARGUMENT.0;
    }
    // SAFETY: the caller's promise.
    unsafe { vm_map(of, address, size, mask, flags, object, offset, copy, cur_protection, max_protection, inheritance) }
}
