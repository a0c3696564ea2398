//! Hooks on signal handlers, before which one of ours stands that counts (`transport/handlers.rs`): those
//! that are there when the program has, or may get, its first line, and those that it sets by sigaction(2) and signal(2) from then on. Handlers that are set later in other
//! ways are not counted. In all other programs nothing is touched.
//!
//! Between the last look at the count and the kernel's call there are a few instructions in which a signal is not seen. A program has the same window between its
//! own look at what a handler notes and its call; one that must not have it blocks the signal and passes a mask, and then the signal comes in the kernel's call.

use crate::{real::real, timer};
use libc::{SIG_ERR, SIGALRM, sighandler_t, siginfo_t};
use slipway_transport::handlers::{Handled, Handlers, Mark, is_function};
use std::ffi::{c_int, c_void};

real! {
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
    fn signal(signal: c_int, handler: sighandler_t) -> sighandler_t;
}

/// The program's handlers.
static HANDLERS: Handlers = Handlers::new();

thread_local! {
    /// Signals that this thread has handled.
    static HANDLED: Handled = const { Handled::new() };
}

/// The signals that this thread has handled up to now.
pub fn mark() -> Mark {
    HANDLED.try_with(Handled::mark).unwrap_or_else(|_| Handled::new().mark())
}

/// How the kernel takes a signal. One that is not the program's to handle has no action.
pub fn action(signal: c_int) -> Option<libc::sigaction> {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: asks only. If it succeeds it was filled.
    unsafe { (next::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0).then(|| action.assume_init()) }
}

/// Counts, and calls the program's handler as the kernel would. It must let pass what leaves that: exceptions,
/// cancellation, longjmp.
extern "C-unwind" fn counted(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    type Handler = extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void);
    // The kernel keeps the flags also of a handler for one time, and knows what siginterrupt(3) has made of them.
    let restarts = action(signal).is_none_or(|action| action.sa_flags & libc::SA_RESTART != 0);
    let _ = HANDLED.try_with(|handled| handled.count(restarts));
    if let Some(handler) = HANDLERS.to_call(signal) {
        // SAFETY: the program's handler for this signal, with what the kernel passed. One that takes the number alone
        // looks at nothing else.
        unsafe { std::mem::transmute::<usize, Handler>(handler)(signal, info, context) }
    }
}

fn ours() -> sighandler_t {
    counted as *const () as sighandler_t
}

/// From here on handlers are counted, those that the program has set already among them.
pub fn watch() {
    if !HANDLERS.watch() {
        return;
    }
    for signal in 1..=64 {
        if let Some(action) = action(signal).filter(|action| is_function(action.sa_sigaction)) {
            // SAFETY: the program's own action, set once more, with ours before its handler.
            unsafe { sigaction(signal, &raw const action, std::ptr::null_mut()) };
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    if signal == SIGALRM {
        timer::step_aside();
    }
    let mut was = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the caller's contract is sigaction(2)'s: null, or an action to be set.
    let Some(mut action) = (unsafe { new.as_ref() }).copied() else {
        // SAFETY: asks only.
        let result = unsafe { next::sigaction(signal, std::ptr::null(), was.as_mut_ptr()) };
        if result == 0 && !old.is_null() {
            // SAFETY: it was filled.
            let was = unsafe { was.assume_init() };
            let shown = HANDLERS.shown(signal, was.sa_sigaction, ours());
            // SAFETY: the caller's contract.
            unsafe { old.write(libc::sigaction { sa_sigaction: shown, ..was }) };
        }
        return result;
    };
    let mut result = 0;
    let before = HANDLERS.set(signal, action.sa_sigaction, ours(), |handler| {
        action.sa_sigaction = handler;
        // SAFETY: an action with the caller's flags and mask, and a handler that is ours or the caller's.
        result = unsafe { next::sigaction(signal, &raw const action, was.as_mut_ptr()) };
        // SAFETY: it was filled.
        (result == 0).then(|| unsafe { was.assume_init() }.sa_sigaction)
    });
    if let Some(before) = before
        && !old.is_null()
    {
        // SAFETY: it was filled; the caller's contract.
        unsafe { old.write(libc::sigaction { sa_sigaction: before, ..was.assume_init() }) };
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signal(number: c_int, handler: sighandler_t) -> sighandler_t {
    if number == SIGALRM {
        timer::step_aside();
    }
    let before = HANDLERS.set(number, handler, ours(), |handler| {
        // SAFETY: the caller's contract is signal(2)'s; the handler is ours or the caller's.
        Some(unsafe { next::signal(number, handler) }).filter(|old| *old != SIG_ERR)
    });
    before.unwrap_or(SIG_ERR)
}
