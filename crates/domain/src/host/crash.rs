//! Which file is to blame when the process crashes while it loads a task.
#![allow(unsafe_code, reason = "signal handlers")]

use rustix::fd::BorrowedFd;
use std::{
    cell::Cell,
    ffi::{c_int, c_void},
    mem::zeroed,
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr::{null, null_mut},
    sync::{Mutex, PoisonError},
};

const SIGNALS: [(c_int, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGABRT, "SIGABRT"),
];

thread_local! {
    /// The file that the thread loads, if it loads one. Without a destructor, which may not be asked for in a handler.
    static BLAMED: Cell<Option<*const Path>> = const { Cell::new(None) };
}

/// What is done about a signal behind the handler here.
#[derive(Clone, Copy)]
struct Behind {
    action: libc::sigaction,
    /// Whether the handler stays: one that was set in front of it may call it.
    stays: bool,
}

/// Locked for a moment by a thread that loads. One file is loaded at a time.
static BEHIND: Mutex<[Option<Behind>; SIGNALS.len()]> = Mutex::new([None; SIGNALS.len()]);

fn is_handler(action: &libc::sigaction) -> bool {
    !matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN)
}

/// What the handler here stands in front of, for this crash.
fn behind(index: usize) -> Option<libc::sigaction> {
    let mut all = BEHIND.try_lock().ok()?;
    let action = &mut all[index].as_mut()?.action;
    let now = *action;
    if now.sa_flags & libc::SA_RESETHAND != 0 {
        action.sa_sigaction = libc::SIG_DFL;
    }
    Some(now)
}

unsafe extern "C" fn handler(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(index) = SIGNALS.iter().position(|(number, _)| *number == signal) else { return };
    let action = behind(index);
    // SAFETY: the system passes it.
    let sent = unsafe { (*info).si_code } <= 0;
    if sent && action.is_some_and(|action| action.sa_sigaction == libc::SIG_IGN) {
        return;
    }
    // SAFETY: this thread is loading the file, and has its path as long.
    if let Some(file) = BLAMED.get().map(|file| unsafe { &*file }) {
        // SAFETY: standard error, which may be closed.
        let err = unsafe { BorrowedFd::borrow_raw(2) };
        let (file, name) = (file.as_os_str().as_bytes(), SIGNALS[index].1.as_bytes());
        for part in [b"slipway: ", file, b": crashed while it was loaded (", name, b")\n"] {
            let _ = rustix::io::write(err, part);
        }
    }
    type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
    match action.filter(is_handler) {
        // SAFETY: it is a handler, which any number of arguments are passed to.
        Some(action) => unsafe { std::mem::transmute::<usize, Handler>(action.sa_sigaction)(signal, info, context) },
        // SAFETY: all zeroes are the default action. The signal comes when this handler has returned.
        None => unsafe {
            let default: libc::sigaction = zeroed();
            libc::sigaction(signal, &raw const default, null_mut());
            libc::raise(signal);
        },
    }
}

/// Whether an action is the handler here.
fn is_ours(action: &libc::sigaction) -> bool {
    action.sa_sigaction == handler as *const () as usize
}

/// What is done about a signal now.
fn current(signal: c_int) -> libc::sigaction {
    // SAFETY: all zeroes are a valid action, which the system overwrites.
    unsafe {
        let mut now = zeroed();
        libc::sigaction(signal, null(), &raw mut now);
        now
    }
}

/// Puts the handler in front of what is done about a signal, if it is not somewhere there already.
fn put_in_front(index: usize, signal: c_int) {
    let mut all = BEHIND.lock().unwrap_or_else(PoisonError::into_inner);
    if all[index].is_some_and(|behind| behind.stays) {
        return;
    }
    let action = current(signal);
    all[index] = Some(Behind { action, stays: false });
    drop(all);
    let mut new = action;
    new.sa_sigaction = handler as *const () as usize;
    // Whatever the action behind is called with, it would be called with anyway.
    new.sa_flags = new.sa_flags & !libc::SA_RESETHAND | libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler is a function of the right type.
    unsafe { libc::sigaction(signal, &raw const new, null_mut()) };
}

/// Takes the handler away again, unless the file, or another task, has set one of its own, which may call this one.
fn take_away(index: usize, signal: c_int) {
    let mut all = BEHIND.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(behind) = all[index].as_mut().filter(|behind| !behind.stays) else { return };
    let mut last = current(signal);
    if is_ours(&last) {
        // SAFETY: what was there before, or what another thread has set just now.
        unsafe {
            libc::sigaction(signal, &raw const behind.action, &raw mut last);
            if !is_ours(&last) {
                libc::sigaction(signal, &raw const last, null_mut());
            }
        }
    }
    behind.stays = !is_ours(&last);
}

/// Runs what may crash; if it does, the file is named on standard error before the process dies of it.
pub fn blamed<T>(file: &Path, run: impl FnOnce() -> T) -> T {
    let for_each = |act: fn(usize, c_int)| SIGNALS.iter().enumerate().for_each(|(index, (signal, _))| act(index, *signal));
    BLAMED.set(Some(file));
    for_each(put_in_front);
    let result = run();
    for_each(take_away);
    BLAMED.set(None);
    result
}
