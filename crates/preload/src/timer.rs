//! Hooks on an X server's interval timer, which is set lazily (`transport/lazy_timer.rs`). Ours stands before the server's handler.

use crate::{listen::is_display, real::real};
use libc::{ITIMER_REAL, SA_SIGINFO, SIGALRM, itimerval, siginfo_t, timeval};
use slipway_fabric::spin::{coarse_now, coarseness, now};
use slipway_fabric::sync::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use slipway_transport::{
    lazy_timer::{LazyTimer, Tick},
    settings::Settings,
};
use std::{
    ffi::{c_int, c_void},
    sync::LazyLock,
};

real! {
    fn setitimer(which: c_int, new: *const itimerval, old: *mut itimerval) -> c_int;
    fn getitimer(which: c_int, value: *mut itimerval) -> c_int;
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
    fn alarm(seconds: u32) -> u32;
}

static TIMER: LazyTimer = LazyTimer::new();
/// By how much a start may be later than [`coarse_now`] says: a tick comes late by that much, and never early.
static COARSENESS: LazyLock<u64> = LazyLock::new(coarseness);
/// The program's handler, and whether it takes three arguments; 0 is none.
static HANDLER: AtomicUsize = AtomicUsize::new(0);
static LONG: AtomicBool = AtomicBool::new(false);
/// Our handler stands before the program's.
static STANDING: AtomicBool = AtomicBool::new(false);

const OFF: itimerval = itimerval { it_interval: timeval { tv_sec: 0, tv_usec: 0 }, it_value: timeval { tv_sec: 0, tv_usec: 0 } };

fn nanos(time: timeval) -> u64 {
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_usec as u64 * 1000)
}

fn set_kernel(value: &itimerval) -> c_int {
    // SAFETY: a valid value, and no old one is asked for.
    unsafe { next::setitimer(ITIMER_REAL, value, std::ptr::null_mut()) }
}

/// Puts our handler before the program's. False if the program has none.
fn stand_before() -> bool {
    if STANDING.load(Relaxed) {
        return true;
    }
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: asks for the action, then sets one with our handler and the program's flags and mask.
    unsafe {
        if next::sigaction(SIGALRM, std::ptr::null(), action.as_mut_ptr()) != 0 {
            return false;
        }
        let mut action = action.assume_init();
        if matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) || action.sa_flags & libc::SA_RESETHAND != 0 {
            return false;
        }
        HANDLER.store(action.sa_sigaction, Relaxed);
        LONG.store(action.sa_flags & SA_SIGINFO != 0, Relaxed);
        action.sa_sigaction = tick as *const () as usize;
        action.sa_flags |= SA_SIGINFO;
        let done = next::sigaction(SIGALRM, &raw const action, std::ptr::null_mut()) == 0;
        STANDING.store(done, Relaxed);
        done
    }
}

/// Gives the signal back to the program's handler alone, and the timer to the kernel alone.
pub fn step_aside() {
    if !STANDING.swap(false, Relaxed) {
        return;
    }
    settle();
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: as in `stand_before`, the other way round.
    unsafe {
        if next::sigaction(SIGALRM, std::ptr::null(), action.as_mut_ptr()) == 0 {
            let mut action = action.assume_init();
            if action.sa_sigaction == tick as *const () as usize {
                action.sa_sigaction = HANDLER.load(Relaxed);
                if !LONG.load(Relaxed) {
                    action.sa_flags &= !SA_SIGINFO;
                }
                next::sigaction(SIGALRM, &raw const action, std::ptr::null_mut());
            }
        }
    }
}

/// Makes the kernel's timer what the program thinks it is, as far as it is stopped.
fn settle() {
    if TIMER.settle() {
        set_kernel(&OFF);
    }
}

/// The kernel's timer ticked, or somebody sent SIGALRM.
extern "C" fn tick(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's argument; errno is the interrupted code's.
    let (code, errno) = unsafe { ((*info).si_code, *libc::__errno_location()) };
    match if code == libc::SI_KERNEL { TIMER.tick(now()) } else { Tick::Call } {
        Tick::Nothing => {}
        Tick::Stop => _ = set_kernel(&OFF),
        Tick::Later { first, interval } => {
            let split =
                |us: u64| timeval { tv_sec: (us / 1_000_000) as libc::time_t, tv_usec: (us % 1_000_000) as libc::suseconds_t };
            set_kernel(&itimerval { it_interval: split(interval / 1000), it_value: split(first.div_ceil(1000)) });
        }
        Tick::Call => call(signal, info, context),
    }
    // SAFETY: errno of this thread.
    unsafe { *libc::__errno_location() = errno };
}

fn call(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let handler = HANDLER.load(Relaxed);
    if handler <= 1 {
        return;
    }
    // SAFETY: the program's handler, called as the kernel would call it.
    unsafe {
        if LONG.load(Relaxed) {
            std::mem::transmute::<usize, extern "C" fn(c_int, *mut siginfo_t, *mut c_void)>(handler)(signal, info, context);
        } else {
            std::mem::transmute::<usize, extern "C" fn(c_int)>(handler)(signal);
        }
    }
}

/// The program is about to become another one, which inherits the kernel's timer.
pub fn before_exec() {
    settle();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn setitimer(which: c_int, new: *const itimerval, old: *mut itimerval) -> c_int {
    // SAFETY: the caller's contract is setitimer(2)'s.
    let real = || unsafe { next::setitimer(which, new, old) };
    if which != ITIMER_REAL || new.is_null() {
        return real();
    }
    if !old.is_null() || !is_display() || !Settings::get().lazy_timer {
        step_aside();
        return real();
    }
    // SAFETY: the caller's.
    let value = unsafe { *new };
    let (first, interval) = (nanos(value.it_value), nanos(value.it_interval));
    if first == 0 {
        if !STANDING.load(Relaxed) {
            return real();
        }
        TIMER.stop();
        return 0;
    }
    if !LazyTimer::suits(first, interval) || !stand_before() {
        step_aside();
        return real();
    }
    if TIMER.start(coarse_now().saturating_add(*COARSENESS), interval) { set_kernel(&value) } else { 0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getitimer(which: c_int, value: *mut itimerval) -> c_int {
    if which == ITIMER_REAL {
        step_aside();
    }
    // SAFETY: the caller's contract is getitimer(2)'s.
    unsafe { next::getitimer(which, value) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn alarm(seconds: u32) -> u32 {
    step_aside();
    // SAFETY: no pointers.
    unsafe { next::alarm(seconds) }
}
