//! What libmach-darwin.so calls: the functions that have another ABI or meaning in Darwin's dialect, under names of their own. That library gives
//! them Darwin's names; all others are the same in both dialects.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

pub mod destroy;
pub mod error;
pub mod memory;
mod option;
pub mod semaphore;
pub mod status;
pub mod stubs;

use crate::{
    call::{Name, Return, guarded},
    message::exchange,
    server::{Demux, Receive, serve_on, serve_once},
};
use slipway_ports::{
    abi::{self, Code},
    msg::{Request, darwin::Darwin},
};

/// `mach_msg`.
///
/// # Safety
/// No other thread touches the message meanwhile; memory that its body describes is the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_darwin_msg(
    msg: *mut u8,
    option: i32,
    send_size: u32,
    rcv_size: u32,
    rcv_name: Name,
    timeout: u32,
    notify: Name,
) -> Return {
    let Ok(options) = option::of(option as u32) else { return option::INVALID_TRAILER.0 };
    let request = Request {
        option: options,
        send_size: send_size as usize,
        receive_size: rcv_size as usize,
        receive_name: rcv_name,
        timeout,
        notify,
    };
    let panicked = if request.option & abi::option::SEND_MSG != 0 { Code::SEND_NO_BUFFER } else { Code::RCV_HEADER_ERROR };
    // SAFETY: the caller's promise.
    guarded(panicked, || unsafe { exchange::<Darwin>(msg, &request) })
}

/// `mach_msg_overwrite`: what is received goes to `rcv_msg`, if that is not null.
///
/// # Safety
/// As for [`slipway_darwin_msg`], for both buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_darwin_msg_overwrite(
    msg: *mut u8,
    option: i32,
    send_size: u32,
    rcv_size: u32,
    rcv_name: Name,
    timeout: u32,
    notify: Name,
    rcv_msg: *mut u8,
    _rcv_limit: u32,
) -> Return {
    const BOTH: i32 = (abi::option::SEND_MSG | abi::option::RCV_MSG) as i32;
    if rcv_msg.is_null() || option & BOTH != BOTH {
        let into = if rcv_msg.is_null() || option & BOTH != abi::option::RCV_MSG as i32 { msg } else { rcv_msg };
        // SAFETY: the caller's promise.
        return unsafe { slipway_darwin_msg(into, option, send_size, rcv_size, rcv_name, timeout, notify) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        let sends = option & !(abi::option::RCV_MSG as i32);
        match slipway_darwin_msg(msg, sends, send_size, 0, 0, timeout, notify) {
            0 => {
                let receives = option & !(abi::option::SEND_MSG as i32);
                slipway_darwin_msg(rcv_msg, receives, 0, rcv_size, rcv_name, timeout, notify)
            }
            code => code,
        }
    }
}

/// `mach_msg_send`.
///
/// # Safety
/// As for [`slipway_darwin_msg`], and the header is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_darwin_msg_send(msg: *mut u32) -> Return {
    // SAFETY: the caller's promise: the second word is the size.
    unsafe { slipway_darwin_msg(msg.cast(), abi::option::SEND_MSG as i32, msg.add(1).read_unaligned(), 0, 0, 0, 0) }
}

/// `mach_msg_receive`.
///
/// # Safety
/// As for [`slipway_darwin_msg_send`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slipway_darwin_msg_receive(msg: *mut u32) -> Return {
    // SAFETY: the caller's promise: the second word is the size, the fourth the local port.
    unsafe {
        let (size, name) = (msg.add(1).read_unaligned(), msg.add(3).read_unaligned());
        slipway_darwin_msg(msg.cast(), abi::option::RCV_MSG as i32, 0, size, name, 0, 0)
    }
}

/// `mach_msg_server`.
///
/// # Safety
/// `demux` may be called with a request of at most `max_size` bytes and a trailer, and with a buffer for a reply of as many.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn slipway_darwin_msg_server(
    demux: Option<Demux>,
    max_size: u32,
    rcv_name: Name,
    options: i32,
) -> Return {
    match receive(rcv_name, options) {
        // SAFETY: the caller's promise.
        Ok(how) => unsafe { serve_on::<Darwin>(demux, max_size, how) },
        Err(code) => code.0,
    }
}

/// `mach_msg_server_once`.
///
/// # Safety
/// As for [`slipway_darwin_msg_server`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn slipway_darwin_msg_server_once(
    demux: Option<Demux>,
    max_size: u32,
    rcv_name: Name,
    options: i32,
) -> Return {
    match receive(rcv_name, options) {
        // SAFETY: the caller's promise.
        Ok(how) => unsafe { serve_once::<Darwin>(demux, max_size, how) },
        Err(code) => code.0,
    }
}

fn receive(name: Name, options: i32) -> Result<Receive, Code> {
    let options = option::of(options as u32)? & !(abi::option::SEND_MSG | abi::option::RCV_MSG);
    Ok(Receive { name, options, timeout: 0 })
}
