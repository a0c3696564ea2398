//! Hooks on reading and writing without control messages.

use crate::{
    kernel::Process,
    message::{Direction, borrowed_slices, lacks_memory, with_slices},
    real::{fail, last_error, real, shield, waiting},
    socket::{capacity, hide_name, sender},
    table::{self, Slot},
};
use libc::{iovec, off_t, size_t, sockaddr, socklen_t, ssize_t};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    time::Timespec,
};
use slipway_transport::{
    call::{self, Told},
    stream::Stream,
};
use smallvec::SmallVec;
use std::{
    cell::Cell,
    ffi::{c_char, c_int, c_void},
    os::fd::BorrowedFd,
    time::Duration,
};

real! {
    fn read(fd: c_int, to: *mut c_void, length: size_t) -> ssize_t;
    fn readv(fd: c_int, to: *const iovec, count: c_int) -> ssize_t;
    fn recv(fd: c_int, to: *mut c_void, length: size_t, flags: c_int) -> ssize_t;
    fn recvfrom(fd: c_int, to: *mut c_void, length: size_t, flags: c_int, from: *mut sockaddr, space: *mut socklen_t) -> ssize_t;
    fn write(fd: c_int, from: *const c_void, length: size_t) -> ssize_t;
    fn writev(fd: c_int, from: *const iovec, count: c_int) -> ssize_t;
    fn send(fd: c_int, from: *const c_void, length: size_t, flags: c_int) -> ssize_t;
    fn sendto(fd: c_int, from: *const c_void, length: size_t, flags: c_int, to: *const sockaddr, size: socklen_t) -> ssize_t;
    fn sendfile64(to: c_int, from: c_int, offset: *mut i64, length: size_t) -> ssize_t;
    fn splice(from: c_int, from_offset: *mut i64, to: c_int, to_offset: *mut i64, length: size_t, flags: c_int) -> ssize_t;
    fn fdopen(fd: c_int, mode: *const c_char) -> *mut libc::FILE;
}

/// Runs a hook on a descriptor that has a slot: `work` for a stream, else the real call, whose bytes
/// are counted for the status if it is a plain client.
pub fn on_stream(
    fd: c_int,
    direction: Direction,
    work: impl FnOnce(&Stream, BorrowedFd<'_>) -> ssize_t,
    real: impl Fn() -> ssize_t,
) -> ssize_t {
    waiting(|| {
        let Some(found) = table::find(fd) else { return real() };
        if let Some(stream) = found.stream() {
            return table::borrowed(fd, |fd| work(stream, fd));
        }
        let n = real();
        if n > 0 {
            let (received, sent) = if direction == Direction::In { (n as u64, 0) } else { (0, n as u64) };
            match found.slot() {
                Some(Slot::Plain(client)) => client.count(received, sent),
                Some(Slot::Stream(stream)) => stream.count(received, sent),
                _ => {}
            }
        }
        n
    })
}

/// # Safety
/// `to` describes memory that the program lets us write.
unsafe fn reading(fd: c_int, to: &mut [iovec], flags: c_int, real: impl Fn() -> ssize_t) -> ssize_t {
    on_stream(
        fd,
        Direction::In,
        |stream, fd| {
            if call::finds_nothing(stream, fd, flags) {
                return fail(Errno::AGAIN) as ssize_t;
            }
            if lacks_memory(to) {
                return fail(Errno::FAULT) as ssize_t;
            }
            // SAFETY: the caller's promise.
            let slices = unsafe { borrowed_slices(to) };
            let own = || usize::try_from(real()).map_err(|_| last_error());
            match call::receive(stream, fd, slices, flags, Told::Bytes(&own), &Process) {
                Ok(Some(got)) => got.bytes as ssize_t,
                Ok(None) => real(),
                Err(error) => fail(error) as ssize_t,
            }
        },
        &real,
    )
}

/// # Safety
/// Each entry of `from` describes memory that the program lets us read.
unsafe fn writing(fd: c_int, from: &[iovec], flags: c_int, real: impl Fn() -> ssize_t) -> ssize_t {
    on_stream(
        fd,
        Direction::Out,
        |stream, fd| {
            if lacks_memory(from) {
                return fail(Errno::FAULT) as ssize_t;
            }
            // SAFETY: the caller's promise.
            match unsafe { with_slices(from, |from| call::send(stream, fd, from, &[], flags, &Process)) } {
                Ok(None) => real(),
                Ok(Some(n)) => n as ssize_t,
                Err(error) => fail(error) as ssize_t,
            }
        },
        &real,
    )
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn read(fd: c_int, to: *mut c_void, length: size_t) -> ssize_t {
    // SAFETY: the caller's contract is read(2)'s, here and below.
    let real = || unsafe { next::read(fd, to, length) };
    // The kernel reads nothing without looking at the socket; recv(2) does look.
    if !table::is_used(fd) || length == 0 {
        return real();
    }
    // SAFETY: the caller's contract, for its buffers.
    unsafe { reading(fd, &mut [iovec { iov_base: to, iov_len: length }], 0, real) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __read_chk(fd: c_int, to: *mut c_void, length: size_t, capacity: size_t) -> ssize_t {
    if length > capacity {
        std::process::abort();
    }
    // SAFETY: as read(2).
    unsafe { read(fd, to, length) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recv(fd: c_int, to: *mut c_void, length: size_t, flags: c_int) -> ssize_t {
    // SAFETY: as recv(2).
    let real = || unsafe { next::recv(fd, to, length, flags) };
    if !table::is_used(fd) {
        return real();
    }
    // SAFETY: the caller's contract, for its buffers.
    unsafe { reading(fd, &mut [iovec { iov_base: to, iov_len: length }], flags, real) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __recv_chk(fd: c_int, to: *mut c_void, length: size_t, capacity: size_t, flags: c_int) -> ssize_t {
    if length > capacity {
        std::process::abort();
    }
    // SAFETY: as recv(2).
    unsafe { recv(fd, to, length, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvfrom(
    fd: c_int,
    to: *mut c_void,
    length: size_t,
    flags: c_int,
    from: *mut sockaddr,
    space: *mut socklen_t,
) -> ssize_t {
    let is_named = Cell::new(false);
    let real = || {
        is_named.set(true);
        // SAFETY: as recvfrom(2).
        unsafe {
            let capacity = capacity(space);
            let n = next::recvfrom(fd, to, length, flags, from, space);
            hide_name(from, space, capacity);
            n
        }
    };
    if !table::is_used(fd) {
        return real();
    }
    // SAFETY: the caller's contract, for its buffers.
    let n = unsafe { reading(fd, &mut [iovec { iov_base: to, iov_len: length }], flags, real) };
    // Else the kernel has said whose they are.
    if n >= 0 && !from.is_null() && !is_named.get() {
        // SAFETY: the caller's out parameters.
        unsafe { sender(fd, n, from, space) };
    }
    n
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __recvfrom_chk(
    fd: c_int,
    to: *mut c_void,
    length: size_t,
    capacity: size_t,
    flags: c_int,
    from: *mut sockaddr,
    space: *mut socklen_t,
) -> ssize_t {
    if length > capacity {
        std::process::abort();
    }
    // SAFETY: as recvfrom(2).
    unsafe { recvfrom(fd, to, length, flags, from, space) }
}

/// The list of buffers of a vector call, or None where the real call must judge it.
pub unsafe fn vector<'a>(list: *const iovec, count: c_int) -> Option<&'a [iovec]> {
    let count = usize::try_from(count).ok().filter(|n| *n <= 1024)?;
    if count == 0 {
        return Some(&[]);
    }
    // SAFETY: `count` entries, by the contract of the vector calls.
    (!list.is_null()).then(|| unsafe { std::slice::from_raw_parts(list, count) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn readv(fd: c_int, to: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: as readv(2).
    let real = || unsafe { next::readv(fd, to, count) };
    if !table::is_used(fd) {
        return real();
    }
    // SAFETY: as readv(2).
    let Some(list) = (unsafe { vector(to, count) }) else { return real() };
    if list.iter().all(|entry| entry.iov_len == 0) {
        return real();
    }
    let mut list: SmallVec<[iovec; 8]> = SmallVec::from_slice(list);
    // SAFETY: the program's buffers.
    unsafe { reading(fd, &mut list, 0, real) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn write(fd: c_int, from: *const c_void, length: size_t) -> ssize_t {
    // SAFETY: as write(2).
    let real = || unsafe { next::write(fd, from, length) };
    if !table::is_used(fd) {
        return real();
    }
    // SAFETY: the caller's contract, for its buffers.
    unsafe { writing(fd, &[iovec { iov_base: from.cast_mut(), iov_len: length }], 0, real) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn writev(fd: c_int, from: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: as writev(2).
    let real = || unsafe { next::writev(fd, from, count) };
    if !table::is_used(fd) {
        return real();
    }
    // SAFETY: as writev(2).
    let Some(list) = (unsafe { vector(from, count) }) else { return real() };
    if list.iter().all(|entry| entry.iov_len == 0) {
        return real();
    }
    // SAFETY: the caller's contract, for its buffers.
    unsafe { writing(fd, list, 0, real) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn send(fd: c_int, from: *const c_void, length: size_t, flags: c_int) -> ssize_t {
    // SAFETY: as send(2).
    let real = || unsafe { next::send(fd, from, length, flags) };
    if !table::is_used(fd) {
        return real();
    }
    // SAFETY: the caller's contract, for its buffers.
    unsafe { writing(fd, &[iovec { iov_base: from.cast_mut(), iov_len: length }], flags, real) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendto(
    fd: c_int,
    from: *const c_void,
    length: size_t,
    flags: c_int,
    to: *const sockaddr,
    size: socklen_t,
) -> ssize_t {
    // SAFETY: as sendto(2).
    let real = || unsafe { next::sendto(fd, from, length, flags, to, size) };
    if !table::is_used(fd) {
        return real();
    }
    if !to.is_null() && size != 0 && table::stream(fd).is_some() {
        // What the kernel says of an address on a connected stream socket.
        return fail(Errno::ISCONN) as ssize_t;
    }
    // SAFETY: the caller's contract, for its buffers.
    unsafe { writing(fd, &[iovec { iov_base: from.cast_mut(), iov_len: length }], flags, real) }
}

/// Bytes that [`sendfile`] and [`splice`] copy at a time, which the kernel would not.
const COPIED: usize = 16 * 1024;

/// As sendfile(2) to a connection, at `offset` of the file or where it is.
fn send_file(to: c_int, from: c_int, offset: Option<&mut i64>, length: size_t) -> ssize_t {
    let mut buffer = vec![0u8; COPIED.min(length)];
    // SAFETY: no pointers.
    let mut at = offset.as_ref().map_or_else(|| unsafe { libc::lseek64(from, 0, libc::SEEK_CUR) }, |offset| **offset);
    if at < 0 {
        return if last_error() == Errno::SPIPE { fail(Errno::INVAL) as ssize_t } else { -1 };
    }
    let mut done = 0;
    while done < length {
        let want = COPIED.min(length - done);
        // SAFETY: the buffer is this long.
        let there = unsafe { libc::pread64(from, buffer.as_mut_ptr().cast(), want, at) };
        // SAFETY: likewise.
        let n = if there > 0 { unsafe { write(to, buffer.as_ptr().cast(), there as usize) } } else { there };
        if n < 0 && done == 0 {
            return n;
        }
        done += n.max(0) as usize;
        at += n.max(0) as i64;
        if n < want as ssize_t {
            break;
        }
    }
    match offset {
        Some(offset) => *offset = at,
        // SAFETY: no pointers.
        None => _ = unsafe { libc::lseek64(from, at, libc::SEEK_SET) },
    }
    done as ssize_t
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendfile(to: c_int, from: c_int, offset: *mut off_t, length: size_t) -> ssize_t {
    // SAFETY: as sendfile(2): the two have one type of offset.
    unsafe { sendfile64(to, from, offset, length) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendfile64(to: c_int, from: c_int, offset: *mut i64, length: size_t) -> ssize_t {
    if table::stream(to).is_some() {
        // SAFETY: as sendfile(2).
        return send_file(to, from, unsafe { offset.as_mut() }, length);
    }
    // SAFETY: as sendfile(2).
    unsafe { next::sendfile64(to, from, offset, length) }
}

/// As splice(2) from a connection to a pipe.
fn splice_from(from: c_int, to: c_int, length: size_t, flags: c_int) -> ssize_t {
    let has_room = || {
        table::borrowed(to, |to| poll(&mut [PollFd::from_borrowed_fd(to, PollFlags::OUT)], Some(&Timespec::default()))) != Ok(0)
    };
    let waits = flags & libc::SPLICE_F_NONBLOCK as c_int == 0;
    if !waits && !has_room() {
        return fail(Errno::AGAIN) as ssize_t;
    }
    let mut buffer = vec![0u8; COPIED.min(length)];
    let wait = if waits { 0 } else { libc::MSG_DONTWAIT };
    // SAFETY: the buffer is that long.
    let there = unsafe { recv(from, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_PEEK | wait) };
    let mut done = 0;
    // So much never waits in a pipe that has room. Perhaps nobody reads from it until this returns.
    for part in buffer[..there.max(0) as usize].chunks(libc::PIPE_BUF) {
        // SAFETY: it is as long as it says.
        let n = if done == 0 || has_room() { unsafe { next::write(to, part.as_ptr().cast(), part.len()) } } else { 0 };
        if n < 0 && done == 0 {
            return n;
        }
        done += n.max(0) as usize;
        if n < part.len() as ssize_t {
            break;
        }
    }
    // What the pipe has not taken stays.
    // SAFETY: the buffer is that long.
    if done > 0 { unsafe { recv(from, buffer.as_mut_ptr().cast(), done, libc::MSG_DONTWAIT) } } else { there.min(0) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn splice(
    from: c_int,
    from_offset: *mut i64,
    to: c_int,
    to_offset: *mut i64,
    length: size_t,
    flags: c_int,
) -> ssize_t {
    // Without a pipe, or bytes, the call has nothing of a connection, and the kernel says so.
    let is_pipe = |fd| length > 0 && table::borrowed(fd, |fd| rustix::pipe::fcntl_getpipe_size(fd)).is_ok();
    if from_offset.is_null() && to_offset.is_null() && table::stream(from).is_some() && is_pipe(to) {
        return splice_from(from, to, length, flags);
    }
    if let Some(stream) = table::stream(to)
        && is_pipe(from)
        && !shield(|| table::leave_to_kernel(to, &stream, Duration::ZERO), || true)
    {
        return fail(Errno::AGAIN) as ssize_t;
    }
    // SAFETY: as splice(2).
    unsafe { next::splice(from, from_offset, to, to_offset, length, flags) }
}

/// A stream of stdio reads and writes inside the C library, where no hook reaches.
#[unsafe(no_mangle)]
unsafe extern "C" fn fdopen(fd: c_int, mode: *const c_char) -> *mut libc::FILE {
    if let Some(stream) = table::stream(fd) {
        shield(|| table::hand_over(fd, &stream), || {});
    }
    // SAFETY: as fdopen(3).
    unsafe { next::fdopen(fd, mode) }
}
