//! `mach_port_*` on receive rights as OSF and Darwin have them: attributes, ports made in one call, contexts and guards, sets by
//! member, looking at what waits.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::call::{Name, Out, Return, routine, task};
use slipway_abi::{
    Code,
    call::{PortOptions, Status, port_option},
    right, types,
};
use slipway_ports::task::Task;
use std::{ffi::c_int, ptr};

/// `MACH_PORT_LIMITS_INFO`.
const LIMITS_INFO: c_int = 1;
/// `MACH_PORT_RECEIVE_STATUS`.
pub(crate) const RECEIVE_STATUS: c_int = 2;

/// Words of the two flavors.
const LIMITS_COUNT: u32 = 1;
pub(crate) const STATUS_COUNT: u32 = (size_of::<Status>() / size_of::<u32>()) as u32;

/// What is known of a receive right: its limits or its status, as many words as the flavor has.
///
/// # Safety
/// The count has a place, and `info` as many words as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_port_get_attributes(
    of: Name,
    name: Name,
    flavor: c_int,
    info: *mut c_int,
    info_count: *mut u32,
) -> Return {
    routine(|| {
        let task = task(of)?;
        if info.is_null() || info_count.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        let words = match flavor {
            LIMITS_INFO => LIMITS_COUNT,
            RECEIVE_STATUS => STATUS_COUNT,
            _ => return Err(Code::INVALID_ARGUMENT),
        };
        // SAFETY: the caller's promise.
        if unsafe { info_count.read_unaligned() } < words {
            return Err(Code::FAILURE);
        }
        let status = task.receive_status(name)?;
        // SAFETY: the caller's promise: there is room for as many words.
        unsafe {
            match flavor {
                LIMITS_INFO => info.write_unaligned(status.qlimit as c_int),
                _ => info.cast::<Status>().write_unaligned(status),
            }
            info_count.write_unaligned(words);
        }
        Ok(())
    })
}

/// Sets the limits of a receive right.
///
/// # Safety
/// `info` has as many words as the count says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_port_set_attributes(
    of: Name,
    name: Name,
    flavor: c_int,
    info: *const c_int,
    info_count: u32,
) -> Return {
    routine(|| {
        let task = task(of)?;
        if flavor != LIMITS_INFO || info.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        if info_count < LIMITS_COUNT {
            return Err(Code::FAILURE);
        }
        // SAFETY: the caller's promise.
        task.set_qlimit(name, unsafe { info.read_unaligned() } as u32)
    })
}

/// A new port as the options say.
fn construct(task: Task, options: PortOptions, context: u64) -> Result<Name, Code> {
    if options.flags & !port_option::ALL != 0 {
        return Err(Code::INVALID_ARGUMENT);
    }
    let has = |flag| options.flags & flag != 0;
    let name = task.allocate(right::RECEIVE)?;
    let arrange = || {
        if has(port_option::QLIMIT) {
            task.set_qlimit(name, options.limit)?;
        }
        if has(port_option::INSERT_SEND_RIGHT) {
            task.insert_right(name, task, name, types::MAKE_SEND)?;
        }
        match has(port_option::CONTEXT_AS_GUARD) {
            true => task.guard(name, context, has(port_option::STRICT)),
            false => task.set_context(name, context),
        }
    };
    arrange().inspect_err(|_| {
        // Nobody else knows the name, so nothing can be in its way.
        let _ = task.destroy(name);
    })?;
    Ok(name)
}

/// A new port with all that the options say, or none.
///
/// # Safety
/// The options are there, and the result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_port_construct(of: Name, options: *const PortOptions, context: u64, name: *mut Name) -> Return {
    routine(|| {
        let task = task(of)?;
        // SAFETY: the caller's promise.
        let name = unsafe { Out::new(name)? };
        if options.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: the caller's promise.
        name.set(construct(task, unsafe { options.read_unaligned() }, context)?);
        Ok(())
    })
}

/// Ends a receive right, guarded or not, and takes user references of the send right of the same name.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_destruct(of: Name, name: Name, srdelta: i32, guard: u64) -> Return {
    routine(|| task(of)?.destruct(name, srdelta, guard))
}

/// Guards a receive right.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_guard(of: Name, name: Name, guard: u64, strict: c_int) -> Return {
    routine(|| task(of)?.guard(name, guard, strict != 0))
}

/// Takes the guard of a receive right away.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_unguard(of: Name, name: Name, guard: u64) -> Return {
    routine(|| task(of)?.unguard(name, guard))
}

/// The word that the program keeps with a receive right.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_port_get_context(of: Name, name: Name, context: *mut u64) -> Return {
    routine(|| {
        let task = task(of)?;
        // SAFETY: the caller's promise.
        let context = unsafe { Out::new(context)? };
        context.set(task.context(name)?);
        Ok(())
    })
}

/// Sets the word that the program keeps with a receive right.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_set_context(of: Name, name: Name, context: u64) -> Return {
    routine(|| task(of)?.set_context(name, context))
}

/// Looks at a message that waits, and leaves it there. There are no trailers.
///
/// # Safety
/// The number, if it is not null, can be read and written; each other result has a place or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_port_peek(
    of: Name,
    name: Name,
    trailer_type: u32,
    request_seqno: *mut u32,
    msg_size: *mut u32,
    msg_id: *mut i32,
    _trailer_info: *mut u8,
    trailer_info_count: *mut u32,
) -> Return {
    /// # Safety
    /// It is null, or has a place.
    unsafe fn set<T>(place: *mut T, value: T) {
        if !place.is_null() {
            // SAFETY: the caller's promise.
            unsafe { place.write_unaligned(value) };
        }
    }
    routine(|| {
        let task = task(of)?;
        if trailer_type != 0 {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        let wanted = if request_seqno.is_null() { 0 } else { unsafe { ptr::read_unaligned(request_seqno) } };
        let found = task.peek(name, wanted)?;
        // SAFETY: the caller's promise, for all.
        unsafe {
            set(request_seqno, found.seqno);
            set(msg_size, found.size);
            set(msg_id, found.id);
            set(trailer_info_count, 0);
        }
        Ok(())
    })
}

/// Puts a port into a set, beside those that it is in.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_insert_member(of: Name, name: Name, pset: Name) -> Return {
    routine(|| task(of)?.insert_member(name, pset))
}

/// Takes a port out of a set.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_extract_member(of: Name, name: Name, pset: Name) -> Return {
    routine(|| task(of)?.extract_member(name, pset))
}
