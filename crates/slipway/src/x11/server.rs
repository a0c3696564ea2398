//! A private X server: start it, learn its display, keep what it says.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, PipeReader, pipe};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::{FdFlags, fcntl_setfd};

use crate::args::{LogLevel, ServerOptions};
use crate::failure::{Failure, OWN};
use crate::hooks::Hooks;
use crate::program::Program;
use crate::session::Session;
use crate::session::server::{Report, Server};
use crate::session::signals::Signals;

/// Lines of the server's standard error that a failure shows.
const LAST_LINES: usize = 10;
/// How long the last words of a server that ended may take to arrive.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A server that has been started.
#[derive(Debug)]
pub struct XServer {
    name: String,
    /// Its process.
    pub process: Server,
    output: Output,
}

impl XServer {
    /// Starts `program` in a session, with `authority` as its authority file.
    ///
    /// # Errors
    /// The server can't be executed, or `--screen` does not fit it.
    pub fn start(
        session: &Session,
        program: &Program,
        options: &ServerOptions,
        authority: &Path,
        hooks: &Hooks,
    ) -> Result<Self, Failure> {
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
        command.stdout(Stdio::null()).stderr(their_stderr);
        let process = Server::start(&name, session, &mut command, display, life).map_err(|error| program.exec_failure(&error))?;
        drop((report, command));
        let output = Output::collect(stderr, hooks.says(LogLevel::Debug));
        Ok(Self { name, process, output })
    }

    /// Waits until the server accepts connections; returns its display number.
    ///
    /// # Errors
    /// The server ended, said nothing within `patience`, or one of `signals` came.
    pub fn ready(&mut self, patience: Duration, signals: &mut Signals) -> Result<u32, Failure> {
        let why = match self.process.report(Instant::now() + patience, signals)? {
            Report::Line(line) => {
                let text = String::from_utf8_lossy(&line);
                match text.trim().parse() {
                    Ok(display) => return Ok(display),
                    Err(_) => format!("{} reported display {text:?}, which is no number", self.name),
                }
            }
            Report::Late => format!("{} was not ready within {} s (--server-timeout)", self.name, patience.as_secs()),
            Report::Closed(Some(status)) => format!("{} ended before it was ready ({status})", self.name),
            Report::Closed(None) => {
                format!("{} closed the pipe of -displayfd without a display number; does it know that option?", self.name)
            }
        };
        Err(self.failure(why))
    }

    fn failure(&self, mut message: String) -> Failure {
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
