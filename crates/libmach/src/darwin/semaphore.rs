//! `semaphore_*`, which tell the end of a semaphore by Darwin's number.
#![allow(unsafe_code, reason = "functions that C calls")]

use crate::{
    call::{Name, Return},
    semaphore::{self, Time},
};
use slipway_ports::abi::Code;

/// `KERN_TERMINATED` in Darwin.
pub(super) const TERMINATED: Return = 37;

fn darwins(code: Return) -> Return {
    if code == Code::TERMINATED.0 { TERMINATED } else { code }
}

/// `semaphore_signal`.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_darwin_semaphore_signal(semaphore: Name) -> Return {
    darwins(semaphore::semaphore_signal(semaphore))
}

/// `semaphore_signal_all`.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_darwin_semaphore_signal_all(semaphore: Name) -> Return {
    darwins(semaphore::semaphore_signal_all(semaphore))
}

/// `semaphore_wait`.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_darwin_semaphore_wait(semaphore: Name) -> Return {
    darwins(semaphore::semaphore_wait(semaphore))
}

/// `semaphore_timedwait`.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_darwin_semaphore_timedwait(semaphore: Name, time: Time) -> Return {
    darwins(semaphore::semaphore_timedwait(semaphore, time))
}

/// `semaphore_wait_signal`.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_darwin_semaphore_wait_signal(wait: Name, signal: Name) -> Return {
    darwins(semaphore::semaphore_wait_signal(wait, signal))
}

/// `semaphore_timedwait_signal`.
#[unsafe(no_mangle)]
pub extern "C" fn slipway_darwin_semaphore_timedwait_signal(wait: Name, signal: Name, time: Time) -> Return {
    darwins(semaphore::semaphore_timedwait_signal(wait, signal, time))
}
