//! Child processes: pinned, killed with what holds them, waited for with a limit, their CPU time read.

use super::failure::Failure;
use super::machine::placed;
use super::placement::Placement;
use anyhow::{Context, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, waitid};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tempfile::tempfile;

/// Turns SIGINT, SIGTERM and SIGHUP into [`Failure::Interrupted`] at the next wait, so that what
/// was started is stopped on the way out.
pub struct Interrupt(UnixStream);

impl Interrupt {
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

    pub fn check(&self) -> anyhow::Result<()> {
        self.wait(&[], Duration::ZERO).map(drop)
    }
}

/// Nanoseconds of CPU that `pid` has used, or the zombie `pid` had: those of its live threads, or where those of ended
/// threads make more, of all its threads in whole ticks. `None` on a kernel without schedstat.
pub fn cpu_ns(pid: u32) -> Option<u64> {
    let mut total = ticks(pid, [14, 15]).unwrap_or_default();
    let mut live = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        // A thread that ends between the listing and the reading adds nothing.
        let Ok(text) = fs::read_to_string(task.ok()?.path().join("schedstat")) else { continue };
        live += text.split(' ').next()?.trim().parse::<u64>().ok()?;
    }
    total = total.max(live);
    (live > 0).then_some(total)
}

/// The sum of two fields of /proc/PID/stat, numbered as in proc(5), that count ticks: nanoseconds.
fn ticks(pid: u32, fields: [usize; 2]) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it, the second field, may have anything in it.
    let rest: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    let sum = fields.iter().map(|field| rest.get(field - 3)?.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some(sum * 1_000_000_000 / rustix::param::clock_ticks_per_second())
}

/// `pid`, its children, theirs, and so on.
pub fn tree(pid: u32) -> Vec<u32> {
    let children = |pid: u32| {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let texts = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        texts.flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>())
    };
    let mut all = vec![pid];
    let mut at = 0;
    while let Some(pid) = all.get(at) {
        all.extend(children(*pid));
        at += 1;
    }
    all
}

/// Nanoseconds of CPU that these processes and the children that they have waited for have used.
pub fn cpu_ns_with_children(pids: &[u32]) -> Option<u64> {
    pids.iter().filter_map(|pid| Some(cpu_ns(*pid)? + ticks(*pid, [16, 17])?)).reduce(|sum, one| sum + one)
}

/// A process for each of `cpus` that keeps it busy, if `placement` has such.
pub fn hogs(placement: Placement, cpus: [Option<usize>; 2]) -> anyhow::Result<Vec<Guarded>> {
    let this = std::env::current_exe().context("own path")?;
    let hogs = if placement == Placement::Hogs { &cpus[..] } else { &[] };
    hogs.iter().map(|cpu| Guarded::spawn(Command::new(&this).arg("hog"), *cpu)).collect()
}

/// A child that is killed when it goes out of scope. What it prints and says to standard error is kept.
pub struct Guarded {
    child: Child,
    printed: File,
    said: File,
}

impl Guarded {
    /// Starts `command` on `cpu`, or wherever this process may run.
    pub fn spawn(command: &mut Command, cpu: Option<usize>) -> anyhow::Result<Self> {
        let (printed, said) = (tempfile().context("temporary file")?, tempfile().context("temporary file")?);
        command.stdout(printed.try_clone()?).stderr(said.try_clone()?);
        let child = placed(cpu, || command.spawn())?;
        let child = child.with_context(|| format!("can't start {:?}", command.get_program()))?;
        Ok(Self { child, printed, said })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the child is still there.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// A descriptor that is readable once the child has ended.
    pub fn end(&self) -> anyhow::Result<OwnedFd> {
        pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()).context("pidfd_open")
    }

    /// What it has said to standard error so far.
    pub fn said(&self) -> anyhow::Result<String> {
        Ok(text(&self.said)?.replace('\n', " / "))
    }

    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        kill_process(Pid::from_child(&self.child), signal).with_context(|| format!("signal to process {}", self.id()))
    }

    /// Signals it, and waits for its end, also after an interrupt; false when `limit` passed first.
    pub fn stop(&mut self, signal: Signal, limit: Duration) -> anyhow::Result<bool> {
        let (end, limit) = (self.end()?, Timespec::try_from(limit).context("time limit")?);
        self.signal(signal)?;
        Ok(poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&limit)).context("poll")? > 0)
    }

    /// Waits for the child to end well: what it printed, and the CPU nanoseconds it used.
    pub fn finish(mut self, interrupt: &Interrupt, limit: Duration) -> anyhow::Result<(String, Option<u64>)> {
        let pid = Pid::from_child(&self.child);
        let pidfd = self.end()?;
        if !interrupt.wait(&[pidfd.as_fd()], limit)? {
            bail!("no end after {} s, killed; it said '{}'", limit.as_secs(), text(&self.said)?);
        }
        // Left a zombie for now: its CPU time is gone once it has been reaped.
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).context("waitid")?;
        let cpu = cpu_ns(self.id());
        let status = self.child.wait().context("wait")?;
        ensure!(status.success(), "it failed, {status}: {}", self.said()?);
        Ok((text(&self.printed)?, cpu))
    }
}

/// All of a file, whatever bytes it has.
fn text(mut file: &File) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).context("temporary file")?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if self.is_running() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The path of `program` as PATH finds it.
pub fn find_program(program: &str, package: &str) -> anyhow::Result<PathBuf> {
    find_in(&std::env::var_os("PATH").unwrap_or_default(), program, package)
}

/// The path of `program` as a PATH of that value finds it.
pub fn find_in(path: &OsStr, program: &str, package: &str) -> anyhow::Result<PathBuf> {
    // A program with a slash is a path by itself, from wherever it is joined to.
    let path = if program.contains('/') { OsStr::new(".") } else { path };
    let found = std::env::split_paths(path).map(|dir| dir.join(program)).find(|file| file.is_file());
    let missing = || Failure::Missing(format!("{program} was not found in PATH; install it with: apt-get install {package}"));
    Ok(found.ok_or_else(missing)?)
}

/// The program `slipway`: beside this one as built, or as installed.
pub fn find_slipway() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().unwrap_or_default();
    let tried = ["slipway", "../../bin/slipway"].map(|place| own.parent().unwrap_or(Path::new("/")).join(place));
    let found = tried.iter().find(|path| path.is_file()).cloned();
    found.ok_or_else(|| {
        let tried = tried.map(|path| path.display().to_string()).join(", ");
        Failure::Missing(format!("slipway, which starts the servers, was not found (tried {tried}); build or install it"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_ends_by_itself_or_is_killed_past_its_limit() {
        let interrupt = Interrupt::install().unwrap();
        let child = Guarded::spawn(&mut Command::new("true"), None).unwrap();
        let (_, cpu) = child.finish(&interrupt, Duration::from_secs(60)).unwrap();
        // Kernels without schedstat give none at all, for ourselves either.
        assert_eq!(cpu.is_some(), cpu_ns(std::process::id()).is_some());
        let child = Guarded::spawn(Command::new("sleep").arg("1000"), None).unwrap();
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
