//! Texts for return codes.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::call::{Return, guarded};
use slipway_ports::abi::Code;
use std::ffi::{CStr, c_char};

/// The bits of a receive error that say what was short.
const SHORT: i32 = 0x3c00;

/// Whether a message was received of which part found no place.
pub(crate) fn is_partial(code: Return) -> bool {
    Code(code & !SHORT) == Code::RCV_BODY_ERROR
}

/// What a code means; None for one that nothing here returns.
pub(crate) fn text(code: Return) -> Option<&'static CStr> {
    let receive_error = matches!(Code(code & !SHORT), Code::RCV_HEADER_ERROR | Code::RCV_BODY_ERROR);
    Some(match if receive_error { code & !SHORT } else { code } {
        0 => c"success",
        1 => c"the address is in no region of the task",
        2 => c"the memory may not be used so",
        3 => c"the range is taken, or no range or name is free",
        4 => c"an argument makes no sense",
        5 => c"the operation failed",
        6 => c"out of memory or descriptors",
        7 => c"the task holds no receive right for the port",
        8 => c"access is restricted",
        9 => c"the memory object was destroyed",
        10 => c"the memory object gave no data",
        11 => c"the port is in the set already",
        12 => c"the port is in no port set",
        13 => c"the name denotes a right already",
        14 => c"the operation was aborted",
        15 => c"the name denotes no right",
        16 => c"the port is no task that can be acted upon",
        17 => c"the name denotes another kind of right",
        18 => c"a value is out of range",
        19 => c"the user references would go above their limit",
        20 => c"the right that was passed is no right, or dead",
        21 => c"the task has rights for the port under another name",
        22 => c"the port is no host",
        23 => c"memory was supplied where there is memory",
        24 => c"memory that its pager watches was written",
        26 => c"the object has ended",
        27 => c"the time ran out",
        28 => c"a signal came first",
        49 => c"the time of the wait ran out",
        0x1000_0001 => c"send: in progress",
        0x1000_0002 => c"send: the message can't be read",
        0x1000_0003 => c"send: the destination is no send right, or its port is dead",
        0x1000_0004 => c"send: timed out, the queue stayed full",
        0x1000_0005 => c"send: a notification will tell that there is space",
        0x1000_0006 => c"send: such a notification is outstanding already",
        0x1000_0007 => c"send: interrupted by a signal",
        0x1000_0008 => c"send: the message is too small, or ends within an item",
        0x1000_0009 => c"send: the reply port is not such a right",
        0x1000_000a => c"send: a port in the body is not such a right",
        0x1000_000b => c"send: the notify argument is no receive right",
        0x1000_000c => c"send: out-of-line memory can't be read",
        0x1000_000d => c"send: no memory for the message, or it is too large",
        0x1000_000e => c"send: no memory for the notification",
        0x1000_000f => c"send: a type word makes no sense",
        0x1000_0010 => c"send: the header's bits make no sense",
        0x1000_4001 => c"receive: in progress",
        0x1000_4002 => c"receive: the name is neither receive right nor port set",
        0x1000_4003 => c"receive: timed out, no message came",
        0x1000_4004 => c"receive: the message is larger than the buffer",
        0x1000_4005 => c"receive: interrupted by a signal",
        0x1000_4006 => c"receive: the port was moved into a set",
        0x1000_4007 => c"receive: the notify argument is no receive right",
        0x1000_4008 => c"receive: the buffer can't be written",
        0x1000_4009 => c"receive: the port or set is gone",
        0x1000_400a => c"receive: the port is in a set",
        0x1000_400b => c"receive: no means for the rights of the header",
        0x1000_400c => c"receive: no means for rights or data of the body",
        -300 => c"mig: the reply's types are not the interface's",
        -301 => c"mig: the reply has another identifier",
        -302 => c"mig: the server found an error",
        -303 => c"mig: no routine has this identifier",
        -304 => c"mig: the request's types are not the interface's",
        -305 => c"mig: no reply is to be sent yet",
        -306 => c"mig: the server raised an exception",
        -307 => c"mig: the array is larger than the buffer for it",
        -308 => c"mig: the server died",
        -309 => c"mig: the request is to be destroyed without a reply",
        1000 => c"netname: the name was checked in with another signature",
        1001 => c"netname: nobody checked the name in",
        0x1000_0100 => c"the call would wait for itself: its server is at work on a call that this one is part of",
        1002 => c"netname: the host is not this one",
        1003 => c"netname: the host was not found",
        1004 => c"netname: the port is no send right",
        1100 => c"bootstrap: the service is not the caller's to use or change",
        1101 => c"bootstrap: there is such a service already",
        1102 => c"bootstrap: there is no such service",
        1103 => c"bootstrap: another task has checked in",
        1104 => c"bootstrap: a count is out of range",
        1105 => c"bootstrap: the name server has no memory or descriptors left",
        _ => return None,
    })
}

/// What a code means, in words.
#[unsafe(no_mangle)]
pub extern "C" fn mach_error_string(error_value: Return) -> *mut c_char {
    text(error_value).unwrap_or(c"unknown code").as_ptr().cast_mut()
}

/// The part of the system that a code comes from.
#[unsafe(no_mangle)]
pub extern "C" fn mach_error_type(error_value: Return) -> *mut c_char {
    let part = match error_value {
        0..=28 | 49 => c"(os/kern)",
        0x1000_0000..=0x1000_3fff => c"(ipc/send)",
        0x1000_4000..=0x1000_7fff => c"(ipc/rcv)",
        -399..=-300 => c"(ipc/mig)",
        1000..=1099 => c"(ipc/netname)",
        1100..=1199 => c"(ipc/bootstrap)",
        _ => c"(unknown)",
    };
    part.as_ptr().cast_mut()
}

/// Writes a text of the program's and a code's meaning to standard error.
///
/// # Safety
/// `text` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_error(text: *const c_char, error_value: Return) {
    // SAFETY: the caller's promise.
    unsafe { tell(text, error_value, self::text(error_value)) };
}

/// As [`mach_error`], with what the code means.
///
/// # Safety
/// As there.
pub(crate) unsafe fn tell(text: *const c_char, error_value: Return, meaning: Option<&CStr>) {
    guarded(Code::FAILURE, || {
        // SAFETY: the caller's promise.
        let before = if text.is_null() { c"mach" } else { unsafe { CStr::from_ptr(text) } };
        let meaning = meaning.unwrap_or(c"unknown code");
        let mut line = before.to_bytes().to_vec();
        line.extend_from_slice(format!(": {} ({error_value:#x})\n", meaning.to_string_lossy()).as_bytes());
        // There is nobody to tell that standard error is closed.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), &line);
        Code::SUCCESS
    });
}
