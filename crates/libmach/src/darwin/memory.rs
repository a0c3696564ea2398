//! `vm_remap`, which shares any memory in Darwin.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    call::{Name, Return},
    mach_vm::{ANYWHERE, Remap, remap_of},
};

/// `vm_remap`. Memory that only this process has becomes shared memory: a child made by fork shares it from then on. Nothing may write it during the
/// call.
///
/// # Safety
/// The address and the protections have places.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_darwin_vm_remap(
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
    let (copy, anywhere) = (copy != 0, flags & ANYWHERE != 0);
    let how = Remap { size, mask, anywhere, source: source_address, copy, inherit: inheritance, converts: true };
    // SAFETY: the caller's promise.
    unsafe { remap_of([of, source_task], address, &how, cur_protection, max_protection) }
}
