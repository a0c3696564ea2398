//! Both ends of a connection, for unit tests.

use super::*;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::OwnedFd;

/// The ends, with their sockets.
pub(crate) struct Ends {
    pub client: (Stream, OwnedFd),
    pub server: (Stream, OwnedFd),
}

/// Two ends whose segment is there, with rings of 4 KiB.
pub(crate) fn ends() -> Ends {
    let pair = |kind| socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
    let ((x, y), (line, peer)) = (pair(SocketType::STREAM), pair(SocketType::SEQPACKET));
    let end = |role, line| Stream::new(role, Reserved::new(line).unwrap(), 0, true, None).unwrap();
    let (client, server) = (end(Role::Client, line), end(Role::Server, peer));
    let (segment, file) = Segment::create(4096).unwrap();
    client.adopt(Segment::open(file.as_fd(), 4096).unwrap());
    server.adopt(segment);
    Ends { client: (client, x), server: (server, y) }
}
