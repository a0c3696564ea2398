//! An X server's interval timer, set lazily.
//!
//! The server stops its scheduling timer before each wait and starts it after: two system calls for
//! each request of a client in a hurry. Here a stop is remembered, and the next tick does it; a start
//! that finds the timer still running only moves the time at which it is due. Ticks that come while
//! the timer is stopped, or early, never reach the server's handler: ours stands before it. So the
//! handler runs when it would have run, and never when it would not have. What remains visible is
//! that the first tick after a stop, at most one interval later, can interrupt a wait (EINTR) once.

use crate::{connect::is_display, real::real};
use libc::{ITIMER_REAL, SA_SIGINFO, SIGALRM, itimerval, siginfo_t, timeval};
use slipway_fabric::spin::{coarse_now, coarseness, now};
use slipway_fabric::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use slipway_transport::settings::Settings;
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

/// The kernel's timer runs, with `INTERVAL` between ticks.
static RUNNING: AtomicBool = AtomicBool::new(false);
static INTERVAL: AtomicU64 = AtomicU64::new(0);
/// When the program's timer ticks next, in nanoseconds of the monotonic clock; 0 is never.
static DUE: AtomicU64 = AtomicU64::new(0);
/// By how much a start may be later than [`coarse_now`] says: a tick comes late by that much, and never early.
static COARSENESS: LazyLock<u64> = LazyLock::new(coarseness);
/// The program's handler, and whether it takes three arguments; 0 is none.
static HANDLER: AtomicUsize = AtomicUsize::new(0);
static LONG: AtomicBool = AtomicBool::new(false);
/// Our handler stands before the program's.
static STANDING: AtomicBool = AtomicBool::new(false);

/// A tick this little early counts as in time, in nanoseconds: the kernel's own timers are not finer.
const SLACK: u64 = 50_000;

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
    if DUE.load(Relaxed) == 0 && RUNNING.swap(false, Relaxed) {
        set_kernel(&OFF);
    }
}

/// The kernel's timer ticked, or somebody sent SIGALRM.
extern "C" fn tick(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's argument; errno is the interrupted code's.
    let (code, errno) = unsafe { ((*info).si_code, *libc::__errno_location()) };
    if code == libc::SI_KERNEL {
        let due = DUE.load(Relaxed);
        let time = now();
        if due == 0 {
            settle();
        } else if time.saturating_add(SLACK) < due {
            let wait = (due - time).div_ceil(1000);
            let split =
                |us: u64| timeval { tv_sec: (us / 1_000_000) as libc::time_t, tv_usec: (us % 1_000_000) as libc::suseconds_t };
            set_kernel(&itimerval { it_interval: split(INTERVAL.load(Relaxed) / 1000), it_value: split(wait) });
        } else {
            DUE.store(time.saturating_add(INTERVAL.load(Relaxed)), Relaxed);
            call(signal, info, context);
        }
    } else {
        call(signal, info, context);
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
        DUE.store(0, Relaxed);
        return 0;
    }
    // Only a timer that ticks on can be left running, and only one whose next tick can't be late.
    if first != interval || !stand_before() {
        step_aside();
        return real();
    }
    let kept = RUNNING.load(Relaxed) && INTERVAL.load(Relaxed) == interval;
    DUE.store(coarse_now().saturating_add(*COARSENESS).saturating_add(first), Relaxed);
    if kept {
        return 0;
    }
    INTERVAL.store(interval, Relaxed);
    RUNNING.store(true, Relaxed);
    set_kernel(&value)
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
