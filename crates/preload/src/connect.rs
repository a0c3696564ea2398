//! Hooks on making sockets and connections.

use crate::{
    bound,
    descriptor::{follow_signals, is_input},
    epoll::early,
    process::begin,
    real::{fail, last_error, real, shield, waiting},
    room::{self, made},
    socket::{endpoint, flags, is_stream_socket, needs_kernel, option, timeout},
    table::{self, Slot},
};
use libc::{AF_UNIX, O_NONBLOCK, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_STREAM, sockaddr, socklen_t};
use rustix::io::Errno;
use slipway_fabric::sync::ask_loader;
use slipway_transport::{
    endpoint::Endpoint,
    ports::display::Call,
    rendezvous::{offer, unname},
    settings::Settings,
};
use std::{ffi::c_int, sync::Arc};

real! {
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    fn bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
}

/// Whether `fd` is a stream socket that may be connected to a local one.
pub fn may_connect(fd: c_int) -> bool {
    Settings::get().on
        && option(fd, libc::SO_DOMAIN) == Some(AF_UNIX)
        && is_stream_socket(fd)
        && option(fd, libc::SO_ACCEPTCONN) == Some(0)
        && table::borrowed(fd, |fd| rustix::net::getpeername(fd)).is_err()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    // SAFETY: no pointers.
    let fd = made(|| unsafe { next::socket(domain, kind, protocol) });
    if fd >= 0 && domain == AF_UNIX && kind & !(SOCK_NONBLOCK | SOCK_CLOEXEC) == SOCK_STREAM {
        shield(|| table::note_own_socket(fd), || {});
        crate::process::watch_forks();
    }
    fd
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: the caller's contract is connect(2)'s.
    let real = || unsafe { next::connect(fd, address, length) };
    // SAFETY: as above.
    let Some(endpoint) = (unsafe { endpoint(address, length) }) else { return real() };
    waiting(|| {
        let settings = Settings::get();
        // Where it is not used first, there is no other moment to ask for its options.
        let is_fresh = || settings.after != 0 && table::is_fresh_socket(fd);
        let fresh = is_fresh();
        // What is in an epoll set before it connects stays the kernel's, if the set counts on its events.
        let early = early(fd);
        let plain = || {
            let result = real();
            if result == 0 && (early.is_some() || table::is_own_socket(fd)) {
                table::leave(fd);
            }
            result
        };
        if !settings.on
            || room::are_left()
            || (table::is_used(fd) && !early.as_ref().is_some_and(|early| early.can_be_stream()))
            || table::is_known(fd)
            || !settings.sockets.has(&endpoint)
            || !fresh && (!is_stream_socket(fd) || needs_kernel(fd))
            || is_input(fd)
            || !room::for_line(fd)
        {
            return plain();
        }
        // No lock of ours is held here.
        ask_loader();
        if settings.over_ports
            && early.is_none()
            && let Some(call) = shield(|| table::borrowed(fd, |fd| Call::begin(fd, &endpoint)), || None)
        {
            return connect_over_ports(fd, call, real());
        }
        let Some(offer) = shield(|| table::borrowed(fd, |fd| offer(fd, &endpoint)), || None) else {
            return restored(fd, plain());
        };
        let result = restored(fd, real());
        let flags = flags(fd);
        // It is known since, if another thread gave it to others while this one waited.
        if result == 0
            && !table::is_known(fd)
            && let Some(stream) = shield(|| table::borrowed(fd, |x| offer.connected(x, flags & O_NONBLOCK != 0)), || None)
        {
            if !is_fresh() {
                for (receive, name) in [(true, libc::SO_RCVTIMEO), (false, libc::SO_SNDTIMEO)] {
                    stream.set_timeout(receive, timeout(fd, name));
                }
            }
            begin();
            crate::process::watch_exit();
            let stream = Arc::new(stream);
            table::put(fd, Slot::Stream(Arc::clone(&stream)));
            if flags & libc::O_ASYNC != 0 {
                follow_signals(fd, &stream);
            }
            if early.is_some_and(|early| !early.become_stream(fd, &stream)) {
                table::give_back(fd, &stream);
            }
            room::settle(fd);
        }
        result
    })
}

/// What connect(2) gave. A socket that it left without a connection may be bound, and has no name, as without hooks.
fn restored(fd: c_int, result: c_int) -> c_int {
    if result == 0 {
        return result;
    }
    let error = last_error();
    // Who is told to try once more mostly does so with the same name, or binds.
    if !matches!(error, Errno::AGAIN | Errno::INTR) {
        unnamed(fd);
    }
    fail(error)
}

/// Takes the name off a socket without a connection that an offer gave it; false if it has none, or keeps it.
fn unnamed(fd: c_int) -> bool {
    // SAFETY: no pointers.
    table::is_own_socket(fd) && unsafe { libc::fcntl(fd, libc::F_GETOWN) } == 0 && table::borrowed(fd, unname).is_some()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: the caller's contract is bind(2)'s.
    let real = || unsafe { next::bind(fd, address, length) };
    let result = real();
    if result == 0 {
        // SAFETY: as above.
        let endpoint = unsafe { endpoint(address, length) };
        if let Some(Endpoint::Path(path)) = endpoint.filter(|_| Settings::get().any_socket() && !room::are_left()) {
            shield(
                || {
                    if is_stream_socket(fd) {
                        bound::note(fd, &path)
                    }
                },
                || {},
            );
        }
        return result;
    }
    if last_error() != Errno::INVAL {
        return result;
    }
    if shield(|| unnamed(fd), || false) { real() } else { fail(Errno::INVAL) }
}

/// Goes over ports if it can: `result` is that of the real connect(2).
fn connect_over_ports(fd: c_int, call: Call, result: c_int) -> c_int {
    let error = (result != 0).then(last_error);
    match table::borrowed(fd, |x| call.connected(x, error, flags(fd) & O_NONBLOCK != 0)) {
        Some(stream) => {
            begin();
            crate::signals::watch();
            table::put(fd, Slot::Stream(Arc::new(stream)));
            room::settle(fd);
            0
        }
        None => restored(fd, error.map_or(0, fail)),
    }
}
