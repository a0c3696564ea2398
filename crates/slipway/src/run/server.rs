//! A private name server, as a child.

use std::io::{PipeReader, Read, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::Pid;
use slipway_bootstrap::supervise::Process;
use slipway_mach::bootstrap::launch::{self, READY};

use super::RunOptions;
use crate::failure::{Failure, OWN};
use crate::x11::process::{Target, readable, start, wait};
use crate::x11::signals::Signals;

/// How long the server may take to be ready.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a server that closed its output may take to end.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// A name server that was started.
#[derive(Debug)]
pub struct Server {
    process: Process,
    /// Hangs up when the server and all it has started are gone.
    life: PipeReader,
    output: PipeReader,
}

impl Server {
    /// Starts a server at `socket`, with views on it at others.
    ///
    /// # Errors
    /// It can't be found or executed.
    pub fn start(socket: &Path, options: &RunOptions, views: &[String]) -> Result<Self, Failure> {
        let program = launch::find().map_err(|why| Failure::new(OWN, why))?;
        let own = |error| Failure::own(program.display(), error);
        let (output, their_output) = pipe().map_err(own)?;
        let (life, their_life) = pipe().map_err(own)?;
        // The server and what it starts inherit this end. Nothing else is started until it is closed below.
        fcntl_setfd(&their_life, FdFlags::empty()).map_err(|error| own(error.into()))?;
        let mut command = Command::new(&program);
        command.arg("--socket").arg(socket);
        for service in &options.service {
            command.arg("--service").arg(service);
        }
        for dir in &options.services {
            command.arg("--services").arg(dir);
        }
        for view in views {
            command.arg("--view").arg(view);
        }
        // A group of its own: Ctrl-C is for the program, which may need its services while it ends.
        command.process_group(0).env_remove("LD_PRELOAD").stdin(Stdio::null()).stdout(their_output);
        let process = start(&mut command).map_err(own)?;
        drop((their_life, command));
        Ok(Self { process, life, output })
    }

    /// What to stop at the end, in this order.
    pub fn targets(&self) -> [Target<BorrowedFd<'_>>; 2] {
        let leader = Pid::from_child(&self.process.child);
        [Target::Group { leader, pipe: self.life.as_fd() }, Target::Process(self.process.pidfd.as_fd())]
    }

    /// Waits until the server can be connected to.
    ///
    /// # Errors
    /// It ended, was not ready in time, or one of `signals` came.
    pub fn ready(&mut self, signals: &mut Signals) -> Result<(), Failure> {
        let deadline = Instant::now() + PATIENCE;
        let own = |error| Failure::own("waiting for the name server", error);
        let mut said = Vec::new();
        while !said.ends_with(b"\n") {
            let mut fds = [
                PollFd::from_borrowed_fd(self.output.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
            ];
            if !wait(&mut fds, Some(deadline)).map_err(own)? {
                return Err(Failure::new(OWN, format!("the name server was not ready within {} s", PATIENCE.as_secs())));
            }
            let (has_output, has_signals) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            if has_signals && let Some(request) = signals.take().first() {
                let code = u8::try_from(128 + request.number).unwrap_or(OWN);
                return Err(Failure::new(code, format!("signal {} while the name server started", request.number)));
            }
            if has_output {
                let mut bytes = [0; 64];
                match self.output.read(&mut bytes).map_err(own)? {
                    0 => break,
                    count => said.extend_from_slice(&bytes[..count]),
                }
            }
        }
        if said.trim_ascii() == READY.as_bytes() {
            return Ok(());
        }
        // What it lacked it has written to standard error itself.
        readable(&self.process.pidfd, LAST_MOMENT);
        let how = self.ended().unwrap_or_else(|| "the name server said something else than that it is ready".into());
        Err(Failure::new(OWN, how))
    }

    /// How the server ended, if it has.
    pub fn ended(&mut self) -> Option<String> {
        match self.process.child.try_wait() {
            Ok(Some(status)) => Some(format!("the name server ended early ({status})")),
            _ => None,
        }
    }
}
