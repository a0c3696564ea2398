//! One test, measured on both sides by turns.

use super::calibrate::{self, Calibration, calibrate};
use super::hooks::{Hooks, Stage};
use super::placement::Placement;
use super::plan::Step;
use super::results::{Row, UNIT};
use super::servers::Server;
use super::x11perf::{Amount, Client, Runner, Sample};
use crate::process::Guarded;
use crate::report::format::{rate, ratio};
use crate::stats::median;
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

    fn stage(&self) -> Option<Stage> {
        self.hooks.as_ref().map(|hooks| hooks.stage)
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
        match self {
            Self::Rows(rows) => rows
                .iter()
                .map(|row| format!("{}/s -> {}/s, {}", rate(row.socket), rate(row.ours), ratio(row.ratio)))
                .collect::<Vec<_>>()
                .join("; "),
            Self::Skipped(reason) => format!("skipped: {reason}"),
            Self::Failed(reason) => format!("FAILED: {reason}"),
        }
    }
}

/// How long and how often.
pub struct Effort {
    /// Length of a run, seconds.
    pub seconds: f64,
    /// Interleaved repetitions.
    pub repeat: u32,
}

/// Another client of a side's server, stopped except while that side is measured.
struct Flood(Guarded);

impl Flood {
    fn start(runner: &Runner, step: &Step, side: &Side, cpus: &[usize]) -> anyhow::Result<Option<Self>> {
        let Some(job) = &step.flood else {
            return Ok(None);
        };
        let process = runner.flood(job, &side.client(cpus, true))?;
        process.signal(Signal::STOP)?;
        Ok(Some(Self(process)))
    }

    fn during<T>(flood: &mut Option<Self>, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        let Some(Self(process)) = flood else {
            return work();
        };
        process.signal(Signal::CONT)?;
        let done = work();
        anyhow::ensure!(process.is_running(), "the flooding client ended");
        process.signal(Signal::STOP)?;
        done
    }
}

/// Measures `step` on `sides`, of which the first is the plain one.
///
/// # Errors
/// An interrupt, or a server that ended. That a test fails is an [`Outcome`].
pub fn measure(
    runner: &Runner,
    sides: &mut [Side],
    placement: Placement,
    cpus: &[usize],
    step: &Step,
    effort: &Effort,
) -> anyhow::Result<Outcome> {
    let mut failure = None;
    let mut tries = Vec::new();
    match turns(runner, sides, placement, cpus, step, effort, &mut tries) {
        Ok(()) => {}
        Err((index, error)) => failure = Some((index, error)),
    }
    if let Some((index, error)) = failure {
        runner.interrupt.check()?;
        let server = &mut sides[index].server;
        if !server.is_running() {
            let said = server.said();
            return Err(error).with_context(|| format!("the server of display :{} ended; it said: {said}", server.display));
        }
        let reason = format!("{error:#}");
        return Ok(match index {
            0 => Outcome::Skipped(reason),
            _ => Outcome::Failed(reason),
        });
    }
    let plain = &tries[0];
    let rows = sides[1..].iter().zip(&tries[1..]).map(|(side, ours)| row(step, placement, side.stage(), plain, ours));
    rows.collect::<Option<Vec<Row>>>().context("no repetitions").map(Outcome::Rows)
}

/// What one side did.
struct Tries {
    calibration: Calibration,
    samples: Vec<Sample>,
    sync: f64,
}

/// Calibrates each side, then lets them take turns. An error comes with the index of its side.
fn turns(
    runner: &Runner,
    sides: &[Side],
    placement: Placement,
    cpus: &[usize],
    step: &Step,
    effort: &Effort,
    tries: &mut Vec<Tries>,
) -> Result<(), (usize, anyhow::Error)> {
    let hooked = placement.hooks_client();
    let mut floods = Vec::new();
    let mut hint = None;
    for (index, side) in sides.iter().enumerate() {
        let at = |error| (index, error);
        let mut flood = Flood::start(runner, step, side, cpus).map_err(at)?;
        let client = side.client(cpus, hooked);
        let calibration = Flood::during(&mut flood, || {
            calibrate(effort.seconds, hint, |reps| runner.run(&step.job, Amount { reps, passes: 1 }, &client))
        })
        .map_err(at)?;
        hint = hint.or(Some(calibration.amount.reps));
        floods.push(flood);
        // Beside a flood a round trip is no constant, and no share of such a run.
        let sync = if step.flood.is_some() { 0.0 } else { side.sync };
        tries.push(Tries { calibration, samples: Vec::new(), sync });
    }
    for _ in 0..effort.repeat {
        for (index, side) in sides.iter().enumerate() {
            let client = side.client(cpus, hooked);
            let amount = tries[index].calibration.amount;
            let run = || runner.run(&step.job, amount, &client);
            let sample = Flood::during(&mut floods[index], run).map_err(|error| (index, error))?;
            tries[index].samples.push(sample);
        }
    }
    Ok(())
}

fn row(step: &Step, placement: Placement, stage: Option<Stage>, plain: &Tries, ours: &Tries) -> Option<Row> {
    let rates = |tries: &Tries| -> Vec<f64> { tries.samples.iter().map(|sample| sample.rate(tries.sync)).collect() };
    let cpu = |tries: &Tries| -> Option<f64> {
        // A flooding client keeps the server busy with other work.
        if step.flood.is_some() {
            return None;
        }
        let cost = |sample| calibrate::cpu_us(&tries.calibration.start, sample);
        median(&tries.samples.iter().map(cost).collect::<Option<Vec<f64>>>()?)
    };
    let pairs = rates(plain).into_iter().zip(rates(ours));
    let ratios: Vec<f64> = pairs.map(|(plain, ours)| ours / plain).collect();
    let (socket, rate) = (median(&rates(plain))?, median(&rates(ours))?);
    Some(Row {
        test: step.name(),
        label: step.label(),
        placement,
        stage,
        unit: UNIT,
        socket,
        ours: rate,
        ratio: rate / socket,
        cpu_us_socket: cpu(plain),
        cpu_us_ours: cpu(ours),
        ratio_range: [ratios.iter().copied().fold(f64::INFINITY, f64::min), ratios.iter().copied().fold(0.0, f64::max)],
    })
}
