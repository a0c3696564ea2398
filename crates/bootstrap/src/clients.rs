//! The processes that ask, and the port that each asks by: what is held for a client is charged to its port.

use crate::mach;
use slipway_mach::{
    abi::Code,
    bootstrap::{contact, protocol},
    task::Task,
};
use std::{collections::BTreeMap, io, os::fd::BorrowedFd};

/// What the server holds at most, of its descriptors: a client takes up to seven, each right more that it was given one, a
/// name up to two.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Clients.
    pub clients: usize,
    /// Rights to ask that one client was given and has.
    pub rights: usize,
    /// Names that clients registered or created.
    pub names: usize,
    /// Those of one client.
    pub names_each: usize,
}

impl Limits {
    /// For a process that may open so many descriptors.
    pub fn of(descriptors: usize) -> Self {
        Self {
            clients: descriptors / 16,
            rights: (descriptors / 32).clamp(16, 1024),
            names: (descriptors / 4).min(65_536),
            names_each: (descriptors / 8).min(4096),
        }
    }
}

/// The clients that connected. Programs of jobs are not among them.
#[derive(Debug)]
pub struct Clients {
    task: Task,
    /// The set that ports are put into that the server receives from.
    set: u32,
    limits: Limits,
    by_port: BTreeMap<u32, Client>,
    /// The port that a process got at a socket before, by the number of the process and of the view.
    by_process: BTreeMap<(u32, Option<usize>), u32>,
}

#[derive(Debug)]
struct Client {
    /// The view whose socket it came by.
    view: Option<usize>,
    /// Its number, if it has one here. A process that gets the number of one that ended may share its port.
    pid: Option<u32>,
}

impl Clients {
    /// None yet. Ports to be received from are put into `set`.
    pub fn new(task: Task, set: u32, limits: Limits) -> Self {
        Self { task, set, limits, by_port: BTreeMap::new(), by_process: BTreeMap::new() }
    }

    /// Gives a process that connected at the socket of a view the right to ask.
    ///
    /// # Errors
    /// It is another user's, or gone; or there are as many clients as there may be, or no descriptors.
    pub fn welcome(&mut self, connection: BorrowedFd<'_>, view: Option<usize>) -> io::Result<()> {
        let (task, mut given) = (self.task, None);
        let done = contact::welcome(connection, task, self.limits.rights, |pid| {
            let port = self.port(view, pid)?;
            given = Some(port);
            Ok(port)
        });
        // Handler for now, it is told at once if the right did not get out.
        if let Some(port) = given
            && mach::tell_no_senders(task, port).is_err()
        {
            self.forget(port);
        }
        done
    }

    /// The port for a process that connected.
    fn port(&mut self, view: Option<usize>, pid: Option<u32>) -> Result<u32, Code> {
        if let Some(port) = pid.and_then(|pid| self.by_process.get(&(pid, view))) {
            return Ok(*port);
        }
        if self.by_port.len() >= self.limits.clients {
            return Err(protocol::NO_MEMORY);
        }
        let port = mach::port_in_set(self.task, self.set)?;
        self.by_port.insert(port, Client { view, pid });
        self.by_process.extend(pid.map(|pid| ((pid, view), port)));
        Ok(port)
    }

    /// The view that the client's port belongs to, if the port is a client's.
    pub fn view(&self, port: u32) -> Option<Option<usize>> {
        self.by_port.get(&port).map(|client| client.view)
    }

    /// A client's port had no senders left when `made` had been made. Whether the client is gone.
    pub fn has_no_senders(&mut self, port: u32, made: u32) -> bool {
        // The process connected again meanwhile: what is asked for now is told at once if it is gone again.
        let again = self.task.receive_status(port).is_ok_and(|status| status.mscount != made);
        if again && mach::tell_no_senders(self.task, port).is_ok() {
            return false;
        }
        self.forget(port)
    }

    fn forget(&mut self, port: u32) -> bool {
        let Some(client) = self.by_port.remove(&port) else { return false };
        if let Client { view, pid: Some(pid) } = client {
            self.by_process.remove(&(pid, view));
        }
        let _ = self.task.destroy(port);
        true
    }
}
