//! `mach_port_get_attributes`, whose status has one word more in Darwin.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    attributes::{RECEIVE_STATUS, STATUS_COUNT, mach_port_get_attributes},
    call::{Name, Return},
};
use slipway_ports::abi::Code;
use std::ffi::c_int;

/// `mach_port_get_attributes`.
///
/// # Safety
/// The count has a place, and `info` as many words as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_darwin_port_get_attributes(
    of: Name,
    name: Name,
    flavor: c_int,
    info: *mut c_int,
    info_count: *mut u32,
) -> Return {
    // SAFETY: the caller's promise.
    unsafe {
        if flavor == RECEIVE_STATUS && !info_count.is_null() && info_count.read_unaligned() <= STATUS_COUNT {
            return Code::FAILURE.0;
        }
        let code = mach_port_get_attributes(of, name, flavor, info, info_count);
        if code == 0 && flavor == RECEIVE_STATUS {
            // None of the flags says what can be here.
            info.add(STATUS_COUNT as usize).write_unaligned(0);
            info_count.write_unaligned(STATUS_COUNT + 1);
        }
        code
    }
}
