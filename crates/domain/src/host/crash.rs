//! Which file is to blame when the process crashes while it loads a task.
#![allow(unsafe_code, reason = "signal handlers")]

use rustix::fd::BorrowedFd;
use std::{
    cell::RefCell,
    ffi::c_int,
    mem::{MaybeUninit, zeroed},
    path::Path,
};

const SIGNALS: [(c_int, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGABRT, "SIGABRT"),
];

thread_local! {
    /// What is said if the thread crashes now.
    static BLAME: RefCell<String> = const { RefCell::new(String::new()) };
}

extern "C" fn handler(signal: c_int) {
    BLAME.with(|blame| {
        let Ok(blame) = blame.try_borrow() else { return };
        // SAFETY: standard error, which may be closed.
        let err = unsafe { BorrowedFd::borrow_raw(2) };
        let name = SIGNALS.iter().find(|(number, _)| *number == signal).map_or("a signal", |(_, name)| name);
        for part in ["slipway: ", &blame, ": crashed while it was loaded (", name, ")\n"] {
            let _ = rustix::io::write(err, part.as_bytes());
        }
    });
    // The default was put back as this began: what crashed does so again.
    // SAFETY: it has no preconditions.
    unsafe { libc::raise(signal) };
}

/// Runs what may crash; if it does, the file is named on standard error before the process dies of it.
pub fn blamed<T>(file: &Path, run: impl FnOnce() -> T) -> T {
    BLAME.with(|blame| *blame.borrow_mut() = file.display().to_string());
    let old = SIGNALS.map(|(signal, _)| {
        // SAFETY: all zeroes are a valid action, and the handler is a function of the right type.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_RESETHAND | libc::SA_NODEFER;
            let mut old = MaybeUninit::zeroed();
            libc::sigaction(signal, &raw const action, old.as_mut_ptr());
            (signal, old.assume_init())
        }
    });
    let result = run();
    for (signal, old) in old {
        // SAFETY: it is what was there before.
        unsafe { libc::sigaction(signal, &raw const old, std::ptr::null_mut()) };
    }
    BLAME.with(|blame| blame.borrow_mut().clear());
    result
}
