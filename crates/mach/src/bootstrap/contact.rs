//! First contact: how a task that has no port yet gets one to the name server.
//!
//! The server listens at a socket that only its user can reach. Whoever connects gets one packet: [`Hello`],
//! with the two descriptors of a send right. All else is Mach messages.

use crate::task::Task;
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt},
};
use slipway_fabric::credentials;
use slipway_fabric::{packet, runtime::runtime_dir};
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

/// Why there is no name server to ask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// There is no directory for the socket.
    #[error(
        "no name server: no runtime directory is this user's own and closed to others (mode 0700); \
         set SLIPWAY_RUNTIME_DIR to one"
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
pub struct Place {
    /// The socket; absolute.
    pub socket: PathBuf,
    /// Whether SLIPWAY_BOOTSTRAP names it.
    pub named: bool,
}

impl Place {
    /// The place that SLIPWAY_BOOTSTRAP names, else that of the user's own server.
    pub fn find() -> Result<Self, Unreachable> {
        if let Some(path) = env::var_os(SOCKET_VARIABLE).filter(|path| !path.is_empty()) {
            let socket = std::path::absolute(&path).unwrap_or_else(|_| path.into());
            return Ok(Self { socket, named: true });
        }
        Self::own()
    }

    /// The place of the user's own server.
    pub fn own() -> Result<Self, Unreachable> {
        let dir = runtime_dir(true).ok_or(Unreachable::NoDirectory)?;
        let socket = dir.join(SOCKET);
        Ok(Self { socket: std::path::absolute(&socket).unwrap_or(socket), named: false })
    }

    /// The error for this place.
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
pub fn greet(socket: &Path) -> Result<(OwnedFd, OwnedFd), Failed> {
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
    let other = || Failed::Other(io::Error::new(io::ErrorKind::InvalidData, "it is no name server of this version of Slipway"));
    let packet = packet::receive(&connection, &mut bytes, |fd| fds.push(fd))?;
    if packet.len == 0 {
        return Err(Failed::Nobody);
    }
    let [s, t] = <[OwnedFd; 2]>::try_from(fds).map_err(|_| other())?;
    if packet.truncated || Hello::read_from_bytes(&bytes) != Ok(HELLO) {
        return Err(other());
    }
    Ok((s, t))
}

/// The server's side: answers a fresh connection with a send right to `port`, if it is this user's. Never waits.
pub fn welcome(connection: BorrowedFd<'_>, task: Task, port: u32) -> io::Result<()> {
    let peer = credentials::peer(connection)?;
    if peer.uid != rustix::process::geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
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
