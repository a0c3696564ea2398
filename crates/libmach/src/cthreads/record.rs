//! What is known of one thread.
//!
//! Who frees a record: [`join`]; the thread itself at its end, when it was detached or not made here; or
//! [`detach`], when the thread has ended before.

#![allow(unsafe_code, reason = "POSIX threads, and records that C holds by pointer")]

use super::{Function, count};
use libc::{c_char, c_void, pthread_t};
use std::{
    cell::Cell,
    ffi::CStr,
    mem::MaybeUninit,
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What `cthread_t` points to.
#[derive(Debug)]
pub struct Record {
    function: Option<Function>,
    argument: *mut c_void,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The POSIX thread, once it is known.
    thread: Option<pthread_t>,
    /// Nobody will join it.
    detached: bool,
    /// It runs no more of the program's code.
    ended: bool,
    data: *mut c_void,
    name: *const c_char,
}

impl Record {
    fn new(function: Option<Function>, argument: *mut c_void, thread: Option<pthread_t>) -> *mut Self {
        let state = State { thread, detached: function.is_none(), ended: false, data: ptr::null_mut(), name: c"".as_ptr() };
        Box::into_raw(Box::new(Self { function, argument, state: Mutex::new(state) }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program's word.
    pub fn data(&self) -> *mut c_void {
        self.state().data
    }

    /// Sets the program's word.
    pub fn set_data(&self, data: *mut c_void) {
        self.state().data = data;
    }

    /// The name.
    pub fn name(&self) -> *const c_char {
        self.state().name
    }

    /// Sets the name.
    ///
    /// # Safety
    /// `name` is null or a string that lasts as long as the thread.
    pub unsafe fn set_name(&self, name: *const c_char) {
        let name = if name.is_null() { c"".as_ptr() } else { name };
        let mut state = self.state();
        state.name = name;
        let Some(thread) = state.thread.filter(|_| !state.ended) else { return };
        // The system takes 15 bytes and refuses more.
        let mut short = [0; 16];
        // SAFETY: the caller's promise.
        let name = unsafe { CStr::from_ptr(name) };
        for (to, from) in short[..15].iter_mut().zip(name.to_bytes()) {
            *to = *from as c_char;
        }
        // SAFETY: the thread has not ended, since it would have to lock the state for that.
        unsafe { libc::pthread_setname_np(thread, short.as_ptr()) };
    }
}

/// The calling thread's record, and its end.
struct Current(Cell<*mut Record>);

thread_local! {
    static CURRENT: Current = const { Current(Cell::new(ptr::null_mut())) };
}

impl Drop for Current {
    fn drop(&mut self) {
        let record = self.0.get();
        // SAFETY: a thread's record is there until its end, which is here.
        let Some(it) = (unsafe { record.as_ref() }) else { return };
        let forked = it.function.is_some();
        let mut state = it.state();
        state.ended = true;
        let detached = state.detached;
        drop(state);
        if detached {
            // SAFETY: nobody will join it, and its own thread is at its end.
            drop(unsafe { Box::from_raw(record) });
        }
        if forked {
            count::remove();
        }
    }
}

/// The calling thread's record, made on first use. Null while the thread is being taken down.
pub(super) fn current() -> *mut Record {
    let found = CURRENT.try_with(|current| {
        if current.0.get().is_null() {
            // SAFETY: it has no preconditions.
            let thread = unsafe { libc::pthread_self() };
            current.0.set(Record::new(None, ptr::null_mut(), Some(thread)));
        }
        current.0.get()
    });
    found.unwrap_or(ptr::null_mut())
}

/// Whether the caller is the thread that the process began with.
pub(super) fn on_first_thread() -> bool {
    // SAFETY: they have no preconditions.
    unsafe { libc::gettid() == libc::getpid() }
}

/// Starts a thread; null when the system allows no more.
pub(super) fn start(function: Function, argument: *mut c_void) -> *mut Record {
    let record = Record::new(Some(function), argument, None);
    count::add();
    // SAFETY: the record was just made; it lives until the thread was joined or has ended.
    let it = unsafe { &*record };
    // Held until the thread is known: the new thread's first step waits for it.
    let mut state = it.state();
    let mut thread = MaybeUninit::uninit();
    let run: extern "C-unwind" fn(*mut c_void) -> *mut c_void = run;
    // SAFETY: the two types differ in whether unwinding may leave the function, which POSIX's does at pthread_exit.
    let run = unsafe {
        std::mem::transmute::<extern "C-unwind" fn(*mut c_void) -> *mut c_void, extern "C" fn(*mut c_void) -> *mut c_void>(run)
    };
    // SAFETY: the attributes are the defaults, and `run` gets the record that it expects.
    let failed = unsafe { libc::pthread_create(thread.as_mut_ptr(), ptr::null(), run, record.cast()) } != 0;
    if failed {
        drop(state);
        count::remove();
        // SAFETY: no thread has it.
        drop(unsafe { Box::from_raw(record) });
        return ptr::null_mut();
    }
    // SAFETY: pthread_create has succeeded and set it.
    state.thread = Some(unsafe { thread.assume_init() });
    record
}

/// The first function of a thread.
extern "C-unwind" fn run(record: *mut c_void) -> *mut c_void {
    let record: *mut Record = record.cast();
    // SAFETY: the record that `start` made for this thread. The function is the program's, which answers for it.
    unsafe {
        let it = &*record;
        drop(it.state());
        CURRENT.with(|current| current.0.set(record));
        let Some(function) = it.function else { return ptr::null_mut() };
        function(it.argument)
    }
}

/// Waits for the end of a thread and frees its record.
///
/// # Safety
/// The record is of a forked thread that was neither joined nor detached.
pub(super) unsafe fn join(record: *mut Record) -> *mut c_void {
    // SAFETY: the caller's promise.
    let Some(thread) = unsafe { &*record }.state().thread else { return ptr::null_mut() };
    let mut result = ptr::null_mut();
    // SAFETY: the thread is there until somebody joins it, which only this call does.
    if unsafe { libc::pthread_join(thread, &mut result) } != 0 {
        // A thread that joins itself.
        return ptr::null_mut();
    }
    // SAFETY: the thread has ended, and the caller gives the record up.
    drop(unsafe { Box::from_raw(record) });
    result
}

/// Lets a thread's record go with the thread.
///
/// # Safety
/// The record is of a forked thread that was neither joined nor detached.
pub(super) unsafe fn detach(record: *mut Record) {
    // SAFETY: the caller's promise.
    let mut state = unsafe { &*record }.state();
    if let Some(thread) = state.thread {
        // SAFETY: nobody has joined or detached the thread.
        unsafe { libc::pthread_detach(thread) };
    }
    state.detached = true;
    let ended = state.ended;
    drop(state);
    if ended {
        // SAFETY: the thread has left the record, and the caller gives it up.
        drop(unsafe { Box::from_raw(record) });
    }
}
