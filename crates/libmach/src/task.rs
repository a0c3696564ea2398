//! A task's own port, its threads', the host's, and its special ports.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::call::{Name, Out, Return, routine, task};
use slipway_abi::{
    Code,
    call::{KERNEL_PORT, Special},
};
use slipway_mach::bootstrap;
use slipway_ports::task::Task;
use std::ffi::c_int;

const BOOTSTRAP_PORT: c_int = Special::Bootstrap as c_int;

/// A name from a call that can't fail in Mach; null if it did.
fn name_or_null(get: impl FnOnce() -> Name) -> Name {
    let mut name = 0;
    routine(|| {
        name = get();
        Ok::<(), Code>(())
    });
    name
}

/// The calling task. The right is the library's.
#[unsafe(no_mangle)]
pub extern "C" fn mach_task_self() -> Name {
    name_or_null(|| Task::current().self_name())
}

/// The name that every task has for itself until it gives that name up or changes it: the first of a space.
#[allow(non_upper_case_globals, reason = "the name that C programs know")]
#[unsafe(no_mangle)]
pub static mach_task_self_: Name = 0x101;

/// The calling thread, with a user reference for the caller.
#[unsafe(no_mangle)]
pub extern "C" fn mach_thread_self() -> Name {
    name_or_null(|| Task::current().thread_name())
}

/// The host, with a user reference for the caller.
#[unsafe(no_mangle)]
pub extern "C" fn mach_host_self() -> Name {
    name_or_null(|| Task::current().host_name())
}

/// The task as `slipway-mach` has it.
pub(crate) fn shared(task: Task) -> slipway_mach::task::Task {
    slipway_abi::call::TaskId::from(task).into()
}

fn special(which: c_int) -> Result<Special, Code> {
    Special::by_number(which).ok_or(Code::INVALID_ARGUMENT)
}

/// A special port, as a new reference of the caller's.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn task_get_special_port(of: Name, which_port: c_int, special_port: *mut Name) -> Return {
    routine(|| {
        let task = task(of)?;
        // SAFETY: the caller's promise.
        let place = unsafe { Out::new(special_port)? };
        let name = match which_port {
            KERNEL_PORT => task.self_right()?,
            // Without one that was set or inherited it is the port of the user's name server.
            BOOTSTRAP_PORT => bootstrap::port(shared(task)).or_else(|error| match error {
                bootstrap::Error::Unreachable(_) => Ok(slipway_abi::NULL),
                bootstrap::Error::Code(code) => Err(code),
            })?,
            _ => task.special(special(which_port)?)?,
        };
        place.set(name);
        Ok(())
    })
}

/// Makes a port a special port of the task. `KERN_INVALID_ARGUMENT` for the task's own port, which nothing can take
/// the place of.
#[unsafe(no_mangle)]
pub extern "C" fn task_set_special_port(of: Name, which_port: c_int, special_port: Name) -> Return {
    routine(|| task(of)?.set_special(special(which_port)?, special_port))
}
