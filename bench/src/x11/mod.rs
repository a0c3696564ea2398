//! `slipway-bench x11`: x11perf over the socket and over shared memory, interleaved, on private X servers.
//!
//! Rates are medians of the repetitions; the CPU time an operation is that of server and client together (nanosecond
//! counters of the scheduler), less what a client's start and end cost. The number of repetitions inside a run is found
//! before measuring, for each side by itself.

mod clients;
mod cost;
mod figures;
mod floor;
mod measure;
mod plan;
mod report;
mod seed;
mod server;
mod x11perf;

use crate::harness::failure::Failure;
use crate::harness::format::distinct;
use crate::harness::machine::Cores;
use crate::harness::options::{Files, seconds};
use crate::harness::placement::{Placement, name_of};
use crate::harness::process::{Interrupt, find_program, find_slipway, hogs};
use crate::harness::progress::Progress;
use crate::harness::results::Missing;
use clap::builder::RangedU64ValueParser;
pub use clients::{Program, run as client};
pub use cost::connect;
use measure::{Outcome, Phase};
use plan::{Catalog, Stage};
use report::Results;
use server::Setup;
use std::path::PathBuf;
use x11perf::{Runner, versions};

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
    /// Only what it costs to start a program and to make a connection, about ten seconds (the other sets but --tests have it, too)
    #[arg(long, group = "set")]
    costs: bool,
    /// Instead of x11perf the three programs of the paper on X11 and Mach, over the socket, Mach ports and shared memory
    #[arg(long, group = "set", value_enum)]
    table: Option<Table>,
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

    #[command(flatten)]
    files: Files,

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

/// A table of other programs than x11perf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Table {
    /// Using the Mach Communication Primitives in X11
    Seed,
}

/// Measures what `args` ask for and reports it. Tests that failed on the hooked side only are an error too, after the
/// report.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let command = shlex::split(&args.server_command)
        .filter(|words| !words.is_empty())
        .ok_or_else(|| Failure::Usage(format!("no command: '{}'", args.server_command)))?;
    find_program(&command[0], "xvfb")?;
    if let Some(preload) = args.preload.iter().find(|preload| !preload.is_file()) {
        return Err(Failure::Missing(format!("the preload library was not found: {}", preload.display())).into());
    }
    let setup = Setup { slipway: find_slipway()?, command, display: args.display, preload: args.preload.clone() };
    // What the sides after the plain one have; one plain side for a baseline.
    let stages = if args.baseline { vec![None] } else { distinct(args.stage.iter().copied().map(Some)) };
    let cores = Cores::choose()?;
    if args.table.is_some() {
        return seed::run(args, &setup, &cores, &Interrupt::install()?);
    }
    let x11perf = find_program("x11perf", "x11-apps")?;
    let catalog = Catalog::read(&x11perf)?;
    let phases = if args.costs { Vec::new() } else { plan::phases(args, &catalog, &cores)? };
    let noop = catalog.find("noop")?;
    // Before anything is started, so that nothing is left behind.
    let runner = Runner { x11perf, interrupt: Interrupt::install()? };

    let mut results = Results::new(args, &cores, &stages)?;
    let steps = phases.iter().map(|(_, steps)| steps.len()).sum();
    let side_seconds = args.seconds * f64::from(args.repeat) + CALIBRATION_SECONDS;
    let progress = Progress::new(steps, steps as f64 * side_seconds * (1 + stages.len()) as f64);
    for (placement, steps) in &phases {
        let cpus = placement.cpus(&cores);
        let phase = Phase::start((args, &runner, &setup), *placement, cpus, &stages, noop)?;
        if results.settings.server.is_empty() {
            [results.settings.server, results.settings.x11perf] = versions(&phase.greeting(noop)?);
            results.settings.preload = phase.preload();
        }
        let _hogs = hogs(*placement, cpus)?;
        for step in steps {
            let title = format!("{}: {}", name_of(*placement), step.name());
            progress.start(&title);
            let outcome = phase.measure(step)?;
            progress.finish(&title, &outcome.line());
            let missing = |reason| Missing { test: step.name(), variant: name_of(*placement), reason };
            match outcome {
                Outcome::Rows(rows) => results.rows.extend(rows),
                Outcome::Skipped(reason) => results.skipped.push(missing(reason)),
                Outcome::Failed(reason) => results.failed.push(missing(reason)),
            }
        }
    }
    drop(progress);
    if args.tests.is_empty() && !args.baseline {
        results.costs = cost::measure(&setup, &runner.interrupt)?;
    }

    results.judge(args.all);
    print!("{}", results.table());
    args.files.write(&results, &results.chart())?;
    match results.failed.len() {
        0 => Ok(()),
        count => anyhow::bail!("{count} tests failed over shared memory that work over the socket"),
    }
}
