//! Child processes that do not outlive their session.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, getppid, kill_process_group, pidfd_send_signal, set_parent_process_death_signal};
use slipway_bootstrap::supervise::Process;

use super::guard::{Guard, announce};
use super::signals::Signals;

/// How long a process may take to end after SIGTERM before it gets SIGKILL.
const GRACE: Duration = Duration::from_secs(5);
/// How long the kernel may take to end a process after SIGKILL.
const KILL_TIME: Duration = Duration::from_secs(5);

/// Starts `command`; the kernel sends the child SIGTERM when this process ends in any way, and `guard` then stops it.
/// Call it from the main thread: the signal comes when the thread ends that made the child.
///
/// # Errors
/// As [`Command::spawn`]; the guard is gone.
pub fn start(command: &mut Command, guard: &Guard) -> io::Result<Process> {
    end_with_parent(command, guard);
    Process::start(command)
}

#[allow(unsafe_code, reason = "pre_exec is the only way to act between fork and exec")]
fn end_with_parent(command: &mut Command, guard: &Guard) {
    let parent = getpid();
    let guard = guard.socket().as_raw_fd();
    let in_child = move || {
        // SIGTERM, not SIGKILL: an X server removes its socket and lock file.
        set_parent_process_death_signal(Some(Signal::TERM))?;
        if getppid() != Some(parent) {
            return Err(Errno::SRCH.into());
        }
        // SAFETY: the session has the socket while it starts the command, and so has the child until it executes its program.
        announce(unsafe { BorrowedFd::borrow_raw(guard) })
    };
    // SAFETY: the closure makes some system calls, and neither allocates nor takes a lock, which is
    // what the child of a fork in a process with threads may do.
    unsafe { command.pre_exec(in_child) };
}

/// Passes signals on to `program` until it ends: its exit code. `look` is called each time that something happened.
///
/// # Errors
/// As poll(2).
pub fn attend(program: &mut Process, signals: &mut Signals, look: &mut dyn FnMut()) -> io::Result<u8> {
    loop {
        // Handlers were in place before the program was: a child that ended since leaves its mark in `signals`, so
        // that nothing is missed between this look and the wait.
        if let Some(ending) = program.ended() {
            return Ok(u8::try_from(ending.code()).unwrap_or(u8::MAX));
        }
        look();
        wait(&mut [PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)], None)?;
        for request in signals.take() {
            if request.is_for_us_alone
                && let Some(signal) = request.signal()
            {
                // It may just have ended; the next look tells.
                let _ = pidfd_send_signal(&program.pidfd, signal);
            }
        }
    }
}

/// Something to stop at the end of a session.
#[derive(Debug)]
pub enum Target<F> {
    /// The process that this pidfd names.
    Process(F),
    /// A process group and the read end of a pipe whose write end only its members have: a server
    /// may be a script that starts the real one.
    Group { leader: Pid, pipe: F },
}

impl<F: AsFd> Target<F> {
    fn signal(&self, signal: Signal) -> Result<(), Errno> {
        match self {
            Self::Process(pidfd) => pidfd_send_signal(pidfd, signal),
            // The pipe is open: somebody of the group lives, so that its number is not reused.
            Self::Group { leader, .. } => kill_process_group(*leader, signal),
        }
    }

    fn ends_within(&self, patience: Duration) -> bool {
        match self {
            Self::Process(pidfd) => readable(pidfd, patience),
            // Hang-up is reported without being asked for; unread output is of no interest.
            Self::Group { pipe, .. } => happens(pipe, PollFlags::empty(), patience),
        }
    }

    fn stop(&self) {
        for (signal, patience) in [(Signal::TERM, GRACE), (Signal::KILL, KILL_TIME)] {
            if self.ends_within(Duration::ZERO) {
                return;
            }
            if self.signal(signal).is_err() || self.ends_within(patience) {
                return;
            }
        }
    }
}

/// Stops `targets`, one after the other, and removes `dir`; what is already gone is fine.
pub fn stop<F: AsFd>(targets: &[Target<F>], dir: &Path) {
    targets.iter().for_each(Target::stop);
    // If this fails there is nobody to tell; the directory is private, its cookie opens nothing now.
    let _ = fs::remove_dir_all(dir);
}

/// Waits until `fd` is readable or hung up, no longer than `patience`.
pub fn readable(fd: impl AsFd, patience: Duration) -> bool {
    happens(fd, PollFlags::IN, patience)
}

fn happens(fd: impl AsFd, events: PollFlags, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    wait(&mut [PollFd::new(&fd, events)], Some(deadline)).unwrap_or(false)
}

/// Polls until one of `fds` has an event (true) or `deadline` has passed (false).
///
/// # Errors
/// As poll(2), EINTR excepted.
pub fn wait(fds: &mut [PollFd<'_>], deadline: Option<Instant>) -> io::Result<bool> {
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(fds, timeout.as_ref()) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(events) => return Ok(events > 0),
        }
    }
}
