//! The client's side of finding out whether a server can use shared memory, beside the X connection.
//!
//! Before it connects, a client sends an offer to the server's hub and binds its socket to a random
//! abstract name that the offer carries; the server, when it accepts the connection, sees the name
//! and so knows which offer belongs to it. Nothing is sent on the connection and nobody waits.

use crate::{
    descriptor::Reserved,
    line::{Message, TOKEN, send_message},
    settings::{Settings, runtime_dir},
    status::hub_path,
    stream::Stream,
};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, socket_with};
use slipway_fabric::credentials;
use std::os::fd::{AsFd, BorrowedFd};

/// The abstract names of offering clients begin so (after the zero byte).
const PREFIX: &[u8] = b"slipway-x11-";

/// An offer that is out while its client connects.
#[derive(Debug)]
pub struct Offer {
    line: Reserved,
}

/// Offers shared memory to the server of `display` for the socket `fd`, which is about to connect.
///
/// None if the server has no hooks, belongs to another user, or is busy: then the socket is
/// untouched, except that it may keep the abstract name (which the hooks hide).
pub fn offer(fd: BorrowedFd<'_>, display: u32) -> Option<Offer> {
    let path = hub_path(&runtime_dir(false)?, display);
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let line = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).ok()?;
    connect(&line, &SocketAddrUnix::new(path).ok()?).ok()?;
    let mut token = [0; TOKEN];
    rustix::rand::getrandom(&mut token, rustix::rand::GetRandomFlags::empty()).ok().filter(|n| *n == TOKEN)?;
    bind(fd, &SocketAddrUnix::new_abstract_name(&name(&token)).ok()?).ok()?;
    send_message(line.as_fd(), &Message::Offer { token, ring: Settings::get().ring as u64 }).ok()?;
    Some(Offer { line: Reserved::new(line).ok()? })
}

impl Offer {
    /// The connection is made: the client's stream, if the process that listens there is the one
    /// that the offer went to.
    pub fn connected(self, fd: BorrowedFd<'_>, nonblocking: bool) -> Option<Stream> {
        let x = credentials::peer(fd).ok()?;
        let hub = credentials::peer(&self.line).ok()?;
        // A process of another PID namespace has no number here, and could be any.
        let pid = x.pid.filter(|_| x == hub)?;
        Stream::offered(self.line, pid, nonblocking).ok()
    }
}

fn name(token: &[u8; TOKEN]) -> Vec<u8> {
    let mut name = PREFIX.to_vec();
    for byte in token {
        name.extend(format!("{byte:02x}").bytes());
    }
    name
}

/// The token in an abstract socket name (without its leading zero byte), if it is one of ours.
pub fn token_of(name: &[u8]) -> Option<[u8; TOKEN]> {
    let digits = std::str::from_utf8(name.strip_prefix(PREFIX)?).ok().filter(|d| d.len() == 2 * TOKEN && d.is_ascii())?;
    let mut token = [0; TOKEN];
    for (byte, pair) in token.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(token)
}

/// The display whose X socket has this path or abstract name.
pub fn display_of(name: &[u8]) -> Option<u32> {
    std::str::from_utf8(name.strip_prefix(b"/tmp/.X11-unix/X")?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let token = [0xa5; TOKEN];
        assert_eq!(token_of(&name(&token)), Some(token));
        assert_eq!(token_of(b"slipway-x11-zz"), None);
        assert_eq!(display_of(b"/tmp/.X11-unix/X42"), Some(42));
        assert_eq!(display_of(b"/tmp/.X11-unix/X42.0"), None);
        assert_eq!(display_of(b"/tmp/other"), None);
    }
}
