//! `slipway-bench x11`: x11perf over the socket and over shared memory.

mod auth;
mod calibrate;
mod catalog;
pub mod cli;
mod floor;
mod hooks;
mod measure;
mod output;
mod placement;
mod plan;
mod published;
mod report;
mod results;
mod servers;
mod targets;
mod x11perf;

use crate::cores::Cores;
use crate::failure::Failure;
use crate::machine::Machine;
use crate::process::{Guarded, Interrupt, Launch, find_program};
use crate::report::progress::Progress;
use anyhow::Context;
use catalog::{Catalog, Job};
use cli::Args;
use hooks::{Hooks, Stage};
use measure::{Effort, Outcome, Side, measure};
use placement::Placement;
use plan::Phase;
use results::{Missing, Results, Settings};
use servers::{Server, Setup};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use x11perf::Runner;

/// What calibration adds to the timed runs of a side, seconds: several runs of x11perf.
const CALIBRATION_SECONDS: f64 = 0.25;

/// Measures what `args` ask for and reports it.
///
/// # Errors
/// See the exit codes of the program; tests that failed on the hooked side only are an error too,
/// after the report.
pub fn run(args: Args) -> anyhow::Result<()> {
    let x11perf = find_program("x11perf", "x11-apps")?;
    let command = shlex::split(&args.server_command)
        .filter(|words| !words.is_empty())
        .ok_or_else(|| Failure::Usage(format!("no command: '{}'", args.server_command)))?;
    find_program(&command[0], "xvfb")?;
    for tool in ["setpriv", "taskset"] {
        find_program(tool, "util-linux")?;
    }
    let sides = hooked_sides(&args)?;
    let cores = Cores::choose()?;
    let catalog = Catalog::read(&x11perf)?;
    let phases = plan::phases(&args, &catalog, &cores)?;
    let noop = catalog.find("noop")?;

    // Before anything is started, so that nothing is left behind.
    let interrupt = Interrupt::install()?;
    let dir = tempfile::Builder::new().prefix("slipway-bench-").tempdir().context("temporary directory")?;
    let auth = dir.path().join("authority");
    auth::write(&auth)?;
    let runner = Runner { x11perf, setup: Setup { command, dir: dir.path().to_owned(), auth, display: args.display }, interrupt };

    let mut results = Results {
        machine: Machine::this(),
        floor: floor::measure(&cores.list()),
        date: OffsetDateTime::now_utc().replace_nanosecond(0)?.format(&Rfc3339)?,
        settings: settings(&args, &cores, &sides),
        stage: main_stage(&sides),
        rows: Vec::new(),
        skipped: Vec::new(),
        failed: Vec::new(),
    };
    measure_all(&args, &runner, &cores, (&phases, noop), &sides, &mut results)?;

    let judgements = targets::judge(&results, args.all);
    print!("{}", report::table::render(&results, &judgements));
    if let Some(file) = &args.json {
        report::json::write(file, &results, &judgements)?;
    }
    if let Some(file) = &args.svg {
        report::chart::write(file, &results)?;
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
    let library = hooks::find_library(args.preload.as_deref())?;
    let preload = hooks::with_library(&library, hooks::inherited().as_deref());
    let mut stages: Vec<Stage> = Vec::new();
    for &stage in &args.stage {
        if !stages.contains(&stage) {
            stages.push(stage);
        }
    }
    let hooks = |stage| Some(Hooks { preload: preload.clone(), stage });
    Ok(stages.into_iter().map(hooks).collect())
}

/// The full one where it's measured, else the last that was asked for.
fn main_stage(sides: &[Option<Hooks>]) -> Option<Stage> {
    let stages = || sides.iter().flatten().map(|hooks| hooks.stage);
    stages().find(|stage| *stage == Stage::Full).or_else(|| stages().next_back())
}

fn settings(args: &Args, cores: &Cores, sides: &[Option<Hooks>]) -> Settings {
    let spin = std::env::var("SLIPWAY_X11_SPIN").unwrap_or_else(|_| "50 (default)".to_owned());
    Settings {
        server: String::new(),
        x11perf: String::new(),
        cores: cores.line(),
        spin_us: if args.baseline { "-".to_owned() } else { spin },
        seconds: args.seconds,
        repeat: args.repeat,
        baseline: args.baseline,
        preload: sides.iter().flatten().next().map(|hooks| hooks.preload.clone()),
    }
}

fn measure_all(
    args: &Args,
    runner: &Runner,
    cores: &Cores,
    (phases, noop): (&[Phase], &Job),
    hooked: &[Option<Hooks>],
    results: &mut Results,
) -> anyhow::Result<()> {
    let effort = Effort { seconds: args.seconds, repeat: args.repeat };
    let steps = phases.iter().map(|phase| phase.steps.len()).sum();
    let side_seconds = args.seconds * f64::from(args.repeat) + CALIBRATION_SECONDS;
    let total = steps as f64 * side_seconds * (1 + hooked.len()) as f64;
    let mut progress = Progress::new(steps, total);
    for phase in phases {
        let mut sides = start_sides(runner, cores, phase.placement, hooked)?;
        let cpus = cores.client(phase.placement);
        for side in &mut sides {
            let client = side.client(&cpus, phase.placement.hooks_client());
            if client.hooks.is_some() {
                runner.check_ring(noop, &client)?;
            }
            side.sync = runner.sync_seconds(noop, &client)?;
        }
        if results.settings.server.is_empty()
            && let Some(step) = phase.steps.first()
        {
            let text = runner.greeting(&step.job, &sides[0].client(&cpus, false))?;
            results.settings.server = output::server_version(&text).unwrap_or_default();
            results.settings.x11perf = output::program_version(&text).unwrap_or_default().to_owned();
        }
        let _hogs = match phase.placement {
            Placement::Hogs => start_hogs(cores)?,
            _ => Vec::new(),
        };
        for step in &phase.steps {
            let name = step.name();
            let title = format!("{}: {name}", phase.placement.name());
            progress.start(&title);
            let outcome = measure(runner, &mut sides, phase.placement, &cpus, step, &effort)?;
            progress.finish(&title, || outcome.line());
            let missing = |reason| Missing { test: name.clone(), placement: phase.placement, reason };
            match outcome {
                Outcome::Rows(rows) => results.rows.extend(rows),
                Outcome::Skipped(reason) => results.skipped.push(missing(reason)),
                Outcome::Failed(reason) => results.failed.push(missing(reason)),
            }
        }
    }
    Ok(())
}

/// The plain server and one for each of `hooked`.
fn start_sides(runner: &Runner, cores: &Cores, placement: Placement, hooked: &[Option<Hooks>]) -> anyhow::Result<Vec<Side>> {
    let cpus = cores.server(placement);
    let plain = [None];
    let all = plain.iter().chain(hooked);
    all.zip(0..)
        .map(|(hooks, index)| {
            let server = Server::start(&runner.setup, index, &cpus, hooks.as_ref(), &runner.interrupt)?;
            Ok(Side { server, hooks: hooks.clone(), sync: 0.0 })
        })
        .collect()
}

fn start_hogs(cores: &Cores) -> anyhow::Result<Vec<Guarded>> {
    let this = std::env::current_exe().context("own path")?;
    let server = cores.server(Placement::Hogs);
    let client = cores.client(Placement::Hogs);
    [server, client]
        .iter()
        .map(|cpus| {
            let launch = Launch { cpus, ..Launch::default() };
            Guarded::spawn(launch.command(&this).arg("hog"), None)
        })
        .collect()
}
