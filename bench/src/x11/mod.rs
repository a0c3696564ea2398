//! `slipway-bench x11`: x11perf over the socket and over shared memory, interleaved, on private X servers.
//!
//! Rates are medians of the repetitions; the CPU time an operation is that of server and client together (nanosecond
//! counters of the scheduler), less what a client's start and end cost. The number of repetitions inside a run is found
//! before measuring, for each side by itself.

mod figures;
mod floor;
mod hooks;
mod measure;
mod plan;
mod report;
mod servers;
mod x11perf;

use crate::harness::chart;
use crate::harness::failure::Failure;
use crate::harness::figures::part;
use crate::harness::machine::{Cores, Machine};
use crate::harness::options::seconds;
use crate::harness::process::{Guarded, Interrupt, Launch, find_program};
use crate::harness::progress::Progress;
use crate::harness::results::{now, write};
use anyhow::Context;
use clap::builder::RangedU64ValueParser;
use hooks::{Hooks, Stage};
use measure::{Effort, Outcome, Side, measure};
use plan::{Catalog, Job, Phase, Placement, name_of};
use report::{Missing, Results, Settings};
use servers::{Server, Setup};
use std::collections::BTreeMap;
use std::path::PathBuf;
use x11perf::{Amount, Runner, versions};

/// What calibration adds to the timed runs of a side, seconds: several runs of x11perf.
const CALIBRATION_SECONDS: f64 = 0.25;

/// The options.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The default set of tests, under 2 minutes (the default)
    #[arg(long, group = "set")]
    quick: bool,
    /// Fewer tests, about one minute
    #[arg(long, group = "set")]
    demo: bool,
    /// Every test that x11perf lists, with every number of sub-windows (about 20 minutes)
    #[arg(long, group = "set")]
    all: bool,
    /// These tests: x11perf's options without the dash; "move:16" for 16 sub-windows
    #[arg(long, group = "set", value_name = "A,B,C", value_delimiter = ',')]
    tests: Vec<String>,

    /// Where the processes run; all tests are run at each of those given here. The default is
    /// `different` for all tests and a few tests at the others (but `different` alone with --tests)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    placement: Vec<Placement>,
    /// Stages of the transport to measure; more than one gives more columns, and takes
    /// longer than the sets say
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum, default_value = "full")]
    stage: Vec<Stage>,
    /// Interleaved repetitions, of which the median counts
    #[arg(long, value_name = "N", default_value = "3", value_parser = RangedU64ValueParser::<u32>::new().range(1..=1000))]
    repeat: u32,
    /// Length of each timed run, in seconds
    #[arg(long, value_name = "S", default_value = "0.4", value_parser = |text: &str| seconds(text, 0.05))]
    seconds: f64,

    /// Write the results to FILE as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a bar chart to FILE as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// The preload library [default: beside this program, as built or as installed]
    #[arg(long, value_name = "PATH", env = "SLIPWAY_PRELOAD")]
    preload: Option<PathBuf>,
    /// The X server, with arguments if need be
    #[arg(long, value_name = "COMMAND", default_value = "Xvfb")]
    server_command: String,
    /// Use display N and those after it [default: the first free ones]
    #[arg(long, value_name = "N")]
    display: Option<u32>,
    /// Both sides plain, no hooks anywhere: how far the ratios are from 1 is the noise of this
    /// machine
    #[arg(long, alias = "no-hooks")]
    baseline: bool,
}

/// Measures what `args` ask for and reports it. Tests that failed on the hooked side only are an error too, after the
/// report.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let x11perf = find_program("x11perf", "x11-apps")?;
    let command = shlex::split(&args.server_command)
        .filter(|words| !words.is_empty())
        .ok_or_else(|| Failure::Usage(format!("no command: '{}'", args.server_command)))?;
    find_program(&command[0], "xvfb")?;
    for tool in ["setpriv", "taskset"] {
        find_program(tool, "util-linux")?;
    }
    let sides = hooked_sides(args)?;
    let cores = Cores::choose()?;
    let catalog = Catalog::read(&x11perf)?;
    let phases = plan::phases(args, &catalog, &cores)?;
    let noop = catalog.find("noop")?;

    // Before anything is started, so that nothing is left behind.
    let interrupt = Interrupt::install()?;
    let dir = tempfile::Builder::new().prefix("slipway-bench-").tempdir().context("temporary directory")?;
    let auth = dir.path().join("authority");
    servers::write_authority(&auth)?;
    let setup = Setup { command, dir: dir.path().to_owned(), auth, display: args.display };
    let runner = Runner { x11perf, setup, interrupt };

    let stages = || sides.iter().flatten().map(|hooks| hooks.stage);
    let mut results = Results {
        figures: part("x11")?,
        machine: Machine::this(),
        floor: floor::measure(&cores),
        date: now()?,
        settings: settings(args, &cores, &sides),
        // The full one where it's measured, else the last that was asked for.
        stage: stages().find(|stage| *stage == Stage::Full).or_else(|| stages().next_back()),
        geometric_mean: None,
        geometric_means: BTreeMap::new(),
        rows: Vec::new(),
        targets: Vec::new(),
        skipped: Vec::new(),
        failed: Vec::new(),
    };
    let steps = phases.iter().map(|(_, steps)| steps.len()).sum();
    let side_seconds = args.seconds * f64::from(args.repeat) + CALIBRATION_SECONDS;
    let mut progress = Progress::new(steps, steps as f64 * side_seconds * (1 + sides.len()) as f64);
    for phase in &phases {
        measure_phase(args, &runner, &cores, (phase, noop), &sides, &mut results, &mut progress)?;
    }
    drop(progress);

    results.conclude(args.all);
    print!("{}", results.table());
    if let Some(file) = &args.json {
        write(file, &results)?;
    }
    if let Some(file) = &args.svg {
        chart::save(file, &results.chart())?;
    }
    match results.failed.len() {
        0 => Ok(()),
        count => anyhow::bail!("{count} tests failed over shared memory that work over the socket"),
    }
}

/// What the sides after the plain one are started with; one plain side for a baseline.
fn hooked_sides(args: &Args) -> anyhow::Result<Vec<Option<Hooks>>> {
    if args.baseline {
        return Ok(vec![None]);
    }
    let preload = hooks::with_library(args.preload.as_deref())?;
    let mut stages: Vec<Stage> = Vec::new();
    args.stage.iter().for_each(|stage| {
        if !stages.contains(stage) {
            stages.push(*stage)
        }
    });
    Ok(stages.into_iter().map(|stage| Some(Hooks { preload: preload.clone(), stage })).collect())
}

fn settings(args: &Args, cores: &Cores, sides: &[Option<Hooks>]) -> Settings {
    let spin = std::env::var("SLIPWAY_X11_SPIN").unwrap_or_else(|_| "50 (default)".to_owned());
    let first = cores.first;
    Settings {
        server: String::new(),
        x11perf: String::new(),
        cores: match cores.second {
            Some(client) => format!("server on CPU {first}, client on CPU {client} (shared: both on CPU {first})"),
            None => format!("everything on CPU {first}, the only one allowed"),
        },
        spin_us: if args.baseline { "-".to_owned() } else { spin },
        seconds: args.seconds,
        repeat: args.repeat,
        baseline: args.baseline,
        preload: sides.iter().flatten().next().map(|hooks| hooks.preload.clone()),
    }
}

fn measure_phase(
    args: &Args,
    runner: &Runner,
    cores: &Cores,
    ((placement, steps), noop): (&Phase, &Job),
    hooked: &[Option<Hooks>],
    results: &mut Results,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let [servers, clients] = placement.cpus(cores);
    let mut sides = Vec::new();
    for (hooks, index) in [None].iter().chain(hooked).zip(0..) {
        let server = Server::start(&runner.setup, index, &servers, hooks.as_ref(), &runner.interrupt)?;
        let mut side = Side { server, hooks: hooks.clone(), sync: 0.0 };
        let client = side.client(&clients, placement.hooks_client());
        if client.hooks.is_some() {
            runner.check_ring(noop, &client)?;
        }
        side.sync = runner.sync_seconds(noop, &client)?;
        sides.push(side);
    }
    if results.settings.server.is_empty() {
        let greeting = runner.run_text(noop, Amount { reps: 1, passes: 1 }, &sides[0].client(&clients, false))?.0;
        [results.settings.server, results.settings.x11perf] = versions(&greeting);
    }
    let hogs = if *placement == Placement::Hogs { vec![&servers, &clients] } else { Vec::new() };
    let this = std::env::current_exe().context("own path")?;
    let hog = |cpus: &Vec<usize>| Guarded::spawn(Launch { cpus, ..Launch::default() }.command(&this).arg("hog"), None);
    let _hogs = hogs.into_iter().map(hog).collect::<anyhow::Result<Vec<Guarded>>>()?;
    let effort = Effort { placement: *placement, cpus: &clients, seconds: args.seconds, repeat: args.repeat };
    for step in steps {
        let title = format!("{}: {}", name_of(*placement), step.name());
        progress.start(&title);
        let outcome = measure(runner, &mut sides, step, &effort)?;
        progress.finish(&title, || outcome.line());
        let missing = |reason| Missing { test: step.name(), placement: *placement, reason };
        match outcome {
            Outcome::Rows(rows) => results.rows.extend(rows),
            Outcome::Skipped(reason) => results.skipped.push(missing(reason)),
            Outcome::Failed(reason) => results.failed.push(missing(reason)),
        }
    }
    Ok(())
}
