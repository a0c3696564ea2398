//! The signals of a session: those to pass on to the program, and a child's end.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::process::Signal;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

/// Passed on to the program.
const FORWARDED: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// Signals caught from here on.
#[derive(Debug)]
pub struct Signals(SignalDelivery<UnixStream, WithOrigin>);

/// A caught signal that asks the program to do something.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Its number.
    pub number: i32,
    /// Whether only this process got it. A terminal's Ctrl-C reaches the program by itself.
    pub is_for_us_alone: bool,
}

impl Request {
    /// The signal to send on.
    pub fn signal(self) -> Option<Signal> {
        Signal::from_named_raw(self.number)
    }
}

impl Signals {
    /// Starts to catch. A signal that was ignored when this process started stays ignored, so that
    /// `nohup slipway x11 ...` keeps its meaning for the program.
    ///
    /// # Errors
    /// No socket pair or no handler could be made.
    pub fn catch() -> io::Result<Self> {
        let ignored = ignored_signals();
        let wanted = FORWARDED.into_iter().filter(|number| ignored & (1 << (number - 1)) == 0).chain([SIGCHLD]);
        let (read, write) = UnixStream::pair()?;
        SignalDelivery::with_pipe(read, write, WithOrigin::default(), wanted).map(Self)
    }

    /// The requests since the last call; also forgets that children ended. Never waits.
    pub fn take(&mut self) -> Vec<Request> {
        self.0
            .pending()
            .filter(|origin| origin.signal != SIGCHLD)
            .map(|origin| Request { number: origin.signal, is_for_us_alone: !matches!(origin.cause, Cause::Kernel) })
            .collect()
    }
}

impl AsFd for Signals {
    /// Readable when [`Signals::take`] has something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_read().as_fd()
    }
}

/// The mask of ignored signals, bit 0 for signal 1; empty if /proc does not tell.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
