//! A private X server: start it, learn its display, keep what it says.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, PipeReader, Read, pipe};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::Pid;
use slipway_bootstrap::supervise::Process;

use super::process::{Target, readable, start, wait};
use super::signals::Signals;
use crate::args::{LogLevel, ServerOptions};
use crate::failure::{Failure, OWN};
use crate::hooks::Hooks;
use crate::program::Program;

/// Lines of the server's standard error that a failure shows.
const LAST_LINES: usize = 10;
/// How long a server that closed its end of the display pipe may take to end, and its last words to arrive.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A server that has been started.
#[derive(Debug)]
pub struct Server {
    name: String,
    process: Process,
    /// Hangs up when the server and all it has started are gone.
    life: PipeReader,
    display: PipeReader,
    output: Output,
}

impl Server {
    /// Starts `program` with `authority` as its authority file.
    ///
    /// # Errors
    /// The server can't be executed, or `--screen` does not fit it.
    pub fn start(program: &Program, options: &ServerOptions, authority: &Path, hooks: &Hooks) -> Result<Self, Failure> {
        let name = program.name.display().to_string();
        let own = |error| Failure::own(format!("{name}: cannot start it"), error);
        let (display, report) = pipe().map_err(own)?;
        let (stderr, their_stderr) = pipe().map_err(own)?;
        let life = stderr.try_clone().map_err(own)?;
        // The server inherits this end. Nothing else is started until it is closed below.
        fcntl_setfd(&report, FdFlags::empty()).map_err(|error| own(error.into()))?;

        let mut command = program.command();
        command.args(options.display.map(|number| format!(":{number}")));
        command.args(["-displayfd", &report.as_raw_fd().to_string(), "-auth"]).arg(authority);
        // Without a reset, what one client of the program sets up is still there for the next.
        command.args(["-nolisten", "tcp", "-noreset"]);
        if let Some(screen) = options.screen {
            command.args(screen.arguments(&program.name)?);
        }
        command.args::<_, &OsString>(&options.server_arg);
        hooks.apply(&mut command, program);
        // A group of its own: Ctrl-C is for the program, which may need its server while it ends.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(their_stderr);
        let process = start(&mut command).map_err(|error| program.exec_failure(&error))?;
        drop((report, command));
        let output = Output::collect(stderr, hooks.says(LogLevel::Debug));
        Ok(Self { name, process, life, display, output })
    }

    /// What to stop at the end, in this order.
    pub fn targets(&self) -> [Target<BorrowedFd<'_>>; 2] {
        let leader = Pid::from_child(&self.process.child);
        [Target::Group { leader, pipe: self.life.as_fd() }, Target::Process(self.process.pidfd.as_fd())]
    }

    /// Waits until the server accepts connections; returns its display number.
    ///
    /// # Errors
    /// The server ended, said nothing within `patience`, or one of `signals` came.
    pub fn ready(&mut self, patience: Duration, signals: &mut Signals) -> Result<u32, Failure> {
        let deadline = Instant::now() + patience;
        let mut report = Vec::new();
        loop {
            let own = |error| Failure::own(format!("{}: waiting for its display", self.name), error);
            let mut fds = [
                PollFd::from_borrowed_fd(self.display.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
            ];
            if !wait(&mut fds, Some(deadline)).map_err(own)? {
                let seconds = patience.as_secs();
                return Err(self.failure(&format!("was not ready within {seconds} s (--server-timeout)")));
            }
            let (has_report, has_signals) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            if has_signals && let Some(request) = signals.take().first() {
                let code = u8::try_from(128 + request.number).unwrap_or(OWN);
                return Err(Failure::new(code, format!("signal {} while {} started", request.number, self.name)));
            }
            if has_report {
                let mut bytes = [0; 64];
                let count = self.display.read(&mut bytes).map_err(own)?;
                report.extend_from_slice(&bytes[..count]);
                if let Some(line) = report.strip_suffix(b"\n") {
                    return self.parse(line);
                }
                if count == 0 || report.len() > 64 {
                    let how = self.ending();
                    return Err(self.failure(&how));
                }
            }
        }
    }

    fn parse(&self, line: &[u8]) -> Result<u32, Failure> {
        let text = String::from_utf8_lossy(line);
        text.trim().parse().map_err(|_| self.failure(&format!("reported display {text:?}, which is no number")))
    }

    /// How the server ended, if it has.
    pub fn ended(&mut self) -> Option<String> {
        match self.process.child.try_wait() {
            Ok(Some(status)) => Some(format!("{} ended early ({status})", self.name)),
            _ => None,
        }
    }

    fn ending(&mut self) -> String {
        readable(&self.process.pidfd, LAST_WORDS);
        match self.process.child.try_wait() {
            Ok(Some(status)) => format!("ended before it was ready ({status})"),
            _ => "closed the pipe of -displayfd without a display number; does it know that option?".to_owned(),
        }
    }

    fn failure(&self, what: &str) -> Failure {
        let mut message = format!("{} {what}", self.name);
        let last = self.output.last_words();
        if last.is_empty() {
            message.push_str("; it wrote nothing to standard error");
        } else {
            message.push_str("; its last lines:");
            message.extend(last.iter().map(|line| format!("\n    {line}")));
        }
        Failure::new(OWN, message)
    }
}

/// What a server writes to standard error. The hooks' own lines go on to the user at once; the
/// rest is remembered for the case that something fails.
#[derive(Debug)]
struct Output {
    last: Arc<Mutex<VecDeque<String>>>,
    closed: Receiver<()>,
}

impl Output {
    fn collect(stderr: PipeReader, shows_everything: bool) -> Self {
        let last = Arc::new(Mutex::new(VecDeque::new()));
        let (end, closed) = channel::<()>();
        let lines = Arc::clone(&last);
        thread::spawn(move || {
            // Dropped when the last writer is gone, which ends the wait in `last_words`.
            let _end = end;
            for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).into_owned();
                if shows_everything || line.starts_with("slipway: ") {
                    eprintln!("{line}");
                }
                let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                lines.push_back(line);
                if lines.len() > LAST_LINES {
                    lines.pop_front();
                }
            }
        });
        Self { last, closed }
    }

    /// The last lines; waits a moment for those still under way.
    fn last_words(&self) -> Vec<String> {
        // Either the pipe is closed or the time is over: both are fine, what came is shown.
        let _ = self.closed.recv_timeout(LAST_WORDS);
        let lines = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter(|line| !line.trim().is_empty()).cloned().collect()
    }
}
