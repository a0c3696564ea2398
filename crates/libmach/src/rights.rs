//! `mach_port_*` on receive rights and port sets.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::call::{Name, Out, Return, array, count, routine, task};

pub use slipway_abi::call::Status;

const _: () = assert!(size_of::<Status>() == 36);

/// Messages that a port's queue holds before senders wait.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_set_qlimit(of: Name, name: Name, qlimit: u32) -> Return {
    routine(|| task(of)?.set_qlimit(name, qlimit))
}

/// Sets the make-send count.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_set_mscount(of: Name, name: Name, mscount: u32) -> Return {
    routine(|| task(of)?.set_mscount(name, mscount))
}

/// Sets the sequence number of the next message.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_set_seqno(of: Name, name: Name, seqno: u32) -> Return {
    routine(|| task(of)?.set_seqno(name, seqno))
}

/// The members of a port set, in an array that is the caller's.
///
/// # Safety
/// Each result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_port_get_set_status(
    of: Name,
    name: Name,
    members: *mut *mut u32,
    members_count: *mut u32,
) -> Return {
    routine(|| {
        let task = task(of)?;
        // SAFETY: the caller's promise, for both.
        let (members, members_count) = unsafe { (Out::new(members)?, Out::new(members_count)?) };
        let all = task.set_status(name)?;
        let n = count(all.len())?;
        members.set(array(&all)?);
        members_count.set(n);
        Ok(())
    })
}

/// Moves a receive right into a set, or out of one.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_move_member(of: Name, member: Name, after: Name) -> Return {
    routine(|| task(of)?.move_member(member, after))
}

/// What is known of a receive right.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_port_get_receive_status(of: Name, name: Name, status: *mut Status) -> Return {
    routine(|| {
        let task = task(of)?;
        // SAFETY: the caller's promise.
        let status = unsafe { Out::new(status)? };
        status.set(task.receive_status(name)?);
        Ok(())
    })
}

/// Has messages show a word of the program's in place of the port's name.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_set_protected_payload(of: Name, name: Name, payload: u64) -> Return {
    routine(|| task(of)?.set_payload(name, payload))
}

/// Has messages show the port's name again.
#[unsafe(no_mangle)]
pub extern "C" fn mach_port_clear_protected_payload(of: Name, name: Name) -> Return {
    routine(|| task(of)?.clear_payload(name))
}
