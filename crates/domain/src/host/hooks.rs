//! What the tasks find in the program. Of the functions of the C library those that must know of tasks: `pthread_create`,
//! whose thread belongs to the task of the one that makes it, and `exit`, which ends a task. Besides, libmach's functions for
//! tasks in Rust.
#![allow(unsafe_code, reason = "functions of the C library, called in its place and in turn")]

use crate::{base, library::Library, task};
use std::{
    ffi::{c_int, c_void},
    sync::{OnceLock, mpsc},
    thread,
    time::Duration,
};

type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Start, *mut c_void) -> c_int;
type Exit = unsafe extern "C" fn(c_int) -> !;

static LIBRARY: OnceLock<&'static Library> = OnceLock::new();

/// From here on threads belong to tasks.
pub fn install(library: &'static Library) {
    let _ = LIBRARY.set(library);
}

/// Gives libmach's functions to a copy of `slipway-ports` in a task's file that asks for this version of them; null if
/// there are none. libmach's own copy asks, too.
#[unsafe(no_mangle)]
extern "C" fn slipway_domain_guest(version: u32) -> *const c_void {
    LIBRARY.get().map_or(std::ptr::null(), |library| library.guest_functions(version))
}

/// The function of the C library that one of this program stands before.
pub fn next(name: &'static [u8]) -> *mut c_void {
    // SAFETY: the name ends with a NUL. What is looked up is in the C library, which is always there.
    let at = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast()) };
    assert!(!at.is_null(), "the C library has its functions");
    at
}

/// What a new thread is to do, and for whom.
struct Beginning {
    start: Start,
    argument: *mut c_void,
    task: Option<u32>,
}

/// The task that the calling thread works for, if it is one that was loaded.
fn current() -> Option<u32> {
    let library = LIBRARY.get()?;
    Some(library.current()).filter(|task| task::is_known(*task))
}

/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    static REAL: OnceLock<Create> = OnceLock::new();
    // SAFETY: the C library's function of this name has this type.
    let real = REAL.get_or_init(|| unsafe { std::mem::transmute::<*mut c_void, Create>(next(b"pthread_create\0")) });
    let Some(task) = current() else {
        // SAFETY: the caller's promise.
        return unsafe { real(thread, attributes, start, argument) };
    };
    let beginning = Box::into_raw(Box::new(Beginning { start, argument, task: Some(task) }));
    task::add_thread(task);
    // SAFETY: the caller's promise; the beginning is the new thread's.
    let failed = unsafe { real(thread, attributes, begin, beginning.cast()) };
    if failed != 0 {
        task::remove_thread(task);
        // SAFETY: no thread has it.
        drop(unsafe { Box::from_raw(beginning) });
    }
    failed
}

/// The first function of a task's thread.
extern "C-unwind" fn begin(beginning: *mut c_void) -> *mut c_void {
    // SAFETY: it is this thread's, made in pthread_create.
    let Beginning { start, argument, task } = *unsafe { Box::from_raw(beginning.cast::<Beginning>()) };
    if let (Some(task), Some(library)) = (task, LIBRARY.get()) {
        library.enter(task);
        task::leave_at_end(task);
    }
    // Without a result the task was ended already.
    base::run(|| start(argument)).unwrap_or(std::ptr::null_mut())
}

/// Ends the task that the calling thread works for; the process, if that is none that was loaded.
#[unsafe(no_mangle)]
extern "C" fn exit(code: c_int) -> ! {
    let (Some(library), Some(task)) = (LIBRARY.get(), current()) else { end(code) };
    task::end(task, code);
    // The part of the thread that is this task's ends here, and what its functions hold stays, as with any exit: a caller
    // from another task goes on, and a thread of its own ends, when nobody can use what is on its stack any more. The
    // caller can't wait for that: the threads of this task may never end, or may wait for the caller's.
    // SAFETY: that no thread of the task uses the routine's stack is up to tasks, as docs/colocation.md says.
    unsafe { library.leave_call() };
    task::wait_until_alone(task);
    base::leave(library);
    // The stack can't be read. The file stays loaded, for the sake of this thread.
    loop {
        thread::park();
    }
}

/// How long a stream of the C library may keep a task from ending.
const PATIENCE: Duration = Duration::from_secs(1);

/// Writes out what is buffered in streams of the C library, as the end of a process does. Another thread may have a stream
/// locked for as long as it reads from it, so this is tried for a second only.
pub fn flush(library: &Library) {
    let (done, wait) = mpsc::channel();
    let flush = move || {
        // SAFETY: null stands for all streams; they have locks of their own.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        let _ = done.send(());
    };
    if task::as_host(library, || thread::Builder::new().name("slipway-flush".into()).spawn(flush)).is_ok() {
        let _ = wait.recv_timeout(PATIENCE);
    }
}

/// Ends the process.
pub fn end(code: c_int) -> ! {
    // SAFETY: the C library's function of this name has this type.
    let real = unsafe { std::mem::transmute::<*mut c_void, Exit>(next(b"exit\0")) };
    // SAFETY: as exit(3).
    unsafe { real(code) }
}
