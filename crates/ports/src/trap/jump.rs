//! Leaving functions without unwinding them, as exit(3) does.
//!
//! An exception that ends a task would have to pass whatever functions the task has. Rust's don't let it: where they catch
//! panics (and every thread's first one does) an exception of another copy of Rust's library ends the process. So the stack
//! is only looked through for the function to go on in, and the registers that it left to its callees are put back.
#![allow(unsafe_code, reason = "the unwinder's interface, and a jump")]

use std::ffi::{c_int, c_void};

/// Registers that belong to a function while it calls another, by their DWARF numbers.
#[cfg(target_arch = "x86_64")]
const KEPT: [c_int; 6] = [3, 6, 12, 13, 14, 15];
/// The same: x19 to x29, and d8 to d15.
#[cfg(target_arch = "aarch64")]
const KEPT: [c_int; 19] = [19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 72, 73, 74, 75, 76, 77, 78, 79];

unsafe extern "C-unwind" {
    fn _Unwind_Backtrace(look: extern "C" fn(*mut c_void, *mut c_void) -> c_int, search: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _Unwind_GetGR(context: *mut c_void, register: c_int) -> usize;
    #[link_name = "slipway_leave_to"]
    fn go(to: *const Registers) -> !;
}

/// What the function in which to go on finds in its registers, as the assembly below reads it.
#[derive(Default)]
#[repr(C)]
struct Registers {
    kept: [usize; KEPT.len()],
    stack: usize,
    at: usize,
}

struct Search {
    from: usize,
    to: usize,
    found: bool,
    registers: Registers,
}

/// Looks at one function of the stack, from the innermost on. Not 0: that is the one.
extern "C" fn look(context: *mut c_void, search: *mut c_void) -> c_int {
    // SAFETY: both are lent for this call, the search by `leave` below.
    unsafe {
        let search = &mut *search.cast::<Search>();
        let at = _Unwind_GetIP(context);
        if at <= search.from || at > search.to {
            return 0;
        }
        search.found = true;
        search.registers.kept = KEPT.map(|register| _Unwind_GetGR(context, register));
        // The frame address of the function that it called, which is its own stack pointer.
        search.registers.stack = _Unwind_GetCFA(context);
    }
    1
}

/// Goes on at `place` in the innermost function of the calling thread that made its call behind `from` and at or before
/// `to`; 0 is in the register for results. Returns if there is none.
///
/// # Safety
/// At `place` the function can go on with the stack that it had when it made the call, and nothing relies on
/// what the functions in between would have done yet.
pub unsafe fn leave(from: usize, to: usize, place: usize) {
    let mut search = Search { from, to, found: false, registers: Registers { at: place, ..Registers::default() } };
    // SAFETY: the search lasts as long as the look.
    unsafe { _Unwind_Backtrace(look, (&raw mut search).cast()) };
    if search.found {
        // SAFETY: the caller's promise.
        unsafe { go(&raw const search.registers) }
    }
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .text.slipway_leave_to,\"ax\",@progbits",
    ".p2align 4",
    ".globl slipway_leave_to",
    ".hidden slipway_leave_to",
    ".type slipway_leave_to,@function",
    "slipway_leave_to:",
    "mov rbx, [rdi]",
    "mov rbp, [rdi + 8]",
    "mov r12, [rdi + 16]",
    "mov r13, [rdi + 24]",
    "mov r14, [rdi + 32]",
    "mov r15, [rdi + 40]",
    // What is below the stack pointer may be overwritten at any time.
    "mov rcx, [rdi + 56]",
    "mov rsp, [rdi + 48]",
    "xor eax, eax",
    "jmp rcx",
    ".size slipway_leave_to, . - slipway_leave_to",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".pushsection .text.slipway_leave_to,\"ax\",@progbits",
    ".p2align 4",
    ".globl slipway_leave_to",
    ".hidden slipway_leave_to",
    ".type slipway_leave_to,@function",
    "slipway_leave_to:",
    "ldp x19, x20, [x0]",
    "ldp x21, x22, [x0, 16]",
    "ldp x23, x24, [x0, 32]",
    "ldp x25, x26, [x0, 48]",
    "ldp x27, x28, [x0, 64]",
    "ldr x29, [x0, 80]",
    "ldp d8, d9, [x0, 88]",
    "ldp d10, d11, [x0, 104]",
    "ldp d12, d13, [x0, 120]",
    "ldp d14, d15, [x0, 136]",
    // What is below the stack pointer may be overwritten at any time.
    "ldp x1, x2, [x0, 152]",
    "mov sp, x1",
    "mov x0, xzr",
    "br x2",
    ".size slipway_leave_to, . - slipway_leave_to",
    ".popsection",
);
