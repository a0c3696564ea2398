//! For `slipway-mach`: what programs in Rust need beside Mach's own functions. No header declares them.
#![allow(unsafe_code, reason = "functions that another library calls, with pointers that it passes")]

use crate::call::{Name, Out, Return, guarded, routine};
use slipway_abi::{
    Code,
    call::{Pieces, Request, Special, TaskId},
};
use slipway_mach::sys::Functions;
use slipway_ports::{task::Task, trap};
use std::{
    ffi::{CStr, c_char, c_int, c_void},
    io,
    os::fd::{FromRawFd, IntoRawFd, OwnedFd},
    panic::catch_unwind,
};

/// Every function that `slipway-mach` calls: one that is missing, or that has another type than is declared there, does not compile.
pub const FUNCTIONS: Functions = {
    use crate::{memory::*, message::*, names::*, pollable::*, rights::*, task::*, transfer::*, trap::*};
    Functions {
        mach_msg,
        mach_task_self,
        mach_thread_self,
        mach_host_self,
        mach_reply_port,
        mach_port_names,
        mach_port_type,
        mach_port_rename,
        mach_port_allocate,
        mach_port_allocate_name,
        mach_port_destroy,
        mach_port_deallocate,
        mach_port_get_refs,
        mach_port_mod_refs,
        mach_port_set_qlimit,
        mach_port_set_mscount,
        mach_port_set_seqno,
        mach_port_get_set_status,
        mach_port_move_member,
        mach_port_get_receive_status,
        mach_port_set_protected_payload,
        mach_port_clear_protected_payload,
        mach_port_request_notification,
        mach_port_insert_right,
        mach_port_extract_right,
        mach_port_register_traps,
        mach_trap,
        task_get_special_port,
        task_set_special_port,
        vm_deallocate,
        slipway_task_current,
        slipway_task_create,
        slipway_task_enter,
        slipway_task_port,
        slipway_task_named,
        slipway_task_label,
        slipway_task_terminate,
        slipway_task_wait_for_callers,
        slipway_task_special,
        slipway_task_note_name_server,
        slipway_task_is_name_server,
        slipway_msg,
        slipway_send_pieces,
        slipway_port_descriptor,
        slipway_port_import,
        slipway_port_export,
        slipway_port_holders,
        slipway_trap,
        slipway_may_trap,
        slipway_memory_lend,
        slipway_memory_reclaim,
        slipway_memory_give_back,
        slipway_trap_calls,
    }
};

/// A task from a call that does not fail.
#[inline]
fn task_of(call: impl FnOnce() -> Task + std::panic::UnwindSafe) -> TaskId {
    catch_unwind(call).map_or(TaskId::NONE, TaskId::from)
}

/// The task that the calling thread works for.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_task_current() -> TaskId {
    task_of(Task::current)
}

/// A further task in this process, with an empty space; none if it can't be made.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_task_create() -> TaskId {
    task_of(Task::new)
}

/// The calling thread works for the task from here on: the one before.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_task_enter(task: TaskId) -> TaskId {
    task_of(|| Task::from(task).enter())
}

/// A name of the calling task for the port of a task of this process, with a reference of the caller's; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_task_port(task: TaskId) -> Name {
    let mut name = 0;
    routine(|| {
        let to = Task::current();
        let task = Task::from(task);
        name = task.self_right_for(to)?;
        Ok(())
    });
    name
}

/// The task of this process that the calling task knows by a name: `KERN_INVALID_TASK` if there is none.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_task_named(name: Name, task: *mut TaskId) -> Return {
    routine(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Out::new(task)? };
        place.set(crate::call::task(name)?.into());
        Ok(())
    })
}

/// Names a task for tools that look at the process.
///
/// # Safety
/// The label is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_task_label(task: TaskId, label: *const c_char) {
    // SAFETY: the caller's promise.
    let label = unsafe { CStr::from_ptr(label) }.to_string_lossy();
    routine(|| {
        Task::from(task).set_label(&label);
        Ok(())
    });
}

/// Ends a task: its rights are given up, and nobody comes into its routines any more.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_task_terminate(task: TaskId) {
    routine(|| {
        Task::from(task).terminate();
        Ok(())
    });
}

/// Waits until no other thread is in a routine of a task that was ended.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_task_wait_for_callers(task: TaskId) {
    routine(|| {
        Task::from(task).wait_for_callers();
        Ok(())
    });
}

/// A special port of the calling task, as `task_get_special_port` has it, but null if there is none.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_task_special(which: c_int, name: *mut Name) -> Return {
    routine(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Out::new(name)? };
        place.set(Task::current().special(Special::by_number(which).ok_or(Code::INVALID_ARGUMENT)?)?);
        Ok(())
    })
}

/// Notes a name of the calling task that stands for a name server.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_task_note_name_server(name: Name) {
    routine(|| {
        Task::current().note_name_server(name);
        Ok(())
    });
}

/// Whether a name of the calling task was noted so: 1 or 0.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_task_is_name_server(name: Name) -> c_int {
    catch_unwind(|| Task::current().is_name_server(name)).unwrap_or(false).into()
}

/// `mach_msg` for a task of this process, on a buffer that is there: no look is taken at its memory.
///
/// # Safety
/// The buffer can be read and written, and nobody else touches it; the request's sizes are at most its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_msg(task: TaskId, buffer: *mut u8, len: usize, request: *const Request) -> Return {
    // SAFETY: the caller's promise, for both.
    let (buffer, request) = unsafe { (std::slice::from_raw_parts_mut(buffer, len), &*request) };
    guarded(Code::FAILURE, || Task::from(task).mach_msg(buffer, request))
}

/// Sends a message with a plain body by a copy of a send right, from where the body lies. Where the caller sends others behind it at once, the receiver
/// may not be woken before the last.
///
/// # Safety
/// The pieces can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_send_pieces(task: TaskId, dest: Name, id: i32, pieces: *const Pieces) -> Return {
    // SAFETY: the caller's promise.
    let Pieces { words, count, bytes, len, behind } = unsafe { *pieces };
    // SAFETY: as above, for both.
    let (words, bytes) = unsafe { (std::slice::from_raw_parts(words, count), std::slice::from_raw_parts(bytes, len)) };
    guarded(Code::FAILURE, || Task::from(task).send_pieces(dest, id, words, bytes, behind))
}

/// What a call with descriptors came to: 0, or the number of its error.
fn errno(run: impl FnOnce() -> io::Result<()>) -> c_int {
    let number = |error: io::Error| {
        error.raw_os_error().unwrap_or(match error.kind() {
            io::ErrorKind::InvalidInput => libc::EINVAL,
            io::ErrorKind::InvalidData => libc::EBADMSG,
            io::ErrorKind::OutOfMemory => libc::ENOMEM,
            _ => libc::EIO,
        })
    };
    catch_unwind(std::panic::AssertUnwindSafe(run)).map_or(libc::EIO, |done| done.map_or_else(number, |()| 0))
}

/// Takes a send right that came as two descriptors from outside of Mach: 0 and its name in the calling task, or an errno.
///
/// # Safety
/// The descriptors are given away; the result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_port_import(sending: c_int, holder: c_int, name: *mut Name) -> c_int {
    // SAFETY: the caller's promise.
    let (sending, holder) = unsafe { (OwnedFd::from_raw_fd(sending), OwnedFd::from_raw_fd(holder)) };
    errno(|| {
        let right = Task::current().import(sending, holder)?;
        // SAFETY: the caller's promise.
        unsafe { name.write(right) };
        Ok(())
    })
}

/// The descriptors that stand for a send right to a port that the calling task receives from: 0, or an errno.
///
/// # Safety
/// Each result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_port_export(name: Name, sending: *mut c_int, holder: *mut c_int) -> c_int {
    errno(|| {
        let (s, t) = Task::current().export(name)?;
        // SAFETY: the caller's promise.
        unsafe {
            sending.write(s.into_raw_fd());
            holder.write(t.into_raw_fd());
        }
        Ok(())
    })
}

/// How many pipes tell of holders elsewhere of a send right to a port that the calling task receives from.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_port_holders(name: Name, holders: *mut usize) -> Return {
    routine(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Out::new(holders)? };
        place.set(Task::current().holders(name));
        Ok(())
    })
}

/// Lends memory to messages, as [`Task::lend`] does: 0 and its address, or an errno.
///
/// # Safety
/// As there; the result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_memory_lend(from: usize, len: usize, in_place: bool, at: *mut usize) -> c_int {
    errno(|| {
        // SAFETY: the caller's promise.
        let lent = unsafe { Task::current().lend(from, len, in_place)? };
        // SAFETY: as above.
        unsafe { at.write(lent) };
        Ok(())
    })
}

/// Takes back memory that was lent: see [`Task::reclaim`].
#[unsafe(no_mangle)]
pub extern "C" fn slipway_memory_reclaim(at: usize) {
    routine(|| {
        Task::current().reclaim(at);
        Ok(())
    });
}

/// Gives memory back: see [`Task::give_back`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_memory_give_back(at: usize, len: usize, clean: bool) {
    routine(|| {
        // SAFETY: the caller's promise.
        unsafe { Task::current().give_back(at, len, clean) };
        Ok(())
    });
}

/// `mach_trap` by a name of that task: 0, and nothing has happened, if a message is to be sent or the calling thread works for another task; else
/// the routine's code, and the bit above it.
///
/// # Safety
/// The arguments are what a routine with the signature takes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn slipway_trap(
    task: TaskId,
    destination: Name,
    id: i32,
    signature: u64,
    arguments: *mut c_void,
) -> u64 {
    if !Task::from(task).is_current() {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { trap::call(destination, id, signature, arguments) }.map_or(0, |code| 1 << 32 | u64::from(code as u32))
}

/// Whether `mach_trap` with these would most likely call, or return `MACH_TRAP_DEADLOCK`: 1 or 0.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_may_trap(destination: Name, id: i32, signature: u64) -> c_int {
    catch_unwind(|| trap::may_call(destination, id, signature)).unwrap_or(false).into()
}

/// How many calls were made to a port of the calling task since it registered routines: `KERN_INVALID_RIGHT` if it has none.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_trap_calls(name: Name, calls: *mut u64) -> Return {
    routine(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Out::new(calls)? };
        place.set(Task::current().trap_calls(name).ok_or(Code::INVALID_RIGHT)?);
        Ok(())
    })
}
