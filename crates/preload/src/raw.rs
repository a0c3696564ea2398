//! The hook on syscall(2), by which libuv closes descriptors and makes rings of io_uring, and libseccomp filters system calls.
//!
//! All other calls go on as they are, with the caller's stack and registers: some return twice, or on another stack.

use crate::{
    descriptor::close_program,
    filter::before_seccomp,
    real::{Next, shield},
    room::{leave_all, made},
};
use slipway_fabric::sync::{AtomicUsize, Ordering::Relaxed};
use std::{
    arch::naked_asm,
    ffi::{c_int, c_long},
};

/// The address of the real function; 0: it was not looked up.
static REAL: AtomicUsize = AtomicUsize::new(0);

extern "C" fn find() -> usize {
    static NEXT: Next = Next::new();
    let address = NEXT.address(c"syscall");
    REAL.store(address, Relaxed);
    address
}

/// The program goes on by a ring, in which it may register what no hook sees.
unsafe extern "C" fn make_uring(entries: c_long, parameters: c_long) -> c_long {
    type Function = unsafe extern "C" fn(c_long, c_long, c_long) -> c_long;
    // SAFETY: syscall(2), with the arguments that this call has.
    let call = || unsafe { std::mem::transmute::<usize, Function>(find())(libc::SYS_io_uring_setup, entries, parameters) };
    let ring = made(|| call() as c_int);
    // Nothing goes by it before this returns; where the kernel has none, the program goes on otherwise.
    if ring >= 0 {
        shield(leave_all, || {});
    }
    ring.into()
}

/// The program is about to filter its system calls, or asks about that.
unsafe extern "C" fn filter_calls(operation: c_long, flags: c_long, filter: c_long) -> c_long {
    type Function = unsafe extern "C" fn(c_long, c_long, c_long, c_long) -> c_long;
    before_seccomp(operation, filter);
    // SAFETY: syscall(2), with the arguments that this call has.
    unsafe { std::mem::transmute::<usize, Function>(find())(libc::SYS_seccomp, operation, flags, filter) }
}

/// The body of the hook, of these instructions.
macro_rules! hooked {
    ($($instruction:literal,)*) => {
        naked_asm!(
            $($instruction,)*
            close_number = const libc::SYS_close,
            uring_number = const libc::SYS_io_uring_setup,
            seccomp_number = const libc::SYS_seccomp,
            real = sym REAL,
            close = sym close_by_number,
            make_uring = sym make_uring,
            filter_calls = sym filter_calls,
            find = sym find,
        )
    };
}

#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall() {
    hooked!(
        "cmp rdi, {close_number}",
        "je 2f",
        "cmp rdi, {uring_number}",
        "je 3f",
        "cmp rdi, {seccomp_number}",
        "je 5f",
        "mov rax, qword ptr [rip + {real}]",
        "test rax, rax",
        "jz 4f",
        "jmp rax",
        "2: mov rdi, rsi",
        "jmp {close}",
        "3: mov rdi, rsi",
        "mov rsi, rdx",
        "jmp {make_uring}",
        "5: mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "jmp {filter_calls}",
        "4: push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "sub rsp, 8",
        "call {find}",
        "add rsp, 8",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp rax",
    )
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall() {
    hooked!(
        "cmp x0, #{close_number}",
        "b.eq 2f",
        "cmp x0, #{uring_number}",
        "b.eq 3f",
        "cmp x0, #{seccomp_number}",
        "b.eq 5f",
        "adrp x16, {real}",
        "ldr x16, [x16, :lo12:{real}]",
        "cbz x16, 4f",
        "br x16",
        "2: mov x0, x1",
        "b {close}",
        "3: mov x0, x1",
        "mov x1, x2",
        "b {make_uring}",
        "5: mov x0, x1",
        "mov x1, x2",
        "mov x2, x3",
        "b {filter_calls}",
        "4: stp x29, x30, [sp, #-80]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "str x6, [sp, #64]",
        "bl {find}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldr x6, [sp, #64]",
        "ldp x29, x30, [sp], #80",
        "br x16",
    )
}

/// close(2), whose result is as wide as that of syscall(2).
extern "C" fn close_by_number(fd: c_int) -> c_long {
    close_program(fd).into()
}
