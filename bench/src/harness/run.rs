//! A run, from the options to what is told of it.

use super::chart::Chart;
use super::format::microseconds;
use super::machine::Cores;
use super::options::{Options, plan};
use super::pair::Lab;
use super::process::{Interrupt, find_program};
use super::progress::Progress;
use super::results::{Results, Row, Unit};
use super::{Bench, Case, figures, table};
use anyhow::Context;

/// What a measurement takes beside its timed runs, seconds: two processes, and finding the length.
const START_SECONDS: f64 = 0.06;
/// What two runs of two processes under valgrind take.
const COUNT_SECONDS: f64 = 1.5;

/// Measures what `options` ask for and reports it. See the exit codes of the program; cases that failed are an error
/// too, after the report.
pub fn run(bench: &'static Bench, options: &Options) -> anyhow::Result<()> {
    let valgrind = options.instructions.then(|| find_program("valgrind", "valgrind")).transpose()?;
    let cores = Cores::choose()?;
    let cases = plan(bench, options, &cores)?;
    // Before anything is started, so that nothing is left behind.
    let interrupt = Interrupt::install()?;
    let lab = Lab { program: std::env::current_exe().context("own path")?, cores, interrupt: &interrupt };
    let (seconds, repeat) = (options.seconds(), options.repeat());
    let mut results = Results::new(bench, &cores, seconds, repeat)?;

    let said = |us: f64| format!("{} us", microseconds(us));
    let timings = in_turns(
        (&cases, repeat, 2.5 * seconds),
        |case| lab.time(case, seconds).map(|timing| (said(timing.mean_us), timing)),
        |case, error| results.fail(&lab, case, error),
    )?;
    results.rows = cases.iter().zip(&timings).filter_map(|(case, timings)| Row::timed(*case, timings)).collect();
    if let Some(valgrind) = valgrind {
        let counted: Vec<Case> = cases.iter().filter(|case| case.counts() > 0).copied().collect();
        let counts = in_turns(
            (&counted, 1, COUNT_SECONDS),
            |case| lab.instructions(case, &valgrind).map(|count| (format!("{count:.0} instructions"), count)),
            |case, error| results.fail(&lab, case, error),
        )?;
        for (case, count) in counted.iter().zip(counts) {
            results.rows.extend(count.first().map(|count| Row::counted(case.test, case.variant(), Unit::Instructions, *count)));
        }
    }
    for case in cases.iter().filter(|case| case.test.weighed) {
        match lab.special(*case) {
            Ok(bytes) => results.rows.push(Row::counted(case.test, case.variant(), Unit::Bytes, bytes)),
            Err(error) => results.fail(&lab, *case, &error)?,
        }
    }
    results.derive()?;
    results.targets = figures::judge(&results)?;

    print!("{}", table::report(&results));
    options.files.write(&results, &Chart::of(&results))?;
    match results.failed.len() {
        0 => Ok(()),
        count => anyhow::bail!("{count} measurements failed"),
    }
}

/// Measures every case so often, one after the other in each repetition, so that a disturbance hits each of them alike,
/// and shows how far it is. What was found of each; nothing of one that failed, which is not tried again.
fn in_turns<T>(
    (cases, repeat, seconds): (&[Case], u32, f64),
    measure: impl Fn(Case) -> anyhow::Result<(String, T)>,
    mut failed: impl FnMut(Case, &anyhow::Error) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Vec<T>>> {
    let steps = cases.len() * repeat as usize;
    let progress = Progress::new(steps, steps as f64 * (seconds + START_SECONDS));
    let mut found: Vec<Option<Vec<T>>> = cases.iter().map(|_| Some(Vec::new())).collect();
    for _ in 0..repeat {
        for (&case, found) in cases.iter().zip(&mut found) {
            let name = case.name();
            progress.start(&name);
            let outcome = match found {
                None => "left out".to_owned(),
                Some(values) => match measure(case) {
                    Ok((said, value)) => {
                        values.push(value);
                        said
                    }
                    Err(error) => {
                        *found = None;
                        failed(case, &error)?;
                        format!("FAILED: {error:#}")
                    }
                },
            };
            progress.finish(&name, &outcome);
        }
    }
    Ok(found.into_iter().map(Option::unwrap_or_default).collect())
}
