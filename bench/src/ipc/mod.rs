//! `slipway-bench ipc`: messages and rights, there and back, beside what was published for Mach.

mod cases;
pub mod cli;
mod echo;
mod methods;
pub mod peer;
mod report;
mod results;
mod seed;
mod targets;

use crate::cores::Cores;
use crate::process::{Interrupt, find_program};
use crate::trips::instructions;
use crate::trips::pair::Bench;
use crate::trips::results::Unit;
use crate::trips::run::{count_all, time_all};
use anyhow::Context;
pub use cases::Case;
use cases::Test;
use cli::Args;
use results::{Results, Row};

/// Ports whose memory is measured.
const WEIGHED: u64 = 100_000;

/// Measures what `args` ask for and reports it.
///
/// # Errors
/// See the exit codes of the program; cases that failed are an error too, after the report.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let valgrind = args.instructions.then(|| find_program("valgrind", "valgrind")).transpose()?;
    let cores = Cores::choose()?;
    let cases = cases::plan(args, &cores)?;
    // Before anything is started, so that nothing is left behind.
    let interrupt = Interrupt::install()?;
    let bench = Bench { program: std::env::current_exe().context("own path")?, cores, interrupt: &interrupt };
    let mut results = Results::new(&cores, args.trips.seconds(), args.trips.repeat())?;
    time_all(&bench, &cases, &mut results)?;
    for &case in cases.iter().filter(|case| case.test == Test::MakePort) {
        match bench.weigh(case, WEIGHED) {
            Ok(bytes) => results.rows.push(Row::counted(case, Unit::Bytes, bytes)),
            Err(error) => results.fail(&bench, case, &error)?,
        }
    }
    if let Some(valgrind) = valgrind {
        let counted: Vec<Case> = cases.into_iter().filter(Case::counts).collect();
        count_all(&bench, &counted, &mut results, |case| {
            Ok(vec![Row::counted(case, Unit::Instructions, instructions::count(&bench, &valgrind, case)?)])
        })?;
    }

    let judgements = targets::judge(&results);
    print!("{}", report::table::render(&results, &judgements));
    if let Some(file) = &args.trips.json {
        report::json::write(file, &results, &judgements)?;
    }
    if let Some(file) = &args.trips.svg {
        report::chart::write(file, &results)?;
    }
    results.outcome()
}
