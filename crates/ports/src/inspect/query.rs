//! Asking: which processes answer, and what. Nothing that comes back is trusted.

use super::model::{HELLO, PREFIX, Snapshot};
use crate::objects;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType,
        sockopt::{Timeout, set_socket_timeout},
    },
};
use slipway_fabric::credentials;
use slipway_fabric::descriptor::Reserved;
use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    time::{Duration, Instant},
};

/// The largest answer that is read, in bytes: several times what one can have.
const LARGEST: usize = 16 << 20;

/// The most objects and lists in it: twice what it can have. One takes three bytes there, and hundreds when it is read.
pub(super) const MOST: usize = 1 << 17;

/// Where a process can be asked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// The process's number, as it wrote it: one in a PID namespace of its own means another.
    pub pid: u32,
    /// The process's user, as it wrote it. [`ask`] checks it.
    pub user: u32,
    pub(super) name: String,
}

/// Why a process could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Nobody listens any more.
    #[error("it has ended")]
    Gone,
    /// It closed the connection.
    #[error("it refused to answer; only its own user and root may ask")]
    Refused,
    /// Another process listens at its address, or one that has no number in this PID namespace.
    #[error("another user's process listens in its place")]
    Impostor,
    /// It took too long.
    #[error("it did not answer in time; it may be stopped")]
    Silent,
    /// The answer makes no sense.
    #[error("its answer can't be understood ({0}); are both of the same version?")]
    Strange(&'static str),
    /// A system call failed.
    #[error("{0}")]
    System(#[from] Errno),
}

/// The addresses of all processes on this machine, or in this network namespace, that can be asked.
///
/// # Errors
/// /proc/net/unix can't be read.
pub fn addresses() -> io::Result<Vec<Address>> {
    let table = std::fs::read("/proc/net/unix")?;
    Ok(parse(&String::from_utf8_lossy(&table)))
}

/// What is of use in the text of /proc/net/unix, in order of processes.
pub(super) fn parse(table: &str) -> Vec<Address> {
    let mut found: Vec<Address> = table.lines().filter_map(parse_line).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn parse_line(line: &str) -> Option<Address> {
    /// __SO_ACCEPTCON: connections to the listening socket bear its name too.
    const LISTENS: &str = "00010000";
    let mut words = line.split_ascii_whitespace();
    let flags = words.nth(3)?;
    let name = words.nth(3)?.strip_prefix('@').filter(|_| flags == LISTENS && words.next().is_none())?;
    let (user, rest) = name.strip_prefix(PREFIX)?.split_once('/')?;
    let (pid, nth) = rest.split_once('.').unwrap_or((rest, "0"));
    let number = |text: &str| text.parse::<u32>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    number(nth)?;
    Some(Address { pid: number(pid)?, user: number(user)?, name: name.to_owned() })
}

/// Asks one process, and waits for the answer no longer than until `deadline`.
///
/// # Errors
/// See [`Failure`].
pub fn ask(address: &Address, deadline: Instant) -> Result<Snapshot, Failure> {
    let socket = connect(&address.name, deadline)?;
    let peer = credentials::peer(&socket).map_err(|_| Failure::Impostor)?;
    let pid = peer.pid.filter(|_| peer.uid == address.user).ok_or(Failure::Impostor)?;
    let file = register(&socket, deadline)?;
    let json = read(&file)?;
    if json.iter().filter(|byte| matches!(byte, b'{' | b'[')).count() > MOST {
        return Err(Failure::Strange("too many parts"));
    }
    let mut snapshot: Snapshot = serde_json::from_slice(&json).map_err(|_| Failure::Strange("no snapshot"))?;
    snapshot.pid = pid;
    snapshot.command = std::fs::read(format!("/proc/{pid}/comm"))
        .map(|comm| String::from_utf8_lossy(&comm).trim_end_matches('\n').to_owned())
        .unwrap_or_default();
    Ok(snapshot)
}

fn connect(name: &str, deadline: Instant) -> Result<OwnedFd, Failure> {
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    // Where too many wait already, connect waits.
    set_socket_timeout(&socket, Timeout::Send, Some(rest(deadline).max(Duration::from_millis(1))))?;
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes())?;
    loop {
        match rustix::net::connect(&socket, &address) {
            Ok(()) => return Ok(socket),
            Err(Errno::INTR) => {}
            Err(Errno::CONNREFUSED) => return Err(Failure::Gone),
            Err(Errno::WOULDBLOCK) => return Err(Failure::Silent),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The descriptor of the answer.
fn register(socket: &OwnedFd, deadline: Instant) -> Result<Reserved, Failure> {
    loop {
        let mut bytes = [0; 64];
        let mut fds = Vec::new();
        match objects::receive(socket.as_fd(), &mut bytes, &mut fds) {
            Ok(0) | Err(Errno::CONNRESET) => return Err(Failure::Refused),
            Ok(n) if &bytes[..n] == HELLO => return fds.pop().ok_or(Failure::Strange("no file")),
            Ok(_) | Err(Errno::MSGSIZE) => return Err(Failure::Strange("no greeting")),
            Err(Errno::WOULDBLOCK) => {}
            Err(error) => return Err(error.into()),
        }
        let rest = rest(deadline);
        let rest = Timespec { tv_sec: rest.as_secs() as i64, tv_nsec: i64::from(rest.subsec_nanos()) };
        match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&rest)) {
            Ok(0) => return Err(Failure::Silent),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The bytes of a memory file that can't change, so that no read of it waits.
fn read(file: &Reserved) -> Result<Vec<u8>, Failure> {
    if !objects::is_sealed(file, 0) {
        return Err(Failure::Strange("no sealed file"));
    }
    let size = usize::try_from(rustix::fs::fstat(file)?.st_size).ok().filter(|size| *size <= LARGEST);
    let mut bytes = vec![0; size.ok_or(Failure::Strange("too large"))?];
    let mut done = 0;
    while done < bytes.len() {
        match rustix::io::pread(file, &mut bytes[done..], done as u64)? {
            0 => return Err(Failure::Strange("cut short")),
            n => done += n,
        }
    }
    Ok(bytes)
}

fn rest(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
