//! `mach_port_*` that pass rights: notifications, insertion, extraction. Rights given and taken are the calling task's.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::call::{Name, Out, Return, received, routine, task};
use slipway_ports::{
    abi::{Code, types},
    task::Task,
};

/// `INVALID_VALUE` for what is no way to pass a right.
fn passes(disposition: u32) -> Result<u32, Code> {
    if (types::MOVE_RECEIVE..=types::MAKE_SEND_ONCE).contains(&disposition) { Ok(disposition) } else { Err(Code::INVALID_VALUE) }
}

/// Asks for a notification; gives back the right of the request before.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_port_request_notification(
    of: Name,
    name: Name,
    variant: i32,
    sync: u32,
    notify: Name,
    notify_type: u32,
    previous: *mut Name,
) -> Return {
    routine(|| {
        let task = task(of)?;
        // SAFETY: the caller's promise.
        let previous = unsafe { Out::new(previous)? };
        previous.set(task.request_notification(name, variant, sync, notify, notify_type)?);
        Ok(())
    })
}

/// Puts a right of the caller's under a name of the task's.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_insert_right(of: Name, name: Name, right: Name, right_type: u32) -> Return {
    routine(|| task(of)?.insert_right(name, Task::current(), right, passes(right_type)?))
}

/// Takes a right out of the task, and gives it to the caller.
///
/// # Safety
/// Each result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_port_extract_right(
    of: Name,
    name: Name,
    desired: u32,
    right: *mut Name,
    acquired_type: *mut u32,
) -> Return {
    routine(|| {
        let task = task(of)?;
        // SAFETY: the caller's promise, for both.
        let (right, acquired_type) = unsafe { (Out::new(right)?, Out::new(acquired_type)?) };
        right.set(task.extract_right(name, desired, Task::current())?);
        acquired_type.set(received(desired));
        Ok(())
    })
}
