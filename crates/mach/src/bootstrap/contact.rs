//! First contact: how a task that has no port yet gets one to the name server.
//!
//! The server listens at a socket that only its user can reach. Each client gets one packet: [`Hello`],
//! with the two descriptors of a send right. All else is Mach messages.
//!
//! A program that the server starts inherits a socket in which such a packet lies already ([`super::inherited`]). Its right is to
//! a port that no other task has a right to, so the server knows by it that the request comes from that program.

use crate::{abi::Code, task::Task};
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt},
};
use slipway_fabric::{
    credentials,
    packet::{self, Packet},
    runtime::runtime_dir,
    trust,
};
use std::{
    env, io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The variable that names the socket, for a name server that isn't the user's own one.
pub const SOCKET_VARIABLE: &str = "SLIPWAY_BOOTSTRAP";
/// The socket's name in the user's runtime directory.
pub const SOCKET: &str = "bootstrap";
/// How long a server that listens may take to answer a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// The packet that answers a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Hello {
    /// [`MAGIC`].
    magic: u32,
    /// [`VERSION`].
    version: u32,
}

const MAGIC: u32 = 0x534d_4253;
/// The version of the packet, of the messages and of the lines that carry them.
const VERSION: u32 = 1;
const HELLO: Hello = Hello { magic: MAGIC, version: VERSION };
/// What a server sends that serves as many clients as it may: no version, and no descriptors.
const FULL: Hello = Hello { magic: MAGIC, version: 0 };

/// Why there is no name server to ask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// There is no directory for the socket.
    #[error(
        "no name server: no runtime directory is this user's own and closed to others (mode 0700), in directories that \
         only this user and root can change; set SLIPWAY_RUNTIME_DIR to one"
    )]
    NoDirectory,
    /// The socket that SLIPWAY_BOOTSTRAP names does not answer. A private server isn't started again: the session
    /// that it was for is over.
    #[error(
        "no name server at {} (SLIPWAY_BOOTSTRAP): {why}; start one with `slipway-bootstrap --socket {}`, or unset \
         SLIPWAY_BOOTSTRAP to use your own", .socket.display(), .socket.display()
    )]
    Named {
        /// The socket that was tried.
        socket: PathBuf,
        /// What went wrong.
        why: String,
    },
    /// The user's own server does not answer and could not be started.
    #[error("no name server at {}: {why}; start it with `slipway-bootstrap`", .socket.display())]
    Own {
        /// The socket that was tried.
        socket: PathBuf,
        /// What went wrong.
        why: String,
    },
}

/// Where the name server's socket is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The socket; absolute.
    pub socket: PathBuf,
    /// Whether SLIPWAY_BOOTSTRAP names it.
    pub named: bool,
}

impl Address {
    /// The address that SLIPWAY_BOOTSTRAP names, else that of the user's own server. A set-uid program has the latter only.
    pub fn find() -> Result<Self, Unreachable> {
        if let Some(path) = env::var_os(SOCKET_VARIABLE).filter(|path| !path.is_empty() && !trust::is_elevated()) {
            let socket = std::path::absolute(&path).unwrap_or_else(|_| path.into());
            return Ok(Self { socket, named: true });
        }
        Self::own()
    }

    /// The address of the user's own server.
    pub fn own() -> Result<Self, Unreachable> {
        let dir = runtime_dir(true).ok_or(Unreachable::NoDirectory)?;
        let socket = dir.join(SOCKET);
        Ok(Self { socket: std::path::absolute(&socket).unwrap_or(socket), named: false })
    }

    /// The error for this address.
    pub fn unreachable(&self, why: impl std::fmt::Display) -> Unreachable {
        let (socket, why) = (self.socket.clone(), why.to_string());
        if self.named { Unreachable::Named { socket, why } } else { Unreachable::Own { socket, why } }
    }
}

/// Why a connection came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// Nobody listens.
    #[error("nobody listens there")]
    Nobody,
    /// Something else.
    #[error(transparent)]
    Other(#[from] io::Error),
}

impl From<Errno> for Failed {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::CONNREFUSED | Errno::CONNRESET | Errno::PIPE => Self::Nobody,
            other => Self::Other(other.into()),
        }
    }
}

/// Connects to the server at `socket` and takes what stands for a send right to its port.
///
/// # Errors
/// Nothing listens there, or no name server of this user's and this version; or it takes no more clients.
pub fn greet(socket: &Path) -> Result<(OwnedFd, OwnedFd), Failed> {
    // A server that ends drops the connections that it took; nobody listens the second time then. One that lives is not to be taken for gone.
    for _ in 0..2 {
        if let Some(got) = greet_once(socket)? {
            return Ok(got);
        }
    }
    Err(Failed::Other(io::Error::other("it takes connections and answers none; it may have no descriptors left (ulimit -n)")))
}

/// As [`greet`]; None if the connection was dropped without an answer.
fn greet_once(socket: &Path) -> Result<Option<(OwnedFd, OwnedFd)>, Failed> {
    let connection = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    // A server that was stopped fills its backlog, and connect(2) then waits as long as this says.
    sockopt::set_socket_timeout(&connection, sockopt::Timeout::Send, Some(PATIENCE))?;
    let address = SocketAddrUnix::new(socket)?;
    let slow = || Failed::Other(io::Error::new(io::ErrorKind::TimedOut, "it does not answer"));
    loop {
        match rustix::net::connect(&connection, &address) {
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => return Err(slow()),
            other => break other?,
        }
    }
    let peer = credentials::peer(&connection)?;
    if peer.uid != rustix::process::geteuid().as_raw() {
        let text = format!("it belongs to another user ({})", peer.uid);
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text).into());
    }
    if !readable(connection.as_fd(), Instant::now() + PATIENCE)? {
        return Err(slow());
    }
    let mut bytes = [0; size_of::<Hello>()];
    let mut fds = Vec::new();
    let packet = packet::receive(&connection, &mut bytes, |fd| fds.push(fd))?;
    if packet.len == 0 {
        return Ok(None);
    }
    pair(bytes, &packet, fds).map(Some)
}

fn other() -> Failed {
    Failed::Other(io::Error::new(io::ErrorKind::InvalidData, "it is no name server of this version of Slipway"))
}

/// The two descriptors of a packet, if it is a [`Hello`].
fn pair(bytes: [u8; size_of::<Hello>()], packet: &Packet, fds: Vec<OwnedFd>) -> Result<(OwnedFd, OwnedFd), Failed> {
    if packet.len != bytes.len() || packet.truncated {
        return Err(other());
    }
    if Hello::read_from_bytes(&bytes) == Ok(FULL) {
        return Err(Failed::Other(io::Error::other("it serves as many clients as it may")));
    }
    let [s, t] = <[OwnedFd; 2]>::try_from(fds).map_err(|_| other())?;
    if Hello::read_from_bytes(&bytes) != Ok(HELLO) {
        return Err(other());
    }
    Ok((s, t))
}

/// What lies in a socket that the server filled, which stays there.
pub(super) fn look(socket: BorrowedFd<'_>) -> Option<(OwnedFd, OwnedFd)> {
    let mut bytes = [0; size_of::<Hello>()];
    let mut fds = Vec::new();
    let packet = packet::peek(socket, &mut bytes, |fd| fds.push(fd)).ok()?;
    pair(bytes, &packet, fds).ok()
}

/// The server's side: answers a fresh connection with a send right to the port that is given for the other end's process,
/// if that is this user's. A server without a port for it, or with `most` holders of that port already, says so. Never
/// waits.
///
/// # Errors
/// The other end is another user's, or gone, or there is no port or descriptor for it.
pub fn welcome(
    connection: BorrowedFd<'_>,
    task: Task,
    most: usize,
    port: impl FnOnce(Option<u32>) -> Result<u32, Code>,
) -> io::Result<()> {
    let peer = credentials::peer(connection)?;
    if peer.uid != rustix::process::geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    match port(peer.pid) {
        Ok(port) if task.holders(port) < most => give(connection, task, port).inspect_err(|_| refuse(connection)),
        _ => {
            refuse(connection);
            Err(io::Error::other("there are as many clients as there may be"))
        }
    }
}

/// The server's side: tells a fresh connection that there is no room for it.
pub fn refuse(connection: BorrowedFd<'_>) {
    // A client that is gone has nothing to be told.
    let _ = packet::send(connection, &[FULL.as_bytes()], &[]);
}

pub(super) fn give(connection: BorrowedFd<'_>, task: Task, port: u32) -> io::Result<()> {
    let (s, t) = task.export(port)?;
    Ok(packet::send(connection, &[HELLO.as_bytes()], &[s.as_fd(), t.as_fd()])?)
}

/// Waits until `fd` is readable or hung up, or until the deadline (false).
pub(super) fn readable(fd: BorrowedFd<'_>, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        match rustix::event::poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&timeout)) {
            Err(Errno::INTR) => {}
            other => return Ok(other? > 0),
        }
    }
}
