//! A session: a program, or a system of tasks, with a private server. Nothing of it is left at its end, and soon after it if this
//! process is killed.
//!
//! * [`process`]: its processes. * [`server`]: its server. * [`signals`]: what it is told to pass on. * [`mod@guard`]: what cleans up after it.

mod guard;
pub mod process;
pub mod server;
pub mod signals;

pub use guard::watch;

use std::fs::Permissions;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use slipway_bootstrap::supervise::Process;
use tempfile::TempDir;

use crate::failure::Failure;
use crate::program::Program;
use guard::Guard;
use process::{Target, attend, start, stop};
use server::Server;
use signals::Signals;

/// What every session has.
#[derive(Debug)]
pub struct Session {
    /// Signals are caught from its start on.
    pub signals: Signals,
    guard: Guard,
    scratch: TempDir,
}

impl Session {
    /// Starts a session with a directory of its own, whose name begins so.
    ///
    /// # Errors
    /// No handler, directory or process can be made.
    pub fn start(prefix: &str) -> Result<Self, Failure> {
        let signals = Signals::catch().map_err(|error| Failure::own("signal handlers", error))?;
        let private = Permissions::from_mode(0o700);
        let scratch = tempfile::Builder::new().prefix(prefix).permissions(private).tempdir();
        let scratch = scratch.map_err(|error| Failure::own("temporary directory", error))?;
        let guard = Guard::start(scratch.path()).map_err(unguarded)?;
        Ok(Self { signals, guard, scratch })
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        self.scratch.path()
    }

    /// Has the server stopped if this process is killed, after all that is added later.
    ///
    /// # Errors
    /// The guard is gone.
    pub fn add_server(&self, server: &Server) -> Result<(), Failure> {
        // The guard goes backwards.
        server.targets().iter().rev().try_for_each(|target| self.guard.add(target)).map_err(unguarded)
    }

    /// Starts a process that is stopped if this one is killed, before what was started earlier.
    ///
    /// # Errors
    /// As [`Command::spawn`]; the guard is gone.
    pub fn start_process(&self, command: &mut Command) -> io::Result<Process> {
        start(command, &self.guard)
    }

    /// Runs a program's command, and passes signals on to it until it ends: its exit code, or 128 + the signal that ended it. If the
    /// server ends before, `tell` is told how.
    ///
    /// # Errors
    /// The program could not be started.
    pub fn run(
        &mut self,
        program: &Program,
        command: &mut Command,
        server: &mut Server,
        tell: impl Fn(&str),
    ) -> Result<u8, Failure> {
        let mut process = self.start_process(command).map_err(|error| program.exec_failure(&error))?;
        let mut told = false;
        let mut look = || {
            if !told && let Some(how) = server.ended() {
                told = true;
                tell(&how);
            }
        };
        attend(&mut process, &mut self.signals, &mut look).map_err(|error| Failure::own("waiting for the program", error))
    }

    /// Ends everything: these processes, one after the other, and then the server.
    pub fn close(self, processes: &mut [&mut Process], server: Option<&mut Server>) {
        let mut targets: Vec<_> = processes.iter().map(|process| Target::Process(process.pidfd.as_fd())).collect();
        targets.extend(server.iter().flat_map(|server| server.targets()));
        stop(&targets, self.scratch.path());
        // Only to leave no zombie to what executed us.
        for process in processes {
            process.ended();
        }
        server.map(Server::ended);
        self.guard.dismiss();
    }
}

fn unguarded(error: io::Error) -> Failure {
    Failure::own("the process that cleans up after a killed session", error)
}
