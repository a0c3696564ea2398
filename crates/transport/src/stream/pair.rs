//! Both ends of a connection, for unit tests.

use super::*;
use crate::line;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::{
    io::{IoSlice, IoSliceMut},
    os::fd::{AsFd, OwnedFd},
};

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

/// What a read of nothing and a send say: with a socket whose other end is gone in place of the stream's own, so that asking the kernel shows.
pub(crate) fn asked(stream: &Stream) -> [Result<usize, Errno>; 2] {
    let (dead, _) = std::os::unix::net::UnixStream::pair().expect("a pair");
    let read = stream.receive(dead.as_fd(), &mut [IoSliceMut::new(&mut [0; 8])], How::default()).map(|got| got.bytes);
    [read, stream.send(dead.as_fd(), &[IoSlice::new(b"x")], &[])]
}

/// As if it had asked the kernel when the machine began to run; or never.
pub(crate) fn age(stream: &Stream, ever: bool) {
    stream.state.rx.looked_at.store(ever.into(), Relaxed);
    stream.state.tx.looked_at.store(ever.into(), Relaxed);
}

/// What `turn` says where it takes so little time that nothing that was asked at its start is old at its end; again until it does.
pub(crate) fn within_a_tick<T>(mut turn: impl FnMut() -> T) -> T {
    loop {
        let start = coarse_now();
        let said = turn();
        if coarse_now() == start {
            return said;
        }
    }
}

/// As if it had asked the kernel so many nanoseconds ago.
pub(crate) fn asked_before(stream: &Stream, ago: u64) {
    stream.state.rx.looked_at.store(coarse_now() - ago, Relaxed);
}

/// A server's end of a connection of which nobody has made use yet, with its socket and the other end's.
pub(crate) fn quiet() -> (Stream, OwnedFd, OwnedFd) {
    let (socket, peer) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    let from = slipway_fabric::credentials::peer(&socket).unwrap();
    let prospect = Prospect::Server { hub: Weak::new(), kept: None, token: [0; line::TOKEN], from };
    (Stream::quiet(prospect, None, true, false).unwrap(), socket, peer)
}
