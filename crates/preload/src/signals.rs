//! Whether a signal was handled. One that comes while a wait looks, before it sleeps, has to end the wait as it ends the
//! kernel's, or the program doesn't see what its handler has noted until something else comes.
//!
//! So the handlers of a program that has a line, or may get one, are called by one of ours, which counts for its thread: those
//! that are there when it begins, and those that it sets by sigaction(2) and signal(2) from then on. A program that asks for the handler is told
//! the program's. Handlers that are set later in other ways are not counted. In all other programs nothing is touched.
//!
//! Between the last look at the count and the kernel's call there are a few instructions in which a signal is not seen. A program has the same window between its
//! own look at what a handler notes and its call; one that must not have it blocks the signal and passes a mask, and then the signal comes in the kernel's call.

use crate::{real::real, timer};
use libc::{SIG_DFL, SIG_ERR, SIG_IGN, SIGALRM, sighandler_t, siginfo_t};
use slipway_fabric::sync::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::{
    cell::Cell,
    ffi::{c_int, c_void},
};

real! {
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
    fn signal(signal: c_int, handler: sighandler_t) -> sighandler_t;
}

/// Signals that a program's own faults raise: their handlers are left alone, and don't tell how it takes the others.
pub const FAULTS: [c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// Handlers are counted in this process.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// The program's handlers, by signal, where ours stands before them.
static HANDLERS: [AtomicUsize; 65] = [const { AtomicUsize::new(0) }; 65];

thread_local! {
    /// Signals that this thread has handled (wraps).
    static HANDLED: Cell<u32> = const { Cell::new(0) };
}

/// Signals that the calling thread has handled up to now.
#[derive(Debug, Clone, Copy)]
pub struct Mark(u32);

impl Mark {
    /// Those up to now.
    pub fn set() -> Self {
        Self(HANDLED.try_with(Cell::get).unwrap_or_default())
    }

    /// Whether there was one since.
    pub fn is_past(self) -> bool {
        Self::set().0 != self.0
    }
}

/// Counts, and calls the program's handler as the kernel would. It must let pass what leaves that: exceptions,
/// cancellation, longjmp.
extern "C-unwind" fn counted(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    type Handler = extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void);
    let _ = HANDLED.try_with(|handled| handled.set(handled.get().wrapping_add(1)));
    let handler = place(signal).map_or(0, |place| place.load(Relaxed));
    if is_function(handler) {
        // SAFETY: the program's handler for this signal, with what the kernel passed. One that takes the number alone
        // looks at nothing else.
        unsafe { std::mem::transmute::<usize, Handler>(handler)(signal, info, context) }
    }
}

fn ours() -> sighandler_t {
    counted as *const () as sighandler_t
}

fn is_function(handler: sighandler_t) -> bool {
    !matches!(handler, SIG_DFL | SIG_IGN | SIG_ERR)
}

/// Where the program's handler for a signal is kept, if ours may stand before it.
fn place(signal: c_int) -> Option<&'static AtomicUsize> {
    let place = HANDLERS.get(usize::try_from(signal).ok()?)?;
    (WATCHED.load(Relaxed) && !FAULTS.contains(&signal)).then_some(place)
}

/// From here on handlers are counted, those that the program has set already among them.
pub fn watch() {
    if WATCHED.swap(true, Relaxed) {
        return;
    }
    for signal in 1..HANDLERS.len() as c_int {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: asks only. Signals that are not the program's to handle have no action.
        if unsafe { next::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) } != 0 {
            continue;
        }
        // SAFETY: it was filled.
        let action = unsafe { action.assume_init() };
        if is_function(action.sa_sigaction) {
            // SAFETY: the program's own action, set once more, with ours before its handler.
            unsafe { sigaction(signal, &raw const action, std::ptr::null_mut()) };
        }
    }
}

/// Sets the program's handler by `set`, which is passed what the kernel is to call and gives what it called before, or None if
/// it fails. Gives what the program had set before.
fn set_handler(
    signal: c_int,
    handler: sighandler_t,
    set: impl FnOnce(sighandler_t) -> Option<sighandler_t>,
) -> Option<sighandler_t> {
    let Some(place) = place(signal) else { return set(handler) };
    let before = place.load(Relaxed);
    // What is no function leaves the table as it is: a child between vfork and exec sets such, and shares this memory.
    let stands = is_function(handler);
    if stands && handler != ours() {
        place.store(handler, Relaxed);
    }
    let old = set(if stands { ours() } else { handler });
    if old.is_none() {
        place.store(before, Relaxed);
    }
    old.map(|old| if old == ours() { before } else { old })
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
            // SAFETY: it was filled; the caller's contract.
            unsafe { old.write(shown(signal, was.assume_init())) };
        }
        return result;
    };
    let mut result = 0;
    let before = set_handler(signal, action.sa_sigaction, |handler| {
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

/// The action as the program has set it.
fn shown(signal: c_int, mut action: libc::sigaction) -> libc::sigaction {
    if action.sa_sigaction == ours()
        && let Some(place) = place(signal)
    {
        action.sa_sigaction = place.load(Relaxed);
    }
    action
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signal(number: c_int, handler: sighandler_t) -> sighandler_t {
    if number == SIGALRM {
        timer::step_aside();
    }
    let before = set_handler(number, handler, |handler| {
        // SAFETY: the caller's contract is signal(2)'s; the handler is ours or the caller's.
        Some(unsafe { next::signal(number, handler) }).filter(|old| *old != SIG_ERR)
    });
    before.unwrap_or(SIG_ERR)
}
