//! `mach_msg`: sending and receiving messages as bytes in a buffer.
//!
//! * [`pieces`]: large plain messages.
//! * [`format`](mod@format): what a program's format of messages is asked for; [`header`] and [`typed`]: the typed dialect's; [`darwin`]: Darwin's. * [`fast`]: plain messages, between the buffer and a ring; [`calm`]: for a receiver that has one line to look at. * `handing`: plain
//!   messages to a thread of this process that waits. * `send`: all others.
//! * `send_notify`: sending to a full queue. * `pseudo_receive`: a message that could not be sent. * `receive`: from queues and lines.

mod calm;
pub mod darwin;
pub mod fast;
pub mod format;
mod handing;
pub mod header;
pub mod pieces;
mod pseudo_receive;
mod receive;
mod request;
mod send;
mod send_notify;
pub mod typed;

use crate::{
    abi::{Code, option},
    lock::{Guard, Process},
    signals,
    state::SpaceId,
};
use format::Format;
use request::INTERRUPTS;
pub use request::Request;

/// Sends the message in `buffer`, receives one into it, or one after the other, for the task with `space`.
///
/// Returns what `mach_msg` returns. `buffer` is at least as long as the larger of the two sizes.
pub fn mach_msg<F: Format>(process: &'static Process, space: SpaceId, buffer: &mut [u8], request: &Request) -> Code {
    if request.option & (option::SEND_CANCEL | INTERRUPTS) != 0 {
        return mach_msg_slowly::<F>(process, space, buffer, request);
    }
    exchange::<F>(process, space, buffer, request)
}

/// As [`mach_msg`], with options that are seldom used.
#[inline(never)]
fn mach_msg_slowly<F: Format>(process: &'static Process, space: SpaceId, buffer: &mut [u8], request: &Request) -> Code {
    const CANCELS: u32 = option::SEND_MSG | option::SEND_CANCEL;
    let mut call = || match request.option & CANCELS {
        CANCELS => send_slowly::<F>(process.lock(), space, buffer, request),
        _ => exchange::<F>(process, space, buffer, request),
    };
    match request.option & INTERRUPTS {
        0 => call(),
        _ => signals::holding(call),
    }
}

#[inline(always)]
fn exchange<F: Format>(process: &'static Process, space: SpaceId, buffer: &mut [u8], request: &Request) -> Code {
    let mut guard = process.lock();
    if request.option & option::SEND_MSG != 0 && !fast::send::<F>(guard.quietly(), space, buffer, request.send_size) {
        return send_slowly::<F>(guard, space, buffer, request);
    }
    if request.option & option::RCV_MSG == 0 {
        return Code::SUCCESS;
    }
    if calm::receives::<F>(&guard, space, request) {
        return calm::receive::<F>(guard, space, within(buffer, request), request);
    }
    receive::receive::<F>(guard, space, within(buffer, request), request)
}

/// As [`mach_msg`], when the message to be sent doesn't go by the fast path.
#[inline(never)]
fn send_slowly<F: Format>(mut guard: Guard<'_>, space: SpaceId, buffer: &mut [u8], request: &Request) -> Code {
    let mut code = Code::SUCCESS;
    if request.option & option::SEND_CANCEL != 0 || !handing::send::<F>(&mut guard, space, buffer, request.send_size) {
        (guard, code) = send::send::<F>(guard, space, buffer, request);
    }
    if code != Code::SUCCESS || request.option & option::RCV_MSG == 0 {
        return code;
    }
    receive::receive::<F>(guard, space, within(buffer, request), request)
}

/// The part of the buffer that a received message may use.
#[inline(always)]
fn within<'a>(buffer: &'a mut [u8], request: &Request) -> &'a mut [u8] {
    let most = request.receive_size.min(buffer.len());
    &mut buffer[..most]
}
