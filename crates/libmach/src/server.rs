//! `mach_msg_server`: the loop of a server made of generated stubs.
#![allow(unsafe_code, reason = "functions that C calls, with functions that C passes")]

use crate::{
    call::{Name, Return},
    destroy::mach_msg_destroy,
    message::{Header, mach_msg},
};
use slipway_ports::abi::{COMPLEX, Code, HEADER, REMOTE_MASK, option, types};
use std::ffi::c_int;

/// A server's routine: the request, and the reply that it makes. It may unwind, as `pthread_exit` does.
pub type Demux = unsafe extern "C-unwind" fn(*mut Header, *mut Header) -> c_int;

const MIG_NO_REPLY: i32 = -305;
const MIG_DESTROY_REQUEST: i32 = -309;

/// The size of `mig_reply_header_t`, and where its return code is, in bytes.
const REPLY: usize = 48;
const RETURN_CODE: usize = 40;

/// A buffer for one message.
struct Buffer(Vec<u64>);

impl Buffer {
    fn new(size: u32) -> Self {
        Self(vec![0; (size as usize).max(REPLY).div_ceil(8)])
    }

    fn message(&mut self) -> *mut Header {
        self.0.as_mut_ptr().cast()
    }

    /// The return code of a reply.
    fn code(&self) -> i32 {
        self.0[RETURN_CODE / 8] as i32
    }

    fn header(&self) -> Header {
        // SAFETY: the buffer is larger than a header, which any bytes are.
        unsafe { self.0.as_ptr().cast::<Header>().read() }
    }

    fn set_remote(&mut self, name: Name) {
        self.0[1] = u64::from(name);
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
    let Some(demux) = demux else { return Code::INVALID_ARGUMENT.0 };
    let (mut request, mut reply) = (Buffer::new(max_size), Buffer::new(max_size));
    // The first request is received alone, each further one together with the reply before it.
    let mut replies = false;
    loop {
        // SAFETY: the buffers have the size that is told, and the bytes in them are a message that the demux made.
        let code = unsafe { exchange(&mut reply, &mut request, replies, Receive { name: rcv_name, max_size, options, timeout }) };
        replies = false;
        match Code(code) {
            // SAFETY: the caller's promise.
            Code::SUCCESS => replies = unsafe { serve(demux, &mut request, &mut reply) },
            // The reply can't be delivered, which is its receiver's matter.
            // SAFETY: the reply is back in its buffer.
            Code::SEND_INVALID_DEST | Code::SEND_TIMED_OUT => unsafe { mach_msg_destroy(reply.message()) },
            Code::RCV_TOO_LARGE => {}
            _ => return code,
        }
    }
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
    let Some(demux) = demux else { return Code::INVALID_ARGUMENT.0 };
    let (mut request, mut reply) = (Buffer::new(max_size), Buffer::new(max_size));
    let options = options as u32 & !(option::SEND_MSG | option::RCV_MSG);
    // SAFETY: as in `mach_msg_server`.
    let code = unsafe { mach_msg(request.message(), (options | option::RCV_MSG) as i32, 0, max_size, rcv_name, 0, 0) };
    // SAFETY: the caller's promise.
    if code != 0 || !unsafe { serve(demux, &mut request, &mut reply) } {
        return code;
    }
    let header = reply.header();
    // SAFETY: the demux made the reply, in a buffer of this size.
    let code = unsafe { mach_msg(reply.message(), send_options(&header, options) as i32, header.size.min(max_size), 0, 0, 0, 0) };
    if matches!(Code(code), Code::SEND_INVALID_DEST | Code::SEND_TIMED_OUT) {
        // SAFETY: the reply is back in its buffer.
        unsafe { mach_msg_destroy(reply.message()) };
        return 0;
    }
    code
}

/// Where and how a server receives.
#[derive(Clone, Copy)]
struct Receive {
    name: Name,
    max_size: u32,
    options: u32,
    timeout: u32,
}

/// Options to send a reply with. A send-once right never waits; for another a server doesn't wait either.
fn send_options(reply: &Header, options: u32) -> u32 {
    let waits = reply.bits & REMOTE_MASK != types::MOVE_SEND_ONCE;
    options | option::SEND_MSG | if waits { option::SEND_TIMEOUT } else { 0 }
}

/// Sends the reply, if there is one, and receives the next request: in one call, or in two if the reply could wait, as the time-out is the
/// receive's, and none for the reply: a client that does not take it holds no server.
///
/// # Safety
/// Both buffers have `max_size` bytes; the reply is a message.
unsafe fn exchange(reply: &mut Buffer, request: &mut Buffer, replies: bool, how: Receive) -> Return {
    let Receive { name, max_size, options, timeout } = how;
    let header = reply.header();
    let send = send_options(&header, options);
    let waits = send & option::SEND_TIMEOUT != 0;
    if replies && waits {
        // SAFETY: the caller's promise.
        let code = unsafe { mach_msg(reply.message(), send as i32, header.size.min(max_size), 0, 0, 0, 0) };
        if code != 0 {
            return code;
        }
    }
    if !replies || waits {
        // SAFETY: the caller's promise.
        return unsafe { mach_msg(request.message(), (options | option::RCV_MSG) as i32, 0, max_size, name, timeout, 0) };
    }
    // The reply's buffer becomes the request's.
    std::mem::swap(reply, request);
    // SAFETY: as above.
    let code = unsafe {
        mach_msg(request.message(), (send | option::RCV_MSG) as i32, header.size.min(max_size), max_size, name, timeout, 0)
    };
    if matches!(Code(code), Code::SEND_INVALID_DEST | Code::SEND_TIMED_OUT) {
        std::mem::swap(reply, request);
    }
    code
}

/// Has the demux answer a request; whether there is a reply to be sent.
///
/// # Safety
/// As for [`mach_msg_server`], and the request was just received.
unsafe fn serve(demux: Demux, request: &mut Buffer, reply: &mut Buffer) -> bool {
    reply.0[..REPLY / 8].fill(0);
    // SAFETY: the caller's promise. Whether it knows the request is told by the code in its reply, too.
    unsafe { demux(request.message(), reply.message()) };
    let code = if reply.header().bits & COMPLEX == 0 { reply.code() } else { 0 };
    match code {
        0 => {}
        MIG_NO_REPLY => reply.set_remote(0),
        _ => {
            // The rights in the request are given up, the reply right goes with the reply.
            if code == MIG_DESTROY_REQUEST {
                reply.set_remote(0);
            } else {
                request.set_remote(0);
            }
            // SAFETY: a request that failed has left its rights and memory to its caller.
            unsafe { mach_msg_destroy(request.message()) };
        }
    }
    let header = reply.header();
    if header.remote as Name == 0 {
        if header.bits & COMPLEX != 0 && header.size as usize >= HEADER {
            // SAFETY: the demux made a message that nobody gets.
            unsafe { mach_msg_destroy(reply.message()) };
        }
        return false;
    }
    true
}
