//! What lies in the ring of a peer that has gone, where the program leaves the connection to others: the peer can't put it on the socket any more.

use crate::table::{self, borrowed};
use rustix::{
    io::{FdFlags, fcntl_getfd, fcntl_setfd},
    net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair, sockopt::set_socket_send_buffer_size},
};
use slipway_transport::{
    report,
    stream::{How, Stream},
};
use std::{
    io::IoSliceMut,
    os::fd::{AsRawFd, RawFd},
};

/// Puts a socket in the place of `fd` that has what the program has not read, and then the end. Of the connection itself there is nothing left but that.
pub fn keep(fd: RawFd, stream: &Stream) {
    if !stream.holds_unread() || !borrowed(fd, |fd| stream.has_hung_up(fd)) {
        return;
    }
    let Ok((from, place)) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None) else { return };
    let _ = set_socket_send_buffer_size(&from, stream.ring_size());
    let mut buffer = vec![0u8; 16 * 1024];
    loop {
        let receive = |to: &mut [u8], peek| {
            let how = How { peek, ..How::default() };
            borrowed(fd, |fd| stream.receive(fd, &mut [IoSliceMut::new(to)], how)).map_or(0, |got| got.bytes)
        };
        let there = receive(&mut buffer, true);
        if there == 0 {
            break;
        }
        let Ok(sent) = send(&from, &buffer[..there], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) else {
            report::warn(format_args!(
                "a connection whose peer has gone holds more than a socket does; the program that goes on with it does not get all"
            ));
            break;
        };
        receive(&mut buffer[..sent], false);
    }
    let flags = borrowed(fd, |fd| fcntl_getfd(fd)).unwrap_or(FdFlags::CLOEXEC);
    if stream.nonblocking() {
        let _ = rustix::io::ioctl_fionbio(&place, true);
    }
    table::forget(fd);
    // SAFETY: no pointers; the number is the program's, and open.
    unsafe { libc::syscall(libc::SYS_dup3, place.as_raw_fd(), fd, 0) };
    let _ = borrowed(fd, |fd| fcntl_setfd(fd, flags));
}
