//! `mach_msg`.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    buffer,
    call::{Name, Return, guarded},
    face::Face,
};
use slipway_ports::{
    abi::{self, Code, option},
    msg::{Request, header::Typed},
    task::Task,
};
use std::slice;

pub use slipway_abi::call::Header;

/// Options whose `notify` argument must name a receive right.
const NOTIFIES: u32 = option::SEND_CANCEL | option::RCV_NOTIFY;

/// Sends, receives, or does both; goes on after signals unless the options say otherwise.
///
/// # Safety
/// No other thread touches the message meanwhile; memory that its body describes is the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_msg(
    msg: *mut Header,
    option: i32,
    send_size: u32,
    rcv_size: u32,
    rcv_name: Name,
    timeout: u32,
    notify: Name,
) -> Return {
    let request = Request {
        option: option as u32,
        send_size: send_size as usize,
        receive_size: rcv_size as usize,
        receive_name: rcv_name,
        timeout,
        notify,
    };
    let panicked = if request.option & option::SEND_MSG != 0 { Code::SEND_NO_BUFFER } else { Code::RCV_HEADER_ERROR };
    // SAFETY: the caller's promise.
    guarded(panicked, || unsafe { exchange::<Typed>(msg.cast(), &request) })
}

/// As [`mach_msg`]; a signal ends a wait with `MACH_SEND_INTERRUPTED` or `MACH_RCV_INTERRUPTED`.
///
/// # Safety
/// As for [`mach_msg`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_msg_trap(
    msg: *mut Header,
    option: i32,
    send_size: u32,
    rcv_size: u32,
    rcv_name: Name,
    timeout: u32,
    notify: Name,
) -> Return {
    let option = option | (option::SEND_INTERRUPT | option::RCV_INTERRUPT) as i32;
    // SAFETY: the caller's promise.
    unsafe { mach_msg(msg, option, send_size, rcv_size, rcv_name, timeout, notify) }
}

/// The name that stubs generated with a prefix use.
///
/// # Safety
/// As for [`mach_msg`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __mach_msg(
    msg: *mut Header,
    option: i32,
    send_size: u32,
    rcv_size: u32,
    rcv_name: Name,
    timeout: u32,
    notify: Name,
) -> Return {
    // SAFETY: the caller's promise.
    unsafe { mach_msg(msg, option, send_size, rcv_size, rcv_name, timeout, notify) }
}

/// Sends a message of the size that its header says, and waits until that is done.
///
/// # Safety
/// As for [`mach_msg`], and the header is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_msg_send(msg: *mut Header) -> Return {
    // SAFETY: the caller's promise.
    unsafe { mach_msg(msg, option::SEND_MSG as i32, (*msg).size, 0, 0, 0, 0) }
}

/// Receives a message at the port and of at most the size that the header in the buffer says.
///
/// # Safety
/// As for [`mach_msg_send`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_msg_receive(msg: *mut Header) -> Return {
    // SAFETY: the caller's promise.
    unsafe { mach_msg(msg, option::RCV_MSG as i32, 0, (*msg).size, (*msg).local as Name, 0, 0) }
}

/// `mach_msg` on a message that may not be there.
///
/// # Safety
/// As for [`mach_msg`].
#[inline]
pub(crate) unsafe fn exchange<F: Face>(msg: *mut u8, request: &Request) -> Code {
    let sends = request.option & option::SEND_MSG != 0;
    let receives = request.option & option::RCV_MSG != 0;
    let (out, into) = (if sends { request.send_size } else { 0 }, if receives { request.receive_size } else { 0 });
    let look = out.max(into.min(buffer::LOOKED_AT));
    if request.option & NOTIFIES != 0 || buffer::reach(msg.addr(), look, true) < look {
        // SAFETY: the caller's promise.
        return unsafe { unusual::<F>(msg, request, sends, receives) };
    }
    // SAFETY: all of it was found to be there to be read and written, and is the caller's to lend.
    let bytes = unsafe { bytes(msg, out.max(into)) };
    Task::current().mach_msg_as::<F>(bytes, request)
}

/// The message as bytes.
///
/// # Safety
/// `len` bytes from `msg` on can be read and written, and nobody else touches them.
#[inline]
unsafe fn bytes<'a>(msg: *mut u8, len: usize) -> &'a mut [u8] {
    if len == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise; a byte has no alignment.
    unsafe { slice::from_raw_parts_mut(msg, len) }
}

/// A call with options that are rarely used, or with a buffer that is not all there to be read and written.
///
/// # Safety
/// As for [`mach_msg`].
#[cold]
unsafe fn unusual<F: Face>(msg: *mut u8, request: &Request, sends: bool, receives: bool) -> Code {
    let task = Task::current();
    if sends && request.option & option::SEND_CANCEL != 0 && !receiver(task, request.notify) {
        return Code::SEND_INVALID_NOTIFY;
    }
    let mut request = *request;
    if sends {
        // SAFETY: the caller's promise.
        let code = unsafe { send::<F>(task, msg, &request) };
        if code != Code::SUCCESS || !receives {
            return code;
        }
        request.option &= !option::SEND_MSG;
    } else if !receives {
        return Code::SUCCESS;
    }
    if request.option & option::RCV_NOTIFY != 0 && !receiver(task, request.notify) {
        return Code::RCV_INVALID_NOTIFY;
    }
    let look = request.receive_size.min(buffer::LOOKED_AT);
    let there = buffer::reach(msg.addr(), look, true);
    let size = if there == look { request.receive_size } else { there };
    // SAFETY: so many bytes were found to be there, and are the caller's to lend.
    let code = task.mach_msg_as::<F>(unsafe { bytes(msg, size) }, &request);
    // A message that fits into the buffer by its size, but not into the part of it that is there.
    let kept = request.option & option::RCV_LARGE != 0;
    if code == Code::RCV_TOO_LARGE && size < request.receive_size && !kept { Code::RCV_INVALID_DATA } else { code }
}

/// Whether the name has a receive right.
fn receiver(task: Task, name: Name) -> bool {
    task.kind(name).is_ok_and(|kind| kind & abi::kind::RECEIVE != 0)
}

/// Sends a message that may not be there, or that may only be read.
///
/// # Safety
/// As for [`mach_msg`].
unsafe fn send<F: Face>(task: Task, msg: *mut u8, request: &Request) -> Code {
    let request = Request { option: request.option & !option::RCV_MSG, ..*request };
    let len = request.send_size;
    if len < F::HEADER || !len.is_multiple_of(F::UNIT) {
        return Code::SEND_MSG_TOO_SMALL;
    }
    if len > abi::MESSAGE_MAX {
        return Code::SEND_NO_BUFFER;
    }
    if buffer::reach(msg.addr(), len, true) == len {
        // SAFETY: all of it was found to be there to be read and written.
        return task.mach_msg_as::<F>(unsafe { bytes(msg, len) }, &request);
    }
    if buffer::reach(msg.addr(), len, false) < len {
        return Code::SEND_INVALID_DATA;
    }
    // SAFETY: all of it was found to be there to be read.
    let mut copy = unsafe { slice::from_raw_parts(msg, len) }.to_vec();
    let code = task.mach_msg_as::<F>(&mut copy, &request);
    if code == Code::SEND_TIMED_OUT || code == Code::SEND_INTERRUPTED {
        // What would be back in the buffer has no place there.
        // SAFETY: the core wrote a whole message into the copy.
        unsafe { F::destroy(copy.as_mut_ptr()) };
    }
    code
}
