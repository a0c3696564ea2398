//! Runs of x11perf.
//!
//! Flags: `-repeat P -reps N -falseprecision [-subs K] -TEST`. A fixed number of repetitions keeps
//! x11perf from calibrating itself, which takes it 5 to 20 seconds a run (it insists on 2 seconds
//! for the synchronisation and 2 for the test, whatever `-time` says); the numbers are found by
//! [`calibrate`] instead. Each of the P passes ends with a round trip, which x11perf would
//! subtract if it had calibrated: [`Runner::sync_seconds`] measures it and [`Sample::rate`] does so.
//! `-falseprecision`: all digits of the rate.

use super::plan::Job;
use super::server::Server;
use crate::harness::failure::Failure;
use crate::harness::format::median;
use crate::harness::process::{Guarded, Interrupt, cpu_ns};
use anyhow::Context;
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
/// A run this long says how fast a test is, well enough to size the next one.
const TELLING_SECONDS: f64 = 0.02;
/// Most repetitions that a run is grown by at a time: a short run is mostly the closing round trip,
/// from which nothing follows.
const GROWTH: f64 = 200.0;
/// Most passes in a run.
const PASSES: f64 = 500.0;

/// What any run needs.
pub struct Runner {
    pub x11perf: PathBuf,
    pub interrupt: Interrupt,
}

pub struct Client<'a> {
    pub server: &'a Server,
    /// Its CPU; none: not pinned.
    pub cpu: Option<usize>,
    /// Whether it has the hooks that its server has.
    pub hooked: bool,
}

/// How much a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// x11perf's `-reps`: repetitions in a pass.
    pub reps: u32,
    /// x11perf's `-repeat`: passes, each timed by itself.
    pub passes: u32,
}

/// One run of one test.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Operations of a pass. A repetition of most tests is several operations (1000 dots).
    operations: u64,
    /// Seconds that a pass took: the median of the passes.
    pub seconds: f64,
    passes: u32,
    /// CPU nanoseconds that server and client used while the run lasted, start and end of the
    /// client included; none without schedstat.
    cpu_ns: Option<u64>,
}

impl Sample {
    /// Operations a second, less the `sync` seconds of the closing round trip.
    pub fn rate(&self, sync: f64) -> f64 {
        // A pass that is little more than its round trip says nothing about the rest.
        let seconds = (self.seconds - sync).max(self.seconds / 2.0);
        self.operations as f64 / seconds
    }

    /// CPU microseconds that an operation costs server and client together.
    ///
    /// `start`, the run with one repetition, is subtracted, so that the client's start, connection and end don't
    /// count; where both are of one repetition there is nothing to subtract, and all counts.
    pub fn cpu_us(&self, start: &Self) -> Option<f64> {
        let (first, all) = (start.cpu_ns?, self.cpu_ns?);
        let operations = |sample: &Self| sample.operations * u64::from(sample.passes);
        let (few, many) = (operations(start), operations(self));
        let (ns, operations) = if many > few && all > first { (all - first, many - few) } else { (all, many) };
        Some(ns as f64 / 1000.0 / operations as f64)
    }
}

/// Operations and seconds of a line `N reps @ T msec (R/sec): label`; x11perf's averages (`trep`) are none.
fn measured(line: &str) -> Option<(u64, f64)> {
    let (operations, rest) = line.split_once(" reps @")?;
    let (rate, _label) = rest.split_once(" msec (")?.1.split_once("/sec): ")?;
    let (operations, rate): (u64, f64) = (operations.trim().parse().ok()?, rate.trim().parse().ok()?);
    (rate.is_finite() && rate > 0.0).then(|| (operations, operations as f64 / rate))
}

/// Versions of the server, as x11perf reports it ("21.1.7" for release 12101007 of X.Org since its version 20), and of x11perf.
pub fn versions(output: &str) -> [String; 2] {
    let server = output.lines().find_map(|line| line.split_once(" server version "));
    let server = server.map(|(vendor, rest)| match rest.split(' ').next().unwrap_or_default().parse::<u64>() {
        // 1, two digits of the year's version, two of the minor, three of the patch.
        Ok(release @ 12_000_000..) if vendor == "The X.Org Foundation" => {
            format!("{}.{}.{}", release / 100_000 % 100, release / 1000 % 100, release % 1000)
        }
        release => format!("{vendor} {}", release.unwrap_or_default()),
    });
    let own = output.lines().find_map(|line| line.strip_prefix("x11perf - X11 performance program, version "));
    [server.unwrap_or_default(), own.unwrap_or_default().trim().to_owned()]
}

impl Runner {
    pub fn run(&self, job: &Job, amount: Amount, client: &Client<'_>) -> anyhow::Result<Sample> {
        let (text, cpu_ns) = self.run_text(job, amount, client)?;
        let passes: Vec<(u64, f64)> = text.lines().filter_map(measured).collect();
        let seconds = median(&passes.iter().map(|pass| pass.1).collect::<Vec<_>>()).with_context(|| {
            let said = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
            format!("x11perf -{} printed no result: {}", job.option, said.unwrap_or("nothing"))
        })?;
        Ok(Sample { operations: passes[0].0, seconds, passes: passes.len() as u32, cpu_ns })
    }

    /// Seconds of the round trip that ends every pass: the median of many passes that do next to
    /// nothing else.
    pub fn sync_seconds(&self, noop: &Job, client: &Client<'_>) -> anyhow::Result<f64> {
        Ok(self.run(noop, Amount { reps: 1, passes: SYNC_PASSES }, client)?.seconds)
    }

    /// Makes sure that `client`, which has the hooks, is served over shared memory.
    pub fn check_ring(&self, noop: &Job, client: &Client<'_>) -> anyhow::Result<()> {
        let server = client.server;
        let probe = self.flood(noop, client)?;
        let end = Instant::now() + RING_LIMIT;
        while !server.on_ring(probe.id())? {
            // A connection is on its socket until both ends have agreed.
            if Instant::now() > end {
                let display = server.display;
                let why =
                    format!("x11perf, with the hooks, stays on the plain socket of the hooked server on display :{display}");
                return Err(Failure::NotHooked(why).into());
            }
            self.interrupt.wait(&[], Duration::from_millis(10))?;
        }
        Ok(())
    }

    /// What x11perf prints of a short run, and the CPU nanoseconds that it took server and client.
    pub fn run_text(&self, job: &Job, amount: Amount, client: &Client<'_>) -> anyhow::Result<(String, Option<u64>)> {
        let mut command = self.command(job, amount, client);
        let server = client.server.pid;
        let before = cpu_ns(server);
        let ended = Guarded::spawn(&mut command, client.cpu)?.finish(&self.interrupt, RUN_LIMIT);
        let (printed, used) = ended.with_context(|| format!("x11perf -{} -reps {}", job.option, amount.reps))?;
        let after = cpu_ns(server);
        let cpu = || Some(after?.checked_sub(before?)? + used?);
        Ok((printed, cpu()))
    }

    /// Starts `job` and lets it run until the result is dropped.
    pub fn flood(&self, job: &Job, client: &Client<'_>) -> anyhow::Result<Guarded> {
        Guarded::spawn(&mut self.command(job, ENDLESS, client), client.cpu)
    }

    fn command(&self, job: &Job, amount: Amount, client: &Client<'_>) -> Command {
        let mut command = Command::new(&self.x11perf);
        command.args(["-falseprecision", "-repeat", &amount.passes.to_string(), "-reps", &amount.reps.to_string()]);
        if let Some(kids) = job.kids {
            command.args(["-subs", &kids.to_string()]);
        }
        command.arg(format!("-{}", job.option)).stdin(Stdio::null());
        client.server.environment(&mut command, client.hooked);
        command
    }
}

/// Finds what takes `seconds`, by longer and longer runs made with `run`; and the run with a single repetition: what a
/// client's start and end cost. `hint` is a first guess of the repetitions, from a slower or equally fast side.
///
/// Tests that create or map windows do no more repetitions than fill the screen, however many are
/// asked for: a millisecond. Those are done in as many passes as make up the time.
pub fn calibrate(
    seconds: f64,
    hint: Option<u32>,
    mut run: impl FnMut(u32) -> anyhow::Result<Sample>,
) -> anyhow::Result<(Amount, Sample)> {
    // x11perf reads a C int.
    let scaled = |reps: u32, factor: f64| (f64::from(reps) * factor).clamp(1.0, f64::from(i32::MAX)) as u32;
    let start = run(1)?;
    let telling = TELLING_SECONDS.min(seconds);
    let mut reps = 1;
    let mut last = start.clone();
    if let Some(hint) = hint.filter(|&hint| hint > 20 && last.seconds < telling) {
        reps = hint / 20;
        last = run(reps)?;
    }
    let all_done = |reps: u32, run: &Sample| run.operations >= start.operations * u64::from(reps);
    while last.seconds < telling && all_done(reps, &last) {
        let wanted = telling * 1.5 / last.seconds;
        reps = scaled(reps, wanted.clamp(2.0, GROWTH));
        last = run(reps)?;
    }
    let amount = match all_done(reps, &last) {
        true => Amount { reps: scaled(reps, seconds / last.seconds), passes: 1 },
        false => Amount { reps, passes: (seconds / last.seconds).clamp(1.0, PASSES) as u32 },
    };
    Ok((amount, start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(operations: u64, seconds: f64, cpu_ns: u64) -> Sample {
        Sample { operations, seconds, passes: 1, cpu_ns: Some(cpu_ns) }
    }

    #[test]
    fn runs_get_the_wanted_length() {
        for each in [1e-7, 1e-5, 1e-3, 0.05] {
            for hint in [None, Some(100), Some(1_000_000)] {
                // A test of a thousand operations a repetition, and a constant.
                let run = |reps| Ok(sample(u64::from(reps) * 1000, 60e-6 + each * f64::from(reps), 0));
                let (amount, start) = calibrate(0.5, hint, run).unwrap();
                let length = each * f64::from(amount.reps);
                assert!((0.4..0.6).contains(&length) && amount.passes == 1, "{each} {hint:?}: {length}");
                assert_eq!(start.operations, 1000);
            }
        }
        let slow = calibrate(0.5, Some(700), |reps| Ok(sample(u64::from(reps), 2.0 * f64::from(reps), 0))).unwrap();
        assert_eq!(slow.0, Amount { reps: 1, passes: 1 });
    }

    #[test]
    fn a_test_that_fills_the_screen_is_done_in_passes() {
        for hint in [None, Some(10_000)] {
            let found = calibrate(0.4, hint, |reps| {
                let operations = u64::from(reps * 4).min(2400);
                Ok(sample(operations, operations as f64 * 1e-6, 0))
            });
            let amount = found.unwrap().0;
            assert!(amount.reps >= 600 && (150..=170).contains(&amount.passes), "{amount:?}");
        }
    }

    #[test]
    fn neither_start_nor_end_is_part_of_a_rate_or_a_cost() {
        let run = sample(1000, 0.011, 0);
        assert!((run.rate(0.001) - 100_000.0).abs() < 1e-6);
        // Never more than half of a run.
        assert!((run.rate(0.011) - 2.0 * run.rate(0.0)).abs() < 1e-6);
        let start = sample(1, 1e-4, 5_000_000);
        assert!((sample(1001, 0.1, 25_000_000).cpu_us(&start).unwrap() - 20.0).abs() < 1e-9);
        assert!((start.cpu_us(&start).unwrap() - 5000.0).abs() < 1e-9);
    }

    #[test]
    fn captured_lines() {
        let (operations, seconds) = measured("      20000 reps @   0.0675 msec ( 14800.0/sec): QueryPointer").unwrap();
        assert!(operations == 20_000 && (seconds - 1.3514).abs() < 1e-3);
        for line in [
            "Sync time adjustment is 0.0592 msecs.",
            "x reps @ 1.0 msec ( 10.0/sec): Dot",
            "5 reps @ 1.0 msec ( inf/sec): Dot",
            "5 reps @ 1.0 msec ( 0.0/sec): Dot",
            "300 trep @ 0.0076 msec (131233.6/sec): Dot",
        ] {
            assert_eq!(measured(line), None, "{line}");
        }
        let greeting = "x11perf - X11 performance program, version 1.2\nThe X.Org Foundation server version 12101007 on :300\n";
        assert_eq!(versions(greeting), ["21.1.7", "1.2"]);
        assert_eq!(versions("The XFree86 Project, Inc server version 40300000 on :0")[0], "The XFree86 Project, Inc 40300000");
    }
}
