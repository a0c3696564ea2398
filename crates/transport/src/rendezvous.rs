//! The client's side of finding out whether a server can use shared memory, beside the connection.
//!
//! Before it connects, a client sends an offer to the server's hub and binds its socket to a random
//! abstract name that the offer carries; the server, when it accepts the connection, sees the name
//! and so knows which offer belongs to it. Nothing is sent on the connection and nobody waits.

use crate::{
    descriptor::Reserved,
    endpoint::{Endpoint, hash},
    habit::{Attempt, attempt},
    hub::Hub,
    line::{Message, TOKEN, send_message},
    settings::{Settings, runtime_dir},
    stream::Stream,
};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, getsockname, socket_with};
use slipway_fabric::credentials;
use std::{
    os::fd::{AsFd, BorrowedFd},
    path::PathBuf,
    sync::OnceLock,
};

/// The abstract names of offering clients begin so (after the zero byte).
pub const PREFIX: &[u8] = b"slipway-line-";

/// An offer that is out while its client connects.
#[derive(Debug)]
pub struct Offer {
    line: Reserved,
    /// The server got its listening socket from another process, whose it is in the kernel's eyes.
    inherited: bool,
    attempt: Attempt,
}

/// Offers shared memory to the server that listens at `endpoint` for the socket `fd`, which is about to connect.
///
/// None if the server has no hooks, belongs to another user, or is busy, or the program's connections don't last: then the socket is
/// untouched, except that it may keep the abstract name (which the hooks hide).
pub fn offer(fd: BorrowedFd<'_>, endpoint: &Endpoint) -> Option<Offer> {
    let hub = endpoint.hub_name()?;
    let path = known_dir()?.join(&hub);
    // Nearly always there is none.
    let file = rustix::fs::stat(&path).ok()?;
    // A program seldom makes one connection to a display after the other, and the one that it works with may be the last.
    let attempt = if endpoint.display().is_some() { Attempt::default() } else { attempt(&hub)? };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let line = Reserved::make_aside(|| socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)).ok()?;
    connect(&line, &SocketAddrUnix::new(path).ok()?).ok()?;
    let mut token = [0; TOKEN];
    rustix::rand::getrandom(&mut token, rustix::rand::GetRandomFlags::empty()).ok().filter(|n| *n == TOKEN)?;
    if bind(fd, &SocketAddrUnix::new_abstract_name(&name_of(&token)).ok()?).is_err() {
        // By the program, or when it tried to connect before.
        token = token_of(SocketAddrUnix::try_from(getsockname(fd).ok()?).ok()?.abstract_name()?);
    }
    send_message(line.as_fd(), &Message::Offer { token, ring: Settings::get().ring as u64 }).ok()?;
    Some(Offer { line, inherited: Hub::is_inherited(&file), attempt })
}

/// Finds the runtime directory while the environment is as the program was given it.
pub fn prepare() {
    known_dir();
}

/// The runtime directory, looked for until it is there.
fn known_dir() -> Option<&'static PathBuf> {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get().or_else(|| runtime_dir(false).map(|dir| DIR.get_or_init(|| dir)))
}

impl Offer {
    /// The connection is made: the client's stream, if the process that listens there is the one
    /// that the offer went to.
    pub fn connected(self, fd: BorrowedFd<'_>, nonblocking: bool) -> Option<Stream> {
        let listener = credentials::peer(fd).ok()?;
        let hub = credentials::peer(&self.line).ok()?;
        // A process of another PID namespace has no number here, and could be any.
        let same = listener.pid.is_some() && listener == hub;
        let trusted = listener.uid == hub.uid || listener.uid == 0;
        let pid = hub.pid.filter(|_| same || (self.inherited && trusted))?;
        self.attempt.begin();
        Stream::offered(self.line, pid, nonblocking, self.attempt).ok()
    }
}

/// The abstract name of a client that asks for a connection over ports.
pub fn name_of_ports(token: &[u8; TOKEN]) -> Vec<u8> {
    let mut name = name_of(token);
    name.insert(PREFIX.len(), PORTS);
    name
}

/// The token in such a name.
pub fn token_of_ports(name: &[u8]) -> Option<[u8; TOKEN]> {
    let digits = name.strip_prefix(PREFIX)?.strip_prefix(&[PORTS])?;
    parse(&[PREFIX, digits].concat())
}

/// What tells such a name from that of an offer.
const PORTS: u8 = b'p';

/// The abstract name of a client with that token.
fn name_of(token: &[u8; TOKEN]) -> Vec<u8> {
    let mut name = PREFIX.to_vec();
    for byte in token {
        name.extend(format!("{byte:02x}").bytes());
    }
    name
}

/// The token of a client whose socket has this abstract name (without its leading zero byte): in it, if the name is one of ours. No two
/// sockets have the same.
pub fn token_of(name: &[u8]) -> [u8; TOKEN] {
    parse(name).unwrap_or_else(|| {
        let mut token = [0; TOKEN];
        token[..8].copy_from_slice(&hash(name).to_le_bytes());
        token
    })
}

fn parse(name: &[u8]) -> Option<[u8; TOKEN]> {
    let digits = std::str::from_utf8(name.strip_prefix(PREFIX)?).ok().filter(|d| d.len() == 2 * TOKEN && d.is_ascii())?;
    let mut token = [0; TOKEN];
    for (byte, pair) in token.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let token = [0xa5; TOKEN];
        assert_eq!(token_of(&name_of(&token)), token);
        assert_eq!(parse(b"slipway-line-zz"), None);
        assert_ne!(token_of(b"one"), token_of(b"two"));
        assert_eq!((token_of_ports(&name_of_ports(&token)), parse(&name_of_ports(&token))), (Some(token), None));
    }
}
