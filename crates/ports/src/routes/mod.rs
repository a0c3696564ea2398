//! Ports that more than one process knows, and the routes between them.
//!
//! [`Routes`] has the state and the lines below it. It makes lines, gives ports to other processes and takes theirs, moves receive
//! rights, and sends. What has to do with records that arrive, or with threads that wait, is left as an [`Upcall`] to
//! the layer above.
//!
//! From the bottom up:
//! * [`table`]: what is kept. * [`watch`](mod@watch): what the watcher has. * `listen`: what it is to hear. * `defer`: what it is to do.
//! * `endpoints`: a port's sockets. * `credit`: what senders may send. * `trust`: proof of whose a port is.
//! * `attach`: makes lines. * `accept`: takes them. * `retire`: ends those that nothing needs.
//! * `tokens`, `line_rights`: numbers for rights. * `cycles`: receive rights that would wait for themselves.
//! * `bundle`, `unbundle`: rights whose descriptors are still in a queue. * `foreign`, `pass_on`: rights to third parties' ports, in and out.
//! * `migrate`: receive rights on the move. * `export`, `import`: messages into what travels, and back.
//! * `write`: puts them into lines and sockets. * `teardown`: ends routes, and takes back what was on them. * `send`: finds a route.
//! * `left`: rights to ports that moved, for what their senders left. * `leave`: sends that on, and ends in order.

mod accept;
pub mod attach;
mod bundle;
mod credit;
mod cycles;
mod defer;
mod endpoints;
mod export;
mod foreign;
mod forget;
pub mod import;
mod leave;
mod left;
mod line_rights;
mod listen;
mod migrate;
mod pass_on;
mod retire;
pub mod send;
pub mod table;
mod teardown;
mod tokens;
pub mod trust;
mod unbundle;
pub mod watch;
pub mod write;

use crate::{
    account::Ledger,
    line::table::Lines,
    state::{LineId, PortId, State},
};
use rustc_hash::FxHashMap;
use slab::Slab;
use slipway_fabric::Corrupt;
use std::collections::VecDeque;
pub use table::{Deferred, Exported, Once, OnceEnd, Remote, Route, Trust, Upcall};
use watch::{DeferredWork, Watch};

/// Ports, lines, and the routes between processes.
#[derive(Debug, Default)]
pub struct Routes {
    /// The bookkeeping.
    pub state: State,
    /// The lines.
    pub lines: Lines,
    /// What is kept for ports whose receive right is elsewhere, by [`PortId`].
    remote: Vec<Option<Box<Remote>>>,
    /// What is kept for ports here that others may send to, by [`PortId`].
    exported: Vec<Option<Box<Exported>>>,
    /// Send-once rights to ports elsewhere, by [`RemoteSendOnce`](crate::state::RemoteSendOnce).
    pub onces: Slab<Once>,
    /// Receiving ends of send-once rights to ports here that third parties hold.
    pub once_ends: Slab<OnceEnd>,
    /// Ports by the identity of their sending end.
    identities: FxHashMap<u64, PortId>,
    /// Rights whose descriptors are in a queue still.
    bundles: bundle::Bundles,
    /// What is held for others.
    pub ledger: Ledger,
    /// What the watcher listens to.
    pub watch: Watch,
    /// What the watcher is to go on with.
    pub deferred: DeferredWork,
    /// What the layer above has to do.
    pub upcalls: VecDeque<Upcall>,
    /// Lines on which something may be left to do when the state's effects are through.
    pub stirred: Vec<LineId>,
    /// Lines that keep descriptors which this process holds for rights of its own, too: see [`Routes::let_go`].
    keeping: Vec<LineId>,
    /// Whether others may send to a port that the library itself serves.
    pub serves: bool,
    /// As `serves`, and the watcher is not about to [look](Deferred::Cool) for it.
    pub unheard: bool,
    /// Messages sent by this process.
    pub sent: u64,
    /// When this process said that it leaves, on the monotonic clock; 0 if it has not.
    left_at: u64,
}

/// The error for a right that no correct peer sends.
pub(crate) fn corrupt() -> Corrupt {
    Corrupt { what: "right" }
}

fn at<T>(table: &[Option<Box<T>>], port: PortId) -> Option<&T> {
    table.get(port.0 as usize)?.as_deref()
}

fn at_mut<T>(table: &mut [Option<Box<T>>], port: PortId) -> Option<&mut T> {
    table.get_mut(port.0 as usize)?.as_deref_mut()
}

fn put_at<T>(table: &mut Vec<Option<Box<T>>>, port: PortId, value: T) {
    let index = port.0 as usize;
    if table.len() <= index {
        table.resize_with(index + 1, || None);
    }
    table[index] = Some(Box::new(value));
}

impl Routes {
    /// What is kept of a remote port.
    #[inline]
    pub fn remote(&self, port: PortId) -> Option<&Remote> {
        at(&self.remote, port)
    }

    /// As [`Routes::remote`].
    #[inline]
    pub fn remote_mut(&mut self, port: PortId) -> Option<&mut Remote> {
        at_mut(&mut self.remote, port)
    }

    /// A port that lives elsewhere and was not known, without any right to it yet.
    fn new_remote(&mut self, identity: u64, remote: Remote) -> PortId {
        let port = self.state.new_remote_port();
        put_at(&mut self.remote, port, remote);
        self.identities.insert(identity, port);
        port
    }

    /// Begins to keep something of a port that is remote from now on.
    fn set_remote(&mut self, port: PortId, remote: Remote) {
        put_at(&mut self.remote, port, remote);
    }

    /// Stops keeping anything of a remote port.
    pub fn take_remote(&mut self, port: PortId) -> Option<Box<Remote>> {
        self.untell(port);
        self.remote.get_mut(port.0 as usize)?.take()
    }

    /// No right to a remote port is held here any more, or not as that: those that remember it are to forget it.
    fn untell(&mut self, port: PortId) {
        let Some(remote) = self.remote_mut(port).filter(|remote| !remote.told.is_empty()) else { return };
        let (identity, told) = (remote.identity, std::mem::take(&mut remote.told));
        for (line, index) in told {
            if let Some(line) = self.lines.get_mut(line)
                && let Some(record) = line.remembered.untell(identity, index)
            {
                line.post(record, Vec::new());
            }
        }
    }

    /// What is kept of a port here that others may send to.
    pub fn exported(&self, port: PortId) -> Option<&Exported> {
        at(&self.exported, port)
    }

    /// As [`Routes::exported`].
    pub fn exported_mut(&mut self, port: PortId) -> Option<&mut Exported> {
        at_mut(&mut self.exported, port)
    }

    /// Notes that something may be left to do on a line.
    #[inline]
    pub fn stir(&mut self, line: LineId) {
        if self.stirred.last() != Some(&line) {
            self.stirred.push(line);
        }
    }

    /// A descriptor that may be on its way to others is held for no right here any more. The lines that keep copies until
    /// their other ends have taken them are looked at when the effects are through: from here on they are to hear of that.
    pub(crate) fn let_go(&mut self) {
        self.stirred.append(&mut self.keeping);
    }

    /// Closes what a line kept and its other end has taken.
    fn look_at_kept(&mut self, number: LineId) {
        let Self { lines, keeping, .. } = self;
        let Some(line) = lines.get_mut(number).filter(|line| !line.kept.is_empty()) else { return };
        line.release_kept();
        if !line.kept.is_empty() && !keeping.contains(&number) {
            keeping.push(number);
        }
    }

    /// Leaves something to do to the layer above.
    pub(crate) fn upcall(&mut self, event: Upcall) {
        self.upcalls.push_back(event);
    }

    /// Whether there is anything to carry out before the lock is released.
    #[inline(always)]
    pub fn is_unsettled(&self) -> bool {
        self.state.effects.len() + self.upcalls.len() + self.stirred.len() != 0
    }

    /// Whether nothing is known of the port any more, or that it is dead.
    pub(crate) fn is_gone(&self, port: PortId) -> bool {
        self.state.ports.get(port.0 as usize).is_none_or(|it| it.is_dead())
    }
}
