//! A program that serves a service: started when it is wanted, and not too often.

use crate::{
    config::{Program, Restart},
    mach,
};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use slipway_mach::{abi, bootstrap::inherited::Inheritance, task::Task};
use std::{
    ffi::OsStr,
    fs::OpenOptions,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// The pause after a program ended too soon for the first time; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause.
const LAST_PAUSE: Duration = Duration::from_secs(60);
/// A program that served so long was all right: pauses begin anew.
const LONG_ENOUGH: Duration = Duration::from_secs(10);

/// A service's program, and the process if it runs.
#[derive(Debug)]
pub struct Job {
    /// What is run.
    pub program: Program,
    process: Option<Process>,
    /// The receive right of what the process that was started last asks by; null before the first. No other task has a
    /// right to it that the process did not give one.
    port: u32,
    /// Whether it is to be started.
    wanted: bool,
    pause: Duration,
    not_before: Option<Instant>,
    note: String,
}

/// A process of a job.
#[derive(Debug)]
struct Process {
    child: Child,
    pidfd: OwnedFd,
    since: Instant,
    /// Whether the service was checked in since.
    served: bool,
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
    pub fn new(program: Program) -> Self {
        Self {
            program,
            process: None,
            port: abi::NULL,
            wanted: false,
            pause: Duration::ZERO,
            not_before: None,
            note: String::new(),
        }
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
        match self.start(now, surroundings) {
            Ok((process, port)) => {
                self.process = Some(process);
                self.wanted = false;
                // What the process before may have left running is this job's no more.
                let before = std::mem::replace(&mut self.port, port);
                let _ = surroundings.task.destroy(before);
                Some(before)
            }
            Err(error) => {
                self.failed(now, format!("cannot start {}: {error}", self.program.program.display()));
                None
            }
        }
    }

    /// The process, and the receive right of what it asks by.
    fn start(&self, now: Instant, surroundings: &Surroundings<'_>) -> io::Result<(Process, u32)> {
        let Surroundings { task, set, .. } = *surroundings;
        let port = mach::port_in_set(task, set).map_err(|code| io::Error::other(code.to_string()))?;
        let process = self.spawn(now, surroundings, port);
        if process.is_err() {
            let _ = task.destroy(port);
        }
        Ok((process?, port))
    }

    fn spawn(&self, now: Instant, surroundings: &Surroundings<'_>, port: u32) -> io::Result<Process> {
        let program = &self.program;
        let mut command = Command::new(program.file()?);
        command.arg0(&program.program).args(&program.args).stdin(Stdio::null());
        command.envs(surroundings.variable).envs(&program.env);
        if let Some(directory) = &program.directory {
            command.current_dir(directory);
        }
        match &program.output {
            Some(path) => {
                let file = OpenOptions::new().append(true).create(true).open(path)?;
                command.stdout(file.try_clone()?).stderr(file);
            }
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
        let mut child = command.env(variable, value).spawn()?;
        match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Process { child, pidfd, since: now, served: false }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error.into())
            }
        }
    }

    /// The service was checked in: the process, if it runs, did what it was started for.
    pub fn served(&mut self) {
        if let Some(process) = &mut self.process {
            process.served = true;
        }
    }

    /// Looks whether the process has ended.
    pub fn reap(&mut self, now: Instant) {
        let Some(process) = &mut self.process else { return };
        let status = match process.child.try_wait() {
            Ok(Some(status)) => status,
            Ok(None) | Err(_) => return,
        };
        let lasted = now.saturating_duration_since(process.since);
        let served = process.served;
        self.process = None;
        if served && (status.success() || lasted >= LONG_ENOUGH) {
            (self.pause, self.not_before) = (Duration::ZERO, None);
        }
        if status.success() && served {
            return self.note.clear();
        }
        self.wanted |= self.program.restart == Restart::OnCrash && !status.success();
        let how = if status.success() { "ended without checking in".into() } else { ending(status) };
        self.failed(now, format!("{} {how}", self.program.program.display()));
    }

    fn failed(&mut self, now: Instant, note: String) {
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LAST_PAUSE);
        self.not_before = Some(now + self.pause);
        eprintln!("slipway-bootstrap: {}: {note}", self.program.name);
        self.note = note;
    }
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".into(),
    }
}
