//! Services by name, as Mach 3.0's name server gives them: `netname_*`, over the services of [`bootstrap`](mod@crate::bootstrap).
//!
//! The signature is compared in the task that checked the name in, and does not leave it: it keeps one part of a
//! program from changing another's names. It is no protection from other tasks: the name server is a user's own, and lets
//! every task of that user forget a name that one of them registered. (Services that it starts itself are kept.)
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    bootstrap::{code, server},
    call::{Name, Out, Return, routine, string},
};
use slipway_abi::{self as abi, Code, kind, types};
use slipway_mach::{
    bootstrap::{
        self,
        protocol::{NAME_IN_USE, NOT_PRIVILEGED, UNKNOWN_SERVICE},
    },
    task::Task,
};
use slipway_ports::{AtomicPtr, Ordering};
use std::{
    collections::HashMap,
    ffi::c_char,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The size of `netname_name_t` in bytes, its NUL included.
const NAME_MAX: usize = 80;
/// Longer than any host's name, in bytes.
const HOST_MAX: usize = 256;

const NOT_YOURS: Code = Code(1000);
const NOT_CHECKED_IN: Code = Code(1001);
const NO_SUCH_HOST: Code = Code(1002);
const INVALID_PORT: Code = Code(1004);

/// A name, which fits in a `netname_name_t`.
///
/// # Safety
/// `name` is null or a string.
unsafe fn service<'a>(name: *const c_char) -> Result<&'a [u8], Code> {
    // SAFETY: the caller's promise.
    let name = unsafe { string(name, NAME_MAX)? };
    if name.len() < NAME_MAX { Ok(name) } else { Err(Code::INVALID_ARGUMENT) }
}

/// With which signature tasks of this process checked names in.
struct Signatures {
    process: u32,
    by_name: Mutex<HashMap<Vec<u8>, (Task, Name)>>,
}

static SIGNATURES: AtomicPtr<Signatures> = AtomicPtr::new(std::ptr::null_mut());

/// This process's signatures. A child made by fork has none, and its parent's may be locked for ever there.
fn signatures() -> MutexGuard<'static, HashMap<Vec<u8>, (Task, Name)>> {
    let process = std::process::id();
    loop {
        let known = SIGNATURES.load(Ordering::Acquire);
        // SAFETY: it is null, or was leaked below.
        if let Some(known) = unsafe { known.as_ref() }
            && known.process == process
        {
            return known.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        }
        let fresh = Box::into_raw(Box::new(Signatures { process, by_name: Mutex::default() }));
        if SIGNATURES.compare_exchange(known, fresh, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }
}

/// `NOT_YOURS` if this task has checked the name in with another signature, and the name is still known.
fn check_signature(task: Task, server: Option<u32>, name: &[u8], signature: Name) -> Result<(), Code> {
    let other = signatures().get(name).is_some_and(|(by, with)| *by == task && *with != signature);
    if !other {
        return Ok(());
    }
    match bootstrap::status(task, server, name).map_err(netname) {
        Err(NOT_CHECKED_IN) => Ok(()),
        Err(code) => Err(code),
        Ok(_) => Err(NOT_YOURS),
    }
}

/// The codes of these calls for those of the name server.
fn netname(error: bootstrap::Error) -> Code {
    match code(error) {
        NOT_PRIVILEGED | NAME_IN_USE => NOT_YOURS,
        UNKNOWN_SERVICE => NOT_CHECKED_IN,
        other => other,
    }
}

/// Makes a port known, in place of one that the caller made known before under the same name.
///
/// # Safety
/// The name is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netname_check_in(server_port: Name, port_name: *const c_char, signature: Name, port_id: Name) -> Return {
    routine(|| {
        let task = Task::current();
        // SAFETY: the caller's promise.
        let name = unsafe { service(port_name)? };
        let server = server(server_port)?;
        if !task.kind(port_id).is_ok_and(|kind| kind & kind::SEND != 0) {
            return Err(INVALID_PORT);
        }
        check_signature(task, server, name, signature)?;
        let register = |port| bootstrap::register(task, server, name, port, types::COPY_SEND).map_err(netname);
        match register(port_id) {
            Err(NOT_YOURS) => register(abi::NULL).and_then(|()| register(port_id))?,
            done => done?,
        }
        signatures().insert(name.to_vec(), (task, signature));
        Ok(())
    })
}

/// A send right for a service of this host.
///
/// # Safety
/// Both names are strings; the result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netname_look_up(
    server_port: Name,
    host_name: *const c_char,
    port_name: *const c_char,
    port_id: *mut Name,
) -> Return {
    routine(|| {
        // SAFETY: the caller's promise, for all three.
        let (host, name, place) = unsafe { (string(host_name, HOST_MAX)?, service(port_name)?, Out::new(port_id)?) };
        if !(matches!(host, b"" | b"*" | b"localhost") || is_this_host(host)) {
            return Err(NO_SUCH_HOST);
        }
        place.set(bootstrap::look_up(Task::current(), server(server_port)?, name).map_err(netname)?);
        Ok(())
    })
}

fn is_this_host(name: &[u8]) -> bool {
    let mut own = [0u8; HOST_MAX];
    // SAFETY: it writes no more than it is told, and the last byte stays 0.
    let known = unsafe { libc::gethostname(own.as_mut_ptr().cast(), own.len() - 1) } == 0;
    known && own.split(|byte| *byte == 0).next() == Some(name)
}

/// A service is no longer known.
///
/// # Safety
/// The name is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netname_check_out(server_port: Name, port_name: *const c_char, signature: Name) -> Return {
    routine(|| {
        let task = Task::current();
        // SAFETY: the caller's promise.
        let name = unsafe { service(port_name)? };
        let server = server(server_port)?;
        check_signature(task, server, name, signature)?;
        bootstrap::register(task, server, name, abi::NULL, types::COPY_SEND).map_err(netname)?;
        signatures().remove(name);
        Ok(())
    })
}
