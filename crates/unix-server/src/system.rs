//! The server: its processes, and serving them.

use crate::{
    files::{Files, lock},
    process::Process,
    stubs,
};
use rustix::{
    io::Errno,
    process::{Gid, Resource, Uid, getegid, geteuid, getgid, getuid},
};
use slipway_layer::View;
use slipway_mach::{
    abi::notify,
    mig::Service,
    rights::{Error, Outgoing, ReceiveRight, SendOnceRight, SendRight},
    task::Task,
};
use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

/// There are no more processes.
const PROCESSES: usize = 512;
/// A process has no more descriptors.
const FILES: u64 = 1024;
/// Descriptors that the server keeps for itself.
const RESERVE: u64 = 64;

/// The message in which a signal comes (`<servers/unix_signal.defs>`).
pub(crate) const SIGNAL: i32 = 4500;

/// What is known of a process beside what it works on itself.
#[derive(Debug)]
struct Known {
    parent: i32,
    /// Its port.
    port: (Task, u32),
    /// Where its signals go.
    signals: Option<Arc<SendRight>>,
    /// Ends it.
    end: Option<SendOnceRight>,
}

#[derive(Debug)]
struct Processes {
    by_pid: BTreeMap<i32, Known>,
    next: i32,
}

/// A Unix server: a view of the file system, and processes that work on it.
#[derive(Debug)]
pub struct System {
    files: Mutex<Files>,
    processes: Mutex<Processes>,
    /// Their ports, while they are served.
    service: OnceLock<Service<Process>>,
    /// Whether tasks of this process call the routines by trap.
    traps: bool,
    /// What a process may have open: all processes together have no more than this process may.
    pub(crate) most_files: u64,
    /// Its user, which all its processes are: real and effective.
    pub(crate) uids: [u32; 2],
    /// Its groups, likewise.
    pub(crate) gids: [u32; 2],
}

impl System {
    /// A server of what `view` shows but /proc. With `traps` tasks of the same process call by trap.
    pub fn new(view: View, traps: bool) -> Arc<Self> {
        let mut limit = rustix::process::getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        let _ = rustix::process::setrlimit(Resource::Nofile, limit);
        let all = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX).saturating_sub(RESERVE);
        Arc::new(Self {
            files: Mutex::new(Files::new(view)),
            processes: Mutex::new(Processes { by_pid: BTreeMap::new(), next: 2 }),
            service: OnceLock::new(),
            traps,
            most_files: (all / PROCESSES as u64).clamp(16, FILES),
            uids: [getuid(), geteuid()].map(Uid::as_raw),
            gids: [getgid(), getegid()].map(Gid::as_raw),
        })
    }

    /// Serves the first process at a port, and those that are forked of it, until a receive fails.
    ///
    /// # Errors
    /// A code of the receive, or that another thread serves them.
    pub fn serve(self: &Arc<Self>, port: ReceiveRight) -> Result<Infallible, Error> {
        let service = Service::new(self.traps.then(stubs::traps))?;
        let service = self.service.get_or_init(|| service);
        service.add(port, Process::first(Arc::clone(self)))?;
        service.serve(stubs::demux)
    }

    /// How many calls were made by trap to the processes that there are.
    pub fn trap_calls(&self) -> u64 {
        let ports: Vec<(Task, u32)> = lock(&self.processes).by_pid.values().map(|known| known.port).collect();
        ports.iter().filter_map(|(task, port)| task.trap_calls(*port)).sum()
    }

    /// Works on the view.
    pub(crate) fn files<T>(&self, work: impl FnOnce(&mut Files) -> T) -> T {
        work(&mut lock(&self.files))
    }

    /// Forks a process: the right to its port, and its number.
    pub(crate) fn fork(&self, of: &Process, signals: Option<SendRight>) -> Result<(SendRight, i32), Errno> {
        let short = |_: Error| Errno::AGAIN;
        let port = ReceiveRight::new().map_err(short)?;
        let right = port.make_send().map_err(short)?;
        port.notify_no_senders(port.make_send_once().map_err(short)?).map_err(short)?;
        let end = Some(port.make_send_once().map_err(short)?);
        let known = Known { parent: of.pid, port: (Task::current(), port.name()), signals: signals.map(Arc::new), end };
        let pid = {
            let mut processes = lock(&self.processes);
            if processes.by_pid.len() >= PROCESSES {
                return Err(Errno::AGAIN);
            }
            let mut pid = processes.next;
            while processes.by_pid.contains_key(&pid) {
                pid = after(pid);
            }
            processes.next = after(pid);
            processes.by_pid.insert(pid, known);
            pid
        };
        // A child that is not served ends at once.
        let served = self.service.get().map(|service| service.add(port, of.fork(pid)));
        match served {
            Some(Ok(())) => Ok((right, pid)),
            _ => Err(Errno::AGAIN),
        }
    }

    pub(crate) fn ended(&self, pid: i32) {
        let known = lock(&self.processes).by_pid.remove(&pid);
        // Rights that a peer gave are not given up under the lock.
        drop(known);
    }

    /// The number of the process's parent, or of the first if that has ended.
    pub(crate) fn parent(&self, pid: i32) -> i32 {
        let processes = lock(&self.processes);
        let parent = processes.by_pid.get(&pid).map_or(1, |known| known.parent);
        if processes.by_pid.contains_key(&parent) { parent } else { 1 }
    }

    /// Signals a process.
    ///
    /// # Errors
    /// ESRCH; EAGAIN if it leaves too many unread; EPERM for the first.
    pub(crate) fn kill(&self, from: i32, pid: i32, signal: i32) -> Result<(), Errno> {
        const KILL: i32 = 9;
        if pid == 1 {
            return Err(Errno::PERM);
        }
        let mut processes = lock(&self.processes);
        let known = processes.by_pid.get_mut(&pid).ok_or(Errno::SRCH)?;
        let signals = known.signals.clone();
        let end = if signal == KILL { known.end.take() } else { None };
        drop(processes);
        if signal == KILL {
            // It is taken for the news that nobody has a right to the port.
            let told = end.map(|end| end.send(Outgoing::new(notify::NO_SENDERS)));
            return told.unwrap_or(Ok(())).map_err(|_| Errno::SRCH);
        }
        match signals {
            Some(to) if signal != 0 => {
                let message = Outgoing::new(SIGNAL).ints(&[signal as u32]).ints(&[from as u32]);
                match to.send(message, Some(Duration::ZERO)) {
                    Err(error) if error.is_timeout() => Err(Errno::AGAIN),
                    // Who takes no signals any more is about to end.
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

fn after(pid: i32) -> i32 {
    pid.checked_add(1).unwrap_or(2)
}
