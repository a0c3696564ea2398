//! The program that is run in place of a script which the kernel could not run itself: it asks the server what to run, with which
//! arguments, and runs that.
//!
//! A script's interpreter is found by the kernel, on the host; and it is told the script's name as the kernel was. Where the tree that the command sees
//! has either elsewhere, this stub's own call of execve names the interpreter, with the arguments that the kernel would have made.
#![allow(unsafe_code, reason = "the stub's code is in assembly")]

/// The descriptor of a readlinkat that asks for the arguments: none has this number.
pub(crate) const MAGIC: i32 = -4242;

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .rodata",
    ".balign 16",
    ".global slipway_unix_stub",
    ".hidden slipway_unix_stub",
    ".global slipway_unix_stub_end",
    ".hidden slipway_unix_stub_end",
    "slipway_unix_stub:",
    "mov r15, rsp",
    // Room for the strings, and for the arguments with three more.
    "mov rax, [rsp]",
    "lea r14, [rax*8 + 16384]",
    "xor edi, edi",
    "mov rsi, r14",
    "mov edx, 3",
    "mov r10d, 0x22",
    "mov r8, -1",
    "xor r9d, r9d",
    "mov eax, 9",
    "syscall",
    "cmp rax, -4096",
    "ja 2f",
    "mov r13, rax",
    "mov edi, -4242",
    "xor esi, esi",
    "mov rdx, r13",
    "mov r10, r14",
    "mov r8, r15",
    "mov eax, 267",
    "syscall",
    "test rax, rax",
    "js 2f",
    "mov rdi, r13",
    "lea rsi, [r13 + rax]",
    "mov rax, [r15]",
    "lea rdx, [r15 + rax*8 + 16]",
    "mov eax, 59",
    "syscall",
    "2: mov edi, 126",
    "mov eax, 231",
    "syscall",
    "slipway_unix_stub_end:",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".pushsection .rodata",
    ".balign 16",
    ".global slipway_unix_stub",
    ".hidden slipway_unix_stub",
    ".global slipway_unix_stub_end",
    ".hidden slipway_unix_stub_end",
    "slipway_unix_stub:",
    "mov x19, sp",
    "ldr x20, [x19]",
    "lsl x21, x20, #3",
    "add x21, x21, #16384",
    "mov x0, #0",
    "mov x1, x21",
    "mov x2, #3",
    "mov x3, #0x22",
    "mov x4, #-1",
    "mov x5, #0",
    "mov x8, #222",
    "svc #0",
    "cmn x0, #4095",
    "b.hi 2f",
    "mov x22, x0",
    "mov x0, #-4242",
    "mov x1, #0",
    "mov x2, x22",
    "mov x3, x21",
    "mov x4, x19",
    "mov x8, #78",
    "svc #0",
    "tbnz x0, #63, 2f",
    "add x1, x22, x0",
    "mov x0, x22",
    "add x2, x19, x20, lsl #3",
    "add x2, x2, #16",
    "mov x8, #221",
    "svc #0",
    "2: mov x0, #126",
    "mov x8, #94",
    "svc #0",
    "slipway_unix_stub_end:",
    ".popsection",
);

unsafe extern "C" {
    static slipway_unix_stub: u8;
    static slipway_unix_stub_end: u8;
}

const MACHINE: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
/// Where it is mapped, and what is before its code.
const BASE: u64 = 0x0040_0000;
const HEADERS: u64 = 64 + 2 * 56;

/// The stub as a program.
pub(crate) fn program() -> Vec<u8> {
    let (start, end) = (&raw const slipway_unix_stub, &raw const slipway_unix_stub_end);
    // SAFETY: both are of the same piece of this program's text.
    let code = unsafe { std::slice::from_raw_parts(start, end.addr() - start.addr()) };
    let size = HEADERS + code.len() as u64;
    let mut elf = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut put = |bytes: &[u8]| elf.extend_from_slice(bytes);
    // An executable for this machine; version, entry, program headers, no sections.
    put(&2_u16.to_le_bytes());
    put(&MACHINE.to_le_bytes());
    put(&1_u32.to_le_bytes());
    for word in [BASE + HEADERS, 64, 0] {
        put(&u64::to_le_bytes(word));
    }
    put(&0_u32.to_le_bytes());
    for half in [64_u16, 56, 2, 64, 0, 0] {
        put(&half.to_le_bytes());
    }
    // All of it, to read and execute; a stack that is not executed.
    let mut segment = |kind: u32, flags: u32, address: u64, size: u64, align: u64| {
        put(&kind.to_le_bytes());
        put(&flags.to_le_bytes());
        for word in [0, address, address, size, size, align] {
            put(&u64::to_le_bytes(word));
        }
    };
    segment(1, 5, BASE, size, 0x1_0000);
    segment(0x6474_e551, 6, 0, 0, 16);
    elf.extend_from_slice(code);
    elf
}
