//! Where a task's part of a thread begins, and where it ends when the task calls `exit`.
#![allow(unsafe_code, reason = "a function in assembly")]

use crate::library::Library;
use std::{
    ffi::{c_int, c_void},
    mem::MaybeUninit,
};

unsafe extern "C-unwind" {
    fn slipway_task_run(argument: *mut c_void, part: unsafe extern "C-unwind" fn(*mut c_void));
    fn slipway_task_left();
    fn _Unwind_Backtrace(look: extern "C" fn(*mut c_void, *mut c_void) -> c_int, search: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .text.slipway_task_run,\"ax\",@progbits",
    ".p2align 4",
    ".globl slipway_task_run",
    ".hidden slipway_task_run",
    ".type slipway_task_run,@function",
    "slipway_task_run:",
    ".cfi_startproc",
    "push rbx",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbx, -16",
    "call rsi",
    ".globl slipway_task_left",
    ".hidden slipway_task_left",
    "slipway_task_left:",
    "pop rbx",
    ".cfi_def_cfa_offset 8",
    "ret",
    ".cfi_endproc",
    ".size slipway_task_run, . - slipway_task_run",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".pushsection .text.slipway_task_run,\"ax\",@progbits",
    ".p2align 4",
    ".globl slipway_task_run",
    ".hidden slipway_task_run",
    ".type slipway_task_run,@function",
    "slipway_task_run:",
    ".cfi_startproc",
    "stp x29, x30, [sp, -16]!",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset x29, -16",
    ".cfi_offset x30, -8",
    "mov x29, sp",
    "blr x1",
    ".globl slipway_task_left",
    ".hidden slipway_task_left",
    "slipway_task_left:",
    "ldp x29, x30, [sp], 16",
    ".cfi_restore x29",
    ".cfi_restore x30",
    ".cfi_def_cfa_offset 0",
    "ret",
    ".cfi_endproc",
    ".size slipway_task_run, . - slipway_task_run",
    ".popsection",
);

/// Runs a part of a task: what it gave; None if it was [left](leave). An exception passes through.
pub fn run<T>(part: impl FnOnce() -> T) -> Option<T> {
    struct Part<F, T> {
        run: Option<F>,
        result: Option<T>,
    }
    /// # Safety
    /// The argument is a part of this type.
    unsafe extern "C-unwind" fn call<F: FnOnce() -> T, T>(argument: *mut c_void) {
        let argument = argument.cast::<Part<F, T>>();
        // SAFETY: the caller's promise; only this function uses it meanwhile.
        unsafe {
            let run = (*argument).run.take();
            let result = run.map(|run| run());
            (*argument).result = result;
        }
    }
    fn of<F: FnOnce() -> T, T>(_: &Part<F, T>) -> unsafe extern "C-unwind" fn(*mut c_void) {
        call::<F, T>
    }
    let mut part = Part { run: Some(part), result: None };
    let call = of(&part);
    // SAFETY: the function is the one for the argument.
    unsafe { slipway_task_run((&raw mut part).cast(), call) };
    part.result
}

/// Goes to the end of the task's part that the calling thread is in. Returns if it is not to be found.
pub fn leave(library: &Library) {
    let (from, to) = (slipway_task_run as *const () as usize, slipway_task_left as *const () as usize);
    // SAFETY: that is where the part comes back to. What the task's functions would still have done is given up, as with any exit.
    unsafe { library.leave(from, to, to) };
}

/// Where an object that is loaded is looked for on the stack, and where it was found.
struct Search {
    object: usize,
    found: Option<usize>,
}

/// Looks at one function of the stack, from the innermost on. Not 0: that is the one.
extern "C" fn look(context: *mut c_void, search: *mut c_void) -> c_int {
    let mut object = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: both are lent for this call, the search by `leave_to_object`; the object's place is read if it was written.
    unsafe {
        let search = &mut *search.cast::<Search>();
        let at = _Unwind_GetIP(context);
        let known = libc::dladdr(std::ptr::without_provenance(at), object.as_mut_ptr()) != 0;
        if known && object.assume_init().dli_fbase.addr() == search.object {
            search.found = Some(at);
        }
        search.found.is_some().into()
    }
}

/// Goes on in the innermost function of the calling thread that is in the object loaded at this address, as if what it called
/// had returned. Returns if there is none.
pub fn leave_to_object(library: &Library, object: usize) {
    let mut search = Search { object, found: None };
    // SAFETY: the search lasts as long as the look.
    unsafe { _Unwind_Backtrace(look, (&raw mut search).cast()) };
    if let Some(at) = search.found {
        // SAFETY: there the call comes back to. What the functions in between would still have done is given up.
        unsafe { library.leave(at - 1, at, at) };
    }
}
