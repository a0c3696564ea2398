//! Threads: what is known of them, their registers, suspending and ending them. Of another process, by their ports.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    call::{Name, Out, Return, routine},
    cthreads::pthread_exit,
    exceptions::{self, fault},
    kernel::{TimeValue, give_words, room, since_start},
    procfs::{self, Stat, microseconds},
    suspend::{self, own_number},
    tasks::{ask, memory::Mach},
};
use slipway_abi::call::{KERNEL_PORT, Special};
use slipway_ports::{abi::Code, task::Task};
use std::{ffi::c_int, time::Duration};

const EXCEPTION_PORT: c_int = Special::Exception as c_int;
const THREAD_BASIC_INFO: c_int = 1;

/// `TH_USAGE_SCALE`: the usage of a thread that always runs.
const USAGE_SCALE: u64 = 1000;

/// `SWITCH_OPTION_*`.
const SWITCH_DEPRESS: c_int = 1;
const SWITCH_WAIT: c_int = 2;

/// `thread_basic_info`.
#[derive(Clone, Copy)]
#[repr(C)]
struct ThreadBasic {
    user_time: TimeValue,
    system_time: TimeValue,
    cpu_usage: c_int,
    base_priority: c_int,
    cur_priority: c_int,
    run_state: c_int,
    flags: c_int,
    suspend_count: c_int,
    sleep_time: c_int,
    creation_time: TimeValue,
}

/// `thread_info`, of a thread of this process: the words.
pub(crate) fn info(thread: u32, flavor: c_int) -> Result<Vec<c_int>, Code> {
    let stat = Stat::of_thread(thread).ok_or(Code::INVALID_ARGUMENT)?;
    if flavor != THREAD_BASIC_INFO {
        return Err(Code::INVALID_ARGUMENT);
    }
    let age = (since_start().as_micros() as u64).saturating_sub(microseconds(stat.start)).max(1);
    let usage = microseconds(stat.user + stat.system).saturating_mul(USAGE_SCALE) / age;
    let suspend_count = suspend::count(Some(thread));
    let answer = ThreadBasic {
        user_time: TimeValue::of_ticks(stat.user),
        system_time: TimeValue::of_ticks(stat.system),
        cpu_usage: usage.min(USAGE_SCALE) as c_int,
        base_priority: stat.priority,
        cur_priority: stat.priority,
        run_state: match stat.state {
            _ if suspend_count > 0 => 2,
            'R' => 1,
            'T' | 't' => 2,
            'D' => 4,
            'Z' | 'X' => 5,
            _ => 3,
        },
        flags: 0,
        suspend_count,
        sleep_time: 0,
        creation_time: TimeValue::of_start(stat.start),
    };
    // SAFETY: a structure of whole words.
    let words = unsafe { std::slice::from_raw_parts((&raw const answer).cast::<c_int>(), size_of::<ThreadBasic>() / 4) };
    Ok(words.to_vec())
}

/// What is known of a thread.
///
/// # Safety
/// The count has a place, and `info` as many words as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thread_info(of: Name, flavor: c_int, info: *mut c_int, info_count: *mut u32) -> Return {
    routine(|| {
        // SAFETY: the caller's promise.
        let there = |there: &Mach| there.thread_info(flavor, unsafe { room(info_count) });
        let answer = ask::thread(of, |thread| self::info(thread, flavor), there)?;
        // SAFETY: the caller's promise.
        unsafe { give_words(info, info_count, &answer) }
    })
}

/// The registers of a thread that is suspended, or whose exception is being handled: `FAILURE` for another, `INVALID_ARGUMENT` for a flavor that there
/// is not.
///
/// # Safety
/// The count has a place, and the state as many words as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thread_get_state(of: Name, flavor: c_int, state: *mut u32, state_count: *mut u32) -> Return {
    routine(|| {
        // SAFETY: the caller's promise.
        let there = |there: &Mach| there.thread_get_state(flavor, unsafe { room(state_count) });
        let answer = ask::thread(of, |thread| fault::get_state(thread, flavor), there)?;
        // SAFETY: the caller's promise.
        unsafe { give_words(state, state_count, &answer) }
    })
}

/// Sets registers, as [`thread_get_state`] gives them.
///
/// # Safety
/// The state has as many words as the count says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thread_set_state(of: Name, flavor: c_int, state: *const u32, state_count: u32) -> Return {
    routine(|| {
        if state.is_null() || state_count > STATE_MAX {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: the caller's promise.
        let state: Vec<u32> = (0..state_count as usize).map(|i| unsafe { state.add(i).read_unaligned() }).collect();
        ask::thread(of, |thread| fault::set_state(thread, flavor, &state), |there| there.thread_set_state(flavor, &state))
    })
}

/// The most words of a state.
const STATE_MAX: u32 = 1024;

/// A special port of a thread, as a new reference of the caller's: the thread's own, or where its exceptions are told.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thread_get_special_port(of: Name, which_port: c_int, special_port: *mut Name) -> Return {
    routine(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Out::new(special_port)? };
        let there = |there: &Mach| there.thread_get_special_port(which_port).map(ask::name_of);
        place.set(ask::thread(of, |thread| special(thread, which_port), there)?);
        Ok(())
    })
}

/// A special port of a thread of this process, as a new reference of the calling task's.
pub(crate) fn special(thread: u32, which: c_int) -> Result<Name, Code> {
    match which {
        KERNEL_PORT => Ok(Task::current().name_of_thread(thread, procfs::start_of(thread))),
        EXCEPTION_PORT => Task::current().thread_exception_port(thread),
        _ => Err(Code::INVALID_ARGUMENT),
    }
}

/// Sets where the exceptions of a thread are told. `INVALID_ARGUMENT` for the thread's own port.
#[unsafe(no_mangle)]
pub extern "C" fn thread_set_special_port(of: Name, which_port: c_int, special_port: Name) -> Return {
    routine(|| {
        let port = ask::lent(special_port);
        let there = |there: &Mach| there.thread_set_special_port(which_port, port.as_ref());
        ask::thread(of, |thread| set_special(thread, which_port, special_port), there)
    })
}

/// As [`thread_set_special_port`], of a thread of this process.
pub(crate) fn set_special(thread: u32, which: c_int, port: Name) -> Result<(), Code> {
    if which == EXCEPTION_PORT { exceptions::set_general(thread, port) } else { Err(Code::INVALID_ARGUMENT) }
}

/// Has a thread not run until it is resumed as often. `KERN_FAILURE` for one that takes no signals, and for the library's own.
#[unsafe(no_mangle)]
pub extern "C" fn thread_suspend(of: Name) -> Return {
    routine(|| ask::thread(of, suspend::suspend_thread, |there| there.thread_suspend()))
}

/// Takes one `thread_suspend` back; `KERN_FAILURE` if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn thread_resume(of: Name) -> Return {
    routine(|| ask::thread(of, suspend::resume_thread, |there| there.thread_resume()))
}

/// Ends a thread's wait, if it is one that signals end.
#[unsafe(no_mangle)]
pub extern "C" fn thread_abort(of: Name) -> Return {
    routine(|| ask::thread(of, suspend::abort_thread, |there| there.thread_abort()))
}

/// Ends the calling thread, as `pthread_exit` does; another is not ended: `KERN_FAILURE`. In a routine that the library called (the
/// demultiplexer of `mach_msg_server`) it unwinds the library's frame, too, as `cthread_exit` does.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn thread_terminate(of: Name) -> Return {
    let mut ends = false;
    let here = |thread| {
        ends = thread == own_number();
        if ends { Ok(()) } else { Err(Code::FAILURE) }
    };
    let code = routine(|| ask::thread(of, here, |there| there.thread_terminate()));
    // Whatever another process has answered.
    if ends {
        // SAFETY: this call's frame has nothing left to be dropped, and those of the library's functions that call the program's unwind.
        unsafe { pthread_exit(std::ptr::null_mut()) };
    }
    code
}

/// Lets other threads run, or waits for so many milliseconds. Which thread is next is the system's choice.
#[unsafe(no_mangle)]
pub extern "C" fn thread_switch(_new_thread: Name, option: c_int, time: u32) -> Return {
    match option {
        0 | SWITCH_DEPRESS => std::thread::yield_now(),
        #[allow(clippy::disallowed_methods, reason = "the program asks for a time, and for no event")]
        SWITCH_WAIT => std::thread::sleep(Duration::from_millis(time.into())),
        _ => return Code::INVALID_ARGUMENT.0,
    }
    0
}
