//! Hooks on closing and copying descriptors, their flags, and shutdown.

use crate::{
    epoll, linger,
    real::{fail, real, shield, uncancelled},
    room::{are_left, made},
    table,
};
use libc::{F_DUPFD, F_DUPFD_CLOEXEC, F_GETFL, F_SETFL, F_SETOWN, FIOASYNC, FIONBIO, FIONREAD, O_ASYNC, O_NONBLOCK, TIOCOUTQ};
use rustix::io::Errno;
use slipway_fabric::sync::{AtomicU8, Ordering::Relaxed, holds_any};
use slipway_transport::{descriptor::is_reserved, stream::Stream};
use std::{
    ffi::{c_int, c_uint, c_ulong},
    os::fd::{AsFd, AsRawFd},
    sync::Arc,
};

real! {
    fn close(fd: c_int) -> c_int;
    fn fclose(file: *mut libc::FILE) -> c_int;
    fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int;
    fn dup(fd: c_int) -> c_int;
    fn dup2(old: c_int, new: c_int) -> c_int;
    fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int;
    fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int;
    fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int;
    fn ioctl(fd: c_int, request: c_ulong, argument: usize) -> c_int;
    fn shutdown(fd: c_int, how: c_int) -> c_int;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn close(fd: c_int) -> c_int {
    close_program(fd)
}

/// The program's close(2).
pub fn close_program(fd: c_int) -> c_int {
    if is_reserved(fd) {
        // A program that closes all it finds: this one isn't its own.
        return fail(Errno::BADF);
    }
    // With a lock held this is one of the library's own, which the standard library closes by this (handlers are put off). If the table has something under its number, that is over, and
    // to forget it could take the same lock.
    let is_programs = !holds_any();
    // Kept until the descriptor is closed: its end must not look like a return to the socket.
    let slot = shield(|| is_programs.then(|| table::forget(fd)).flatten(), || None);
    // Not in the midst of such work: a cancelled thread must not leave it.
    // SAFETY: no pointers.
    let result = uncancelled(|| unsafe { next::close(fd) });
    drop(slot);
    result
}

unsafe extern "C" {
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

/// Bits of the descriptors below 3 whose stream of stdio was closed.
static WITHOUT_STDIO: AtomicU8 = AtomicU8::new(0);

/// Closes inside the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn fclose(file: *mut libc::FILE) -> c_int {
    // SAFETY: the caller's contract is fclose(3)'s; the C library's own streams are read as the program reads them.
    let (fd, standard) = unsafe { (libc::fileno(file), [stdin, stdout, stderr]) };
    if is_standard(fd) && standard.contains(&file) {
        WITHOUT_STDIO.fetch_or(1 << fd, Relaxed);
    }
    let slot = shield(|| table::forget(fd), || None);
    // SAFETY: as above.
    let result = unsafe { next::fclose(file) };
    drop(slot);
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    if first > last || flags & !(libc::CLOSE_RANGE_UNSHARE | libc::CLOSE_RANGE_CLOEXEC) as c_int != 0 {
        // SAFETY: no pointers; the kernel refuses it.
        return unsafe { next::close_range(first, last, flags) };
    }
    let mut slots = Vec::new();
    if flags & libc::CLOSE_RANGE_CLOEXEC as c_int == 0 {
        shield(
            || {
                slots.extend(table::numbers(first, last).filter_map(table::forget));
            },
            || {},
        );
    }
    // Round our own descriptors, which are few and high.
    let mut from = first;
    let ours = (first..=last.min(1 << 16)).filter(|fd| is_reserved(*fd as c_int));
    for fd in ours {
        if fd > from {
            // SAFETY: no pointers.
            let result = unsafe { next::close_range(from, fd - 1, flags) };
            if result != 0 {
                return result;
            }
        }
        from = fd + 1;
    }
    // SAFETY: no pointers.
    if from <= last { unsafe { next::close_range(from, last, flags) } } else { 0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn closefrom(first: c_int) {
    // SAFETY: no pointers.
    unsafe { close_range(first.max(0) as c_uint, c_uint::MAX, 0) };
}

fn copied(old: c_int, new: c_int) -> c_int {
    if new >= 0 && old != new {
        if !are_left() && !table::is_shared_set(old) {
            // What is registered by one number is waited for by the other: both are to be the same set.
            shield(|| drop(epoll::set_or_new(old)), || {});
        }
        shield(
            || {
                table::share(old);
                if table::is_used(old) {
                    table::duplicate(old, new);
                } else if table::is_known(old) {
                    // What becomes of one number would not be seen at the other.
                    table::leave(new);
                }
            },
            || {},
        );
        if is_standard(new)
            && let Some(stream) = table::stream(new)
        {
            shield(|| table::give_back(new, &stream), || {});
        }
    }
    new
}

/// Whether the program reads the connection that it made as `fd` by stdio, for all that is known. One that is made as 1 or 2 mostly has
/// the number by chance: an X server's first client, after `-displayfd 1`.
pub fn is_input(fd: c_int) -> bool {
    fd == 0 && is_standard(fd)
}

/// Whether a stream of stdio leads to `fd` from the beginning: it enters the kernel inside the C library, where no hook reaches.
fn is_standard(fd: c_int) -> bool {
    (0..=2).contains(&fd) && WITHOUT_STDIO.load(Relaxed) >> fd & 1 == 0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup(fd: c_int) -> c_int {
    // SAFETY: no pointers.
    copied(fd, made(|| unsafe { next::dup(fd) }))
}

/// dup2 and dup3: the descriptor that is replaced is closed by it.
fn replace(old: c_int, new: c_int, real: impl FnOnce() -> c_int) -> c_int {
    if is_reserved(new) || is_reserved(old) {
        return fail(Errno::BADF);
    }
    // SAFETY: no pointers.
    let valid = old != new && (!table::is_used(new) || unsafe { libc::fcntl(old, libc::F_GETFD) } >= 0);
    let slot = if valid { shield(|| table::forget(new), || None) } else { None };
    let result = copied(old, real());
    drop(slot);
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup2(old: c_int, new: c_int) -> c_int {
    // SAFETY: no pointers.
    replace(old, new, || unsafe { next::dup2(old, new) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    // SAFETY: no pointers.
    replace(old, new, || unsafe { next::dup3(old, new, flags) })
}

const F_SETSIG: c_int = 10;
const F_GETSIG: c_int = 11;
const F_SETOWN_EX: c_int = 15;
const F_GETOWN_EX: c_int = 16;
const FIOSETOWN: c_ulong = 0x8901;
const SIOCSPGRP: c_ulong = 0x8902;

/// The program's descriptor `fd` may have other flags for signals, or another owner: the line's socket gets the same. A signal that
/// names its descriptor (F_SETSIG) is the kernel's alone.
pub fn follow_signals(fd: c_int, stream: &Stream) {
    // Messages at ports raise none.
    if stream.office().is_some() {
        return;
    }
    shield(
        || {
            let control = |fd, command, argument: usize| {
                // SAFETY: numbers, or `owner`, which has the structure's layout.
                unsafe { next::fcntl(fd, command, argument) }
            };
            let wanted = control(fd, F_GETFL, 0) & O_ASYNC != 0;
            if !wanted && !stream.signals() {
                return;
            }
            table::borrowed(fd, |fd| stream.offer_now(fd));
            let line = stream.line_socket();
            let line = line.as_fd().as_raw_fd();
            // Of `struct f_owner_ex`.
            let mut owner = [0 as c_int; 2];
            let owner = (&raw mut owner) as usize;
            let can = !wanted
                || (control(fd, F_GETSIG, 0) == 0
                    && control(fd, F_GETOWN_EX, owner) == 0
                    && control(line, F_SETOWN_EX, owner) == 0);
            let flags = if wanted && can { O_NONBLOCK | O_ASYNC } else { O_NONBLOCK };
            let set = control(line, F_SETFL, flags as usize) == 0;
            stream.set_signals(wanted && can && set);
            if wanted && !stream.signals() {
                table::give_back(fd, stream);
            }
        },
        || {},
    );
}

fn controlled(fd: c_int, command: c_int, argument: usize, result: c_int) -> c_int {
    if result < 0 {
        return result;
    }
    match command {
        F_DUPFD | F_DUPFD_CLOEXEC => return copied(fd, result),
        _ if !table::is_used(fd) => {}
        F_SETFL => {
            if let Some(stream) = table::stream(fd) {
                stream.set_nonblocking(argument as c_int & O_NONBLOCK != 0);
                if argument as c_int & O_ASYNC != 0 || stream.signals() {
                    follow_signals(fd, &stream);
                }
            }
        }
        F_SETOWN | F_SETOWN_EX | F_SETSIG => table::stream(fd).iter().for_each(|stream| follow_signals(fd, stream)),
        _ => {}
    }
    result
}

// fcntl and ioctl have variable arguments in C. On the supported processors one more argument, if it
// was passed, is in the next register, and if it wasn't, the register is passed on unread.

/// Only these commands make a descriptor: what others return are flags, sizes and process numbers.
fn command(command: c_int, call: impl Fn() -> c_int) -> c_int {
    if matches!(command, F_DUPFD | F_DUPFD_CLOEXEC) { made(call) } else { call() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl(fd: c_int, operation: c_int, argument: usize) -> c_int {
    // SAFETY: the caller's contract is fcntl(2)'s.
    controlled(fd, operation, argument, command(operation, || unsafe { next::fcntl(fd, operation, argument) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl64(fd: c_int, operation: c_int, argument: usize) -> c_int {
    // SAFETY: the caller's contract is fcntl(2)'s.
    controlled(fd, operation, argument, command(operation, || unsafe { next::fcntl64(fd, operation, argument) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: usize) -> c_int {
    // SAFETY: the caller's contract is ioctl(2)'s.
    let result = unsafe { next::ioctl(fd, request, argument) };
    if result < 0 || !table::is_used(fd) {
        return result;
    }
    let Some(stream) = table::stream(fd) else { return result };
    let number = argument as *mut c_int;
    shield(
        || {
            // SAFETY: the kernel has just read or written an int there, which may lie anywhere.
            unsafe {
                let value = || number.read_unaligned();
                match request {
                    FIONREAD => {
                        number.write_unaligned(c_int::try_from(stream.readable_bytes(value() as usize)).unwrap_or(c_int::MAX))
                    }
                    TIOCOUTQ => number.write_unaligned(value().saturating_add(stream.unread_bytes() as c_int)),
                    FIONBIO => stream.set_nonblocking(value() != 0),
                    FIOASYNC | FIOSETOWN | SIOCSPGRP => follow_signals(fd, &stream),
                    _ => {}
                }
            }
            result
        },
        || result,
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn shutdown(fd: c_int, how: c_int) -> c_int {
    let stream = table::stream(fd);
    if how != libc::SHUT_RD {
        // What the peer wants back on the socket must be there before.
        let send = |stream: &Arc<Stream>| {
            table::borrowed(fd, |fd| {
                stream.make_room(fd);
                stream.return_patiently(fd, linger::GRACE);
            });
        };
        shield(|| stream.iter().for_each(send), || {});
    }
    // SAFETY: no pointers.
    let result = unsafe { next::shutdown(fd, how) };
    if result == 0
        && let Some(stream) = stream
    {
        shield(
            || {
                stream.note_socket_event();
                stream.hint_peer();
                if how != libc::SHUT_WR {
                    stream.receiving_ended();
                }
                if how != libc::SHUT_RD {
                    stream.sending_ended();
                }
            },
            || {},
        );
    }
    result
}
