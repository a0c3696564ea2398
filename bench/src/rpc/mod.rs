//! `slipway-bench rpc`: calls by mig's stubs, beside bare messages and what was published for Mach.

mod cases;
pub mod cli;
mod parts;
pub mod peer;
mod report;
mod results;
mod seed;
mod stubs;
mod targets;

use crate::cores::Cores;
use crate::process::{Interrupt, find_program};
use crate::trips::Placement;
use crate::trips::instructions;
use crate::trips::pair::Bench;
use crate::trips::results::Unit;
use crate::trips::run::{count_all, time_all};
use anyhow::Context;
use cases::{Case, Method, Test};
use cli::Args;
use results::{Results, Row};
use std::path::Path;

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
    for test in Test::ALL {
        let case = Case { test, method: Method::Stubs, placement: Placement::OneCore };
        if let Some(ns) = results.work_ns(test) {
            results.rows.push(Row::part(case, "stub-work", Unit::Nanoseconds, ns));
        }
    }
    if let Some(valgrind) = valgrind {
        let counted: Vec<Case> = cases.into_iter().filter(Case::counts).collect();
        count_all(&bench, &counted, &mut results, |case| count(&bench, &valgrind, case))?;
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

fn count(bench: &Bench<'_>, valgrind: &Path, case: Case) -> anyhow::Result<Vec<Row>> {
    match case.method {
        Method::StubsSleep => parts::count(bench, valgrind, case),
        _ => Ok(vec![Row::counted(case, Unit::Instructions, instructions::count(bench, valgrind, case)?)]),
    }
}
