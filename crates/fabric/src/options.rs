//! Socket options that are integers.
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
