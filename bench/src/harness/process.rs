//! Child processes: pinned, tied to this process's life, waited for with a limit, their CPU time read.
//!
//! Children are started through setpriv(1) and taskset(1) (both in util-linux), which set the
//! parent-death signal and the CPUs between fork and exec; both then become the program, so the
//! process id and the CPU time are the program's own.

use super::failure::Failure;
use anyhow::{Context, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, waitid};
use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// Turns SIGINT, SIGTERM and SIGHUP into [`Failure::Interrupted`] at the next wait, so that what
/// was started is stopped on the way out.
pub struct Interrupt(UnixStream);

impl Interrupt {
    /// Installs the handlers.
    pub fn install() -> anyhow::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let (ours, handlers) = UnixStream::pair().context("socket pair for signals")?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::low_level::pipe::register(signal, handlers.try_clone()?).context("signal handler")?;
        }
        Ok(Self(ours))
    }

    /// Waits until one of `fds` is readable or hung up. False when `limit` passed first.
    pub fn wait(&self, fds: &[BorrowedFd<'_>], limit: Duration) -> anyhow::Result<bool> {
        let end = Instant::now() + limit;
        loop {
            let mut polled = vec![PollFd::new(&self.0, PollFlags::IN)];
            polled.extend(fds.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
            let left = Timespec::try_from(end.saturating_duration_since(Instant::now())).context("time limit")?;
            match poll(&mut polled, Some(&left)) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error).context("poll"),
                Ok(0) => return Ok(false),
                Ok(_) if !polled[0].revents().is_empty() => return Err(Failure::Interrupted.into()),
                Ok(_) => return Ok(true),
            }
        }
    }

    /// Fails when a signal has come.
    pub fn check(&self) -> anyhow::Result<()> {
        self.wait(&[], Duration::ZERO).map(drop)
    }
}

/// How a child is started.
#[derive(Default)]
pub struct Launch<'a> {
    /// The CPUs it may run on; empty: those of this process.
    pub cpus: &'a [usize],
    /// LD_PRELOAD of the program itself (not of the tools that start it).
    pub preload: Option<&'a str>,
    /// Sent to it when this process dies: setpriv's name of a signal; empty: KILL.
    pub death: &'a str,
}

impl Launch<'_> {
    /// A command that becomes `program`. LD_PRELOAD is what `preload` says, never inherited.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let death = if self.death.is_empty() { "KILL" } else { self.death };
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", death]);
        if !self.cpus.is_empty() {
            let list: Vec<String> = self.cpus.iter().map(ToString::to_string).collect();
            command.args(["taskset", "-c", &list.join(",")]);
        }
        command.env_remove("LD_PRELOAD");
        if let Some(preload) = self.preload {
            command.arg("env").arg(format!("LD_PRELOAD={preload}"));
        }
        command.arg(program);
        command
    }
}

/// Nanoseconds of CPU that the live threads of `pid` have used, or the zombie `pid` had used.
/// `None` on a kernel without schedstat.
pub fn cpu_ns(pid: u32) -> Option<u64> {
    let mut total = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        // A thread that ends between the listing and the reading adds nothing.
        let Ok(text) = fs::read_to_string(task.ok()?.path().join("schedstat")) else { continue };
        total += text.split(' ').next()?.trim().parse::<u64>().ok()?;
    }
    (total > 0).then_some(total)
}

/// A child that is killed when it goes out of scope.
pub struct Guarded {
    child: Child,
    grace: Option<Signal>,
}

impl Guarded {
    /// Starts `command`. On drop the child gets SIGKILL; with `grace`, that signal first and five
    /// seconds to clean up.
    pub fn spawn(command: &mut Command, grace: Option<Signal>) -> anyhow::Result<Self> {
        let child = command.spawn().with_context(|| format!("can't start {:?}", command.get_program()))?;
        Ok(Self { child, grace })
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The child's standard output, when it was piped; can be taken once.
    pub fn stdout(&mut self) -> Option<std::process::ChildStdout> {
        self.child.stdout.take()
    }

    /// Whether the child is still there.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// A descriptor that is readable once the child has ended.
    pub fn end(&self) -> anyhow::Result<OwnedFd> {
        pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()).context("pidfd_open")
    }

    /// Sends `signal`.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        kill_process(Pid::from_child(&self.child), signal).with_context(|| format!("signal to process {}", self.id()))
    }

    /// Waits for the child's end and returns its status and the CPU nanoseconds it used.
    pub fn finish(mut self, interrupt: &Interrupt, limit: Duration) -> anyhow::Result<(ExitStatus, Option<u64>)> {
        let pid = Pid::from_child(&self.child);
        let pidfd = self.end()?;
        if !interrupt.wait(&[pidfd.as_fd()], limit)? {
            bail!("no end after {} s, killed", limit.as_secs());
        }
        // Left a zombie for now: its CPU time is gone once it has been reaped.
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).context("waitid")?;
        let cpu = cpu_ns(self.id());
        Ok((self.child.wait().context("wait")?, cpu))
    }

    fn ends_politely(&self, signal: Signal) -> bool {
        let limit = Timespec { tv_sec: 5, tv_nsec: 0 };
        let (Ok(()), Ok(pidfd)) = (self.signal(signal), self.end()) else { return false };
        matches!(poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&limit)), Ok(n) if n > 0)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if !self.is_running() {
            return;
        }
        if !self.grace.is_some_and(|signal| self.ends_politely(signal)) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// The path of `program` as PATH finds it.
pub fn find_program(program: &str, package: &str) -> anyhow::Result<PathBuf> {
    // A program with a slash is a path by itself, from wherever it is joined to.
    let path = if program.contains('/') { ".".into() } else { std::env::var_os("PATH").unwrap_or_default() };
    let found = std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file());
    let missing = || Failure::Missing(format!("{program} was not found in PATH; install it with: apt-get install {package}"));
    Ok(found.ok_or_else(missing)?)
}

/// Reads what is left of a file or pipe as text, whatever bytes it has.
pub fn read_text(mut from: impl Read) -> String {
    let mut bytes = Vec::new();
    loop {
        match from.read_to_end(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => return String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_pins_preloads_and_dies_with_us() {
        let command = Launch { cpus: &[0, 2], preload: Some("/x/lib.so"), death: "TERM" }.command("prog");
        let words: Vec<_> = command.get_args().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(words.join(" "), "--pdeathsig TERM taskset -c 0,2 env LD_PRELOAD=/x/lib.so prog");
    }

    #[test]
    fn a_child_ends_by_itself_or_is_killed_past_its_limit() {
        let interrupt = Interrupt::install().unwrap();
        let child = Guarded::spawn(&mut Launch::default().command("true"), None).unwrap();
        let (status, cpu) = child.finish(&interrupt, Duration::from_secs(60)).unwrap();
        assert!(status.success());
        // Kernels without schedstat give none at all, for ourselves either.
        assert_eq!(cpu.is_some(), cpu_ns(std::process::id()).is_some());
        let child = Guarded::spawn(Launch::default().command("sleep").arg("1000"), None).unwrap();
        let pid = child.id();
        assert!(child.finish(&interrupt, Duration::ZERO).is_err());
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn a_missing_program_names_its_package() {
        for program in ["no-such-program-here", "/no/such/program"] {
            let error = find_program(program, "some-package").unwrap_err();
            assert_eq!(super::super::failure::exit_code(&error), 3);
            assert!(error.to_string().contains("apt-get install some-package"));
        }
        assert!(find_program("/bin/sh", "dash").is_ok() && find_program("sh", "dash").is_ok());
    }
}
