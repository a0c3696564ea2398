//! A program that serves a service: started when it is wanted, and not too often.

use crate::{
    mach,
    services::{Service, executable},
};
use slipway_bootstrap::supervise::{Backoff, Process};
use slipway_mach::{abi, bootstrap::inherited::Inheritance, task::Task};
use std::{
    ffi::OsStr,
    io,
    os::fd::{AsFd, BorrowedFd},
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

/// A service's program, and the process if it runs.
#[derive(Debug)]
pub struct Job {
    /// What is run, and for which service.
    pub service: Service,
    process: Option<Process>,
    /// Whether the service was checked in since the process was started.
    served: bool,
    /// The receive right of what the process that was started last asks by; null before the first. No other task has a
    /// right to it that the process did not give one.
    port: u32,
    /// Whether it is to be started.
    wanted: bool,
    backoff: Backoff,
    not_before: Option<Instant>,
    note: String,
}

/// What a started program gets from the server.
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// The server.
    pub task: Task,
    /// The set that the ports are put into that the server receives from.
    pub set: u32,
    /// The path of the server's socket.
    pub socket: &'a Path,
    /// Variables of the server's: a name and a value.
    pub variable: Option<(&'a str, &'a OsStr)>,
    /// Whether its output goes where the server's messages go, unless it is configured.
    pub shares_output: bool,
}

impl Job {
    /// One that does not run.
    pub fn new(service: Service) -> Self {
        Self {
            backoff: service.program.backoff.clone(),
            service,
            process: None,
            served: false,
            port: abi::NULL,
            wanted: false,
            not_before: None,
            note: String::new(),
        }
    }

    /// Has it run as another description says, from the next start on.
    pub fn configure(&mut self, service: Service) {
        if service.program.backoff != self.service.program.backoff {
            self.backoff = service.program.backoff.clone();
        }
        self.service = service;
    }

    /// How it last ended or why it didn't start; empty if there is nothing to tell.
    pub fn note(&self) -> &str {
        &self.note
    }

    /// Whether what comes to the port comes from this job's program.
    pub fn asks_by(&self, port: u32) -> bool {
        self.port != abi::NULL && self.port == port
    }

    /// Readable when the process has ended.
    pub fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.process.as_ref().map(|process| process.pidfd.as_fd())
    }

    /// Whether it waits for a message: it neither runs nor is about to.
    pub fn is_idle(&self) -> bool {
        self.process.is_none() && !self.wanted
    }

    /// Somebody wants it to run.
    pub fn want(&mut self) {
        self.wanted = true;
    }

    /// When it is to be started: None if it is not wanted, or runs.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        (self.wanted && self.process.is_none()).then(|| self.not_before.unwrap_or(now))
    }

    /// Starts it if that is due. What went wrong is noted, and tried again after a pause. The port that the process before
    /// asked by, which is gone.
    pub fn start_if_due(&mut self, now: Instant, surroundings: &Surroundings<'_>) -> Option<u32> {
        if self.due(now).is_none_or(|due| due > now) {
            return None;
        }
        match self.start(surroundings) {
            Ok((process, port)) => {
                self.process = Some(process);
                (self.wanted, self.served) = (false, false);
                // What the process before may have left running is this job's no more.
                let before = std::mem::replace(&mut self.port, port);
                let _ = surroundings.task.destroy(before);
                Some(before)
            }
            Err(error) => {
                self.failed(now, Duration::ZERO, format!("cannot start {}: {error}", self.service.program.program.display()));
                None
            }
        }
    }

    /// The process, and the receive right of what it asks by.
    fn start(&self, surroundings: &Surroundings<'_>) -> io::Result<(Process, u32)> {
        let Surroundings { task, set, .. } = *surroundings;
        let port = mach::port_in_set(task, set).map_err(|code| io::Error::other(code.to_string()))?;
        let process = self.spawn(surroundings, port);
        if process.is_err() {
            let _ = task.destroy(port);
        }
        Ok((process?, port))
    }

    fn spawn(&self, surroundings: &Surroundings<'_>, port: u32) -> io::Result<Process> {
        let program = &self.service.program;
        let mut command = program.command(&executable(program)?)?;
        command.stdin(Stdio::null());
        // What is configured goes before.
        command.envs(surroundings.variable.filter(|(name, _)| !program.env.contains_key(*name)));
        match program.output {
            Some(_) => {}
            None if surroundings.shares_output => {
                command.stdout(io::stderr().as_fd().try_clone_to_owned()?);
            }
            None => {
                command.stdout(Stdio::null()).stderr(Stdio::null());
            }
        }
        // Nothing else is started until this socket is closed, at the end of this function.
        let inheritance = Inheritance::new(surroundings.task, port)?;
        let (variable, value) = inheritance.make_inheritable(surroundings.socket)?;
        Process::start(command.env(variable, value))
    }

    /// The service was checked in: the process, if it runs, did what it was started for.
    pub fn served(&mut self) {
        self.served = self.process.is_some();
    }

    /// Looks whether the process has ended.
    pub fn reap(&mut self, now: Instant) {
        let Some(process) = &mut self.process else { return };
        let Some(ending) = process.ended() else { return };
        // What didn't serve was not all right, however long it ran.
        let lasted = if self.served { now.saturating_duration_since(process.since) } else { Duration::ZERO };
        self.process = None;
        if ending.code() == 0 && self.served {
            self.backoff.reset();
            self.not_before = None;
            return self.note.clear();
        }
        self.wanted |= self.service.program.restart.applies(ending.code());
        let how = if ending.code() == 0 { "ended without checking in".into() } else { ending.to_string() };
        self.failed(now, lasted, format!("{} {how}", self.service.program.program.display()));
    }

    fn failed(&mut self, now: Instant, lasted: Duration, note: String) {
        self.not_before = Some(now + self.backoff.pause(lasted));
        eprintln!("slipway-bootstrap: {}: {note}", self.service.name);
        self.note = note;
    }
}
