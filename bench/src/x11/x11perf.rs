//! Runs of x11perf.
//!
//! Flags: `-repeat P -reps N -falseprecision [-subs K] -TEST`. A fixed number of repetitions keeps
//! x11perf from calibrating itself, which takes it 5 to 20 seconds a run (it insists on 2 seconds
//! for the synchronisation and 2 for the test, whatever `-time` says); the numbers are found by
//! [`super::calibrate`] instead. Each of the P passes ends with a round trip, which x11perf would
//! subtract if it had calibrated: [`Runner::sync_seconds`] measures it and [`Sample::rate`] does so.
//! `-falseprecision`: all digits of the rate.

use super::catalog::Job;
use super::hooks::Hooks;
use super::output::{self, Line};
use super::servers::{self, Server, Setup};
use crate::failure::Failure;
use crate::process::{Guarded, Interrupt, Launch, cpu_ns, read_text};
use crate::stats::median;
use anyhow::{Context, bail};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A run that takes longer than this hangs.
const RUN_LIMIT: Duration = Duration::from_secs(300);

/// How long a connection may take to get to shared memory.
const RING_LIMIT: Duration = Duration::from_secs(10);

/// Passes to find the length of a round trip.
const SYNC_PASSES: u32 = 300;

/// More than anyone waits for; x11perf reads C ints.
const ENDLESS: Amount = Amount { reps: i32::MAX as u32, passes: i32::MAX as u32 };

/// What any run needs.
pub struct Runner {
    /// The program.
    pub x11perf: PathBuf,
    /// The servers' common environment.
    pub setup: Setup,
    /// Ends waits on a signal.
    pub interrupt: Interrupt,
}

/// A client's circumstances: its server, its CPUs, its hooks.
pub struct Client<'a> {
    /// Where it connects.
    pub server: &'a Server,
    /// Its CPUs; none: not pinned.
    pub cpus: &'a [usize],
    /// Its hooks; none: a plain client.
    pub hooks: Option<&'a Hooks>,
}

/// How much a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// x11perf's `-reps`: repetitions in a pass.
    pub reps: u32,
    /// x11perf's `-repeat`: passes, each timed by itself.
    pub passes: u32,
}

impl Amount {
    /// The least that can be done.
    pub const ONE: Self = Self { reps: 1, passes: 1 };
}

/// One run of one test.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Operations of a pass. A repetition of most tests is several operations (1000 dots).
    pub operations: u64,
    /// Seconds that a pass took: the median of the passes.
    pub seconds: f64,
    /// Passes.
    pub passes: u32,
    /// CPU nanoseconds that server and client used while the run lasted, start and end of the
    /// client included; none without schedstat.
    pub cpu_ns: Option<u64>,
}

impl Sample {
    fn new(lines: &[Line], cpu_ns: Option<u64>) -> Option<Self> {
        let seconds: Vec<f64> = lines.iter().map(Line::seconds).collect();
        Some(Self { operations: lines.first()?.operations, seconds: median(&seconds)?, passes: lines.len() as u32, cpu_ns })
    }

    /// Operations a second, less the `sync` seconds of the closing round trip.
    pub fn rate(&self, sync: f64) -> f64 {
        // A pass that is little more than its round trip says nothing about the rest.
        let seconds = (self.seconds - sync).max(self.seconds / 2.0);
        self.operations as f64 / seconds
    }

    /// Operations of all passes.
    pub fn all_operations(&self) -> u64 {
        self.operations * u64::from(self.passes)
    }
}

impl Runner {
    /// Runs `amount` of `job`.
    ///
    /// # Errors
    /// When x11perf fails, hangs, or reports no result for the test.
    pub fn run(&self, job: &Job, amount: Amount, client: &Client<'_>) -> anyhow::Result<Sample> {
        let (text, cpu_ns) = self.run_text(job, amount, client)?;
        Sample::new(&output::lines(&text), cpu_ns).with_context(|| {
            let said = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
            format!("x11perf -{} printed no result: {}", job.option, said.unwrap_or("nothing"))
        })
    }

    /// Seconds of the round trip that ends every pass: the median of many passes that do next to
    /// nothing else.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub fn sync_seconds(&self, noop: &Job, client: &Client<'_>) -> anyhow::Result<f64> {
        let amount = Amount { reps: 1, passes: SYNC_PASSES };
        Ok(self.run(noop, amount, client)?.seconds)
    }

    /// Makes sure that `client`, which has the hooks, is served over shared memory.
    ///
    /// # Errors
    /// [`Failure::NotOnRing`]; when the server doesn't tell.
    pub fn check_ring(&self, noop: &Job, client: &Client<'_>) -> anyhow::Result<()> {
        let server = client.server;
        let probe = self.flood(noop, client)?;
        let end = Instant::now() + RING_LIMIT;
        while server.on_ring(probe.id())? != Some(true) {
            // A connection is on its socket until both ends have agreed.
            if Instant::now() > end {
                let (display, said) = (server.display, server.said());
                return Err(Failure::NotOnRing { display, said }.into());
            }
            self.interrupt.wait(&[], Duration::from_millis(10))?;
        }
        Ok(())
    }

    /// What x11perf prints about the server and itself.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub fn greeting(&self, job: &Job, client: &Client<'_>) -> anyhow::Result<String> {
        Ok(self.run_text(job, Amount::ONE, client)?.0)
    }

    fn run_text(&self, job: &Job, amount: Amount, client: &Client<'_>) -> anyhow::Result<(String, Option<u64>)> {
        let mut stdout = tempfile::tempfile().context("temporary file")?;
        let mut stderr = tempfile::tempfile().context("temporary file")?;
        let mut command = self.command(job, amount, client);
        command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
        let server = client.server.pid();
        let before = cpu_ns(server);
        let child = Guarded::spawn(&mut command, None)?;
        let (status, used) =
            child.finish(&self.interrupt, RUN_LIMIT).with_context(|| format!("x11perf -{} -reps {}", job.option, amount.reps))?;
        let after = cpu_ns(server);
        if !status.success() {
            let said = from_start(&mut stderr)?;
            let said = match said.trim() {
                "" => "it said nothing".to_owned(),
                said => said.replace('\n', " / "),
            };
            bail!("x11perf -{} failed ({status}): {said}", job.option);
        }
        let cpu = || Some(after?.checked_sub(before?)? + used?);
        Ok((from_start(&mut stdout)?, cpu()))
    }

    /// Starts `job` and lets it run until the result is dropped.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn flood(&self, job: &Job, client: &Client<'_>) -> anyhow::Result<Guarded> {
        let mut command = self.command(job, ENDLESS, client);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Guarded::spawn(&mut command, None)
    }

    fn command(&self, job: &Job, amount: Amount, client: &Client<'_>) -> Command {
        let preload = servers::preload(client.hooks);
        let launch = Launch { cpus: client.cpus, preload: preload.as_deref(), death: "KILL" };
        let mut command = launch.command(&self.x11perf);
        command
            .arg("-display")
            .arg(format!(":{}", client.server.display))
            .arg("-falseprecision")
            .args(["-repeat", &amount.passes.to_string()])
            .args(["-reps", &amount.reps.to_string()]);
        if let Some(kids) = job.kids {
            command.args(["-subs", &kids.to_string()]);
        }
        command.arg(format!("-{}", job.option)).stdin(Stdio::null());
        self.setup.environment(&mut command, client.hooks);
        command
    }
}

fn from_start(file: &mut File) -> anyhow::Result<String> {
    file.seek(SeekFrom::Start(0)).context("temporary file")?;
    Ok(read_text(file))
}
