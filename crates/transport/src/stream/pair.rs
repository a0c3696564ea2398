//! Both ends of a connection, for unit tests.

use super::*;
use crate::{
    epoll::Event,
    line,
    wait::{Kernel, PollEntry},
};
use rustix::{
    event::epoll,
    net::{AddressFamily, SocketFlags, SocketType, socketpair},
};
use std::{
    io::{IoSlice, IoSliceMut},
    net::Shutdown,
    os::fd::{AsFd, OwnedFd},
    os::unix::net::UnixStream,
    sync::{PoisonError, RwLock, RwLockReadGuard},
    time::Duration,
};

/// The ends, with their sockets.
pub(crate) struct Ends {
    pub client: (Stream, OwnedFd),
    pub server: (Stream, OwnedFd),
}

/// Written while a test has a child, which has copies of all the others' descriptors.
pub(crate) static FORKED: RwLock<()> = RwLock::new(());

/// A test that relies on a hang-up holds this, once: whoever holds it may not have a child.
pub(crate) fn unforked() -> RwLockReadGuard<'static, ()> {
    FORKED.read().unwrap_or_else(PoisonError::into_inner)
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

/// What a read of nothing and a send say: with a socket that is shut down in place of the stream's own, so that asking the kernel shows.
pub(crate) fn asked(stream: &Stream) -> [Result<usize, Errno>; 2] {
    let (dead, _) = UnixStream::pair().expect("a pair");
    dead.shutdown(Shutdown::Both).expect("a socket");
    let read = stream.receive(dead.as_fd(), &mut [IoSliceMut::new(&mut [0; 8])], How::default()).map(|got| got.bytes);
    [read, stream.send(dead.as_fd(), &[IoSlice::new(b"x")], &[])]
}

/// As if it had asked the kernel when the machine began to run; or never. What was noted of the socket, as by [`asked`], is no news.
pub(crate) fn age(stream: &Stream, ever: bool) {
    stream.state.rx.events_seen.store(stream.state.rx.events.load(Relaxed), Relaxed);
    stream.state.rx.looked_at.store(ever.into(), Relaxed);
    stream.state.tx.looked_at.store(ever.into(), Relaxed);
}

/// Repeats `turn` until one run lies within a tick of the coarse clock, and gives its result: nothing that it asked at its start is old at its end.
pub(crate) fn within_a_tick<T>(mut turn: impl FnMut() -> T) -> T {
    loop {
        let start = coarse_now();
        let said = turn();
        if coarse_now() == start {
            return said;
        }
    }
}

/// Whether it has given a sleeper up.
pub(crate) fn has_late_sleepers(stream: &Stream) -> bool {
    stream.late_sleepers.load(Relaxed) != 0
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

impl Stream {
    /// As a call does after which the connection has been used long enough; one for which no offer is found stays on its socket.
    pub(crate) fn get_line_if_none_sleeps(&self, fd: BorrowedFd<'_>) {
        self.get_line(fd, u32::MAX);
    }

    /// What was received over the socket, as this end counts it.
    pub(crate) fn bytes_on_socket(&self) -> u64 {
        self.state.rx.socket_bytes.load(Relaxed)
    }
}

/// The kernel, as a program asks it; and how often it was asked.
#[derive(Default)]
pub(crate) struct Itself {
    pub polls: u32,
    pub epolls: u32,
}

impl Kernel for Itself {
    fn poll(&mut self, entries: &mut [PollEntry], timeout: Option<Duration>) -> Result<usize, Errno> {
        self.polls += 1;
        let mut fds: Vec<_> =
            entries.iter().map(|entry| libc::pollfd { fd: entry.fd, events: entry.events, revents: 0 }).collect();
        let ms = timeout.map_or(-1, |time| time.as_millis() as i32 + 1);
        #[allow(unsafe_code, reason = "asks the kernel as a program does")]
        // SAFETY: an array of so many.
        let n = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, ms) };
        entries.iter_mut().zip(&fds).for_each(|(entry, fd)| entry.revents = fd.revents);
        Ok(n as usize)
    }

    fn epoll(&mut self, set: BorrowedFd<'_>, out: &mut Vec<Event>, most: usize, timeout: Option<Duration>) -> Result<(), Errno> {
        self.epolls += 1;
        let mut events = Vec::with_capacity(most);
        let time = timeout.map(|time| time.try_into().expect("a time"));
        epoll::wait(set, rustix::buffer::spare_capacity(&mut events), time.as_ref())?;
        out.extend(events.iter().map(|&epoll::Event { flags, data }| Event { events: flags.bits(), data: data.u64() }));
        Ok(())
    }

    fn restarts(&mut self) -> bool {
        false
    }
}

/// A kernel that says what it is told to; no wait in it asks a set.
pub(crate) struct Asked<F>(pub F);

impl<F: FnMut(&mut [PollEntry], Option<Duration>) -> Result<usize, Errno>> Kernel for Asked<F> {
    fn poll(&mut self, entries: &mut [PollEntry], timeout: Option<Duration>) -> Result<usize, Errno> {
        (self.0)(entries, timeout)
    }

    fn epoll(&mut self, _: BorrowedFd<'_>, _: &mut Vec<Event>, _: usize, _: Option<Duration>) -> Result<(), Errno> {
        unreachable!("it has no set")
    }

    fn restarts(&mut self) -> bool {
        false
    }
}
