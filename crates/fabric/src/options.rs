//! Socket options that are integers or times.
#![allow(unsafe_code, reason = "getsockopt: the safe face doesn't know all of them")]

use std::{
    ffi::c_int,
    os::fd::{AsFd, AsRawFd},
};

/// A socket's option of the level SOL_SOCKET; None if it has none of that name.
pub fn option(socket: impl AsFd, name: c_int) -> Option<c_int> {
    let (mut value, mut size) = (0 as c_int, size_of::<c_int>() as libc::socklen_t);
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `size` bytes to `value`, a plain integer, and their number to `size`; both live until the end of the
    // call, as does the borrowed descriptor.
    let done = unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, name, (&raw mut value).cast(), &raw mut size) };
    (done == 0).then_some(value)
}

/// A time-out of a socket, by its name of the level SOL_SOCKET, in microseconds; 0 is none.
pub fn timeout(socket: impl AsFd, name: c_int) -> u64 {
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut size = size_of::<libc::timeval>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: as above; the structure has integers alone.
    unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, name, (&raw mut time).cast(), &raw mut size) };
    micros(time)
}

/// A time-out in microseconds; 0 is none.
pub fn micros(time: libc::timeval) -> u64 {
    // The kernel takes a negative time for one that is over.
    if time.tv_sec < 0 { 1 } else { (time.tv_sec as u64).saturating_mul(1_000_000).saturating_add(time.tv_usec as u64) }
}
