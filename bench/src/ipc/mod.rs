//! `slipway-bench ipc`: messages and rights, there and back, beside what was published for Mach.

mod cases;
pub mod cli;
mod exchange;
mod instructions;
mod link;
mod methods;
mod pair;
pub mod peer;
mod report;
mod results;
mod seed;
mod targets;

use crate::cores::Cores;
use crate::machine::Machine;
use crate::process::{Interrupt, find_program};
use crate::report::format::microseconds;
use crate::report::progress::Progress;
use anyhow::Context;
use cases::{Case, Test};
use cli::Args;
use exchange::Timing;
use pair::Bench;
use results::{Missing, Results, Row, Settings, Unit};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// What a measurement takes beside its two timed runs, seconds: two processes, and finding the length.
const START_SECONDS: f64 = 0.06;

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
    let mut results = Results {
        machine: Machine::this(),
        date: OffsetDateTime::now_utc().replace_nanosecond(0)?.format(&Rfc3339)?,
        settings: Settings { cores: line(&cores), seconds: args.seconds(), repeat: args.repeat() },
        rows: Vec::new(),
        failed: Vec::new(),
    };
    time_all(&bench, &cases, &mut results)?;
    for &case in cases.iter().filter(|case| case.test == Test::MakePort) {
        match bench.weigh(case, WEIGHED) {
            Ok(bytes) => results.rows.push(Row::counted(case, Unit::Bytes, bytes)),
            Err(error) => fail(&bench, case, &error, &mut results)?,
        }
    }
    if let Some(valgrind) = valgrind {
        for case in cases.into_iter().filter(|case| case.counts()) {
            eprintln!("instructions: {}", case.name());
            match instructions::count(&bench, &valgrind, case) {
                Ok(count) => results.rows.push(Row::counted(case, Unit::Instructions, count)),
                Err(error) => fail(&bench, case, &error, &mut results)?,
            }
        }
    }

    let judgements = targets::judge(&results);
    print!("{}", report::table::render(&results, &judgements));
    if let Some(file) = &args.json {
        report::json::write(file, &results, &judgements)?;
    }
    if let Some(file) = &args.svg {
        report::chart::write(file, &results)?;
    }
    match results.failed.len() {
        0 => Ok(()),
        count => anyhow::bail!("{count} measurements failed"),
    }
}

fn line(cores: &Cores) -> String {
    match cores.second {
        Some(second) => format!("server on CPU {}, client on CPU {second}; one core: both on CPU {}", cores.first, cores.first),
        None => format!("both on CPU {}, the only one allowed", cores.first),
    }
}

/// Each repetition goes through all cases, so that a disturbance hits each of them alike.
fn time_all(bench: &Bench<'_>, cases: &[Case], results: &mut Results) -> anyhow::Result<()> {
    let (seconds, repeat) = (results.settings.seconds, results.settings.repeat);
    let steps = cases.len() * repeat as usize;
    let mut progress = Progress::new(steps, steps as f64 * (2.5 * seconds + START_SECONDS));
    let mut timings: Vec<Vec<Timing>> = vec![Vec::new(); cases.len()];
    let mut broken = vec![false; cases.len()];
    for _ in 0..repeat {
        for (index, &case) in cases.iter().enumerate() {
            let name = case.name();
            progress.start(&name);
            let outcome = match broken[index] {
                true => "left out".to_owned(),
                false => match bench.time(case, seconds) {
                    Ok(timing) => {
                        timings[index].push(timing);
                        format!("{} us", microseconds(timing.mean_us))
                    }
                    Err(error) => {
                        broken[index] = true;
                        fail(bench, case, &error, results)?;
                        format!("FAILED: {error:#}")
                    }
                },
            };
            progress.finish(&name, || outcome);
        }
    }
    for (index, &case) in cases.iter().enumerate().filter(|(index, _)| !broken[*index]) {
        results.rows.extend(Row::timed(case, &timings[index]));
    }
    Ok(())
}

fn fail(bench: &Bench<'_>, case: Case, error: &anyhow::Error, results: &mut Results) -> anyhow::Result<()> {
    bench.interrupt.check()?;
    results.failed.push(Missing { test: case.test.name(), variant: case.variant(), reason: format!("{error:#}") });
    Ok(())
}
