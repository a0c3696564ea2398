//! A task's own port, its threads', the host's, and its special ports.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    call::{Name, Out, Return, guarded_routine, routine, shared},
    exceptions, procfs, suspend,
    tasks::{ask, serve},
};
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
    serve::begin();
    let mut name = 0;
    guarded_routine(|| {
        name = Task::current().self_name();
        Ok(())
    });
    name
}

/// The name that every task has for itself until it gives that name up or changes it: the first of a space.
#[allow(non_upper_case_globals, reason = "the name that C programs know")]
#[unsafe(no_mangle)]
pub static mach_task_self_: Name = 0x101;

/// The calling thread, with a user reference for the caller.
#[unsafe(no_mangle)]
pub extern "C" fn mach_thread_self() -> Name {
    name_or_null(|| Task::current().thread_name(procfs::start_of))
}

/// The host, with a user reference for the caller.
#[unsafe(no_mangle)]
pub extern "C" fn mach_host_self() -> Name {
    name_or_null(|| Task::current().host_name())
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
        // SAFETY: the caller's promise.
        let place = unsafe { Out::new(special_port)? };
        let here = |task: Task| match which_port {
            KERNEL_PORT => task.self_right_for(Task::current()),
            // Without one that was set or inherited it is the port of the user's name server.
            BOOTSTRAP_PORT if task.is_current() => bootstrap::port(shared(task)).or_else(|error| match error {
                bootstrap::Error::Unreachable(_) => Ok(slipway_abi::NULL),
                bootstrap::Error::Code(code) => Err(code),
            }),
            _ => task.special_for(special(which_port)?, Task::current()),
        };
        place.set(ask::memory(of, here, |there| there.task_get_special_port(which_port).map(ask::name_of))?);
        Ok(())
    })
}

/// Makes a port a special port of the task. `KERN_INVALID_ARGUMENT` for the task's own port, which nothing can take
/// the place of.
#[unsafe(no_mangle)]
pub extern "C" fn task_set_special_port(of: Name, which_port: c_int, special_port: Name) -> Return {
    routine(|| {
        let here = |task: Task| {
            let which = special(which_port)?;
            task.set_special_from(which, Task::current(), special_port)?;
            if which == Special::Exception { exceptions::begin_with(special_port) } else { Ok(()) }
        };
        let port = ask::lent(special_port);
        ask::memory(of, here, |there| there.task_set_special_port(which_port, port.as_ref()))
    })
}

/// Ends a task: of the task that a process began as, the process.
#[unsafe(no_mangle)]
pub extern "C" fn task_terminate(of: Name) -> Return {
    let here = |task: Task| {
        if task.is_first() {
            serve::end_process();
        }
        task.terminate();
        Ok(())
    };
    routine(|| ask::memory(of, here, |there| there.task_terminate()))
}

/// Has no thread of the task run: all of the process's but the library's own. `KERN_FAILURE`, and all run, if one can't be stopped.
#[unsafe(no_mangle)]
pub extern "C" fn task_suspend(of: Name) -> Return {
    routine(|| ask::memory(of, |_| suspend::suspend_task(), |there| there.task_suspend()))
}

/// Takes one `task_suspend` back; `KERN_FAILURE` if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn task_resume(of: Name) -> Return {
    routine(|| ask::memory(of, |_| suspend::resume_task(), |there| there.task_resume()))
}
