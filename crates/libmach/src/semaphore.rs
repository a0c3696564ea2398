//! `semaphore_*`, for the threads of one process.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::call::{Name, Out, Return, routine, task};
use slipway_ports::{abi::Code, task::Task};
use std::{ffi::c_int, time::Duration};

/// `mach_timespec_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Time {
    seconds: u32,
    nanoseconds: c_int,
}

impl Time {
    fn duration(self) -> Result<Duration, Code> {
        match u32::try_from(self.nanoseconds) {
            Ok(nanoseconds) if nanoseconds < 1_000_000_000 => Ok(Duration::new(self.seconds.into(), nanoseconds)),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}

/// A new semaphore. Whatever the policy (0 to 3), waiters are served in the order in which they came.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn semaphore_create(of: Name, semaphore: *mut Name, policy: c_int, value: c_int) -> Return {
    routine(|| {
        let task = task(of)?;
        // SAFETY: the caller's promise.
        let semaphore = unsafe { Out::new(semaphore)? };
        let value = u32::try_from(value).map_err(|_| Code::INVALID_ARGUMENT)?;
        if !(0..=3).contains(&policy) {
            return Err(Code::INVALID_ARGUMENT);
        }
        semaphore.set(task.create_semaphore(value, Task::current())?);
        Ok(())
    })
}

/// Ends a semaphore: its waiters get `KERN_TERMINATED`.
#[unsafe(no_mangle)]
pub extern "C" fn semaphore_destroy(of: Name, semaphore: Name) -> Return {
    routine(|| task(of)?.destroy_semaphore(Task::current(), semaphore))
}

/// Lets one waiter go, or the next thread that would wait.
#[unsafe(no_mangle)]
pub extern "C" fn semaphore_signal(semaphore: Name) -> Return {
    routine(|| Task::current().semaphore(semaphore)?.signal())
}

/// Lets all waiters go.
#[unsafe(no_mangle)]
pub extern "C" fn semaphore_signal_all(semaphore: Name) -> Return {
    routine(|| Task::current().semaphore(semaphore)?.signal_all())
}

/// Waits for a signal.
#[unsafe(no_mangle)]
pub extern "C" fn semaphore_wait(semaphore: Name) -> Return {
    routine(|| Task::current().semaphore(semaphore)?.wait(None))
}

/// Waits for a signal, at most so long.
#[unsafe(no_mangle)]
pub extern "C" fn semaphore_timedwait(semaphore: Name, time: Time) -> Return {
    routine(|| Task::current().semaphore(semaphore)?.wait(Some(time.duration()?)))
}

/// Signals one semaphore, then waits for another.
#[unsafe(no_mangle)]
pub extern "C" fn semaphore_wait_signal(wait: Name, signal: Name) -> Return {
    routine(|| {
        let wait = Task::current().semaphore(wait)?;
        Task::current().semaphore(signal)?.signal()?;
        wait.wait(None)
    })
}

/// As [`semaphore_wait_signal`], at most so long.
#[unsafe(no_mangle)]
pub extern "C" fn semaphore_timedwait_signal(wait: Name, signal: Name, time: Time) -> Return {
    routine(|| {
        let (wait, time) = (Task::current().semaphore(wait)?, time.duration()?);
        Task::current().semaphore(signal)?.signal()?;
        wait.wait(Some(time))
    })
}
