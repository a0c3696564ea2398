//! `mach_msg_server`: the loop of a server made of generated stubs.
#![allow(unsafe_code, reason = "functions that C calls, with functions that C passes")]

use crate::{
    call::{Name, Return, guarded},
    error::is_partial,
    face::Face,
    message::{self, Header},
};
use slipway_ports::{
    abi::{COMPLEX, Code, REMOTE_MASK, option, types},
    msg::{Request, header::Typed},
};
use std::{ffi::c_int, marker::PhantomData};

/// A server's routine: the request, and the reply that it makes. It may unwind, as `pthread_exit` does.
pub type Demux = unsafe extern "C-unwind" fn(*mut Header, *mut Header) -> c_int;

const MIG_NO_REPLY: i32 = -305;
const MIG_DESTROY_REQUEST: i32 = -309;

/// A buffer for one message of at most `most` bytes.
struct Buffer<F> {
    words: Vec<u64>,
    most: usize,
    of: PhantomData<F>,
}

impl<F: Face> Buffer<F> {
    fn new(size: u32) -> Self {
        let most = size as usize + F::BEHIND;
        Self { words: vec![0; most.max(F::REPLY).div_ceil(8)], most, of: PhantomData }
    }

    fn message(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }

    fn number(&self, at: usize) -> u32 {
        (self.words[at / 8] >> (at % 8 * 8)) as u32
    }

    /// The return code of a reply.
    fn code(&self) -> i32 {
        self.number(F::RETURN_CODE) as i32
    }

    fn bits(&self) -> u32 {
        self.number(0)
    }

    fn size(&self) -> usize {
        self.number(4) as usize
    }

    fn remote(&self) -> Name {
        self.number(8)
    }

    fn clear_remote(&mut self) {
        self.words[1] &= !u64::from(u32::MAX);
    }

    /// Sends or receives, or does both.
    fn exchange(&mut self, option: u32, send_size: usize, how: Receive) -> Return {
        let Receive { name, timeout, .. } = how;
        let (send_size, receive_size) = (send_size.min(self.most), self.most);
        let request = Request { option, send_size, receive_size, receive_name: name, timeout, notify: 0 };
        // SAFETY: the buffer is larger than the sizes that are told, and what is sent is a message that the demux made.
        guarded(Code::RCV_HEADER_ERROR, || unsafe { message::exchange::<F>(self.message(), &request) })
    }

    /// Receives. With `MACH_RCV_LARGE` the buffer becomes as large as the message is, which has stayed in its queue.
    fn receive(&mut self, how: Receive) -> Return {
        loop {
            let code = self.exchange(how.options | option::RCV_MSG, 0, how);
            if Code(code) != Code::RCV_TOO_LARGE || !self.grows(how) {
                return code;
            }
        }
    }

    /// After a receive that found a message too large: whether there is room for it now.
    fn grows(&mut self, how: Receive) -> bool {
        let size = self.size();
        let grows = how.options & option::RCV_LARGE != 0 && size + F::BEHIND > self.most;
        if grows {
            *self = Self::new(size as u32);
        }
        grows
    }

    /// Gives up what the message carries.
    ///
    /// # Safety
    /// It is a message.
    unsafe fn destroy(&mut self) {
        guarded(Code::FAILURE, || {
            // SAFETY: the caller's promise.
            unsafe { F::destroy(self.message()) };
            Code::SUCCESS
        });
    }
}

/// Receives requests and answers them, until an error.
///
/// # Safety
/// `demux` may be called with a request of at most `max_size` bytes and a buffer for a reply of as many.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mach_msg_server(demux: Option<Demux>, max_size: u32, rcv_name: Name) -> Return {
    // SAFETY: the caller's promise.
    unsafe { mach_msg_server_timeout(demux, max_size, rcv_name, 0, 0) }
}

/// As [`mach_msg_server`], with options for `mach_msg` and its time-out.
///
/// # Safety
/// As for [`mach_msg_server`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mach_msg_server_timeout(
    demux: Option<Demux>,
    max_size: u32,
    rcv_name: Name,
    options: i32,
    timeout: u32,
) -> Return {
    let options = options as u32 & !(option::SEND_MSG | option::RCV_MSG);
    // SAFETY: the caller's promise.
    unsafe { serve_on::<Typed>(demux, max_size, Receive { name: rcv_name, options, timeout }) }
}

/// Receives one request and answers it.
///
/// # Safety
/// As for [`mach_msg_server`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mach_msg_server_once(
    demux: Option<Demux>,
    max_size: u32,
    rcv_name: Name,
    options: i32,
) -> Return {
    let options = options as u32 & !(option::SEND_MSG | option::RCV_MSG);
    // SAFETY: the caller's promise.
    unsafe { serve_once::<Typed>(demux, max_size, Receive { name: rcv_name, options, timeout: 0 }) }
}

/// Where and how a server receives.
#[derive(Clone, Copy)]
pub(crate) struct Receive {
    pub name: Name,
    pub options: u32,
    pub timeout: u32,
}

/// Receives requests and answers them, until an error.
///
/// # Safety
/// As for [`mach_msg_server`].
pub(crate) unsafe fn serve_on<F: Face>(demux: Option<Demux>, max_size: u32, how: Receive) -> Return {
    let Some(demux) = demux else { return Code::INVALID_ARGUMENT.0 };
    let (mut request, mut reply) = (Buffer::<F>::new(max_size), Buffer::<F>::new(max_size));
    // The first request is received alone, each further one together with the reply before it.
    let mut replies = false;
    loop {
        let code = exchange(&mut reply, &mut request, replies, how);
        replies = false;
        match Code(code) {
            // SAFETY: the caller's promise.
            Code::SUCCESS => replies = unsafe { serve(demux, &mut request, &mut reply) },
            // The reply can't be delivered, which is its receiver's matter.
            // SAFETY: the reply is back in its buffer.
            Code::SEND_INVALID_DEST | Code::SEND_TIMED_OUT => unsafe { reply.destroy() },
            // It is destroyed already.
            Code::SEND_NO_BUFFER => {}
            // Part of it did not come, which is its sender's matter.
            // SAFETY: it was received.
            _ if is_partial(code) => unsafe { request.destroy() },
            Code::RCV_TOO_LARGE => drop(request.grows(how)),
            _ => return code,
        }
    }
}

/// Receives one request and answers it.
///
/// # Safety
/// As for [`mach_msg_server`].
pub(crate) unsafe fn serve_once<F: Face>(demux: Option<Demux>, max_size: u32, how: Receive) -> Return {
    let Some(demux) = demux else { return Code::INVALID_ARGUMENT.0 };
    let (mut request, mut reply) = (Buffer::<F>::new(max_size), Buffer::<F>::new(max_size));
    let mut code = request.receive(how);
    while is_partial(code) {
        // SAFETY: it was received, and part of it did not come.
        unsafe { request.destroy() };
        code = request.receive(how);
    }
    // SAFETY: the caller's promise.
    if code != 0 || !unsafe { serve(demux, &mut request, &mut reply) } {
        return code;
    }
    let code = reply.exchange(send_options(&reply, how.options), reply.size(), how);
    if matches!(Code(code), Code::SEND_INVALID_DEST | Code::SEND_TIMED_OUT) {
        // SAFETY: the reply is back in its buffer.
        unsafe { reply.destroy() };
        return 0;
    }
    if Code(code) == Code::SEND_NO_BUFFER { 0 } else { code }
}

/// Options to send a reply with. A send-once right never waits; for another a server doesn't wait either.
fn send_options<F: Face>(reply: &Buffer<F>, options: u32) -> u32 {
    let waits = reply.bits() & REMOTE_MASK != types::MOVE_SEND_ONCE;
    options | option::SEND_MSG | if waits { option::SEND_TIMEOUT } else { 0 }
}

/// Sends the reply, if there is one, and receives the next request: in one call, or in two if the reply could wait, as the time-out is the
/// receive's, and none for the reply: a client that does not take it holds no server.
fn exchange<F: Face>(reply: &mut Buffer<F>, request: &mut Buffer<F>, replies: bool, how: Receive) -> Return {
    let send = send_options(reply, how.options);
    let waits = send & option::SEND_TIMEOUT != 0;
    if replies && waits {
        let code = reply.exchange(send, reply.size(), Receive { timeout: 0, ..how });
        if code != 0 {
            return code;
        }
    }
    if !replies || waits {
        return request.receive(how);
    }
    // The reply's buffer becomes the request's.
    std::mem::swap(reply, request);
    let code = request.exchange(send | option::RCV_MSG, request.size(), how);
    if matches!(Code(code), Code::SEND_INVALID_DEST | Code::SEND_TIMED_OUT) {
        std::mem::swap(reply, request);
    }
    code
}

/// Has the demux answer a request; whether there is a reply to be sent.
///
/// # Safety
/// As for [`mach_msg_server`], and the request was just received.
unsafe fn serve<F: Face>(demux: Demux, request: &mut Buffer<F>, reply: &mut Buffer<F>) -> bool {
    reply.words[..F::REPLY.div_ceil(8)].fill(0);
    // SAFETY: the caller's promise. Whether it knows the request is told by the code in its reply, too.
    unsafe { demux(request.message().cast(), reply.message().cast()) };
    let code = if reply.bits() & COMPLEX == 0 { reply.code() } else { 0 };
    match code {
        0 => {}
        MIG_NO_REPLY => reply.clear_remote(),
        _ => {
            // The rights in the request are given up, the reply right goes with the reply.
            if F::DESTROYS && code == MIG_DESTROY_REQUEST {
                reply.clear_remote();
            } else {
                request.clear_remote();
            }
            // SAFETY: a request that failed has left its rights and memory to its caller.
            unsafe { request.destroy() };
        }
    }
    if reply.remote() == 0 {
        if reply.bits() & COMPLEX != 0 && reply.size() >= F::HEADER {
            // SAFETY: the demux made a message that nobody gets.
            unsafe { reply.destroy() };
        }
        return false;
    }
    true
}
