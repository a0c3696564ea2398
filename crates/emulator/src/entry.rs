//! The code that a rewritten library gets: a stub for each site, and what all stubs go to.
//!
//! A site jumps to its stub with the registers of a system call. Of these the kernel would change rcx and r11, which are therefore free. The
//! 128 bytes below the stack's end may be the site's.
#![allow(unsafe_code, reason = "the code is in assembly")]

use crate::{
    ASK, MEMORY,
    layout::{ASK_RESTORE, BASE, ENTER, LOADER, LOADER_MARK, OPEN_MARK, OPEN_MODE, PREPARE, TEXT_SIZE},
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
    // One that goes on beside its child, in one memory and with a directory of its own (CLONE_VM without CLONE_FS and CLONE_VFORK), is never done.
    "4: js 7f",
    "mov ecx, edi",
    "and ecx, 0x4300",
    "cmp ecx, 0x100",
    "je slipway_emulator_stub_end",
    "7: lock dec dword ptr [rip + 0x10000000]",
    "slipway_emulator_stub_uncount:",
    "jmp slipway_emulator_stub_end",
    // vfork
    "5: test eax, eax",
    "jnz 7b",
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

// What stubs go to, with the address to go on in rcx; all keep the registers of a call. First those of a dynamic loader: after the call by
// which it begins, and where it opens a file. If the library can't be made ready there, the server puts the loader's text back.
std::arch::global_asm!(
    ".pushsection .rodata",
    "slipway_emulator_loader_begins:",
    "lea rsp, [rsp - 128]",
    "push rcx",
    "push rax",
    "push rdi",
    "push rsi",
    "push rdx",
    "push r10",
    "push r8",
    "push r9",
    "push rbx",
    "push rbp",
    "xor ebp, ebp",
    "call slipway_emulator_set_up",
    "test eax, eax",
    "jnz 2f",
    "mov edi, {ask}",
    "mov esi, 1",
    "mov edx, {restore}",
    "xor r10d, r10d",
    "mov eax, 267",
    "syscall",
    "test eax, eax",
    "jz 2f",
    // Nobody answers, as a loader ends that can open nothing.
    "mov edi, 127",
    "mov eax, 60",
    "syscall",
    "2: pop rbp",
    "pop rbx",
    "pop r9",
    "pop r8",
    "pop r10",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    "pop rax",
    "pop rcx",
    "lea rsp, [rsp + 128]",
    "jmp rcx",
    "slipway_emulator_loader_opens:",
    "lea rsp, [rsp - 128]",
    "push rcx",
    "mov ecx, {loader}",
    "cmp dword ptr [rcx], 1",
    "jne 2f",
    "mov r11d, {enter}",
    "jmp r11",
    "2: syscall",
    "pop rcx",
    "lea rsp, [rsp + 128]",
    "jmp rcx",
    // Makes the library ready, with the state in rbp, or 0 for the loader: opens the library's memory, or asks the server for it where that
    // can't be, and maps the text, which maps the rest. Whether it is ready, in eax.
    "slipway_emulator_set_up:",
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
    "jns 2f",
    "mov edi, {ask}",
    "xor esi, esi",
    "xor edx, edx",
    "xor r10d, r10d",
    "mov eax, 267",
    "syscall",
    "test eax, eax",
    "js 5f",
    "2: mov ebx, eax",
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
    "mov eax, 0",
    "jne 3f",
    "mov edi, ebx",
    "call slipway_emulator_prepare",
    "3: push rax",
    "mov edi, ebx",
    "mov eax, 3",
    "syscall",
    "pop rax",
    "ret",
    "5: xor eax, eax",
    "ret",
    // With the memory's descriptor in edi, or -1 where it is mapped.
    "slipway_emulator_prepare:",
    "mov rsi, rbp",
    "mov eax, {prepare}",
    "push rbp",
    "mov rbp, rsp",
    "and rsp, -16",
    "call rax",
    "mov rsp, rbp",
    "pop rbp",
    "ret",
    // What the stubs of a library go to. With what is above it lies in the page before the state's. It leaves the site's part of the stack
    // alone, keeps the address, and enters the library; the first call of a process makes that ready, where the loader has not done so: then
    // the loader's state can be read.
    "slipway_emulator_common:",
    "cmp dword ptr [rip + slipway_emulator_set_up + 0x1000], 1",
    "jne 2f",
    "lea rsp, [rsp - 128]",
    "push rcx",
    "lea rcx, [rip + slipway_emulator_set_up + 0x1000]",
    "mov r11d, {enter}",
    "jmp r11",
    "2: lea rsp, [rsp - 128]",
    "push rcx",
    "cmp dword ptr [rip + slipway_emulator_set_up + 0x1000], 0",
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
    "push rbp",
    "xor eax, eax",
    "mov ecx, 2",
    "lock cmpxchg [rip + slipway_emulator_set_up + 0x1000], ecx",
    "jne 6f",
    "lea rbp, [rip + slipway_emulator_set_up + 0x1000]",
    "mov rdi, -1",
    "mov esi, {loader}",
    "xor edx, edx",
    "mov r10d, 8",
    "mov eax, 14",
    "syscall",
    "cmp eax, -14",
    "je 5f",
    "mov ecx, {loader}",
    "cmp dword ptr [rcx + 4], {loader_mark}",
    "jne 5f",
    "cmp dword ptr [rcx], 1",
    "jne 6f",
    "mov edi, -1",
    "call slipway_emulator_prepare",
    "jmp 6f",
    "5: call slipway_emulator_set_up",
    "6: pop rbp",
    "pop rbx",
    "pop r9",
    "pop r8",
    "pop r10",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    "pop rax",
    "cmp dword ptr [rip + slipway_emulator_set_up + 0x1000], 1",
    "jne 3b",
    "pop rcx",
    "lea rsp, [rsp + 128]",
    "jmp slipway_emulator_common",
    "slipway_emulator_common_end:",
    ".popsection",
    enter = const BASE + ENTER,
    loader = const BASE + LOADER,
    loader_mark = const LOADER_MARK,
    prepare = const BASE + PREPARE,
    base = const BASE,
    text_size = const TEXT_SIZE,
    ask = const ASK,
    restore = const ASK_RESTORE,
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
    static slipway_emulator_loader_begins: u8;
    static slipway_emulator_loader_opens: u8;
    static slipway_emulator_set_up: u8;
    static slipway_emulator_common: u8;
    static slipway_emulator_common_end: u8;
}

fn piece(start: *const u8, end: *const u8) -> &'static [u8] {
    // SAFETY: the callers name the two ends of a piece of this program's constants.
    unsafe { std::slice::from_raw_parts(start, end.addr() - start.addr()) }
}

/// What all stubs go to, and where in it they do.
pub(crate) fn common() -> (&'static [u8], usize) {
    let (start, entry) = (&raw const slipway_emulator_set_up, &raw const slipway_emulator_common);
    (piece(start, &raw const slipway_emulator_common_end), entry.addr() - start.addr())
}

/// What a loader's stubs go to: where it begins, and, so far in it, where it opens a file.
pub(crate) fn loader() -> (&'static [u8], usize) {
    let (start, opens) = (&raw const slipway_emulator_loader_begins, &raw const slipway_emulator_loader_opens);
    (piece(start, &raw const slipway_emulator_common), opens.addr() - start.addr())
}

/// A loader's stub, at an address: what it goes to, the instruction that it stands for, and the address after that.
pub(crate) fn loader_stub(at: u64, to: u64, after: &[u8], next: u64) -> Option<Vec<u8>> {
    /// lea rcx, [rip + 5], after the jump
    const HERE: [u8; 7] = [0x48, 0x8d, 0x0d, 5, 0, 0, 0];
    let mut code = HERE.to_vec();
    let mut jump = |before: &[u8], target: u64| -> Option<()> {
        code.extend_from_slice(before);
        code.push(0xe9);
        let end = at + code.len() as u64 + 4;
        code.extend_from_slice(&distance(end as i64, target as i64)?);
        Some(())
    };
    jump(&[], to)?;
    jump(after, next)?;
    Some(code)
}

fn distance(from: i64, to: i64) -> Option<[u8; 4]> {
    i32::try_from(to - from).ok().map(i32::to_le_bytes)
}

/// The stub of a site, at an address: where the common part is, before the state, the instruction after the site, and the address after that.
pub(crate) fn stub(at: u64, start: u64, after: &[u8], next: u64) -> Option<Vec<u8>> {
    let first = &raw const slipway_emulator_stub;
    let mut code = piece(first, &raw const slipway_emulator_stub_end).to_vec();
    let offset = |label: *const u8| label.addr() - first.addr();
    let mut set = |place: usize, target: u64| -> Option<()> {
        code[place..place + 4].copy_from_slice(&distance(at as i64 + place as i64 + 4, target as i64)?);
        Some(())
    };
    set(offset(&raw const slipway_emulator_stub_common), start + common().1 as u64)?;
    // How many bytes of the instruction come after the distance.
    for (label, word, more) in [
        (&raw const slipway_emulator_stub_count, CHILDREN, 0),
        (&raw const slipway_emulator_stub_uncount, CHILDREN, 0),
        (&raw const slipway_emulator_stub_clear, CHILDREN, 0),
        (&raw const slipway_emulator_stub_forget, DIRECTORY, 0),
        (&raw const slipway_emulator_stub_forked, FORKED, 1),
        (&raw const slipway_emulator_stub_unforked, FORKED, 0),
    ] {
        set(offset(label) - 4 - more, start + (COMMON_SIZE + word - more) as u64)?;
    }
    code.extend_from_slice(after);
    code.push(0xe9);
    let end = at + code.len() as u64 + 4;
    code.extend_from_slice(&distance(end as i64, next as i64)?);
    Some(code)
}
