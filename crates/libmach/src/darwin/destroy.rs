//! `mach_msg_destroy` on Darwin's messages.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    call::guarded,
    destroy::{free, give_up},
};
use slipway_ports::{
    abi::{COMPLEX, Code, call::descriptor as kinds},
    msg::{darwin::Darwin, format::Format},
    pages,
    task::Task,
};

/// Deallocates the rights and the out-of-line memory of a message that was received, or not sent. Out-of-line memory
/// without the deallocate flag stays the program's: received memory always has it.
///
/// # Safety
/// `msg` is null or a whole message whose rights and memory are the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_darwin_msg_destroy(msg: *mut u8) {
    guarded(Code::FAILURE, || {
        if !msg.is_null() {
            // SAFETY: the caller's promise.
            unsafe { destroy(msg) };
        }
        Code::SUCCESS
    });
}

fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// # Safety
/// `msg` is a whole message whose rights and memory are the caller's.
pub(crate) unsafe fn destroy(msg: *mut u8) {
    let task = Task::current();
    // SAFETY: a message has a header.
    let header = unsafe { std::slice::from_raw_parts(msg, Darwin::HEADER) };
    let (bits, size) = (number(header, 0), number(header, 4) as usize);
    // The local port of a received message is where it came from, and no right of the message.
    give_up(task, number(header, 8), bits & 0x1f);
    if bits & COMPLEX == 0 || size <= Darwin::HEADER {
        return;
    }
    // SAFETY: the message goes on for as long as its size says.
    let body = unsafe { std::slice::from_raw_parts(msg.add(Darwin::HEADER), size - Darwin::HEADER) };
    let mut rest = &body[body.len().min(4)..];
    for _ in 0..number(body, 0) {
        let Some(kind) = rest.get(11).copied() else { return };
        let Some((descriptor, after)) = rest.split_at_checked(if kind == kinds::PORT { 12 } else { 16 }) else { return };
        rest = after;
        let disposition = u32::from(descriptor[10]);
        match kind {
            kinds::PORT => give_up(task, number(descriptor, 0), disposition),
            kinds::GUARDED => give_up(task, number(descriptor, 12), disposition),
            // SAFETY: the caller's promise.
            kinds::OOL | kinds::OOL_PORTS | kinds::OOL_VOLATILE => unsafe {
                destroy_memory(task, descriptor, (kind == kinds::OOL_PORTS).then_some(disposition));
            },
            // What it has, and where the next one begins, is not known.
            _ => return,
        }
    }
}

/// # Safety
/// The memory that the descriptor names is the caller's to give up.
unsafe fn destroy_memory(task: Task, descriptor: &[u8], rights: Option<u32>) {
    let at = (u64::from(number(descriptor, 0)) | u64::from(number(descriptor, 4)) << 32) as usize;
    let count = number(descriptor, 12) as usize;
    let len = if rights.is_some() { count * 4 } else { count };
    if let Some(disposition) = rights {
        let mut names = vec![0; len];
        if pages::read(at, &mut names).is_ok() {
            names.chunks_exact(4).for_each(|name| give_up(task, number(name, 0), disposition));
        }
    }
    if descriptor[8] != 0 && len > 0 {
        // SAFETY: the caller's promise.
        unsafe { free(at, len) };
    }
}
