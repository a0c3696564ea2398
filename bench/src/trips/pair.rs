//! Starts the two processes of a measurement and waits for what they find.

use super::exchange::Timing;
use super::job::{Job, Side, Work};
use super::{Case, Placement, link};
use crate::cores::Cores;
use crate::process::{Guarded, Interrupt, read_text};
use anyhow::{Context, bail};
use serde::de::DeserializeOwned;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A measurement takes a second, under valgrind some.
const LIMIT: Duration = Duration::from_secs(120);

/// What a process gets to end after the other has failed.
const GRACE: Duration = Duration::from_secs(2);

/// Where and with what measurements are made.
pub struct Bench<'a> {
    /// This program.
    pub program: PathBuf,
    /// The CPUs.
    pub cores: Cores,
    /// Signals to this program.
    pub interrupt: &'a Interrupt,
}

/// A process of a measurement, and what it says to standard error.
struct Peer {
    process: Guarded,
    side: Side,
    said: File,
}

impl Bench<'_> {
    /// Times `case` once.
    ///
    /// # Errors
    /// When one of the processes fails, or takes too long, or on an interrupt.
    pub fn time<C: Case>(&self, case: C, seconds: f64) -> anyhow::Result<Timing> {
        self.ask(case, seconds)
    }

    /// Has `case` timed once, by processes that find something of their own in so many seconds.
    ///
    /// # Errors
    /// As [`Bench::time`].
    pub fn ask<C: Case, T: DeserializeOwned>(&self, case: C, seconds: f64) -> anyhow::Result<T> {
        let output = self.measure(case, Work::Time(seconds), |_| Command::new(&self.program))?;
        serde_json::from_str(&output).with_context(|| format!("no times: '{output}'"))
    }

    /// Bytes of memory that each of `count` ports takes.
    ///
    /// # Errors
    /// As [`Bench::time`].
    pub fn weigh<C: Case>(&self, case: C, count: u64) -> anyhow::Result<f64> {
        let output = self.measure(case, Work::Weigh(count), |_| Command::new(&self.program))?;
        output.trim().parse().with_context(|| format!("no number: '{output}'"))
    }

    /// Does so many round trips of `case`, with the processes started by what `wrap` makes.
    ///
    /// # Errors
    /// As [`Bench::time`].
    pub fn count<C: Case>(&self, case: C, count: u64, wrap: impl Fn(Side) -> Command) -> anyhow::Result<()> {
        self.measure(case, Work::Count(count), wrap).map(drop)
    }

    /// This program, for the end of a command line.
    pub fn program(&self) -> &OsStr {
        self.program.as_os_str()
    }

    fn measure<C: Case>(&self, case: C, work: Work, wrap: impl Fn(Side) -> Command) -> anyhow::Result<String> {
        let directory = tempfile::Builder::new().prefix("slipway-bench-").tempdir().context("temporary directory")?;
        let outcome = self.measure_in(directory.path(), case, work, wrap);
        case.clean_up(directory.path());
        outcome
    }

    fn measure_in<C: Case>(
        &self,
        directory: &Path,
        case: C,
        work: Work,
        wrap: impl Fn(Side) -> Command,
    ) -> anyhow::Result<String> {
        let (near, far) = link::pair()?;
        let server = self.start(case, work, Side::Server, near, directory, &wrap)?;
        let mut client = self.start(case, work, Side::Client, far, directory, &wrap)?;
        let output = client.process.stdout().context("standard output")?;
        let (server_end, client_end) = (server.process.end()?, client.process.end()?);
        // A server that fails leaves a client that waits for it without end.
        if !self.interrupt.wait(&[server_end.as_fd(), client_end.as_fd()], LIMIT)? {
            bail!("no end after {} s, killed", LIMIT.as_secs());
        }
        let (first, second) = match self.interrupt.wait(&[client_end.as_fd()], Duration::ZERO)? {
            true => (client, server),
            false => (server, client),
        };
        let first = first.finish(self.interrupt, LIMIT);
        // Whoever is left of a failed pair may wait for the other without end.
        let second = second.finish(self.interrupt, if first.is_ok() { LIMIT } else { GRACE });
        self.interrupt.check()?;
        match (first, second) {
            (Ok(()), Ok(())) => Ok(read_text(output)),
            (Err(first), Err(second)) => bail!("{first:#}; {second:#}"),
            (Err(error), Ok(())) | (Ok(()), Err(error)) => Err(error),
        }
    }

    fn start<C: Case>(
        &self,
        case: C,
        work: Work,
        side: Side,
        socket: OwnedFd,
        directory: &Path,
        wrap: impl Fn(Side) -> Command,
    ) -> anyhow::Result<Peer> {
        let cpu = match (side, case.placement()) {
            (Side::Server, _) | (_, Placement::OneCore) => self.cores.first,
            (Side::Client, Placement::Different) => self.cores.second.context("no second core")?,
        };
        let job = Job { case, side, cpu, work, directory: directory.to_owned() };
        let said = tempfile::tempfile().context("temporary file")?;
        let mut command = wrap(side);
        command.arg(C::PEER).arg(serde_json::to_string(&job)?);
        if case.sleeps() {
            command.env("SLIPWAY_SPIN", "0");
        }
        command.stdin(socket).stdout(Stdio::piped()).stderr(said.try_clone()?);
        Ok(Peer { process: Guarded::spawn(&mut command, None)?, side, said })
    }
}

impl Peer {
    fn finish(self, interrupt: &Interrupt, limit: Duration) -> anyhow::Result<()> {
        let Self { process, side, said } = self;
        let ended = process.finish(interrupt, limit).with_context(|| format!("the {side:?} said '{}'", contents(&said)));
        let (status, _) = ended?;
        if !status.success() {
            bail!("the {side:?} failed, {status}: {}", contents(&said));
        }
        Ok(())
    }
}

fn contents(mut file: &File) -> String {
    let rewound = file.seek(SeekFrom::Start(0));
    rewound.map_or_else(|error| error.to_string(), |_| read_text(file).trim().to_owned())
}
