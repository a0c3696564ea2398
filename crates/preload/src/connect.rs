//! Hooks on making connections, and on the questions a program can ask about them.

use crate::{
    real::{real, shield},
    table::{self, Slot},
};
use libc::{
    AF_UNIX, O_NONBLOCK, SO_TYPE, SOCK_NONBLOCK, SOCK_STREAM, SOL_SOCKET, sa_family_t, sockaddr, sockaddr_un, socklen_t, ssize_t,
};
use slipway_transport::{
    hub::{Accepted, Hub},
    rendezvous::{display_of, offer},
    report,
    settings::Settings,
};
use std::{
    ffi::{c_int, c_void},
    sync::{Arc, Mutex, PoisonError},
};

real! {
    fn connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    fn listen(fd: c_int, backlog: c_int) -> c_int;
    fn accept(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    fn accept4(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int;
    fn getsockname(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    fn getpeername(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t) -> c_int;
    fn getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut socklen_t) -> c_int;
}

/// Where the name begins in a `sockaddr_un`.
const NAME: usize = std::mem::offset_of!(sockaddr_un, sun_path);

/// The path or abstract name (without its zero byte) in a Unix socket address.
///
/// # Safety
/// `address` points to `length` readable bytes, or is null.
unsafe fn unix_name<'a>(address: *const sockaddr, length: socklen_t) -> Option<&'a [u8]> {
    let length = (length as usize).min(size_of::<sockaddr_un>());
    if address.is_null() || length <= NAME {
        return None;
    }
    // SAFETY: at least NAME bytes are readable, and the family comes first.
    if c_int::from(unsafe { address.cast::<sa_family_t>().read_unaligned() }) != AF_UNIX {
        return None;
    }
    // SAFETY: `length` bytes are readable.
    let bytes = unsafe { std::slice::from_raw_parts(address.cast::<u8>().add(NAME), length - NAME) };
    Some(match bytes.split_first() {
        Some((0, name)) => name,
        _ => bytes.split(|byte| *byte == 0).next().unwrap_or_default(),
    })
}

/// Hides the name that an offer gave a client's socket: programs see it unnamed, as it would be.
///
/// # Safety
/// As the kernel filled them in; either may be null.
pub unsafe fn hide_name(address: *mut sockaddr, length: *mut socklen_t, capacity: socklen_t) {
    if address.is_null() || length.is_null() {
        return;
    }
    // SAFETY: the kernel wrote at most `capacity` bytes of address, and the true length.
    unsafe {
        if unix_name(address, (*length).min(capacity)).is_some_and(|name| name.starts_with(b"slipway-x11-")) {
            *length = size_of::<sa_family_t>() as socklen_t;
        }
    }
}

fn is_stream_socket(fd: c_int) -> bool {
    let (mut kind, mut size) = (0 as c_int, size_of::<c_int>() as socklen_t);
    // SAFETY: the two out parameters are as getsockopt(2) wants them.
    let done = unsafe { libc::getsockopt(fd, SOL_SOCKET, SO_TYPE, (&raw mut kind).cast(), &raw mut size) };
    done == 0 && kind == SOCK_STREAM
}

fn is_nonblocking(fd: c_int) -> bool {
    // SAFETY: no pointers.
    unsafe { libc::fcntl(fd, libc::F_GETFL) & O_NONBLOCK != 0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: the caller's contract is connect(2)'s.
    let real = || unsafe { next::connect(fd, address, length) };
    // SAFETY: as above.
    let Some(display) = (unsafe { unix_name(address, length) }).and_then(display_of) else { return real() };
    shield(
        || {
            if !Settings::get().on || table::is_used(fd) || !is_stream_socket(fd) {
                return real();
            }
            let Some(offer) = table::borrowed(fd, |fd| offer(fd, display)) else { return real() };
            let result = real();
            if result == 0
                && let Some(stream) = table::borrowed(fd, |x| offer.connected(x, is_nonblocking(fd)))
            {
                crate::process::watch_forks();
                crate::signals::watch();
                table::put(fd, Slot::Stream(Arc::new(stream)));
            }
            result
        },
        real,
    )
}

static HUBS: Mutex<Vec<Arc<Hub>>> = Mutex::new(Vec::new());

/// The hub of a display of this process, opened when its first socket listens.
fn hub(display: u32) -> Option<Arc<Hub>> {
    let mut hubs = HUBS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(hub) = hubs.iter().find(|hub| hub.display() == display) {
        return Some(Arc::clone(hub));
    }
    match Hub::open(display) {
        Ok(hub) => {
            if hubs.is_empty() {
                crate::process::watch_forks();
                crate::signals::watch();
                crate::process::at_exit(close_hubs);
            }
            hubs.push(Arc::clone(&hub));
            Some(hub)
        }
        Err(error) => {
            report::warn(format_args!(
                "no client of display :{display} can use shared memory: the hub can't be opened ({error})"
            ));
            None
        }
    }
}

extern "C" fn close_hubs() {
    if let Ok(hubs) = HUBS.try_lock() {
        hubs.iter().for_each(|hub| hub.unlink());
    }
}

/// Whether this process serves a display.
pub fn is_server() -> bool {
    HUBS.try_lock().is_ok_and(|hubs| !hubs.is_empty())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    // SAFETY: no pointers.
    let result = unsafe { next::listen(fd, backlog) };
    if result != 0 || table::is_used(fd) || !Settings::get().on {
        return result;
    }
    shield(
        || {
            let mut address = std::mem::MaybeUninit::<sockaddr_un>::zeroed();
            let mut length = size_of::<sockaddr_un>() as socklen_t;
            // SAFETY: the out parameters are as getsockname(2) wants them.
            let named = unsafe { next::getsockname(fd, address.as_mut_ptr().cast(), &raw mut length) } == 0;
            // SAFETY: zeroed, then filled in by the kernel.
            let display = unsafe { unix_name(address.as_ptr().cast(), length) }.and_then(display_of);
            if let Some(display) = display.filter(|_| named && is_stream_socket(fd))
                && let Some(hub) = hub(display)
            {
                table::put(fd, Slot::Listener(hub));
            }
        },
        || {},
    );
    result
}

/// After the real accept gave `new` from `fd`.
unsafe fn accepted(fd: c_int, new: c_int, nonblocking: bool) {
    shield(
        || {
            let Some(slot) = table::get(fd) else { return };
            let Slot::Listener(hub) = &*slot else { return };
            table::put(
                new,
                match table::borrowed(new, |x| hub.accepted(x, nonblocking)) {
                    Accepted::Line(stream) => Slot::Stream(stream),
                    Accepted::Plain(client) => Slot::Plain(client),
                },
            );
        },
        || {},
    );
}

/// The size of the buffer for an address as the caller gave it.
unsafe fn capacity(length: *mut socklen_t) -> socklen_t {
    // SAFETY: null or a valid pointer, by the contract of the socket calls.
    if length.is_null() { 0 } else { unsafe { *length } }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's contract is accept(2)'s.
    unsafe {
        let space = capacity(length);
        let new = next::accept(fd, address, length);
        if new >= 0 && table::is_used(fd) {
            accepted(fd, new, false);
            hide_name(address, length, space);
        }
        new
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept4(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int {
    // SAFETY: the caller's contract is accept4(2)'s.
    unsafe {
        let space = capacity(length);
        let new = next::accept4(fd, address, length, flags);
        if new >= 0 && table::is_used(fd) {
            accepted(fd, new, flags & SOCK_NONBLOCK != 0);
            hide_name(address, length, space);
        }
        new
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getsockname(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's contract is getsockname(2)'s.
    unsafe {
        let space = capacity(length);
        let result = next::getsockname(fd, address, length);
        if result == 0 {
            hide_name(address, length, space);
        }
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getpeername(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's contract is getpeername(2)'s.
    unsafe {
        let space = capacity(length);
        let result = next::getpeername(fd, address, length);
        if result == 0 {
            hide_name(address, length, space);
        }
        result
    }
}

/// Options that change what a receive returns in ways that only the kernel does.
const KERNEL_ONLY: [c_int; 5] = [libc::SO_PASSCRED, libc::SO_PASSSEC, libc::SO_PEEK_OFF, libc::SO_RCVLOWAT, SO_PASSPIDFD];
const SO_PASSPIDFD: c_int = 76;

#[unsafe(no_mangle)]
unsafe extern "C" fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t) -> c_int {
    // SAFETY: the caller's contract is setsockopt(2)'s.
    let result = unsafe { next::setsockopt(fd, level, name, value, length) };
    if result == 0
        && level == SOL_SOCKET
        && let Some(stream) = table::stream(fd)
    {
        if name == libc::SO_RCVTIMEO || name == libc::SO_SNDTIMEO {
            if length as usize >= size_of::<libc::timeval>() {
                // SAFETY: the kernel has just read as much.
                let time = unsafe { value.cast::<libc::timeval>().read_unaligned() };
                let micros = (time.tv_sec as u64).saturating_mul(1_000_000).saturating_add(time.tv_usec as u64);
                stream.set_timeout(name == libc::SO_RCVTIMEO, micros);
            }
        } else if KERNEL_ONLY.contains(&name) {
            table::give_back(fd, &stream);
        }
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's contract is getsockopt(2)'s.
    let result = unsafe { next::getsockopt(fd, level, name, value, length) };
    if result == 0
        && (level, name) == (SOL_SOCKET, libc::SO_ERROR)
        && let Some(stream) = table::stream(fd)
    {
        // SAFETY: the kernel has just written the length and as many bytes.
        unsafe {
            let whole = *length as usize >= size_of::<c_int>();
            // Asked in any case: what the kernel told of it here isn't told again.
            let reset = table::borrowed(fd, |x| stream.reports_reset(x));
            if whole && reset && value.cast::<c_int>().read_unaligned() == 0 {
                value.cast::<c_int>().write_unaligned(libc::ECONNRESET);
            }
        }
    }
    result
}

/// For the hooks that say where bytes came from: the peer's address if there were bytes, empty if it has none.
pub unsafe fn sender(fd: c_int, bytes: ssize_t, address: *mut sockaddr, length: *mut socklen_t) {
    if address.is_null() || length.is_null() {
        return;
    }
    // SAFETY: both are the caller's out parameters.
    unsafe {
        let named = bytes > 0 && getpeername(fd, address, length) == 0 && *length as usize > NAME;
        if !named {
            *length = 0;
        }
    }
}

const _: () = assert!(NAME == size_of::<sa_family_t>());
