//! The client's side of finding out whether a server can use shared memory, beside the connection.
//!
//! Before it connects, a client binds its socket to a random abstract name; the server, when it accepts the connection, sees
//! the name. The client sends an offer that carries the name to the server's hub, later or at once, and the server
//! so knows which connection it is for. Nothing is sent on the connection and nobody waits.

use crate::{
    descriptor::{Reserved, shortage},
    endpoint::{Endpoint, hash},
    environment,
    hub::Hub,
    line::{Message, TOKEN, send_message},
    ports::display::put_over,
    public,
    settings::Settings,
    stream::{Prospect, Stream},
};
use rustix::{
    fs::{fcntl_getfl, fcntl_setfl},
    io::Errno,
    net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, getpeername, getsockname, socket_with,
        sockopt::{
            Timeout, set_socket_recv_buffer_size, set_socket_send_buffer_size, set_socket_timeout, socket_recv_buffer_size,
            socket_send_buffer_size, socket_timeout,
        },
    },
    process::geteuid,
};
use slipway_fabric::{
    credentials::{self, Credentials},
    runtime::Named,
    sync::{AtomicU32, Ordering::Relaxed},
};
use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    path::PathBuf,
    sync::OnceLock,
};

/// The abstract names of offering clients begin so (after the zero byte).
pub const PREFIX: &[u8] = b"slipway-line-";

/// Where a client offers shared memory for a connection.
#[derive(Debug)]
pub struct Address {
    hub: SocketAddrUnix,
    /// The server got its listening socket from another process, whose it is in the kernel's eyes.
    inherited: bool,
    /// The name of the client's socket.
    token: [u8; TOKEN],
}

/// A client that is about to connect, and may offer shared memory.
#[derive(Debug)]
pub struct Offer {
    to: Address,
    unused: &'static AtomicU32,
    /// Of one that offers before it connects.
    line: Option<Reserved>,
}

/// Connections of this process that ended, one after the other, before they were used enough for an offer: a place for each endpoint, or for a few.
static UNUSED: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];

/// After so many of them a process makes its connections to an endpoint without an offer in mind, but for one in so many.
const MANY_UNUSED: u32 = 64;
const TRIES_ONE_IN: u32 = 16;

/// A connection that was not used enough for an offer, until it [was](Unused::was_used). It counts when it ends.
#[derive(Debug)]
pub struct Unused(&'static AtomicU32);

impl Unused {
    /// One that goes on: those that come may, too.
    pub fn was_used(self) {
        self.0.store(0, Relaxed);
        std::mem::forget(self);
    }
}

impl Drop for Unused {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Prepares the socket `fd`, which is about to connect to the server that listens at `endpoint`, for an offer of shared memory; and offers, if
/// the connection is not to be used first (`SLIPWAY_X11_AFTER`).
///
/// None if the server has no hooks, belongs to another user (without `SLIPWAY_X11_USERS=all`), or is busy: then the socket is
/// untouched, except that it may keep the abstract name (which the hooks hide; see [`unname`]).
pub fn offer(fd: BorrowedFd<'_>, endpoint: &Endpoint) -> Option<Offer> {
    let unused = &UNUSED[endpoint.hash() as usize % UNUSED.len()];
    let count = unused.load(Relaxed);
    if count >= MANY_UNUSED && !count.is_multiple_of(TRIES_ONE_IN) && Settings::get().after != 0 {
        unused.fetch_add(1, Relaxed);
        return None;
    }
    let name = endpoint.hub_name()?;
    // Nearly always there is none. A public one counts only for the process that opened it, as anybody can take the name.
    let (hub, inherited) = own_hub(&name).or_else(|| {
        let of_others = Settings::get().all_users.then(|| public::find(&name))?;
        Some((of_others?, false))
    })?;
    let mut token = [0; TOKEN];
    rustix::rand::getrandom(&mut token, rustix::rand::GetRandomFlags::empty()).ok().filter(|n| *n == TOKEN)?;
    if bind(fd, &SocketAddrUnix::new_abstract_name(&name_of(&token)).ok()?).is_err() {
        // By the program, or when it tried to connect before.
        token = token_of(SocketAddrUnix::try_from(getsockname(fd).ok()?).ok()?.abstract_name()?);
    }
    let to = Address { hub, inherited, token };
    let s = Settings::get();
    let offer = |line: Reserved| send_message(line.as_fd(), &Message::Offer { token, ring: s.ring as u64 }).map(|()| line);
    let line = if s.after == 0 { Some(to.call().and_then(offer).ok()?) } else { None };
    Some(Offer { to, unused, line })
}

/// Where the hub of that name is in this user's runtime directory, and whether its server inherited the listening socket.
fn own_hub(name: &str) -> Option<(SocketAddrUnix, bool)> {
    let hub = known_dir()?.join(name);
    let file = rustix::fs::stat(&hub).ok()?;
    Some((SocketAddrUnix::new(&hub).ok()?, Hub::is_inherited(&file)))
}

/// Takes the name off the socket `fd` again that an offer gave it, if it is not connected: a fresh one with its settings comes in its place, as
/// the kernel takes no name away. No other descriptor may lead to the socket. None if it stays as it is.
pub fn unname(fd: BorrowedFd<'_>) -> Option<()> {
    let name = SocketAddrUnix::try_from(getsockname(fd).ok()?).ok()?;
    if !name.abstract_name()?.starts_with(PREFIX) || getpeername(fd).is_ok() {
        return None;
    }
    let fresh = Reserved::make_aside(|| socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)).ok()?;
    let new = fresh.as_fd();
    for time in [Timeout::Recv, Timeout::Send] {
        set_socket_timeout(new, time, socket_timeout(fd, time).ok()?).ok()?;
    }
    type Buffer<'a> = (fn(BorrowedFd<'a>) -> Result<usize, Errno>, fn(BorrowedFd<'a>, usize) -> Result<(), Errno>);
    let buffers: [Buffer<'_>; 2] =
        [(socket_send_buffer_size, set_socket_send_buffer_size), (socket_recv_buffer_size, set_socket_recv_buffer_size)];
    for (size, set) in buffers {
        let wanted = size(fd).ok()?;
        // The kernel doubles what it is given, and root may have given more than this process can.
        if size(new) != Ok(wanted) && (set(new, wanted / 2).is_err() || size(new) != Ok(wanted)) {
            return None;
        }
    }
    fcntl_setfl(new, fcntl_getfl(fd).ok()?).ok()?;
    put_over(new, fd).ok()
}

/// Where the runtime directory is by the environment that the program was given.
static NAMED: OnceLock<Named> = OnceLock::new();

/// Looks at the environment while it is as the program was given it.
pub fn prepare() {
    NAMED.get_or_init(|| Named::by(environment::variable));
}

/// The runtime directory, looked for until it is there.
fn known_dir() -> Option<&'static PathBuf> {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    let find = || NAMED.get_or_init(|| Named::by(environment::variable)).find(false);
    DIR.get().or_else(|| find().map(|dir| DIR.get_or_init(|| dir)))
}

impl Offer {
    /// The connection is made: the client's stream, if the process that listens there is the one
    /// that an offer went to.
    pub fn connected(self, fd: BorrowedFd<'_>, nonblocking: bool) -> Option<Stream> {
        let listener = credentials::peer(fd).ok()?;
        match self.line {
            Some(line) => {
                let pid = self.to.trusted(&line, listener)?;
                Stream::offered(line, pid, self.to.is_foreign(listener), nonblocking).ok()
            }
            None => {
                let prospect = Prospect::Client { to: self.to, listener, unused: Some(Unused(self.unused)) };
                Stream::quiet(prospect, None, nonblocking, false).ok()
            }
        }
    }
}

impl Address {
    /// Offers for a connection whose other end is `listener` in the kernel's eyes: the line, if the hub is of the process that has that.
    ///
    /// # Errors
    /// `WouldBlock`: so many offer at this moment that the hub can't take another. Anything else: nothing will come of it.
    pub fn offer(&self, listener: Credentials) -> io::Result<Reserved> {
        let line = self.call()?;
        // The program's descriptors come first.
        if shortage(line.as_fd().as_raw_fd()) != 0 || self.trusted(&line, listener).is_none() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        send_message(line.as_fd(), &Message::Late { token: self.token, ring: Settings::get().ring as u64 })?;
        Ok(line)
    }

    /// Comes to the hub.
    fn call(&self) -> io::Result<Reserved> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let line = Reserved::make_aside(|| socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None))?;
        connect(&line, &self.hub)?;
        Ok(line)
    }

    /// Whether the listener is of another user. One that was inherited has its hub in this user's directory.
    pub fn is_foreign(&self, listener: Credentials) -> bool {
        !self.inherited && listener.uid != geteuid().as_raw()
    }

    /// The process of the hub, if it is the one that listens.
    fn trusted(&self, line: &Reserved, listener: Credentials) -> Option<u32> {
        let hub = credentials::peer(line).ok()?;
        // A process of another PID namespace has no number here, and could be any.
        let same = listener.pid.is_some() && listener == hub;
        let trusted = listener.uid == hub.uid || listener.uid == 0;
        hub.pid.filter(|_| same || (self.inherited && trusted))
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
    let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
    PREFIX.iter().copied().chain(token.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])).collect()
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
    fn a_connection_that_goes_on_is_not_counted() {
        static COUNT: AtomicU32 = AtomicU32::new(7);
        drop(Unused(&COUNT));
        assert_eq!(COUNT.load(Relaxed), 8);
        Unused(&COUNT).was_used();
        assert_eq!(COUNT.load(Relaxed), 0);
    }

    #[test]
    fn names() {
        let token = [0xa5; TOKEN];
        assert_eq!(token_of(&name_of(&token)), token);
        assert_eq!(parse(b"slipway-line-zz"), None);
        assert_ne!(token_of(b"one"), token_of(b"two"));
        assert_eq!((token_of_ports(&name_of_ports(&token)), parse(&name_of_ports(&token))), (Some(token), None));
    }
}
