//! The tests of one program at one placement: each kind of connection has servers of its own, and they take turns.

use super::programs::{Peer, Program};
use super::report::Row;
use super::server::{Lab, Sample, Server};
use crate::harness::format::{median, range, rate, ratio};
use crate::harness::placement::Placement;
use anyhow::Context;

/// A run this long says how fast a test is, well enough to size the next one.
const TELLING_SECONDS: f64 = 0.04;
/// Fewer operations of a client would be mostly its start.
const LEAST: u64 = 20;

/// The servers of a program at a placement: AF_UNIX, TCP, and AF_UNIX with the hooks.
pub struct Phase<'a> {
    placement: Placement,
    sides: Vec<Server<'a>>,
    hooked: bool,
}

/// What one side does.
struct Turn<'a> {
    server: &'a Server<'a>,
    each: u64,
    /// A run with one operation by each client: what their start and end cost.
    start: Sample,
    samples: Vec<Sample>,
}

impl Turn<'_> {
    /// Operations a second of each run.
    fn rates(&self) -> Vec<f64> {
        let operations = |sample: &Sample| (sample.operations - self.start.operations) as f64;
        self.samples.iter().map(|sample| operations(sample) / net(sample, &self.start)).collect()
    }

    /// CPU microseconds an operation, less what clients' start and end cost.
    fn cpu_us(&self) -> Option<f64> {
        let cost = |sample: &Sample| {
            let more = sample.operations.checked_sub(self.start.operations).filter(|more| *more > 0)?;
            Some(sample.cpu_ns?.checked_sub(self.start.cpu_ns?)? as f64 / 1000.0 / more as f64)
        };
        median(&self.samples.iter().map(cost).collect::<Option<Vec<f64>>>()?)
    }
}

impl<'a> Phase<'a> {
    /// Starts the servers; the third without hooks for a baseline.
    pub fn start(
        lab: &'a Lab<'a>,
        program: &'a Program,
        placement: Placement,
        cpus: [Option<usize>; 2],
        baseline: bool,
    ) -> anyhow::Result<Self> {
        let third = if baseline { Peer::Unix } else { Peer::Slipway };
        let sides = [Peer::Unix, Peer::Tcp, third].into_iter().zip(0..);
        let started = sides.map(|side| Server::start(lab, program, side, cpus).with_context(|| format!("{:?}", side.0)));
        Ok(Self { placement, sides: started.collect::<anyhow::Result<_>>()?, hooked: !baseline })
    }

    /// Finds how much each side does in a run of `seconds`, then lets them take turns.
    pub fn measure(&self, clients: u32, seconds: f64, repeat: u32) -> anyhow::Result<Row> {
        let on_ring = self.hooked.then(|| self.sides[2].is_on_ring(clients)).transpose()?;
        let turn = |server| {
            let (each, start) = calibrate(server, clients, seconds)?;
            Ok(Turn { server, each, start, samples: Vec::new() })
        };
        let mut turns = self.sides.iter().map(turn).collect::<anyhow::Result<Vec<Turn<'_>>>>()?;
        for _ in 0..repeat {
            for turn in &mut turns {
                turn.samples.push(turn.server.run(clients, turn.each)?);
            }
        }
        let [socket, tcp, ours] = &turns[..] else { anyhow::bail!("there are three sides") };
        let ratio_range = range(socket.rates().iter().zip(&ours.rates()).map(|(socket, ours)| ours / socket));
        let figure = |turn: &Turn<'_>| median(&turn.rates()).context("no runs");
        let (rates, program) = ([figure(socket)?, figure(tcp)?, figure(ours)?], socket.server.program);
        Ok(Row {
            test: format!("{}:{clients}", program.name),
            label: format!("{}, {clients} client{}", program.title, if clients == 1 { "" } else { "s" }),
            placement: self.placement,
            unit: "operations/s",
            socket: rates[0],
            tcp: rates[1],
            ours: rates[2],
            ratio: rates[2] / rates[0],
            ratio_range,
            cpu_us_socket: socket.cpu_us(),
            cpu_us_tcp: tcp.cpu_us(),
            cpu_us_ours: ours.cpu_us(),
            on_ring,
        })
    }
}

/// The seconds of a run without its start: a run that is little more than that says nothing about the rest.
fn net(sample: &Sample, start: &Sample) -> f64 {
    (sample.seconds - start.seconds).max(sample.seconds / 2.0)
}

/// Finds how many operations of each client take `seconds`, by longer and longer runs; and the run with one of each.
fn calibrate(server: &Server<'_>, clients: u32, seconds: f64) -> anyhow::Result<(u64, Sample)> {
    let mut starts = [server.run(clients, 1)?, server.run(clients, 1)?, server.run(clients, 1)?];
    starts.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let mut start = starts[1];
    starts.sort_by_key(|start| start.cpu_ns);
    start.cpu_ns = starts[1].cpu_ns;
    let (mut each, mut took) = (1_u64, start.seconds);
    let grown = |each: u64, factor: f64| ((each as f64 * factor) as u64).max(LEAST);
    loop {
        each = grown(each, (1.5 * TELLING_SECONDS / took).clamp(2.0, 50.0));
        took = net(&server.run(clients, each)?, &start);
        if took >= TELLING_SECONDS.min(seconds) {
            return Ok((grown(each, seconds / took), start));
        }
    }
}

/// For people, one line.
pub fn line(row: &Row) -> String {
    format!("{}/s, TCP {}/s -> {}/s, {}", rate(row.socket), rate(row.tcp), rate(row.ours), ratio(row.ratio))
}
