//! `err`, `error` and their kin: messages after which the C library would end the process by an `exit` of its own. What they
//! print the C library prints here, too; a task's end is the host's.
#![allow(unsafe_code, reason = "functions of the C library, called in its place and in turn")]

use crate::hooks::{exit, next};
use std::{
    ffi::{c_char, c_int, c_uint, c_void},
    mem::transmute,
    ptr::null_mut,
};

/// A `va_list`, as functions are passed one by both processors' rules: by address.
type Arguments = *mut c_void;

unsafe extern "C" {
    fn vwarn(format: *const c_char, arguments: Arguments);
    fn vwarnx(format: *const c_char, arguments: Arguments);
    fn vasprintf(text: *mut *mut c_char, format: *const c_char, arguments: Arguments) -> c_int;
}

/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn verr(code: c_int, format: *const c_char, arguments: Arguments) -> ! {
    // SAFETY: the caller's promise.
    unsafe { vwarn(format, arguments) };
    exit(code)
}

/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn verrx(code: c_int, format: *const c_char, arguments: Arguments) -> ! {
    // SAFETY: the caller's promise.
    unsafe { vwarnx(format, arguments) };
    exit(code)
}

/// Formats a message, and has it printed by a function that takes it as an argument.
///
/// # Safety
/// The arguments are those for the format.
unsafe fn formatted(format: *const c_char, arguments: Arguments, print: impl FnOnce(*const c_char)) {
    let mut text = null_mut();
    // SAFETY: the caller's promise. The text is freed if there is one.
    unsafe {
        if vasprintf(&raw mut text, format, arguments) < 0 {
            // Without memory the bare message is better than none.
            return print(format);
        }
        print(text);
        libc::free(text.cast());
    }
}

/// `error`, with its arguments as a list.
///
/// # Safety
/// As for the C library's.
unsafe extern "C" fn error_by_list(code: c_int, number: c_int, format: *const c_char, arguments: Arguments) {
    type Error = unsafe extern "C" fn(c_int, c_int, *const c_char, ...);
    // SAFETY: the C library's function of this name has this type; the rest is the caller's promise.
    unsafe {
        let real = transmute::<*mut c_void, Error>(next(c"error"));
        formatted(format, arguments, |text| real(0, number, c"%s".as_ptr(), text));
    }
    if code != 0 {
        exit(code);
    }
}

/// `error_at_line`, with its arguments as a list.
///
/// # Safety
/// As for the C library's.
unsafe extern "C" fn error_at_line_by_list(
    code: c_int,
    number: c_int,
    file: *const c_char,
    line: c_uint,
    format: *const c_char,
    arguments: Arguments,
) {
    type Error = unsafe extern "C" fn(c_int, c_int, *const c_char, c_uint, *const c_char, ...);
    // SAFETY: the C library's function of this name has this type; the rest is the caller's promise.
    unsafe {
        let real = transmute::<*mut c_void, Error>(next(c"error_at_line"));
        formatted(format, arguments, |text| real(0, number, file, line, c"%s".as_ptr(), text));
    }
    if code != 0 {
        exit(code);
    }
}

/// A function with any number of arguments, which Rust can't have: it makes a list of them, as the processor's rules have it, and
/// passes that on behind the arguments that have names. `$named` is their size in registers, `$list` the register behind them.
#[cfg(target_arch = "x86_64")]
macro_rules! variadic {
    ($name:literal, $named:literal, $list:literal, $target:path) => {
        std::arch::global_asm!(
            concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
            ".p2align 4",
            concat!(".globl ", $name),
            concat!(".type ", $name, ",@function"),
            concat!($name, ":"),
            ".cfi_startproc",
            "sub rsp, 216",
            ".cfi_adjust_cfa_offset 216",
            // From 32 on what came in registers, from 0 on the list.
            "mov [rsp + 32], rdi",
            "mov [rsp + 40], rsi",
            "mov [rsp + 48], rdx",
            "mov [rsp + 56], rcx",
            "mov [rsp + 64], r8",
            "mov [rsp + 72], r9",
            "test al, al",
            "je 2f",
            "movaps [rsp + 80], xmm0",
            "movaps [rsp + 96], xmm1",
            "movaps [rsp + 112], xmm2",
            "movaps [rsp + 128], xmm3",
            "movaps [rsp + 144], xmm4",
            "movaps [rsp + 160], xmm5",
            "movaps [rsp + 176], xmm6",
            "movaps [rsp + 192], xmm7",
            "2:",
            concat!("mov dword ptr [rsp], ", $named),
            "mov dword ptr [rsp + 4], 48",
            "lea rax, [rsp + 224]",
            "mov [rsp + 8], rax",
            "lea rax, [rsp + 32]",
            "mov [rsp + 16], rax",
            concat!("mov ", $list, ", rsp"),
            "call {target}",
            "add rsp, 216",
            ".cfi_adjust_cfa_offset -216",
            "ret",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            ".popsection",
            target = sym $target,
        );
    };
}

/// As above.
#[cfg(target_arch = "aarch64")]
macro_rules! variadic {
    ($name:literal, $named:literal, $list:literal, $target:path) => {
        std::arch::global_asm!(
            concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
            ".p2align 4",
            concat!(".globl ", $name),
            concat!(".type ", $name, ",@function"),
            concat!($name, ":"),
            ".cfi_startproc",
            "stp x29, x30, [sp, -240]!",
            ".cfi_def_cfa_offset 240",
            ".cfi_offset x29, -240",
            ".cfi_offset x30, -232",
            "mov x29, sp",
            // From 48 on what came in registers, from 16 on the list.
            "stp x0, x1, [sp, 48]",
            "stp x2, x3, [sp, 64]",
            "stp x4, x5, [sp, 80]",
            "stp x6, x7, [sp, 96]",
            "stp q0, q1, [sp, 112]",
            "stp q2, q3, [sp, 144]",
            "stp q4, q5, [sp, 176]",
            "stp q6, q7, [sp, 208]",
            "add x9, sp, 240",
            "add x10, sp, 112",
            "stp x9, x10, [sp, 16]",
            "str x9, [sp, 32]",
            concat!("mov w10, ", $named, " - 64"),
            "mov w11, -128",
            "stp w10, w11, [sp, 40]",
            concat!("add ", $list, ", sp, 16"),
            "bl {target}",
            "ldp x29, x30, [sp], 240",
            ".cfi_restore x29",
            ".cfi_restore x30",
            ".cfi_def_cfa_offset 0",
            "ret",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            ".popsection",
            target = sym $target,
        );
    };
}

#[cfg(target_arch = "x86_64")]
mod functions {
    use super::*;
    variadic!("err", "16", "rdx", verr);
    variadic!("errx", "16", "rdx", verrx);
    variadic!("error", "24", "rcx", error_by_list);
    variadic!("error_at_line", "40", "r9", error_at_line_by_list);
}
#[cfg(target_arch = "aarch64")]
mod functions {
    use super::*;
    variadic!("err", "16", "x2", verr);
    variadic!("errx", "16", "x2", verrx);
    variadic!("error", "24", "x3", error_by_list);
    variadic!("error_at_line", "40", "x5", error_at_line_by_list);
}
