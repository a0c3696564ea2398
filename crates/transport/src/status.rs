//! What a running server says about its connections: asked over its hub, answered in lines of text.

use crate::{
    endpoint::{Endpoint, display_hub, is_hub_name},
    line::{Heard, Message, hear_text, send_message},
    settings::runtime_dir,
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    fd::AsFd,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with},
    time::Timespec,
};
use serde::Serialize;
use std::path::PathBuf;

/// A server and its connections. `slipway x11 status --json` and `slipway sockets status --json` print it as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ServerStatus {
    /// Where it listens: a path, or an abstract name behind an `@`.
    pub endpoint: String,
    /// Its display number, of an X server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<u32>,
    /// The server's process.
    pub pid: u32,
    /// What it grants at most.
    pub limits: Limits,
    /// Bytes of all segments it has granted and that are still in use.
    pub granted_bytes: u64,
    /// Its clients, in the order in which they came.
    pub connections: Vec<Connection>,
}

/// What a server grants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Smallest ring, bytes a direction.
    pub min_ring: u64,
    /// Largest ring, bytes a direction.
    pub max_ring: u64,
    /// Bytes of all segments together.
    pub total: u64,
    /// Clients on shared memory.
    pub clients: u32,
}

/// One client of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Connection {
    /// The client's process.
    pub pid: u32,
    /// The name of its program.
    pub name: String,
    /// What the bytes go through now.
    pub transport: Transport,
    /// Bytes a direction of the rings; 0 without a line.
    pub ring_bytes: u64,
    /// Bytes from client to server so far.
    pub bytes_in: u64,
    /// Bytes from server to client so far.
    pub bytes_out: u64,
    /// How the server's waits for this client ended.
    pub waits: Waits,
    /// Bells the server rang for this client.
    pub doorbells_rung: u64,
    /// Bells the client rang that the server has heard.
    pub doorbells_heard: u64,
}

/// What a connection's bytes go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// The plain socket.
    Socket,
    /// Shared memory.
    Ring,
    /// Messages between Mach ports.
    Ports,
}

/// How waits were won.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// Something was there at the first look.
    pub looked: u64,
    /// It came while the waiter spun.
    pub spun: u64,
    /// The waiter slept and was woken.
    pub slept: u64,
}

/// The counts of one end of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub struct Traffic {
    /// Bytes received.
    pub received: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Waits, see [`Waits`].
    pub looked: u64,
    /// See [`Waits`].
    pub spun: u64,
    /// See [`Waits`].
    pub slept: u64,
    /// Bells rung.
    pub rung: u64,
    /// Bells heard.
    pub heard: u64,
}

/// Why a server's status could not be had.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// This user has no directory for hub sockets, so no server runs with hooks.
    #[error(
        "no runtime directory is this user's own and closed to others; start a server with `slipway x11 -- Xvfb :N` or `slipway sockets -- SERVER`"
    )]
    NoDirectory,
    /// Nobody answers there.
    #[error("no hooked server answers at {path} ({cause}); start one with `{start}`")]
    NoServer {
        /// The socket that was tried.
        path: PathBuf,
        /// How a server is started.
        start: String,
        /// What the system said.
        cause: rustix::io::Errno,
    },
    /// It answered something that can't be read.
    #[error("the server at {path} gave an answer that can't be understood; are both of the same version?")]
    BadAnswer {
        /// The socket that answered.
        path: PathBuf,
    },
    /// It closed the connection without an answer.
    #[error("the server at {path} ended, gave up its hub, or is another user's")]
    Unanswered {
        /// The socket that was tried.
        path: PathBuf,
    },
    /// It doesn't answer.
    #[error("the server at {path} did not answer within {seconds} seconds; it may be stopped")]
    NoAnswer {
        /// The socket that was tried.
        path: PathBuf,
        /// How long was waited.
        seconds: u32,
    },
}

/// How long a server may take to answer, in seconds.
const PATIENCE: u32 = 5;

/// How often a second it is reminded.
const NUDGES: u32 = 10;

/// Asks the hooked server of a display of this user for its status.
///
/// # Errors
/// It doesn't answer, or there is none.
pub fn query(display: u32) -> Result<ServerStatus, StatusError> {
    query_hub(&display_hub(display), format!("slipway x11 -- Xvfb :{display}"))
}

/// Asks the hooked server that listens at a socket for its status.
///
/// # Errors
/// It doesn't answer, or there is none.
pub fn query_endpoint(endpoint: &Endpoint) -> Result<ServerStatus, StatusError> {
    let start = format!("slipway sockets -- SERVER ({})", endpoint.shown());
    let hub = endpoint.hub_name().unwrap_or_else(|| "none".to_owned());
    query_hub(&hub, start)
}

/// Asks the server of a hub, by the name of its file, for its status; `start` says how such a server is started.
///
/// # Errors
/// It doesn't answer, or there is none.
pub fn query_hub(hub: &str, start: String) -> Result<ServerStatus, StatusError> {
    let path = runtime_dir(false).ok_or(StatusError::NoDirectory)?.join(hub);
    let failed = |cause| StatusError::NoServer { path: path.clone(), start: start.clone(), cause };
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).map_err(failed)?;
    connect(&socket, &SocketAddrUnix::new(&path).map_err(failed)?).map_err(failed)?;
    send_message(socket.as_fd(), &Message::Query)
        .map_err(|e| failed(rustix::io::Errno::from_io_error(&e).unwrap_or(rustix::io::Errno::IO)))?;
    let mut status = ServerStatus::default();
    let mut waits = 0;
    loop {
        match hear_text(socket.as_fd()) {
            Heard::Message(Message::Text(page)) if page.is_empty() => return Ok(status),
            Heard::Message(Message::Text(page)) => {
                for line in page.lines() {
                    parse_line(line, &mut status).ok_or_else(|| StatusError::BadAnswer { path: path.clone() })?;
                }
            }
            Heard::Nothing => {
                let mut fds = [PollFd::new(&socket, PollFlags::IN)];
                let interval = Timespec { tv_sec: 0, tv_nsec: 1_000_000_000 / i64::from(NUDGES) };
                if poll(&mut fds, Some(&interval)) != Ok(0) {
                    continue;
                }
                if waits == PATIENCE * NUDGES {
                    return Err(StatusError::NoAnswer { path, seconds: PATIENCE });
                }
                waits += 1;
                // A server of several processes may have put the question aside before it was there: a newcomer has it look.
                let _ =
                    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
                        .and_then(|nudge| connect(&nudge, &SocketAddrUnix::new(&path)?));
            }
            Heard::Gone => return Err(StatusError::Unanswered { path }),
            _ => return Err(StatusError::BadAnswer { path }),
        }
    }
}

/// The displays that have a hub in this user's runtime directory and whose server lives. Sockets
/// that a killed server left behind are removed.
pub fn displays() -> Vec<u32> {
    hubs().iter().filter_map(|hub| hub.strip_prefix("x11-")?.parse().ok()).collect()
}

/// The hubs in this user's runtime directory whose server lives, by the names of their files. Sockets
/// that a killed server left behind are removed.
pub fn hubs() -> Vec<String> {
    let Some(dir) = runtime_dir(false) else { return Vec::new() };
    let mut found: Vec<String> = std::fs::read_dir(&dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok().filter(|name| is_hub_name(name)))
        .filter(|hub| {
            let path = dir.join(hub);
            let file = |path| rustix::fs::stat(path).map(|file| (file.st_dev, file.st_ino)).ok();
            let before = file(&path);
            let dead = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .and_then(|socket| connect(&socket, &SocketAddrUnix::new(&path)?))
                == Err(rustix::io::Errno::CONNREFUSED);
            // A new server may have put its own there meanwhile.
            if dead && before.is_some() && file(&path) == before {
                let _ = std::fs::remove_file(&path);
            }
            !dead
        })
        .collect();
    found.sort_unstable_by_key(|hub| (hub.len(), hub.clone()));
    found
}

/// The lines of an answer. The fields are separated by spaces; a name, which may hold some, is last.
pub(crate) fn lines(status: &ServerStatus) -> impl Iterator<Item = String> {
    let l = status.limits;
    let head = format!(
        "server {} {} {} {} {} {} {}",
        status.pid,
        status.display.map_or(-1, i64::from),
        l.min_ring,
        l.max_ring,
        l.total,
        l.clients,
        status.granted_bytes
    );
    [head, format!("endpoint {}", status.endpoint)].into_iter().chain(status.connections.iter().map(|c| {
        let transport = match c.transport {
            Transport::Ring => "ring",
            Transport::Ports => "ports",
            Transport::Socket => "socket",
        };
        let w = c.waits;
        format!(
            "client {} {transport} {} {} {} {} {} {} {} {} {}",
            c.pid, c.ring_bytes, c.bytes_in, c.bytes_out, w.looked, w.spun, w.slept, c.doorbells_rung, c.doorbells_heard, c.name
        )
    }))
}

fn parse_line(line: &str, status: &mut ServerStatus) -> Option<()> {
    let mut words = line.splitn(12, ' ');
    match words.next()? {
        "server" => {
            status.pid = words.next()?.parse().ok()?;
            status.display = words.next()?.parse::<i64>().ok().map(|display| u32::try_from(display).ok())?;
            let mut number = || words.next()?.parse::<u64>().ok();
            status.limits =
                Limits { min_ring: number()?, max_ring: number()?, total: number()?, clients: u32::try_from(number()?).ok()? };
            status.granted_bytes = number()?;
        }
        "client" => {
            let pid = words.next()?.parse().ok()?;
            let transport = match words.next()? {
                "ring" => Transport::Ring,
                "ports" => Transport::Ports,
                _ => Transport::Socket,
            };
            let mut number = || words.next()?.parse::<u64>().ok();
            let (ring_bytes, bytes_in, bytes_out) = (number()?, number()?, number()?);
            let waits = Waits { looked: number()?, spun: number()?, slept: number()? };
            let (doorbells_rung, doorbells_heard) = (number()?, number()?);
            let name = words.next().unwrap_or_default().to_owned();
            let connection =
                Connection { pid, name, transport, ring_bytes, bytes_in, bytes_out, waits, doorbells_rung, doorbells_heard };
            status.connections.push(connection);
        }
        "endpoint" => status.endpoint = line.split_once(' ')?.1.to_owned(),
        _ => {}
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_reads_as_it_was_written() {
        let written = ServerStatus {
            pid: 7,
            endpoint: "/tmp/a socket".into(),
            display: Some(99),
            limits: Limits { min_ring: 1, max_ring: 2, total: 3, clients: 4 },
            granted_bytes: 5,
            connections: vec![Connection {
                pid: 8,
                name: "a program".into(),
                transport: Transport::Ring,
                ring_bytes: 9,
                bytes_in: 10,
                bytes_out: 11,
                waits: Waits { looked: 12, spun: 13, slept: 14 },
                doorbells_rung: 15,
                doorbells_heard: 16,
            }],
        };
        let mut read = ServerStatus::default();
        for line in lines(&written) {
            parse_line(&line, &mut read).unwrap();
        }
        assert_eq!(read, written);
        assert!(parse_line("client x", &mut read).is_none());
    }
}
