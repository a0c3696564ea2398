//! What `--json` prints. Byte counts are from the first byte of the connection on.

use serde::Serialize;
use slipway_transport::status as transport;

/// The whole output.
#[derive(Debug, Serialize)]
pub struct Report {
    /// One for each server that answered.
    pub servers: Vec<Server>,
}

/// A server, its limits and its connections.
#[derive(Debug, Serialize)]
pub struct Server {
    pub display: u32,
    pub pid: u32,
    pub limits: Limits,
    /// Bytes of all segments that exist now.
    pub granted_bytes: u64,
    pub connections: Vec<Connection>,
}

/// Limits that the server was started with; sizes in bytes, rings a direction.
#[derive(Debug, Serialize)]
pub struct Limits {
    pub min_ring: u64,
    pub max_ring: u64,
    pub total: u64,
    pub clients: u32,
}

/// One client's connection, as the server sees it.
#[derive(Debug, Serialize)]
pub struct Connection {
    pub pid: u32,
    pub name: String,
    pub transport: Transport,
    /// Bytes a direction; 0 on a socket.
    pub ring_bytes: u64,
    /// From the client.
    pub bytes_in: u64,
    /// To the client.
    pub bytes_out: u64,
    pub waits: Waits,
    pub doorbells_rung: u64,
    pub doorbells_heard: u64,
}

/// What carries the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    Socket,
    Ring,
}

/// How often a wait ended in each way.
#[derive(Debug, Serialize)]
pub struct Waits {
    pub looked: u64,
    pub spun: u64,
    pub slept: u64,
}

impl From<transport::ServerStatus> for Server {
    fn from(status: transport::ServerStatus) -> Self {
        let transport::Limits { min_ring, max_ring, total, clients } = status.limits;
        Self {
            display: status.display,
            pid: status.pid,
            limits: Limits { min_ring, max_ring, total, clients },
            granted_bytes: status.granted_bytes,
            connections: status.connections.into_iter().map(Connection::from).collect(),
        }
    }
}

impl From<transport::Connection> for Connection {
    fn from(connection: transport::Connection) -> Self {
        let transport::Waits { looked, spun, slept } = connection.waits;
        Self {
            pid: connection.pid,
            name: connection.name,
            transport: match connection.transport {
                transport::Transport::Socket => Transport::Socket,
                transport::Transport::Ring => Transport::Ring,
            },
            ring_bytes: connection.ring_bytes,
            bytes_in: connection.bytes_in,
            bytes_out: connection.bytes_out,
            waits: Waits { looked, spun, slept },
            doorbells_rung: connection.doorbells_rung,
            doorbells_heard: connection.doorbells_heard,
        }
    }
}
