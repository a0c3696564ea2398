//! `mach_port_*` that pass rights: notifications, insertion, extraction. Rights given and taken are the calling task's.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    call::{Name, Out, Return, routine, task},
    tasks::ask,
};

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
    routine(|| ask::insert_right(of, name, right, right_type))
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
        // SAFETY: the caller's promise, for both.
        let (right, acquired_type) = unsafe { (Out::new(right)?, Out::new(acquired_type)?) };
        let (taken, kind) = ask::extract_right(of, name, desired)?;
        right.set(taken);
        acquired_type.set(kind);
        Ok(())
    })
}
