//! `slipway-bench colocate`: calls to a server in another process and to one that shares the caller's.

mod capnp;
mod cases;
pub mod cli;
pub mod peer;
mod report;
mod results;
mod seed;
pub mod stages;
mod stubs;
mod targets;

use crate::cores::Cores;
use crate::process::{Interrupt, find_program};
use crate::trips::attribution::Symbols;
use crate::trips::pair::Bench;
use crate::trips::run::{count_all, time_all};
use anyhow::Context;
use cases::Case;
use cli::Args;
use results::Results;

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
    results.divide_own_calls();
    stages::time(&bench, &cases, &mut results)?;
    if let Some(valgrind) = valgrind {
        let mut symbols = Symbols::of(&bench.program)?;
        let counted: Vec<Case> = cases.into_iter().filter(Case::counts).collect();
        count_all(&bench, &counted, &mut results, |case| stages::count(&bench, &valgrind, &mut symbols, case))?;
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
