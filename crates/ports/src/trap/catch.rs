//! Where an exception ends that leaves a server's routine, whatever language it is of.
//!
//! The routine is called from a few instructions that have their own way of telling the unwinder what to do: an
//! exception ends there, and the call with it; an unwinding that can't be stopped (a thread's end) gives the turn
//! back and goes on.
#![allow(unsafe_code, reason = "a function in assembly, and the unwinder's interface")]

use crate::{abi::Code, state::call_entry::Routine};
use std::ffi::{c_int, c_void};

/// Calls the routine: what it returned, or `MIG_SERVER_DIED`.
///
/// # Safety
/// The routine takes these arguments, with this context.
#[inline]
pub unsafe fn run(routine: Routine, request: u32, arguments: *mut c_void, context: *mut c_void) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { caught(request, arguments, context, routine) }
}

const SEARCH: c_int = 1;
const FORCED: c_int = 8;
const HANDLER_FOUND: c_int = 6;
const INSTALL_CONTEXT: c_int = 7;
const CONTINUE: c_int = 8;
/// The register that the landing places get the exception in, by its DWARF number: rax, or x0.
const RESULT: c_int = 0;
/// The class of Rust's own exceptions, as its versions have written it.
const RUST: [u64; 2] = [u64::from_be_bytes(*b"MOZ\0RUST"), u64::from_le_bytes(*b"MOZ\0RUST")];

unsafe extern "C-unwind" {
    #[link_name = "slipway_trap_run"]
    fn caught(request: u32, arguments: *mut c_void, context: *mut c_void, routine: Routine) -> i32;
    fn slipway_trap_ends();
    fn slipway_trap_passes();
    fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: usize);
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_SetIP(context: *mut c_void, at: usize);
    fn _Unwind_DeleteException(exception: *mut u64);
}

/// What the unwinder asks when it comes to the call.
unsafe extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    exception: *mut c_void,
    context: *mut c_void,
) -> c_int {
    // An unwinding that is passed on comes from the last of the three places.
    // SAFETY: the context belongs to the unwinder that asks.
    if unsafe { _Unwind_GetIP(context) } > slipway_trap_ends as *const () as usize {
        return CONTINUE;
    }
    if actions & SEARCH != 0 {
        return if actions & FORCED != 0 { CONTINUE } else { HANDLER_FOUND };
    }
    let place: unsafe extern "C-unwind" fn() = if actions & FORCED != 0 { slipway_trap_passes } else { slipway_trap_ends };
    // SAFETY: both belong to the unwinder that asks.
    unsafe {
        _Unwind_SetGR(context, RESULT, exception.addr());
        _Unwind_SetIP(context, place as *const () as usize);
    }
    INSTALL_CONTEXT
}

/// Goes to where exceptions end, without one.
pub fn leave() {
    // SAFETY: the place is one that is come to from that call, and what the call has is given back there.
    unsafe {
        let place = slipway_trap_ends as *const () as usize;
        crate::trap::jump::leave(caught as *const () as usize, place, place);
    }
}

/// Frees an exception that ends here, if it is one. Rust's may only be freed by the copy of its library that threw it, and
/// would end the process here, so it is left.
unsafe extern "C" fn dispose(exception: *mut u64) {
    crate::trap::end::cut_short();
    // SAFETY: the unwinder's header begins with the class; an exception belongs to the place where it lands.
    unsafe {
        if !exception.is_null() && !RUST.contains(&exception.read()) {
            _Unwind_DeleteException(exception);
        }
    }
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .text.slipway_trap_run,\"ax\",@progbits",
    ".p2align 4",
    ".globl slipway_trap_run",
    ".hidden slipway_trap_run",
    ".type slipway_trap_run,@function",
    "slipway_trap_run:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, {personality}",
    "push rbx",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbx, -16",
    "call rcx",
    "pop rbx",
    ".cfi_remember_state",
    ".cfi_def_cfa_offset 8",
    "ret",
    ".cfi_restore_state",
    ".globl slipway_trap_ends",
    ".hidden slipway_trap_ends",
    "slipway_trap_ends:",
    "mov rdi, rax",
    "call {dispose}",
    "mov eax, {died}",
    "pop rbx",
    ".cfi_remember_state",
    ".cfi_def_cfa_offset 8",
    "ret",
    ".cfi_restore_state",
    ".globl slipway_trap_passes",
    ".hidden slipway_trap_passes",
    "slipway_trap_passes:",
    "mov rbx, rax",
    "call {abandon}",
    "mov rdi, rbx",
    "call {resume}",
    "ud2",
    ".cfi_endproc",
    ".size slipway_trap_run, . - slipway_trap_run",
    ".popsection",
    personality = sym personality,
    dispose = sym dispose,
    abandon = sym crate::trap::end::abandon,
    resume = sym resume,
    died = const Code::MIG_SERVER_DIED.0,
);

#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".pushsection .text.slipway_trap_run,\"ax\",@progbits",
    ".p2align 4",
    ".globl slipway_trap_run",
    ".hidden slipway_trap_run",
    ".type slipway_trap_run,@function",
    "slipway_trap_run:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, {personality}",
    "stp x29, x30, [sp, -32]!",
    ".cfi_def_cfa_offset 32",
    ".cfi_offset x29, -32",
    ".cfi_offset x30, -24",
    "str x19, [sp, 16]",
    ".cfi_offset x19, -16",
    "mov x29, sp",
    "blr x3",
    "ldp x29, x30, [sp], 32",
    ".cfi_remember_state",
    ".cfi_restore x29",
    ".cfi_restore x30",
    ".cfi_restore x19",
    ".cfi_def_cfa_offset 0",
    "ret",
    ".cfi_restore_state",
    ".globl slipway_trap_ends",
    ".hidden slipway_trap_ends",
    "slipway_trap_ends:",
    "bl {dispose}",
    "mov w0, {died}",
    "ldp x29, x30, [sp], 32",
    ".cfi_remember_state",
    ".cfi_restore x29",
    ".cfi_restore x30",
    ".cfi_restore x19",
    ".cfi_def_cfa_offset 0",
    "ret",
    ".cfi_restore_state",
    ".globl slipway_trap_passes",
    ".hidden slipway_trap_passes",
    "slipway_trap_passes:",
    "mov x19, x0",
    "bl {abandon}",
    "mov x0, x19",
    "bl {resume}",
    "brk 0",
    ".cfi_endproc",
    ".size slipway_trap_run, . - slipway_trap_run",
    ".popsection",
    personality = sym personality,
    dispose = sym dispose,
    abandon = sym crate::trap::end::abandon,
    resume = sym resume,
    died = const Code::MIG_SERVER_DIED.0,
);

/// Goes on with an unwinding.
unsafe extern "C-unwind" fn resume(exception: *mut c_void) {
    unsafe extern "C-unwind" {
        fn _Unwind_Resume(exception: *mut c_void) -> !;
    }
    // SAFETY: the exception is the one that was passed on.
    unsafe { _Unwind_Resume(exception) }
}
