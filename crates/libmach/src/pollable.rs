//! What libmach has beyond Mach: descriptors for event loops.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::call::{Name, Out, Return, routine};
use slipway_ports::{
    abi::{Code, kind},
    task::Task,
};
use std::{ffi::c_int, os::fd::IntoRawFd};

/// A new descriptor that is readable while messages may wait at a receive right or port set.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_port_descriptor(name: Name, fd: *mut c_int) -> Return {
    routine(|| {
        // SAFETY: the caller's promise.
        let fd = unsafe { Out::new(fd)? };
        let task = Task::current();
        if task.kind(name)? & (kind::RECEIVE | kind::PORT_SET) == 0 {
            return Err(Code::INVALID_RIGHT);
        }
        let descriptor = task.pollable(name).map_err(|_| Code::RESOURCE_SHORTAGE)?;
        fd.set(descriptor.into_raw_fd());
        Ok(())
    })
}

/// Whether the descriptors of a receive right or port set are polled from here on.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_port_poll(name: Name, on: c_int) -> Return {
    routine(|| if Task::current().polls(name, on != 0) { Ok(()) } else { Err(Code::INVALID_NAME) })
}
