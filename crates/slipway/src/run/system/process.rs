//! A process of a system: a program, or a host of tasks.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::io::{FdFlags, fcntl_setfd};
use slipway_bootstrap::{config, supervise};
use slipway_domain::spec::{self, Event};

use crate::program::Program;
use crate::session::Session;

/// A process that was started.
#[derive(Debug)]
pub struct Process {
    /// Its pidfd is readable once it has ended.
    pub process: supervise::Process,
    /// The way to a host.
    control: Option<Control>,
}

#[derive(Debug)]
struct Control {
    stream: UnixStream,
    said: Vec<u8>,
}

impl Process {
    /// Starts a program.
    ///
    /// # Errors
    /// It can't be executed, or its output not be opened.
    pub fn program(session: &Session, program: &config::Program, bootstrap: (&str, &Path)) -> io::Result<Self> {
        let process = session.start_process(program.command(&program.program)?.env(bootstrap.0, bootstrap.1))?;
        Ok(Self { process, control: None })
    }

    /// Starts a host, without tasks yet.
    ///
    /// # Errors
    /// As [`std::process::Command::spawn`].
    pub fn host(
        session: &Session,
        program: &Program,
        env: &BTreeMap<String, String>,
        bootstrap: (&str, &Path),
    ) -> io::Result<Self> {
        let (stream, theirs) = UnixStream::pair()?;
        // Nothing else is started until this end is closed below.
        fcntl_setfd(&theirs, FdFlags::empty())?;
        let mut command = program.command();
        command.arg("--control").arg(theirs.as_raw_fd().to_string()).envs(env).env(bootstrap.0, bootstrap.1);
        let process = session.start_process(&mut command)?;
        drop(theirs);
        stream.set_nonblocking(true)?;
        Ok(Self { process, control: Some(Control { stream, said: Vec::new() }) })
    }

    /// Has a host start a task. A host that is gone is heard of by its end.
    pub fn start(&mut self, task: spec::Task) {
        let Some(control) = &mut self.control else { return };
        let line = serde_json::to_string(&spec::Command::Start(task)).unwrap_or_default();
        let _ = control.stream.set_nonblocking(false);
        let _ = writeln!(control.stream, "{line}");
        let _ = control.stream.set_nonblocking(true);
    }

    /// Readable when a host has said something.
    pub fn events_fd(&self) -> Option<BorrowedFd<'_>> {
        self.control.as_ref().map(|control| control.stream.as_fd())
    }

    /// What a host has said since the last call. Never waits.
    pub fn events(&mut self) -> Vec<Event> {
        let Some(control) = &mut self.control else { return Vec::new() };
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = control.stream.read(&mut bytes) {
            control.said.extend_from_slice(&bytes[..count]);
        }
        let mut events = Vec::new();
        while let Some(end) = control.said.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = control.said.drain(..=end).collect();
            events.extend(serde_json::from_slice(&line).ok());
        }
        events
    }
}
