//! `mach_msg_destroy`: the rights and the memory of a message.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    buffer,
    call::{Name, guarded},
    message::Header,
};
use slipway_abi::typed::{Descriptor, Field};
use slipway_ports::{
    abi::{COMPLEX, Code, HEADER, REMOTE_MASK, kind, right, types},
    pages,
    task::Task,
};

/// Deallocates the rights and the out-of-line memory of a message that was received, or not sent. Out-of-line memory
/// without the deallocate bit stays the program's: received memory always has the bit.
///
/// # Safety
/// `msg` is null or a whole message whose rights and memory are the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_msg_destroy(msg: *mut Header) {
    guarded(Code::FAILURE, || {
        if !msg.is_null() {
            // SAFETY: the caller's promise.
            unsafe { destroy(msg) };
        }
        Code::SUCCESS
    });
}

/// As [`mach_msg_destroy`].
///
/// # Safety
/// `msg` is a whole message whose rights and memory are the caller's.
pub(crate) unsafe fn destroy(msg: *mut Header) {
    let task = Task::current();
    // SAFETY: a message has a header.
    let header = unsafe { msg.read_unaligned() };
    let (remote_type, local_type) = (header.bits & REMOTE_MASK, header.bits >> 8 & REMOTE_MASK);
    give_up(task, header.remote as Name, remote_type);
    // In a received message the local port is where it came from, and no right of the message. In one that came
    // back unsent it is the reply right, which can be told if it is a send-once right.
    if local_type == types::PORT_SEND_ONCE && task.kind(header.local as Name) == Ok(kind::SEND_ONCE) {
        give_up(task, header.local as Name, local_type);
    }
    if header.bits & COMPLEX != 0 && header.size as usize > HEADER {
        // SAFETY: the message goes on for as long as its size says.
        let body = unsafe { std::slice::from_raw_parts(msg.cast::<u8>().add(HEADER), header.size as usize - HEADER) };
        // SAFETY: as above.
        unsafe { destroy_body(task, body) };
    }
}

/// # Safety
/// The rights and the memory that the body names are the caller's.
unsafe fn destroy_body(task: Task, body: &[u8]) {
    let mut at = 0;
    while let Ok(item) = Field::at(body, at) {
        at = item.end;
        item.names(body).for_each(|name| give_up(task, name, item.of.name));
        if !item.of.inline {
            // SAFETY: the caller's promise.
            unsafe { destroy_memory(task, item.address(body), item.of.size() as usize, &item.of) };
        }
    }
}

fn name_in(bytes: &[u8]) -> Name {
    bytes.first_chunk::<4>().map_or(0, |bytes| Name::from_ne_bytes(*bytes))
}

/// # Safety
/// The memory is the message's, and so the caller's to give up.
unsafe fn destroy_memory(task: Task, at: usize, len: usize, item: &Descriptor) {
    if len == 0 {
        return;
    }
    if item.is_port() {
        let mut names = vec![0; len];
        if pages::read(at, &mut names).is_ok() {
            names.chunks_exact(4).for_each(|name| give_up(task, name_in(name), item.name));
        }
    }
    if item.deallocate {
        // SAFETY: the caller's promise.
        unsafe { free(at, len) };
    }
}

/// Gives up the pages of a message's memory.
///
/// # Safety
/// Nothing refers to them any more.
pub(crate) unsafe fn free(at: usize, len: usize) {
    buffer::forget();
    let start = at & !(pages::page_size() - 1);
    if let Some(len) = at.checked_add(len).and_then(|end| pages::whole_pages(end - start)).filter(|len| *len > 0) {
        // SAFETY: the caller's promise.
        let _ = unsafe { pages::deallocate(start, len) };
    }
}

/// Gives up a right that a message has, or would have made.
pub(crate) fn give_up(task: Task, name: Name, how: u32) {
    // A right that is not there is the program's mistake, and it has nothing to lose by it.
    let _ = match how {
        types::MOVE_SEND | types::MOVE_SEND_ONCE => task.deallocate(name),
        types::MOVE_RECEIVE => task.mod_refs(name, right::RECEIVE, -1),
        types::MAKE_SEND => task.insert_right(name, task, name, types::MAKE_SEND).and_then(|()| task.deallocate(name)),
        types::MAKE_SEND_ONCE => task.extract_right(name, how, task).and_then(|name| task.deallocate(name)),
        _ => Ok(()),
    };
}
