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

use crate::trips::instructions;
use crate::trips::results::Unit;
use crate::trips::run::{measure, tell};
pub use cases::Case;
#[cfg(test)]
pub use cases::Method;
use cases::Test;
use cli::Args;
use results::Row;

/// Ports whose memory is measured.
const WEIGHED: u64 = 100_000;

/// Measures what `args` ask for and reports it.
///
/// # Errors
/// See the exit codes of the program; cases that failed are an error too, after the report.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let results = measure(
        &args.trips,
        |bench, cases, results| {
            for &case in cases.iter().filter(|case| case.test == Test::MakePort) {
                match bench.weigh(case, WEIGHED) {
                    Ok(bytes) => results.rows.push(Row::counted(case, Unit::Bytes, bytes)),
                    Err(error) => results.fail(bench, case, &error)?,
                }
            }
            Ok(())
        },
        |bench, valgrind, case| Ok(vec![Row::counted(case, Unit::Instructions, instructions::count(bench, valgrind, case)?)]),
    )?;
    let judgements = targets::judge(&results);
    let text = report::table::render(&results, &judgements);
    tell(&args.trips, &results, &text, &report::json::document(&results, &judgements), || report::chart::draw(&results))
}
