//! The tests of one placement: each side has a server, and they take turns.

use super::Args;
use super::plan::{Job, Stage, Step};
use super::report::Row;
use super::server::{Server, Setup};
use super::x11perf::{Amount, Client, Runner, Sample, calibrate};
use crate::harness::format::{median, range, rate, ratio};
use crate::harness::placement::Placement;
use crate::harness::process::Guarded;
use anyhow::{Context, ensure};
use rustix::process::Signal;

/// The servers of a placement, of which the first is the plain one, and how they are used.
pub struct Phase<'a> {
    runner: &'a Runner,
    args: &'a Args,
    placement: Placement,
    cpu: Option<usize>,
    /// With the seconds of a round trip of the clients that are measured.
    sides: Vec<(Server, f64)>,
}

/// How a test ended.
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

/// What one side does: its runs, and another client of its server, stopped except while that side is measured.
struct Turn<'a> {
    client: Client<'a>,
    flood: Option<Guarded>,
    amount: Amount,
    start: Sample,
    samples: Vec<Sample>,
    sync: f64,
}

impl Turn<'_> {
    fn rates(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.rate(self.sync)).collect()
    }

    /// CPU microseconds an operation; none beside a flood, which keeps the server busy with other work.
    fn cpu_us(&self) -> Option<f64> {
        let costs = self.samples.iter().map(|sample| sample.cpu_us(&self.start)).collect::<Option<Vec<f64>>>()?;
        median(&costs).filter(|_| self.flood.is_none())
    }
}

/// Does `work` while the flood goes on.
fn flooded<T>(flood: &mut Option<Guarded>, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    flood.iter().try_for_each(|flood| flood.signal(Signal::CONT))?;
    let done = work();
    if let Some(flood) = flood {
        ensure!(flood.is_running(), "the flooding client ended");
        flood.signal(Signal::STOP)?;
    }
    done
}

impl<'a> Phase<'a> {
    /// Starts a plain server and one for each of `stages`, and makes sure that those use shared memory.
    pub fn start(
        (args, runner, setup): (&'a Args, &'a Runner, &Setup),
        placement: Placement,
        cpus: [Option<usize>; 2],
        stages: &[Option<Stage>],
        noop: &Job,
    ) -> anyhow::Result<Self> {
        let [server_cpu, cpu] = cpus;
        let mut phase = Self { runner, args, placement, cpu, sides: Vec::new() };
        for (stage, index) in [None].iter().chain(stages).zip(0..) {
            let server = Server::start(setup, index, server_cpu, *stage)?;
            let client = phase.client(&server, placement.hooks_client());
            if client.hooked && stage.is_some() {
                runner.check_ring(noop, &client)?;
            }
            let sync = runner.sync_seconds(noop, &client)?;
            phase.sides.push((server, sync));
        }
        Ok(phase)
    }

    fn client<'b>(&self, server: &'b Server, hooked: bool) -> Client<'b> {
        Client { server, cpu: self.cpu, hooked }
    }

    /// What x11perf says of a plain connection.
    pub fn greeting(&self, noop: &Job) -> anyhow::Result<String> {
        let plain = self.client(&self.sides[0].0, false);
        Ok(self.runner.run_text(noop, Amount { reps: 1, passes: 1 }, &plain)?.0)
    }

    /// LD_PRELOAD of the last server, if it has the hooks.
    pub fn preload(&self) -> Option<String> {
        self.sides.last().filter(|(server, _)| server.stage.is_some())?.0.preload.clone()
    }

    /// Calibrates each side, then lets them take turns. That a test fails is an [`Outcome`]; that a server ended is an
    /// error.
    pub fn measure(&self, step: &Step) -> anyhow::Result<Outcome> {
        let mut turns: Vec<Turn<'_>> = Vec::new();
        for (index, (server, sync)) in self.sides.iter().enumerate() {
            let hint = turns.first().map(|plain| plain.amount.reps);
            match self.calibrated(step, (server, *sync), hint) {
                Ok(turn) => turns.push(turn),
                Err(error) => return self.failed(index, error),
            }
        }
        for _ in 0..self.args.repeat {
            for (index, Turn { client, flood, amount, samples, .. }) in turns.iter_mut().enumerate() {
                match flooded(flood, || self.runner.run(&step.job, *amount, client)) {
                    Ok(sample) => samples.push(sample),
                    Err(error) => return self.failed(index, error),
                }
            }
        }
        let sides = turns.iter().zip(&self.sides).skip(1);
        Ok(Outcome::Rows(sides.filter_map(|(turn, (server, _))| self.row(step, &turns[0], turn, server.stage)).collect()))
    }

    fn calibrated<'b>(&self, step: &Step, side: (&'b Server, f64), hint: Option<u32>) -> anyhow::Result<Turn<'b>> {
        let (server, sync) = side;
        let mut flood = step.flood.as_ref().map(|job| self.runner.flood(job, &self.client(server, true))).transpose()?;
        let client = self.client(server, self.placement.hooks_client());
        let run = |reps| self.runner.run(&step.job, Amount { reps, passes: 1 }, &client);
        let (amount, start) = flooded(&mut flood, || calibrate(self.args.seconds, hint, run))?;
        // Beside a flood a round trip is no constant, and no share of such a run.
        let sync = if flood.is_some() { 0.0 } else { sync };
        Ok(Turn { client, flood, amount, start, samples: Vec::new(), sync })
    }

    fn row(&self, step: &Step, plain: &Turn<'_>, turn: &Turn<'_>, stage: Option<Stage>) -> Option<Row> {
        let (socket, ours) = (plain.rates(), turn.rates());
        let ratio_range = range(socket.iter().zip(&ours).map(|(socket, ours)| ours / socket));
        let (socket, ours) = (median(&socket)?, median(&ours)?);
        Some(Row {
            test: step.name(),
            label: step.label(),
            placement: self.placement,
            stage,
            unit: "operations/s",
            socket,
            ours,
            ratio: ours / socket,
            cpu_us_socket: plain.cpu_us(),
            cpu_us_ours: turn.cpu_us(),
            ratio_range,
        })
    }

    fn failed(&self, index: usize, error: anyhow::Error) -> anyhow::Result<Outcome> {
        self.runner.interrupt.check()?;
        let server = &self.sides[index].0;
        if !server.is_running() {
            return Err(error).with_context(|| format!("the server of display :{} ended", server.display));
        }
        let reason = format!("{error:#}");
        Ok(if index == 0 { Outcome::Skipped(reason) } else { Outcome::Failed(reason) })
    }
}
