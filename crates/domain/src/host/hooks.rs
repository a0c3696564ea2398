//! What the tasks find in the program. Of the functions of the C library those that must know of tasks: `pthread_create`,
//! whose thread belongs to the task of the one that makes it, and `exit`, which ends a task.
#![allow(unsafe_code, reason = "functions of the C library, called in its place and in turn")]

use crate::{base, fork, library::Library, load, task};
use std::{
    ffi::{CStr, c_int, c_void},
    sync::OnceLock,
    thread,
};

/// A thread's first function.
pub type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Start, *mut c_void) -> c_int;
type Exit = unsafe extern "C" fn(c_int) -> !;

static LIBRARY: OnceLock<&'static Library> = OnceLock::new();

/// From here on threads belong to tasks.
pub fn install(library: &'static Library) {
    let _ = LIBRARY.set(library);
    fork::install();
}

/// The function of the C library that one of this program stands before.
pub fn next(name: &CStr) -> *mut c_void {
    // SAFETY: it is a string. What is looked up is in the C library, which is always there.
    let at = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    assert!(!at.is_null(), "the C library has its functions");
    at
}

/// What a new thread is to do, and for which task.
struct Beginning {
    start: Start,
    argument: *mut c_void,
    task: u32,
}

/// The task that the calling thread works for, if it is one that was loaded.
fn current() -> Option<u32> {
    let library = LIBRARY.get().filter(|_| !fork::is_child())?;
    Some(library.current()).filter(|task| task::is_known(*task))
}

/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match current() {
            Some(task) => create(task, thread, attributes, start, argument),
            None => real_create()(thread, attributes, start, argument),
        }
    }
}

fn real_create() -> Create {
    static REAL: OnceLock<Create> = OnceLock::new();
    // SAFETY: the C library's function of this name has this type.
    *REAL.get_or_init(|| unsafe { std::mem::transmute::<*mut c_void, Create>(next(c"pthread_create")) })
}

/// As `pthread_create`, for a thread of the task's.
///
/// # Safety
/// As for the C library's.
pub unsafe fn create(
    task: u32,
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let beginning = Box::into_raw(Box::new(Beginning { start, argument, task }));
    task::add_thread(task);
    // SAFETY: the caller's promise; the beginning is the new thread's.
    let failed = unsafe { real_create()(thread, attributes, begin, beginning.cast()) };
    if failed != 0 {
        task::remove_thread(task);
        // SAFETY: no thread has it.
        drop(unsafe { Box::from_raw(beginning) });
    }
    failed
}

/// The first function of a task's thread. It has nothing to drop: the thread may be unwound as a whole.
extern "C-unwind" fn begin(beginning: *mut c_void) -> *mut c_void {
    // SAFETY: it is this thread's, made in `create`.
    let Beginning { start, argument, task } = *unsafe { Box::from_raw(beginning.cast::<Beginning>()) };
    if let Some(library) = LIBRARY.get() {
        library.enter(task);
        task::leave_at_end(task);
    }
    // Without a result the task was ended already.
    base::run(|| start(argument)).unwrap_or(std::ptr::null_mut())
}

/// C11's threads are not tasks': the C library would make one that no task has. `thrd_error`.
#[unsafe(no_mangle)]
extern "C" fn thrd_create() -> c_int {
    2
}

/// C11's values of threads would be ended by functions of files that are gone. `thrd_error`.
#[unsafe(no_mangle)]
extern "C" fn tss_create() -> c_int {
    2
}

/// Ends the task that the calling thread works for; the process, if that is none that was loaded.
#[unsafe(no_mangle)]
pub extern "C" fn exit(code: c_int) -> ! {
    let Some(library) = LIBRARY.get().filter(|_| !fork::is_child()) else { end(code) };
    if let Some(task) = load::at_work() {
        task::end(task, code);
        load::leave_function(library);
        // The loader can't be left in the midst of its work otherwise.
        end(code);
    }
    let Some(task) = current() else { end(code) };
    task::end(task, code);
    // The thread leaves this task's code here. As with any exit, nothing that its functions hold is released. A caller
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

/// Ends the process.
pub fn end(code: c_int) -> ! {
    // SAFETY: the C library's function of this name has this type.
    let real = unsafe { std::mem::transmute::<*mut c_void, Exit>(next(c"exit")) };
    // SAFETY: as exit(3).
    unsafe { real(code) }
}
