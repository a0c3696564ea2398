//! Socket options that change what a receive returns in ways that only the kernel does: a connection with one stays on its socket.

use slipway_fabric::options::{option, timeout};
use std::{ffi::c_int, os::fd::BorrowedFd};

/// With the value that they have at first.
const KERNEL_ONLY: [(c_int, c_int); 6] = [
    (libc::SO_PASSCRED, 0),
    (libc::SO_PASSSEC, 0),
    (SO_PASSPIDFD, 0),
    (SO_PASSRIGHTS, 1),
    (libc::SO_PEEK_OFF, -1),
    (libc::SO_RCVLOWAT, 1),
];

/// So many of them a connection has from the listening socket, as they are there when its client connects.
const INHERITED: usize = 4;

/// Linux 6.5.
const SO_PASSPIDFD: c_int = 76;
/// Linux 6.16: whether descriptors are let in.
const SO_PASSRIGHTS: c_int = 83;
/// Linux 6.17: receives tell how much is left. Whether it is set nobody can ask.
const SO_INQ: c_int = 84;

/// Whether only the kernel can honour the option of this name.
pub fn is_kernel_only(name: c_int) -> bool {
    is_secret(name) || KERNEL_ONLY.iter().any(|(only, _)| *only == name)
}

/// Whether it is one of which a socket does not tell whether it is set.
pub fn is_secret(name: c_int) -> bool {
    name == SO_INQ
}

/// Whether an accepted socket has it from the listening one, too.
pub fn is_inherited(name: c_int) -> bool {
    KERNEL_ONLY[..INHERITED].iter().any(|(only, _)| *only == name)
}

/// Whether one of them is set.
pub fn needs_kernel(fd: BorrowedFd<'_>) -> bool {
    is_set(fd, &KERNEL_ONLY)
}

/// Whether one is set that `fd`, which was just accepted, has from the listening socket.
pub fn inherits_need(fd: BorrowedFd<'_>) -> bool {
    is_set(fd, &KERNEL_ONLY[..INHERITED])
}

fn is_set(fd: BorrowedFd<'_>, options: &[(c_int, c_int)]) -> bool {
    options.iter().any(|(name, unset)| option(fd, *name).is_some_and(|value| value != *unset))
}

/// SO_RCVTIMEO and SO_SNDTIMEO in microseconds; 0 is none.
pub fn timeouts(fd: BorrowedFd<'_>) -> [u64; 2] {
    [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO].map(|name| timeout(fd, name))
}
