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

use crate::trips::cases::Test as _;
use crate::trips::results::Unit;
use crate::trips::run::{measure, tell};
use crate::trips::{Placement, instructions};
use cases::{Case, Method, Test};
use cli::Args;
use results::Row;

/// Measures what `args` ask for and reports it.
///
/// # Errors
/// See the exit codes of the program; cases that failed are an error too, after the report.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let results = measure(
        &args.trips,
        |_, _, results| {
            for &test in Test::ALL {
                let case = Case { test, method: Method::Stubs, placement: Placement::OneCore };
                if let Some(ns) = results.work_ns(test) {
                    results.rows.push(Row::part(case, "stub-work", Unit::Nanoseconds, ns));
                }
            }
            Ok(())
        },
        |bench, valgrind, case| match case.method {
            Method::StubsSleep => parts::count(bench, valgrind, case),
            _ => Ok(vec![Row::counted(case, Unit::Instructions, instructions::count(bench, valgrind, case)?)]),
        },
    )?;
    let judgements = targets::judge(&results);
    let text = report::table::render(&results, &judgements);
    tell(&args.trips, &results, &text, &report::json::document(&results, &judgements), || report::chart::draw(&results))
}
