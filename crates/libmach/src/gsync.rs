//! `gsync_*`: sleeping on a word of memory, as GNU Mach has it.
#![allow(unsafe_code, reason = "functions that C calls, with addresses that C passes")]

use crate::{
    call::{Name, Return, routine, task},
    memory,
};
use slipway_ports::{FutexWord, Ordering, Slept, abi::Code};
use std::{ffi::c_int, io};

const SHARED: c_int = 1;
const TIMED: c_int = 4;
const BROADCAST: c_int = 8;
const MUTATE: c_int = 16;

/// The word at an address, to be read or to be written: `INVALID_ADDRESS` if none can be there.
///
/// # Safety
/// It stays there while the result is used.
unsafe fn word<'a>(address: usize, write: bool) -> Result<&'a FutexWord, Code> {
    if !address.is_multiple_of(align_of::<u32>()) {
        return Err(Code::INVALID_ADDRESS);
    }
    memory::check(address, size_of::<u32>(), write).map_err(|_| Code::INVALID_ADDRESS)?;
    // SAFETY: it is aligned, and was found to be there; the rest is the caller's promise.
    Ok(unsafe { FutexWord::at(address) })
}

/// `INVALID_ARGUMENT` for a flag that is not among `known`. That of two words (`GSYNC_QUAD`) is in none.
fn check(flags: c_int, known: c_int) -> Result<(), Code> {
    if flags & !known == 0 { Ok(()) } else { Err(Code::INVALID_ARGUMENT) }
}

/// The outcome of a call that acted on so many sleepers: `INVALID_ARGUMENT` if there were none.
fn any(sleepers: io::Result<usize>) -> Result<(), Code> {
    match sleepers {
        Ok(0) => Err(Code::INVALID_ARGUMENT),
        Ok(_) => Ok(()),
        Err(_) => Err(Code::INVALID_ADDRESS),
    }
}

/// How many sleepers a call is for.
fn most(flags: c_int) -> u32 {
    if flags & BROADCAST != 0 { u32::MAX } else { 1 }
}

/// Sleeps while the word has the value, until it is woken, for at most so many milliseconds with `GSYNC_TIMED`.
///
/// # Safety
/// The word stays there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsync_wait(of: Name, address: usize, value: u32, _second: u32, msec: u32, flags: c_int) -> Return {
    routine(|| {
        task(of)?;
        check(flags, SHARED | TIMED)?;
        let timeout = (flags & TIMED != 0).then_some(u64::from(msec) * 1_000_000);
        // SAFETY: the caller's promise.
        match unsafe { word(address, false)? }.sleep(value, timeout, flags & SHARED != 0) {
            Slept::Woken => Ok(()),
            Slept::Changed => Err(Code::INVALID_ARGUMENT),
            Slept::TimedOut => Err(Code::TIMEDOUT),
            Slept::Interrupted => Err(Code::INTERRUPTED),
            Slept::Gone => Err(Code::INVALID_ADDRESS),
        }
    })
}

/// Wakes one sleeper, or with `GSYNC_BROADCAST` all; with `GSYNC_MUTATE` it sets the word first. `KERN_INVALID_ARGUMENT` if nobody sleeps.
///
/// # Safety
/// The word stays there; with `GSYNC_MUTATE` it may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsync_wake(of: Name, address: usize, value: u32, flags: c_int) -> Return {
    routine(|| {
        task(of)?;
        check(flags, SHARED | BROADCAST | MUTATE)?;
        // SAFETY: the caller's promise.
        let word = unsafe { word(address, flags & MUTATE != 0)? };
        if flags & MUTATE != 0 {
            word.store(value, Ordering::SeqCst);
        }
        any(word.wake(most(flags), flags & SHARED != 0))
    })
}

/// Has one sleeper of a word, or with `GSYNC_BROADCAST` all, sleep on another; with `wake_one` one is woken before. `KERN_INVALID_ARGUMENT` if
/// nobody sleeps.
///
/// # Safety
/// Both words stay there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsync_requeue(of: Name, source: usize, destination: usize, wake_one: c_int, flags: c_int) -> Return {
    routine(|| {
        task(of)?;
        check(flags, SHARED | BROADCAST)?;
        // SAFETY: the caller's promise, for both.
        let (from, to) = unsafe { (word(source, false)?, word(destination, false)?) };
        any(from.requeue(u32::from(wake_one != 0), most(flags), to, flags & SHARED != 0))
    })
}
