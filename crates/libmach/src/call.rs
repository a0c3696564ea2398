//! What the functions share: codes for outcomes, pointers from C, tasks by name, and the boundary for panics.
//!
//! A pointer for a result is checked against null (`KERN_INVALID_ARGUMENT`) and nothing else: like the stubs of
//! Mach, which wrote results in the caller's own address space, a call faults where such a pointer is wrong.
#![allow(unsafe_code, reason = "pointers that C passes")]

use slipway_abi::call::TaskId;
use slipway_ports::{
    abi::{Code, types},
    cancellation::Uncancelled,
    pages,
    task::Task,
};
use std::{
    ffi::{c_char, c_int},
    panic::{AssertUnwindSafe, catch_unwind},
};

/// A name of a port, `mach_port_t`.
pub type Name = u32;
/// `kern_return_t`.
pub type Return = c_int;

/// Runs a call and gives its code. A panic, which would be a fault of the library, ends here as `KERN_FAILURE`: no
/// unwinding enters the program, and none that ends a thread begins here.
#[inline]
pub(crate) fn routine(run: impl FnOnce() -> Result<(), Code>) -> Return {
    let _whole = Uncancelled::begin();
    guarded_routine(run)
}

/// As [`routine`], for a call of which each step is one that the library's lock guards, or that begins an [`Uncancelled`] of its own.
#[inline]
pub(crate) fn guarded_routine(run: impl FnOnce() -> Result<(), Code>) -> Return {
    guarded(Code::FAILURE, || run().err().unwrap_or(Code::SUCCESS))
}

/// As [`routine`], for calls with a code of their own for a panic. The library's lock keeps a thread from being cancelled, where it is held for long.
#[inline]
pub(crate) fn guarded(panicked: Code, run: impl FnOnce() -> Code) -> Return {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(panicked).0
}

/// The task that a call's first argument names: `INVALID_TASK` if it is none of this process.
#[inline]
pub(crate) fn task(name: Name) -> Result<Task, Code> {
    Task::current().named(name).ok_or(Code::INVALID_TASK)
}

/// The task as `slipway-mach` has it.
pub(crate) fn shared(task: Task) -> slipway_mach::task::Task {
    TaskId::from(task).into()
}

/// `INVALID_VALUE` for what is no way to pass a right.
pub(crate) fn passes(disposition: u32) -> Result<u32, Code> {
    if (types::MOVE_RECEIVE..=types::MAKE_SEND_ONCE).contains(&disposition) { Ok(disposition) } else { Err(Code::INVALID_VALUE) }
}

/// A place for a result, as C passed it.
#[derive(Debug)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Refuses null.
    ///
    /// # Safety
    /// `place` is null, or may be written with a `T` while the call runs.
    pub(crate) unsafe fn new(place: *mut T) -> Result<Self, Code> {
        if place.is_null() { Err(Code::INVALID_ARGUMENT) } else { Ok(Self(place)) }
    }

    /// Writes the result.
    pub(crate) fn set(self, value: T) {
        // SAFETY: it is not null, so `new` was promised that it can be written; C's structures may lie unaligned.
        unsafe { self.0.write_unaligned(value) }
    }
}

/// The first `most` bytes of a string from C, without its NUL: `INVALID_ARGUMENT` for null.
///
/// # Safety
/// `text` is null, or a string or `most` bytes, which nobody changes while the call runs.
pub(crate) unsafe fn string<'a>(text: *const c_char, most: usize) -> Result<&'a [u8], Code> {
    if text.is_null() {
        return Err(Code::INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise: strnlen stops at the NUL or after `most` bytes.
    Ok(unsafe { std::slice::from_raw_parts(text.cast(), libc::strnlen(text, most)) })
}

/// A fresh array in pages of its own, as the calls that return arrays give it: the caller frees it with
/// `vm_deallocate`. Null for no elements.
pub(crate) fn array(elements: &[u32]) -> Result<*mut u32, Code> {
    if elements.is_empty() {
        return Ok(std::ptr::null_mut());
    }
    let bytes: Vec<u8> = elements.iter().flat_map(|element| element.to_ne_bytes()).collect();
    let len = pages::whole_pages(bytes.len()).ok_or(Code::RESOURCE_SHORTAGE)?;
    let at = pages::allocate(None, len).map_err(|_| Code::RESOURCE_SHORTAGE)?;
    // SAFETY: it was just made, and nobody has its address.
    unsafe { pages::write(at, &bytes) }.map_err(|_| Code::RESOURCE_SHORTAGE)?;
    Ok(std::ptr::with_exposed_provenance_mut(at))
}

/// A count as C gets it.
pub(crate) fn count(len: usize) -> Result<u32, Code> {
    u32::try_from(len).map_err(|_| Code::RESOURCE_SHORTAGE)
}

/// The type of the right that the receiver of one passed with `disposition` has.
pub(crate) fn received(disposition: u32) -> u32 {
    match disposition {
        types::MOVE_RECEIVE => types::PORT_RECEIVE,
        types::MOVE_SEND_ONCE | types::MAKE_SEND_ONCE => types::PORT_SEND_ONCE,
        _ => types::PORT_SEND,
    }
}
