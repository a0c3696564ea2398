//! Hooks on signal handlers. The library's own handler counts each signal, then calls the program's (`transport/handlers.rs`). It does so for those
//! that are there when the program has, or may get, its first line, and those that it sets by sigaction(2) and signal(2) from then on. Handlers that are set later in other
//! ways are not counted. In all other programs nothing is touched. A signal that comes while the thread holds a lock of the library's is put off until it holds none
//! (`fabric/sync/held.rs`).
//!
//! Between the last look at the count and the kernel's call there are a few instructions in which a signal is not seen. A program has the same window between its
//! own look at what a handler notes and its call; one that must not have it blocks the signal and passes a mask, and then the signal comes in the kernel's call.

use crate::{real::real, timer};
use libc::{SIG_DFL, SIG_ERR, SIGALRM, sighandler_t, siginfo_t, sigset_t, ucontext_t};
use slipway_fabric::sync::after_locks;
use slipway_transport::handlers::{Handled, Handlers, Mark, is_function};
use std::{
    cell::Cell,
    ffi::{c_int, c_void},
    ptr::null_mut,
};

real! {
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
    fn signal(signal: c_int, handler: sighandler_t) -> sighandler_t;
}

/// The program's handlers.
static HANDLERS: Handlers = Handlers::new();

thread_local! {
    /// Signals that this thread has handled.
    static HANDLED: Handled = const { Handled::new() };
    /// Signals that wait, blocked, until this thread holds no lock: bit 0 is number 1.
    static PUT_OFF: Cell<u64> = const { Cell::new(0) };
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

/// Has the kernel send the signal once more, to this thread, and keep it until [`take_up`]; false if it can't. A handler that uses the connection whose use it
/// has interrupted would wait for itself.
fn put_off(signal: c_int, info: *mut siginfo_t, context: *mut c_void) -> bool {
    // SAFETY: the kernel's, where the kernel calls.
    let Some(context) = (unsafe { context.cast::<ucontext_t>().as_mut() }) else { return false };
    let (Some(mut action), bit, others) = (action(signal), 1 << (signal - 1), PUT_OFF.get()) else { return false };
    if others & bit != 0 {
        // It was not kept: valgrind lets come what a handler has blocked for what it has interrupted.
        return false;
    }
    mask(libc::SIG_BLOCK, bit);
    // SAFETY: what the kernel passed; it fills the information for a handler that asks for it. A process may send itself any.
    let sent = unsafe {
        let (process, thread) = (libc::getpid(), libc::gettid());
        if action.sa_flags & libc::SA_SIGINFO == 0 {
            libc::syscall(libc::SYS_tgkill, process, thread, signal)
        } else {
            libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal, info)
        }
    };
    if sent != 0 {
        return false;
    }
    // What is interrupted goes on with the signal blocked.
    // SAFETY: the mask is the kernel's, which has room for each signal.
    unsafe { libc::sigaddset(&raw mut context.uc_sigmask, signal) };
    PUT_OFF.set(others | bit);
    // A handler for one time has to be there again.
    if action.sa_sigaction == SIG_DFL && action.sa_flags & libc::SA_RESETHAND != 0 {
        action.sa_sigaction = ours();
        // SAFETY: the program's own action, with ours before its handler.
        unsafe { next::sigaction(signal, &raw const action, null_mut()) };
    }
    true
}

/// The thread holds no lock any more. The handlers run before this returns.
fn take_up() {
    mask(libc::SIG_UNBLOCK, PUT_OFF.replace(0));
}

/// Blocks some signals of this thread, or lets them come.
fn mask(how: c_int, signals: u64) {
    // SAFETY: a set of no signals, to which some are added; a mask belongs to the calling thread.
    unsafe {
        let mut set = std::mem::zeroed::<sigset_t>();
        for signal in (1..=64).filter(|signal| signals & 1 << (signal - 1) != 0) {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(how, &raw const set, null_mut());
    }
}

/// Counts, and calls the program's handler as the kernel would, once the thread holds no lock of the library's. It must let pass what leaves that: exceptions,
/// cancellation, longjmp.
extern "C-unwind" fn counted(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    type Handler = extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void);
    if after_locks(take_up) && put_off(signal, info, context) {
        return;
    }
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
            unsafe { sigaction(signal, &raw const action, null_mut()) };
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
