//! `slipway-bench colocate`: calls to a server in another process and to one that shares the caller's.

mod capnp;
mod cases;
pub mod cli;
pub mod peer;
mod report;
mod results;
mod rust;
mod seed;
pub mod stages;
mod stubs;
mod targets;

use crate::trips::attribution::Symbols;
use crate::trips::run::{measure, tell};
use cli::Args;

/// Measures what `args` ask for and reports it.
///
/// # Errors
/// See the exit codes of the program; cases that failed are an error too, after the report.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut symbols = None;
    let results = measure(
        &args.trips,
        |bench, cases, results| {
            results.divide_own_calls();
            stages::time(bench, cases, results)
        },
        |bench, valgrind, case| {
            let symbols = match &mut symbols {
                Some(symbols) => symbols,
                none => none.insert(Symbols::of(&bench.program)?),
            };
            stages::count(bench, valgrind, symbols, case)
        },
    )?;
    let judgements = targets::judge(&results);
    let text = report::table::render(&results, &judgements);
    tell(&args.trips, &results, &text, &report::json::document(&results, &judgements), || report::chart::draw(&results))
}
