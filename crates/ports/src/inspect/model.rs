//! What an answer says. Numbers of ports, sets and lines are the process's own, and mean nothing elsewhere; the
//! identity of a port is the same in all processes.

use serde::{Deserialize, Serialize};

/// The front of the sockets' names; the user's and the process's numbers follow.
pub(super) const PREFIX: &str = "slipway-mach/";

/// What the packet with an answer says: the protocol's name and its version.
pub(super) const HELLO: &[u8] = b"slipway-mach 1";

/// A process's Mach at one moment.
///
/// Of very much, only a part is listed; the counts are of all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// The process, as the asker's kernel tells.
    pub pid: u32,
    /// What the process calls itself: at most 15 bytes.
    pub command: String,
    /// Messages sent to other processes.
    pub sent: u64,
    /// Messages received by the program.
    pub received: u64,
    /// Whether a thread listens for bells and deaths.
    pub watcher: bool,
    /// Tasks, which are several if servers live in one process.
    pub tasks: Vec<Task>,
    /// Ports that are listed under their tasks, and those that only messages refer to.
    pub ports: Vec<Port>,
    /// How many ports the process knows.
    pub ports_total: u64,
    /// Connections with other processes.
    pub lines: Vec<Line>,
    /// How many lines there are.
    pub lines_total: u64,
    /// Whether there is more than is listed.
    pub truncated: bool,
}

/// A task: a space of names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Task {
    /// Its number in the process.
    pub task: u32,
    /// What it is called, if it is one of several that were loaded: at most 32 bytes.
    pub label: String,
    /// How many names it has.
    pub names_total: u64,
    /// The names, ascending.
    pub names: Vec<Name>,
}

/// A name, and the rights that it denotes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Name {
    /// The name.
    pub name: u32,
    /// Which rights: one of them, or receive and send.
    pub rights: Vec<Held>,
    /// User references of a send right or dead name; 1 for a send-once right; 0 else.
    pub urefs: u32,
    /// The port.
    pub port: Option<u32>,
    /// The line that leads to the port, for a send-once right to one of another process, if there is one.
    pub line: Option<u32>,
    /// The names of a port set's members, ascending; 0 for one without a name.
    pub members: Vec<u32>,
    /// Whether a dead-name notification was asked for.
    pub dead_name_request: bool,
}

/// A kind of right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// Receive.
    Receive,
    /// Send.
    Send,
    /// Send once.
    SendOnce,
    /// A port set.
    PortSet,
    /// The port has died.
    DeadName,
}

/// A port as the process knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Port {
    /// Its number in the process.
    pub port: u32,
    /// Where its receive right is.
    pub home: Home,
    /// The port's number in all processes; None if it never left this one.
    pub identity: Option<u64>,
    /// Send rights in the process: one for each name, and for each in a message.
    pub send_rights: u32,
    /// Send-once rights made here and not yet used, those in other processes included.
    pub send_once_rights: u32,
    /// The names that the process's tasks have for it.
    pub names: Vec<Member>,
    /// What only the process with the receive right knows.
    pub here: Option<Here>,
    /// The routes to a port elsewhere; messages go the first.
    #[serde(rename = "ways")]
    pub routes: Vec<Route>,
}

/// A name in a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Member {
    /// The task's number in the process.
    pub task: u32,
    /// The name.
    pub name: u32,
}

/// Where a port's receive right is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Home {
    /// In this process.
    #[default]
    Here,
    /// In another one, or on the way there.
    Remote,
    /// Nowhere: the port is dead. A name may still denote a right to it, until somebody uses the name.
    Dead,
}

/// What only the process with the receive right knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Here {
    /// Whether a message carries the receive right, and no name denotes it.
    pub in_transit: bool,
    /// Messages that wait. Each sending process may have as many as the limit says.
    pub queued: u32,
    /// The queue limit.
    pub qlimit: u32,
    /// The number of the next message.
    pub seqno: u32,
    /// The make-send count.
    pub make_sends: u32,
    /// Messages received since the port came here (wraps).
    pub received: u32,
    /// Holders of send rights in other processes, as far as known.
    pub senders_elsewhere: u32,
    /// The name of the port set it belongs to.
    pub set: Option<u32>,
    /// Whether a no-senders notification was asked for.
    pub no_senders_request: bool,
    /// Whether a port-destroyed notification was asked for.
    pub port_destroyed_request: bool,
    /// Calls that were made to it in place of messages; None if it has registered no routines.
    pub trap_calls: Option<u64>,
    /// What the library itself answers for.
    pub serves: Option<Serves>,
    /// The lines over which others have rights to it.
    pub holders: Vec<Holder>,
}

/// What a port stands for that the library itself serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Serves {
    /// A task.
    Task,
    /// A thread.
    Thread,
    /// The host.
    Host,
    /// A semaphore.
    Semaphore,
}

/// Rights that the other end of a line has to a port here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Holder {
    /// The line.
    pub line: u32,
    /// Whether it made the line to send to this port.
    pub attached: bool,
    /// Send rights that it was given over the line and still has.
    pub given: u32,
}

/// A route to a port elsewhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Route {
    /// The line.
    pub line: u32,
    /// The port's slot on it.
    pub slot: u32,
    /// Rights that came over it and are still to be given back.
    pub line_rights: u32,
    /// Messages sent over it (wraps).
    pub sent: u32,
    /// Of those, how many wait for the receiver.
    pub waiting: u32,
}

/// Which end of a line a process is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It made the line, to send to a port.
    #[default]
    Maker,
    /// It had the port's receive right.
    Client,
}

/// A connection with another process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// Its number in the process.
    pub line: u32,
    /// Which end the process is.
    pub role: Role,
    /// The process at the other end, as the kernel told this one; the maker isn't told.
    pub peer: Option<u32>,
    /// The number, in all processes, of this end's bell.
    pub bell: u64,
    /// The number of the other end's bell, which the maker knows.
    pub peer_bell: Option<u64>,
    /// Ports of this process that the other may send to.
    pub slots_in: u32,
    /// Ports of the other that this process may send to.
    pub slots_out: u32,
    /// Send-once rights that the other has to ports here.
    pub tokens_given: u32,
    /// Send-once rights that this process has to ports there.
    pub tokens_held: u32,
    /// Whether receivers look at it themselves, without bells.
    pub hot: bool,
    /// Whether the other end is gone.
    pub ended: bool,
    /// Bytes in the ring to this process that were not yet taken.
    pub bytes_in: u64,
    /// Bytes in the ring to the other that were not yet taken.
    pub bytes_out: u64,
    /// The size of each ring in bytes.
    pub ring: u64,
}
