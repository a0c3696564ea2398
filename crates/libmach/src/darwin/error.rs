//! Texts for codes, where Darwin's differ.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use super::semaphore::TERMINATED;
use crate::{call::Return, error};
use std::ffi::{CStr, c_char};

fn text(code: Return) -> Option<&'static CStr> {
    Some(match code {
        TERMINATED => c"the object has ended",
        // What other systems mean by these numbers is not what Darwin does.
        26..=28 => c"unknown code",
        0x1000_0005 => c"send: there are no vouchers",
        0x1000_0006 => c"unknown code",
        0x1000_000e => c"send: the message is too large",
        0x1000_400f => c"receive: there is no such trailer",
        -309 => c"mig: the trailer is not of the format that was asked for",
        _ => return error::text(code),
    })
}

/// `mach_error_string`.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_darwin_error_string(code: Return) -> *mut c_char {
    text(code).unwrap_or(c"unknown code").as_ptr().cast_mut()
}

/// `mach_error`.
///
/// # Safety
/// `before` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_darwin_error(before: *const c_char, code: Return) {
    // SAFETY: the caller's promise.
    unsafe { error::tell(before, code, text(code)) };
}
