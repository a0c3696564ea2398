//! One test, measured on both sides by turns.

use super::hooks::Hooks;
use super::plan::{Placement, Step};
use super::report::Row;
use super::servers::Server;
use super::x11perf::{Amount, Client, Runner, Sample, calibrate};
use crate::harness::format::{median, rate, ratio};
use crate::harness::process::Guarded;
use anyhow::Context;
use rustix::process::Signal;

/// A server and how its clients are started.
pub struct Side {
    /// The server.
    pub server: Server,
    /// The hooks of the server; none: a plain one.
    pub hooks: Option<Hooks>,
    /// Seconds of a round trip of the clients that are measured.
    pub sync: f64,
}

impl Side {
    /// A client of this side's server, with its hooks if `hooked`.
    pub fn client<'a>(&'a self, cpus: &'a [usize], hooked: bool) -> Client<'a> {
        Client { server: &self.server, cpus, hooks: self.hooks.as_ref().filter(|_| hooked) }
    }
}

/// How a step ended.
pub enum Outcome {
    /// A row for each side after the first.
    Rows(Vec<Row>),
    /// The plain side can't do the test.
    Skipped(String),
    /// The plain side can, another can't.
    Failed(String),
}

impl Outcome {
    /// For people, one line.
    pub fn line(&self) -> String {
        let row = |row: &Row| format!("{}/s -> {}/s, {}", rate(row.socket), rate(row.ours), ratio(row.ratio));
        match self {
            Self::Rows(rows) => rows.iter().map(row).collect::<Vec<_>>().join("; "),
            Self::Skipped(reason) => format!("skipped: {reason}"),
            Self::Failed(reason) => format!("FAILED: {reason}"),
        }
    }
}

/// Where, how long and how often.
pub struct Effort<'a> {
    /// Where the processes run.
    pub placement: Placement,
    /// The clients' CPUs; none: not pinned.
    pub cpus: &'a [usize],
    /// Length of a run, seconds.
    pub seconds: f64,
    /// Interleaved repetitions.
    pub repeat: u32,
}

/// What one side does: its runs, and another client of its server, stopped except while that side is measured.
struct Turn<'a> {
    client: Client<'a>,
    flood: Option<Guarded>,
    amount: Amount,
    start: Option<Sample>,
    samples: Vec<Sample>,
    sync: f64,
}

impl<'a> Turn<'a> {
    fn new(runner: &Runner, step: &Step, side: &'a Side, effort: &Effort<'a>) -> anyhow::Result<Self> {
        let flood = step.flood.as_ref().map(|job| runner.flood(job, &side.client(effort.cpus, true))).transpose()?;
        flood.iter().try_for_each(|flood| flood.signal(Signal::STOP))?;
        // Beside a flood a round trip is no constant, and no share of such a run.
        let sync = if flood.is_some() { 0.0 } else { side.sync };
        let client = side.client(effort.cpus, effort.placement.hooks_client());
        Ok(Self { client, flood, amount: Amount { reps: 1, passes: 1 }, start: None, samples: Vec::new(), sync })
    }

    fn flooded<T>(&mut self, work: impl FnOnce(&mut Self) -> anyhow::Result<T>) -> anyhow::Result<T> {
        self.flood.iter().try_for_each(|flood| flood.signal(Signal::CONT))?;
        let done = work(self);
        if let Some(flood) = &mut self.flood {
            anyhow::ensure!(flood.is_running(), "the flooding client ended");
            flood.signal(Signal::STOP)?;
        }
        done
    }

    fn calibrate(&mut self, runner: &Runner, step: &Step, seconds: f64, hint: Option<u32>) -> anyhow::Result<()> {
        self.flooded(|turn| {
            let run = |reps| runner.run(&step.job, Amount { reps, passes: 1 }, &turn.client);
            let (amount, start) = calibrate(seconds, hint, run)?;
            (turn.amount, turn.start) = (amount, Some(start));
            Ok(())
        })
    }

    fn run(&mut self, runner: &Runner, step: &Step) -> anyhow::Result<()> {
        let sample = self.flooded(|turn| runner.run(&step.job, turn.amount, &turn.client))?;
        self.samples.push(sample);
        Ok(())
    }

    fn rates(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.rate(self.sync)).collect()
    }

    /// CPU microseconds an operation; none beside a flood, which keeps the server busy with other work.
    fn cpu_us(&self) -> Option<f64> {
        let start = self.start.as_ref().filter(|_| self.flood.is_none())?;
        median(&self.samples.iter().map(|sample| sample.cpu_us(start)).collect::<Option<Vec<f64>>>()?)
    }
}

/// Measures `step` on `sides`, of which the first is the plain one. That a test fails is an [`Outcome`]; that a server
/// ended is an error.
pub fn measure(runner: &Runner, sides: &mut [Side], step: &Step, effort: &Effort<'_>) -> anyhow::Result<Outcome> {
    let (index, error) = match turns(runner, sides, step, effort) {
        Ok(rows) => return Ok(Outcome::Rows(rows)),
        Err(failure) => failure,
    };
    runner.interrupt.check()?;
    let server = &mut sides[index].server;
    if !server.is_running() {
        let said = server.said();
        return Err(error).with_context(|| format!("the server of display :{} ended; it said: {said}", server.display));
    }
    let reason = format!("{error:#}");
    Ok(if index == 0 { Outcome::Skipped(reason) } else { Outcome::Failed(reason) })
}

/// Calibrates each side, then lets them take turns. An error comes with the index of its side.
fn turns(runner: &Runner, sides: &[Side], step: &Step, effort: &Effort<'_>) -> Result<Vec<Row>, (usize, anyhow::Error)> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (index, side) in sides.iter().enumerate() {
        let hint = turns.first().map(|plain| plain.amount.reps);
        let mut turn = Turn::new(runner, step, side, effort).map_err(|error| (index, error))?;
        turn.calibrate(runner, step, effort.seconds, hint).map_err(|error| (index, error))?;
        turns.push(turn);
    }
    for _ in 0..effort.repeat {
        for (index, turn) in turns.iter_mut().enumerate() {
            turn.run(runner, step).map_err(|error| (index, error))?;
        }
    }
    let row = |(turn, side): (&Turn<'_>, &Side)| {
        let plain = &turns[0];
        let pairs = plain.rates().into_iter().zip(turn.rates());
        let ratios: Vec<f64> = pairs.map(|(plain, ours)| ours / plain).collect();
        let (socket, ours) = (median(&plain.rates())?, median(&turn.rates())?);
        Some(Row {
            test: step.name(),
            label: step.label(),
            placement: effort.placement,
            stage: side.hooks.as_ref().map(|hooks| hooks.stage),
            unit: "operations/s",
            socket,
            ours,
            ratio: ours / socket,
            cpu_us_socket: plain.cpu_us(),
            cpu_us_ours: turn.cpu_us(),
            ratio_range: [ratios.iter().copied().fold(f64::INFINITY, f64::min), ratios.iter().copied().fold(0.0, f64::max)],
        })
    };
    Ok(turns.iter().zip(sides).skip(1).filter_map(row).collect())
}
