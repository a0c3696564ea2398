//! A session's server: a process that says when it can be connected to.

use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::Pid;
use slipway_bootstrap::supervise::Process;

use super::Session;
use super::process::{Target, readable, wait};
use super::signals::Signals;
use crate::failure::{Failure, OWN};

/// How long a server that closed its report may take to end.
const LAST_MOMENT: Duration = Duration::from_secs(1);
/// A report is no longer, in bytes.
const LONGEST: usize = 64;

/// A server that was started.
#[derive(Debug)]
pub struct Server {
    name: String,
    process: Process,
    /// Hangs up when the server and all it has started are gone.
    life: PipeReader,
    /// Where it says that it is ready.
    report: PipeReader,
}

/// What became of the wait for a report.
#[derive(Debug)]
pub enum Report {
    /// What the server said, without the end of the line.
    Line(Vec<u8>),
    /// It said nothing in time.
    Late,
    /// It will say nothing: how it ended, if it did.
    Closed(Option<ExitStatus>),
}

impl Server {
    /// Starts the command, which says in `report` that it is ready. What it starts, too, has the other end of `life`.
    ///
    /// # Errors
    /// It can't be executed.
    pub fn start(name: &str, session: &Session, command: &mut Command, report: PipeReader, life: PipeReader) -> io::Result<Self> {
        // A group of its own: Ctrl-C is for the program, which may need its server while it ends.
        let process = session.start_process(command.process_group(0).stdin(Stdio::null()))?;
        Ok(Self { name: name.to_owned(), process, life, report })
    }

    /// What to stop at the end, in this order.
    pub fn targets(&self) -> [Target<BorrowedFd<'_>>; 2] {
        let leader = Pid::from_child(&self.process.child);
        [Target::Group { leader, pipe: self.life.as_fd() }, Target::Process(self.process.pidfd.as_fd())]
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.process.child.try_wait().ok().flatten()?;
        Some(format!("{} ended early ({status})", self.name))
    }

    /// Waits for its report, until the deadline.
    ///
    /// # Errors
    /// One of `signals` came.
    pub fn report(&mut self, deadline: Instant, signals: &mut Signals) -> Result<Report, Failure> {
        let own = |error| Failure::own(format!("waiting for {}", self.name), error);
        let mut said = Vec::new();
        while said.len() <= LONGEST {
            let mut fds = [
                PollFd::from_borrowed_fd(self.report.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
            ];
            if !wait(&mut fds, Some(deadline)).map_err(own)? {
                return Ok(Report::Late);
            }
            let (has_report, has_signals) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            if has_signals && let Some(request) = signals.take().first() {
                let code = u8::try_from(128 + request.number).unwrap_or(OWN);
                return Err(Failure::new(code, format!("signal {} while {} started", request.number, self.name)));
            }
            if has_report {
                let mut bytes = [0; LONGEST];
                let count = self.report.read(&mut bytes).map_err(own)?;
                said.extend_from_slice(&bytes[..count]);
                if let Some(line) = said.strip_suffix(b"\n") {
                    return Ok(Report::Line(line.to_owned()));
                }
                if count == 0 {
                    break;
                }
            }
        }
        readable(&self.process.pidfd, LAST_MOMENT);
        Ok(Report::Closed(self.process.child.try_wait().ok().flatten()))
    }
}
