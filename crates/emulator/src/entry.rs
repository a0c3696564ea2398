//! The code that a rewritten library gets: a stub for each site, and what all stubs go to.
//!
//! A site jumps to its stub with the registers of a system call. Of these the kernel would change rcx and r11, which are therefore free. The
//! 128 bytes below the stack's end may be the site's.
#![allow(unsafe_code, reason = "the code is in assembly")]

use crate::{
    ASK, MEMORY,
    layout::{BASE, ENTER, OPEN_MARK, OPEN_MODE, PREPARE, TEXT_SIZE},
};

/// Bytes of the page before the state's, which the common part has for itself.
pub(crate) const COMMON_SIZE: usize = 0x1000;
/// In the state, after a word that says whether the library is ready (1) or has been tried (2): how many children may run in this memory;
/// what is known of the working directory, if it is not 0; and whether the process has forked.
const CHILDREN: usize = 4;
const DIRECTORY: usize = 8;
const FORKED: usize = 16;

// A stub. Forks use no stack here, which the child may share. While a child shares this memory, and not the working directory, what is known
// of that is not used: the count says so. The kernel keeps the flags, so that what was compared before a call counts after it.
std::arch::global_asm!(
    ".pushsection .rodata",
    "slipway_emulator_stub:",
    "cmp eax, 58",
    "ja 2f",
    "cmp eax, 56",
    "jae 3f",
    "2: lea rcx, [rip + slipway_emulator_stub_end]",
    ".byte 0xe9",
    "slipway_emulator_stub_common: .long 0",
    "3: lock inc dword ptr [rip + 0x10000000]",
    "slipway_emulator_stub_count:",
    "mov byte ptr [rip + 0x10000000], 1",
    "slipway_emulator_stub_forked:",
    "cmp eax, 58",
    "syscall",
    "je 5f",
    "test eax, eax",
    "jz 6f",
    "4: lock dec dword ptr [rip + 0x10000000]",
    "slipway_emulator_stub_uncount:",
    "jmp slipway_emulator_stub_end",
    // vfork
    "5: test eax, eax",
    "jnz 4b",
    "jmp slipway_emulator_stub_end",
    // A child: it has memory of its own if CLONE_VM is not set.
    "6: test edi, 0x100",
    "jnz slipway_emulator_stub_end",
    "xor ecx, ecx",
    "mov dword ptr [rip + 0x10000000], ecx",
    "slipway_emulator_stub_clear:",
    // Its working directory is counted by its own number.
    "mov qword ptr [rip + 0x10000000], rcx",
    "slipway_emulator_stub_forget:",
    "mov dword ptr [rip + 0x10000000], ecx",
    "slipway_emulator_stub_unforked:",
    "slipway_emulator_stub_end:",
    ".popsection",
);

// What the stubs go to, with the address to go on in rcx. It lies in the page before the state's. It leaves the site's part of the stack
// alone, keeps the address, and enters the library; the first call of a process opens the library's memory, or asks the server for it where
// that can't be, and maps the text, which maps the rest.
std::arch::global_asm!(
    ".pushsection .rodata",
    "slipway_emulator_common:",
    "cmp dword ptr [rip + slipway_emulator_common + 0x1000], 1",
    "jne 2f",
    "lea rsp, [rsp - 128]",
    "push rcx",
    "lea rcx, [rip + slipway_emulator_common + 0x1000]",
    "mov r11d, {enter}",
    "jmp r11",
    "2: lea rsp, [rsp - 128]",
    "push rcx",
    "cmp dword ptr [rip + slipway_emulator_common + 0x1000], 0",
    "je 4f",
    // As it would have been.
    "3: syscall",
    "pop rcx",
    "lea rsp, [rsp + 128]",
    "jmp rcx",
    "4: push rax",
    "push rdi",
    "push rsi",
    "push rdx",
    "push r10",
    "push r8",
    "push r9",
    "push rbx",
    "xor eax, eax",
    "mov ecx, 2",
    "lock cmpxchg [rip + slipway_emulator_common + 0x1000], ecx",
    "jne 6f",
    // openat(AT_FDCWD, MEMORY, O_RDWR | O_CLOEXEC, OPEN_MODE), which the net lets pass
    "mov rcx, {memory}",
    "push rcx",
    "mov edi, -100",
    "mov rsi, rsp",
    "mov edx, 0x80002",
    "mov r10d, {mode}",
    "mov r8d, {mark}",
    "mov eax, 257",
    "syscall",
    "pop rcx",
    "test eax, eax",
    "jns 7f",
    "mov edi, {ask}",
    "xor esi, esi",
    "xor edx, edx",
    "xor r10d, r10d",
    "mov eax, 267",
    "syscall",
    "test eax, eax",
    "js 6f",
    "7: mov ebx, eax",
    // mmap(BASE, TEXT_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0)
    "mov edi, {base}",
    "mov esi, {text_size}",
    "mov edx, 5",
    "mov r10d, 0x100002",
    "mov r8d, ebx",
    "xor r9d, r9d",
    "mov eax, 9",
    "syscall",
    "mov edi, {base}",
    "cmp rax, rdi",
    "jne 5f",
    "mov edi, ebx",
    "lea rsi, [rip + slipway_emulator_common + 0x1000]",
    "mov eax, {prepare}",
    "push rbp",
    "mov rbp, rsp",
    "and rsp, -16",
    "call rax",
    "mov rsp, rbp",
    "pop rbp",
    "5: mov edi, ebx",
    "mov eax, 3",
    "syscall",
    "6: pop rbx",
    "pop r9",
    "pop r8",
    "pop r10",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    "pop rax",
    "cmp dword ptr [rip + slipway_emulator_common + 0x1000], 1",
    "jne 3b",
    "pop rcx",
    "lea rsp, [rsp + 128]",
    "jmp slipway_emulator_common",
    "slipway_emulator_common_end:",
    ".popsection",
    enter = const BASE + ENTER,
    prepare = const BASE + PREPARE,
    base = const BASE,
    text_size = const TEXT_SIZE,
    ask = const ASK,
    memory = const u64::from_le_bytes(MEMORY),
    mode = const OPEN_MODE,
    mark = const OPEN_MARK,
);

unsafe extern "C" {
    static slipway_emulator_stub: u8;
    static slipway_emulator_stub_common: u8;
    static slipway_emulator_stub_count: u8;
    static slipway_emulator_stub_uncount: u8;
    static slipway_emulator_stub_clear: u8;
    static slipway_emulator_stub_forget: u8;
    static slipway_emulator_stub_forked: u8;
    static slipway_emulator_stub_unforked: u8;
    static slipway_emulator_stub_end: u8;
    static slipway_emulator_common: u8;
    static slipway_emulator_common_end: u8;
}

fn piece(start: *const u8, end: *const u8) -> &'static [u8] {
    // SAFETY: the callers name the two ends of a piece of this program's constants.
    unsafe { std::slice::from_raw_parts(start, end.addr() - start.addr()) }
}

/// What all stubs go to.
pub(crate) fn common() -> &'static [u8] {
    piece(&raw const slipway_emulator_common, &raw const slipway_emulator_common_end)
}

fn distance(from: i64, to: i64) -> Option<[u8; 4]> {
    i32::try_from(to - from).ok().map(i32::to_le_bytes)
}

/// The stub of a site, at an address: where the common part and the state are, the instruction after the site, and the address after that.
pub(crate) fn stub(at: u64, common: u64, after: &[u8], next: u64) -> Option<Vec<u8>> {
    let start = &raw const slipway_emulator_stub;
    let mut code = piece(start, &raw const slipway_emulator_stub_end).to_vec();
    let offset = |label: *const u8| label.addr() - start.addr();
    let mut set = |place: usize, target: u64| -> Option<()> {
        code[place..place + 4].copy_from_slice(&distance(at as i64 + place as i64 + 4, target as i64)?);
        Some(())
    };
    set(offset(&raw const slipway_emulator_stub_common), common)?;
    // How many bytes of the instruction come after the distance.
    for (label, word, more) in [
        (&raw const slipway_emulator_stub_count, CHILDREN, 0),
        (&raw const slipway_emulator_stub_uncount, CHILDREN, 0),
        (&raw const slipway_emulator_stub_clear, CHILDREN, 0),
        (&raw const slipway_emulator_stub_forget, DIRECTORY, 0),
        (&raw const slipway_emulator_stub_forked, FORKED, 1),
        (&raw const slipway_emulator_stub_unforked, FORKED, 0),
    ] {
        set(offset(label) - 4 - more, common + (COMMON_SIZE + word - more) as u64)?;
    }
    code.extend_from_slice(after);
    code.push(0xe9);
    let end = at + code.len() as u64 + 4;
    code.extend_from_slice(&distance(end as i64, next as i64)?);
    Some(code)
}
