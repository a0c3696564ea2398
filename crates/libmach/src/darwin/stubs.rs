//! What stubs call, where Darwin's differ.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::mig::{mig_strncpy, mig_strncpy_zerofill};
use std::ffi::{c_char, c_int};

/// `mig_strncpy`: the length is counted with the NUL.
///
/// # Safety
/// `destination` has `size` bytes, `source` is a string of at least `size - 1` bytes or with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_darwin_strncpy(destination: *mut c_char, source: *const c_char, size: c_int) -> c_int {
    match usize::try_from(size) {
        // SAFETY: the caller's promise.
        Ok(len) if len > 0 && !destination.is_null() => unsafe { mig_strncpy(destination, source, len) as c_int + 1 },
        _ => 0,
    }
}

/// `mig_strncpy_zerofill`: as [`slipway_darwin_strncpy`]; what is left of the destination is cleared.
///
/// # Safety
/// As for [`slipway_darwin_strncpy`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_darwin_strncpy_zerofill(destination: *mut c_char, source: *const c_char, size: c_int) -> c_int {
    match usize::try_from(size) {
        // SAFETY: the caller's promise.
        Ok(len) if len > 0 && !destination.is_null() => unsafe { mig_strncpy_zerofill(destination, source, len) as c_int + 1 },
        _ => 0,
    }
}
