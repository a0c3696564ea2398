//! Writing out what is buffered in streams of the C library, as the end of a process does.
#![allow(unsafe_code, reason = "streams of the C library")]

use crate::{hooks, library::Library, task};
use std::{
    ffi::{CStr, c_int, c_void},
    mem::transmute,
    sync::{Condvar, Mutex, OnceLock, PoisonError},
    thread,
    time::Duration,
};

unsafe extern "C" {
    fn ftrylockfile(stream: *mut c_void) -> c_int;
    fn funlockfile(stream: *mut c_void);
    fn fflush_unlocked(stream: *mut c_void) -> c_int;
    fn __fpending(stream: *mut c_void) -> usize;
}

/// How long streams may keep a task from ending: one whose pipe is full blocks.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the thread does that writes. There is one at most.
#[derive(PartialEq)]
enum State {
    Idle,
    Busy,
    /// It has kept a task waiting for as long as it may.
    Late,
}

static STATE: Mutex<State> = Mutex::new(State::Idle);
static DONE: Condvar = Condvar::new();

/// The C library's way through all streams: of its fflush(NULL) it waits for each one's lock, which another thread has
/// for as long as it reads from it, and nobody opens or closes a stream meanwhile.
struct Streams {
    lock: unsafe extern "C" fn(),
    unlock: unsafe extern "C" fn(),
    first: unsafe extern "C" fn() -> *mut c_void,
    end: unsafe extern "C" fn() -> *mut c_void,
    next: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    stream: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
}

impl Streams {
    /// None if this C library has no such way.
    fn find() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Streams>> = OnceLock::new();
        let look = |name: &CStr| hooks::look(name);
        let find = || {
            // SAFETY: the C library's functions of these names have these types.
            unsafe {
                Some(Self {
                    lock: transmute::<*mut c_void, unsafe extern "C" fn()>(look(c"_IO_list_lock")?),
                    unlock: transmute::<*mut c_void, unsafe extern "C" fn()>(look(c"_IO_list_unlock")?),
                    first: transmute::<*mut c_void, unsafe extern "C" fn() -> *mut c_void>(look(c"_IO_iter_begin")?),
                    end: transmute::<*mut c_void, unsafe extern "C" fn() -> *mut c_void>(look(c"_IO_iter_end")?),
                    next: transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> *mut c_void>(look(c"_IO_iter_next")?),
                    stream: transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> *mut c_void>(look(c"_IO_iter_file")?),
                })
            }
        };
        FOUND.get_or_init(find).as_ref()
    }

    /// Writes out each stream that nobody uses now.
    fn write(&self) {
        // SAFETY: with the list locked the streams stay; each is used with its own lock, which is given back.
        unsafe {
            (self.lock)();
            let (mut at, end) = ((self.first)(), (self.end)());
            while at != end {
                let stream = (self.stream)(at);
                if ftrylockfile(stream) == 0 {
                    if __fpending(stream) != 0 {
                        fflush_unlocked(stream);
                    }
                    funlockfile(stream);
                }
                at = (self.next)(at);
            }
            (self.unlock)();
        }
    }
}

/// Writes the streams out, but for those that a thread uses now, and waits for that for a second, once if it takes for ever.
pub fn flush(library: &Library) {
    let state = || STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let wait = || {
        let waited = DONE.wait_timeout_while(state(), PATIENCE, |state| *state == State::Busy);
        let (mut state, late) = waited.unwrap_or_else(PoisonError::into_inner);
        if late.timed_out() {
            *state = State::Late;
        }
        state
    };
    let Some(streams) = Streams::find() else { return };
    // One that is at work may have been where this task's streams are before the task wrote.
    let mut before = wait();
    if *before != State::Idle {
        return;
    }
    *before = State::Busy;
    drop(before);
    let run = move || {
        streams.write();
        *state() = State::Idle;
        DONE.notify_all();
    };
    match task::as_host(library, || thread::Builder::new().name("slipway-flush".into()).spawn(run)) {
        Ok(_) => drop(wait()),
        Err(_) => *state() = State::Idle,
    }
}
