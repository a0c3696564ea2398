//! Processes, how they end, and when they start again.

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::Deserialize;
use std::{
    fmt, io,
    os::{fd::OwnedFd, unix::process::ExitStatusExt},
    process::{Child, Command, ExitStatus},
    time::{Duration, Instant},
};

/// A child, and a descriptor that names it even after its number is used again.
#[derive(Debug)]
pub struct Process {
    /// The child.
    pub child: Child,
    /// Readable once the child has ended.
    pub pidfd: OwnedFd,
    /// When it was started.
    pub since: Instant,
}

impl Process {
    /// Starts a command.
    ///
    /// # Errors
    /// As [`Command::spawn`].
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command.spawn()?;
        match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { child, pidfd, since: Instant::now() }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error.into())
            }
        }
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<Ending> {
        self.child.try_wait().ok().flatten().map(Ending)
    }
}

/// How a process ended; shown as "ended with code 3".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending(ExitStatus);

impl Ending {
    /// The exit code as shells have it: the process's own, or 128 and the number of the signal that ended it.
    pub fn code(self) -> i32 {
        self.0.code().or_else(|| self.0.signal().map(|signal| 128 + signal)).unwrap_or(1)
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(signal) = self.0.signal() else { return write!(f, "ended with code {}", self.code()) };
        let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
        write!(f, "was killed by {name} ({signal})")
    }
}

/// When something that ended is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// With the next message to its service.
    OnDemand,
    /// Never.
    Never,
    /// After it was killed or ended with another code than 0.
    #[serde(alias = "on-crash")]
    OnFailure,
    /// However it ended.
    Always,
}

impl Restart {
    /// Whether what ended with that code starts again by itself.
    pub fn applies(self, code: i32) -> bool {
        match self {
            Self::OnDemand | Self::Never => false,
            Self::OnFailure => code != 0,
            Self::Always => true,
        }
    }
}

/// Pauses before something that keeps ending starts again: from the first to the longest, each twice as long as the one before;
/// anew after what ran long enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new(Self::FIRST, Self::LONGEST)
    }
}

impl Backoff {
    /// The first pause if nothing else is said.
    pub const FIRST: Duration = Duration::from_millis(500);
    /// The longest pause if nothing else is said.
    pub const LONGEST: Duration = Duration::from_secs(60);
    /// What ran for so long was all right.
    pub const LONG_ENOUGH: Duration = Duration::from_secs(10);

    /// Pauses from `first` to `longest`.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest: longest.max(first), next: first }
    }

    /// The pause after something ended that ran for `lasted`.
    pub fn pause(&mut self, lasted: Duration) -> Duration {
        if lasted >= Self::LONG_ENOUGH {
            self.reset();
        }
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        pause
    }

    /// All is well: the next pause is the first again.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::new(ms(100), ms(350));
        let pauses: Vec<_> = (0..4).map(|_| backoff.pause(ms(5))).collect();
        assert_eq!(pauses, [ms(100), ms(200), ms(350), ms(350)]);
        assert_eq!(backoff.pause(Backoff::LONG_ENOUGH), ms(100));
        backoff.reset();
        assert_eq!(backoff.pause(ms(5)), ms(100));
    }

    #[test]
    fn an_end_is_told_by_its_code_or_signal() {
        for (script, shown, code) in [
            ("exit 3", "ended with code 3", 3),
            ("kill -ABRT $$", "was killed by SIGABRT (6)", 134),
            (":", "ended with code 0", 0),
        ] {
            let mut process = Process::start(Command::new("sh").args(["-c", script])).expect("a shell");
            process.child.wait().expect("its end");
            let ending = process.ended().expect("an end");
            assert_eq!((ending.to_string().as_str(), ending.code()), (shown, code));
        }
    }
}
