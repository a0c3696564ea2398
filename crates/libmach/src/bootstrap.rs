//! Services by name: `bootstrap_*`.
//!
//! A null first argument stands for the task's own bootstrap port, and `bootstrap_port` is null until the program
//! sets it: so nothing connects to the name server, or starts it, before somebody asks it something.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    call::{Name, Out, Return, routine, string},
    error,
};
use slipway_abi::{self as abi, Code, types};
use slipway_mach::{
    bootstrap::{self, Error, protocol::NAME_MAX},
    task::Task,
};
use slipway_ports::AtomicU32;
use std::{
    cell::RefCell,
    ffi::{CString, c_char, c_int},
};

/// The calling task's bootstrap port, for the first argument of the calls below.
#[allow(non_upper_case_globals, reason = "the name that C programs know")]
#[unsafe(no_mangle)]
pub static bootstrap_port: AtomicU32 = AtomicU32::new(abi::NULL);

thread_local! {
    /// Why the name server could not be reached by this thread's last call that failed so, in words.
    static UNREACHABLE: RefCell<CString> = RefCell::default();
}

/// The name server that a first argument stands for; None for the task's own.
pub(crate) fn server(port: Name) -> Result<Option<u32>, Code> {
    match port {
        abi::NULL => Ok(None),
        abi::DEAD => Err(Code::SEND_INVALID_DEST),
        name => Ok(Some(name)),
    }
}

/// The code of an error, whose text is kept for `bootstrap_strerror`.
pub(crate) fn code(error: Error) -> Code {
    if let Error::Unreachable(why) = &error {
        let text = CString::new(why.to_string()).unwrap_or_default();
        // A thread that is being taken down asks for no texts any more.
        let _ = UNREACHABLE.try_with(|kept| kept.replace(text));
    }
    error.code()
}

/// Makes a service known with a port of the name server's making: a send right.
///
/// # Safety
/// The name is a string; the result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bootstrap_create_service(bp: Name, service_name: *const c_char, service_port: *mut Name) -> Return {
    routine(|| {
        // SAFETY: the caller's promise, for both.
        let (service, port) = unsafe { (string(service_name, NAME_MAX)?, Out::new(service_port)?) };
        port.set(bootstrap::create_service(Task::current(), server(bp)?, service).map_err(code)?);
        Ok(())
    })
}

/// The receive right of a service that was created, or whose program was started for it.
///
/// # Safety
/// The name is a string; the result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bootstrap_check_in(bp: Name, service_name: *const c_char, service_port: *mut Name) -> Return {
    routine(|| {
        // SAFETY: the caller's promise, for both.
        let (service, port) = unsafe { (string(service_name, NAME_MAX)?, Out::new(service_port)?) };
        port.set(bootstrap::check_in(Task::current(), server(bp)?, service).map_err(code)?);
        Ok(())
    })
}

/// Makes a port known, of which the caller has a send right; with null the service is no longer known.
///
/// # Safety
/// The name is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bootstrap_register(bp: Name, service_name: *const c_char, service_port: Name) -> Return {
    routine(|| {
        // SAFETY: the caller's promise.
        let service = unsafe { string(service_name, NAME_MAX)? };
        bootstrap::register(Task::current(), server(bp)?, service, service_port, types::COPY_SEND).map_err(code)
    })
}

/// As [`bootstrap_register`], with flags, of which none means anything here: `KERN_INVALID_ARGUMENT` if one is set.
///
/// # Safety
/// As for [`bootstrap_register`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bootstrap_register2(bp: Name, service_name: *const c_char, service_port: Name, flags: u64) -> Return {
    if flags != 0 {
        return Code::INVALID_ARGUMENT.0;
    }
    // SAFETY: the caller's promise.
    unsafe { bootstrap_register(bp, service_name, service_port) }
}

/// A send right for a service.
///
/// # Safety
/// The name is a string; the result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bootstrap_look_up(bp: Name, service_name: *const c_char, service_port: *mut Name) -> Return {
    routine(|| {
        // SAFETY: the caller's promise, for both.
        let (service, port) = unsafe { (string(service_name, NAME_MAX)?, Out::new(service_port)?) };
        port.set(bootstrap::look_up(Task::current(), server(bp)?, service).map_err(code)?);
        Ok(())
    })
}

/// Whether a service is served.
///
/// # Safety
/// The name is a string; the result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bootstrap_status(bp: Name, service_name: *const c_char, service_active: *mut c_int) -> Return {
    routine(|| {
        // SAFETY: the caller's promise, for both.
        let (service, active) = unsafe { (string(service_name, NAME_MAX)?, Out::new(service_active)?) };
        active.set(bootstrap::status(Task::current(), server(bp)?, service).map_err(code)?.number() as c_int);
        Ok(())
    })
}

/// What a code of these calls means. If the calling thread could not reach the name server, `MACH_SEND_INVALID_DEST` is
/// told as which socket was tried and what to do, in a text that lasts until that happens to the thread again.
#[unsafe(no_mangle)]
pub extern "C" fn bootstrap_strerror(code: Return) -> *const c_char {
    if Code(code) == Code::SEND_INVALID_DEST {
        let kept = UNREACHABLE.try_with(|kept| {
            let text = kept.borrow();
            if text.is_empty() { None } else { Some(text.as_ptr()) }
        });
        if let Ok(Some(text)) = kept {
            return text;
        }
    }
    error::text(code).unwrap_or(c"unknown code").as_ptr()
}
