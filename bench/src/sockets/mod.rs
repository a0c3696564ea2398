//! `slipway-bench sockets`: real servers and their clients over AF_UNIX, over TCP and over shared memory, interleaved.
//!
//! Rates are medians of the repetitions. The CPU time an operation is that of all processes of server and clients, those
//! that ended with their clients included, less what a run with one operation costs.

mod measure;
mod programs;
mod report;
mod server;

use crate::harness::figures::part;
use crate::harness::job::raise_descriptor_limit;
use crate::harness::machine::Cores;
use crate::harness::options::{Files, seconds};
use crate::harness::placement::{Placement, name_of};
use crate::harness::process::{Interrupt, find_slipway, hogs};
use crate::harness::progress::Progress;
use crate::harness::results::Missing;
use crate::harness::{failure::Failure, process::find_program};
use anyhow::Context;
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use measure::{Phase, line};
use programs::{Catalog, Program, search_path};
use report::Results;
use server::Lab;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const PLACEMENTS: [Placement; 4] = [Placement::Different, Placement::Shared, Placement::Free, Placement::Hogs];
/// What the servers of a program take to start, and a test beside its timed runs, seconds.
const START_SECONDS: f64 = 2.5;
const TEST_SECONDS: f64 = 2.0;

/// The options.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Short runs, about 5 minutes
    #[arg(long)]
    quick: bool,
    /// Only these tests: programs, or with a number of clients as in redis:50; a name that there isn't gets the list of them
    #[arg(long, value_name = "TEST", value_delimiter = ',')]
    only: Vec<String>,
    /// Where the processes run [default: all that the CPUs are enough for]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = placements())]
    placement: Vec<Placement>,
    /// Interleaved repetitions, of which the median counts [default: 5; 3 with --quick]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u32>::new().range(1..=1000))]
    repeat: Option<u32>,
    /// Length of each timed run, in seconds [default: 1; 0.25 with --quick]
    #[arg(long, value_name = "S", value_parser = |text: &str| seconds(text, 0.01))]
    seconds: Option<f64>,

    #[command(flatten)]
    files: Files,

    /// The preload library [default: beside this program, as built or as installed]
    #[arg(long, value_name = "PATH", env = "SLIPWAY_PRELOAD")]
    preload: Option<PathBuf>,
    /// No hooks anywhere: how far the ratios are from 1 is the noise of this machine
    #[arg(long)]
    baseline: bool,
}

fn placements() -> impl TypedValueParser<Value = Placement> {
    let names = PossibleValuesParser::new(PLACEMENTS.iter().filter_map(ValueEnum::to_possible_value));
    names.try_map(|name| <Placement as ValueEnum>::from_str(&name, false))
}

/// Measures what `args` ask for and reports it. What failed is an error too, after the report.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let cores = Cores::choose()?;
    let catalog: Catalog = part("sockets")?;
    let plan = catalog.plan(&args.only)?;
    args.placement.iter().try_for_each(|placement| placement.check(&cores))?;
    let asked = |placement: &Placement| match args.placement.is_empty() {
        true => placement.fits(&cores),
        false => args.placement.contains(placement),
    };
    let placements: Vec<Placement> = PLACEMENTS.into_iter().filter(asked).collect();
    if let Some(preload) = args.preload.iter().find(|preload| !preload.is_file()) {
        return Err(Failure::Missing(format!("the preload library was not found: {}", preload.display())).into());
    }
    find_program("setpriv", "util-linux")?;
    raise_descriptor_limit()?;
    let home = tempfile::Builder::new().prefix("slipway-bench-").tempdir().context("temporary directory")?;
    // The servers' own directories in it are closed; one of another user must be reached.
    set_permissions(home.path(), Permissions::from_mode(0o711)).context("temporary directory")?;
    // Before anything is started, so that nothing is left behind.
    let interrupt = Interrupt::install()?;
    let lab = Lab {
        slipway: find_slipway()?,
        preload: args.preload.clone(),
        path: search_path(),
        directory: home.path().to_owned(),
        interrupt: &interrupt,
    };
    let (seconds, repeat) =
        (args.seconds.unwrap_or(if args.quick { 0.25 } else { 1.0 }), args.repeat.unwrap_or(if args.quick { 3 } else { 5 }));

    let mut results = Results::new(args.baseline, catalog.targets.clone(), &cores, seconds, repeat)?;
    let mut installed: Vec<(&Program, Vec<u32>)> = Vec::new();
    for (program, clients) in plan {
        match program.find(&lab.path) {
            Ok(version) => {
                results.settings.programs.extend(version);
                installed.push((program, clients));
            }
            Err(why) => {
                results.skipped.push(Missing { test: program.name.clone(), variant: "all".to_owned(), reason: why.to_string() })
            }
        }
    }
    let tests = placements.len() * installed.iter().map(|(_, clients)| clients.len()).sum::<usize>();
    let each = 3.0 * seconds * f64::from(repeat) + TEST_SECONDS;
    let progress = Progress::new(tests, tests as f64 * each + START_SECONDS * (placements.len() * installed.len()) as f64);
    let mut failure = None;
    for &placement in &placements {
        let cpus = placement.cpus(&cores);
        for (program, clients) in &installed {
            let name = |clients: &u32| format!("{}: {}:{clients}", name_of(placement), program.name);
            progress.start(&name(&clients[0]));
            let phase = Phase::start(&lab, program, placement, cpus, args.baseline);
            let _hogs = hogs(placement, cpus)?;
            for number in clients {
                progress.start(&name(number));
                let found = phase.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"));
                let found = found.and_then(|phase| phase.measure(*number, seconds, repeat));
                interrupt.check()?;
                match found {
                    Ok(row) => {
                        progress.finish(&name(number), &line(&row));
                        results.rows.push(row);
                    }
                    Err(error) => {
                        let reason = format!("{error:#}");
                        progress.finish(&name(number), &format!("FAILED: {reason}"));
                        let (test, variant) = (format!("{}:{number}", program.name), name_of(placement));
                        results.failed.push(Missing { test, variant, reason });
                        failure = failure.or(Some(error));
                    }
                }
            }
        }
    }
    drop(progress);

    results.judge();
    print!("{}", results.table());
    args.files.write(&results, &results.chart())?;
    failure.map_or(Ok(()), |error| Err(error.context(format!("{} tests failed, the first of them", results.failed.len()))))
}
