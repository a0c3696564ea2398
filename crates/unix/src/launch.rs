//! Running a command in the net, from the process that the user started: it passes signals on, stops when the command stops, and ends as
//! the command ends.

use crate::{calls::Server, exec::Execs, index::Index, limit::FileLimit, supervise::supervise, sys, tasks::descends};
use rustix::{
    event::{PollFd, PollFlags, poll},
    fd::AsFd,
    io::Errno,
    process::{Pid, Signal, kill_process},
};
use serde::{Deserialize, Serialize};
use slipway_layer::{TreePath, View};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// Found in PATH, as the command sees it, if it has no slash.
    pub name: &'a OsStr,
    /// Its arguments.
    pub args: &'a [OsString],
    /// Whether it may make sockets for other than local connections.
    pub network: bool,
    /// Whether it may mean harm: [`start`] fails where the kernel can't keep what is promised then.
    pub contain: bool,
    /// What the command is given.
    pub file_limit: &'a FileLimit,
    /// Whether every call with a name goes to the server, also where the emulation library could answer it.
    pub net_only: bool,
}

/// What to run, and the signals that wait in it as in this process when it began.
pub(crate) struct Started<'a> {
    pub(crate) program: &'a Program<'a>,
    pub(crate) signals: libc::sigset_t,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// With this code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// It was not executed: the error.
    NotRun(i32),
}

/// What the server's process says to the one that the user started.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    Started(i32),
    Stopped,
    /// What the command started goes on.
    Background,
    Exit(i32),
    Signal(i32),
    NotRun(i32),
    /// The command has no net, and was not run: the error.
    NoNet(i32),
}

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    kernel_dir: std::path::PathBuf,
    /// The server's process, below which all of the command's are.
    server: Pid,
    reports: BufReader<File>,
    signals: rustix::fd::OwnedFd,
    command: Option<Pid>,
    outcome: Option<Outcome>,
    goes_on: bool,
    old_mask: libc::sigset_t,
}

/// Starts the server's process and the command in it. `store` is where the layers are, `record` where what was looked at is written,
/// `kernel_dir` an empty directory. This process must have one thread.
///
/// # Errors
/// The net can't be made here.
pub fn start(mut view: View, store: &Path, record: Option<&Path>, program: &Program<'_>) -> io::Result<Running> {
    let cwd = match std::env::current_dir() {
        // It was removed: the kernel has another name for it, where nothing is.
        Err(error) if error.kind() == io::ErrorKind::NotFound => std::fs::read_link("/proc/self/cwd"),
        cwd => cwd,
    };
    let cwd = TreePath::literal(cwd?.as_os_str().as_encoded_bytes());
    // Memory, where that is a file system: links there tell when they are read.
    let shared = Path::new("/dev/shm");
    let kernel_dir = tempfile::Builder::new().prefix(".slipway-").tempdir_in(shared).or_else(|_| tempfile::tempdir())?;
    let name = |path: &Path| TreePath::literal(path.as_os_str().as_encoded_bytes());
    let hides = !view.rules.hidden.is_empty();
    view.rules.hidden.extend([name(store), name(kernel_dir.path())]);
    view.rules.through.push(TreePath::literal("proc"));
    let execs = Execs::new(kernel_dir.path())?;
    let old_mask = sys::mask_signals(None);
    let signals = sys::signals()?;
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    if let Some(server) = sys::fork()? {
        // The server's process removes it.
        let kernel_dir = kernel_dir.keep();
        return Ok(Running {
            kernel_dir,
            server,
            reports: BufReader::new(File::from(read)),
            signals,
            command: None,
            outcome: None,
            goes_on: false,
            old_mask,
        });
    }
    drop((read, signals));
    let served = Server::new(view, name(store), cwd, execs, program).map_err(|_| Errno::IO).and_then(|server| {
        server.index.iter().for_each(|index| index.link_memory(kernel_dir.path()));
        if hides {
            // One that the command inherits may be of what is hidden, or of a directory below that.
            server.index.iter().for_each(Index::serve_descriptors);
        }
        supervise(server, &Started { program, signals: old_mask }, kernel_dir.path(), record, File::from(write))
    });
    drop(kernel_dir);
    if let Err(error) = served {
        eprintln!("slipway: unix: the server of names: {}", io::Error::from(error));
    }
    std::process::exit(i32::from(served.is_err()))
}

impl Running {
    /// Waits until the command has ended: how, and whether what it started goes on. With `to_the_end` it waits for that, too.
    ///
    /// # Errors
    /// The server's process ended before the command did.
    pub fn wait(mut self, to_the_end: bool) -> io::Result<(Outcome, bool)> {
        loop {
            // What comes before the command is known waits for it.
            let wanted = if self.command.is_some() { PollFlags::IN } else { PollFlags::empty() };
            let mut fds = [
                PollFd::from_borrowed_fd(self.signals.as_fd(), wanted),
                PollFd::from_borrowed_fd(self.reports.get_ref().as_fd(), PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Err(Errno::INTR) => continue,
                polled => polled?,
            };
            if !fds[1].revents().is_empty() && self.hear()? && !(to_the_end && self.goes_on) {
                break;
            }
            while self.command.is_some()
                && let Some(signal) = sys::next_signal(&self.signals)
            {
                self.pass_on(signal);
            }
        }
        sys::mask_signals(Some(&self.old_mask));
        let outcome = self.outcome.ok_or_else(|| {
            // What it would have removed.
            let _ = std::fs::remove_dir_all(&self.kernel_dir);
            io::Error::other("the server of names ended before the command")
        })?;
        Ok((outcome, self.goes_on))
    }

    /// Takes reports: whether there will be none that is waited for.
    fn hear(&mut self) -> io::Result<bool> {
        loop {
            let mut line = String::new();
            if self.reports.read_line(&mut line)? == 0 {
                self.goes_on = false;
                return Ok(true);
            }
            match serde_json::from_str(&line)? {
                Report::Started(pid) => self.command = Pid::from_raw(pid),
                // As a shell would have stopped it, had it been the command.
                Report::Stopped => kill_process(rustix::process::getpid(), Signal::STOP)?,
                Report::Exit(code) => self.outcome = Some(Outcome::Exit(code)),
                Report::Signal(signal) => self.outcome = Some(Outcome::Signal(signal)),
                Report::NotRun(error) => self.outcome = Some(Outcome::NotRun(error)),
                Report::NoNet(code) => {
                    let _ = std::fs::remove_dir_all(&self.kernel_dir);
                    let error = io::Error::from_raw_os_error(code);
                    let hint = match code {
                        libc::EBUSY => "; a `slipway unix` in another can't be",
                        libc::ENOSYS | libc::EOPNOTSUPP | libc::EINVAL => "; --contain needs Linux 6.12 with Landlock",
                        _ => "",
                    };
                    return Err(io::Error::new(error.kind(), format!("seccomp notifications and Landlock: {error}{hint}")));
                }
                Report::Background => self.goes_on = true,
            }
            if self.reports.buffer().is_empty() {
                return Ok(self.goes_on);
            }
        }
    }

    /// What a terminal sends reaches the command by itself, and so does what one of its own processes sends to their group; what continues
    /// this process continues the command.
    fn pass_on(&self, signal: sys::Signal) {
        let server = self.server.as_raw_nonzero().get().cast_unsigned();
        if (signal.sender.is_some_and(|sender| !descends(sender, server)) || signal.number == libc::SIGCONT)
            && signal.number != libc::SIGCHLD
            && let (Some(command), Some(signal)) = (self.command, Signal::from_named_raw(signal.number))
        {
            let _ = kill_process(command, signal);
        }
    }
}

impl Outcome {
    /// Ends this process as the command ended: with its code, or by its signal.
    pub fn end(self) -> ! {
        match self {
            Self::Exit(code) => std::process::exit(code),
            Self::Signal(signal) => sys::end_by(signal),
            Self::NotRun(_) => std::process::exit(126),
        }
    }
}
