//! A run, from the options to what is told of it.

use super::Case;
use super::cases::{self, Method, plan};
use super::cli::Options;
use super::exchange::Timing;
use super::pair::Bench;
use super::report::Document;
use super::results::{Results, Row};
use crate::cores::Cores;
use crate::process::{Interrupt, find_program};
use crate::report::drawing::save;
use crate::report::format::microseconds;
use crate::report::progress::Progress;
use anyhow::Context;
use serde::Serialize;
use std::path::Path;

/// What a measurement takes beside its timed runs, seconds: two processes, and finding the length.
const START_SECONDS: f64 = 0.06;

/// The cases of a bench that has these ways.
type CaseOf<M> = cases::Case<<M as Method>::Test, M>;

/// Measures what `options` ask for: times every case, does `more`, and counts instructions by `count`, which is given
/// valgrind's path, where that can be done and is asked for.
///
/// # Errors
/// For options that ask for nothing, without valgrind, and after an interrupt. What else goes wrong is in the results.
pub fn measure<M: Method>(
    options: &Options<M>,
    more: impl FnOnce(&Bench<'_>, &[CaseOf<M>], &mut Results<CaseOf<M>>) -> anyhow::Result<()>,
    mut count: impl FnMut(&Bench<'_>, &Path, CaseOf<M>) -> anyhow::Result<Vec<Row<CaseOf<M>>>>,
) -> anyhow::Result<Results<CaseOf<M>>> {
    let valgrind = options.instructions.then(|| find_program("valgrind", "valgrind")).transpose()?;
    let cores = Cores::choose()?;
    let cases = plan(options, &cores)?;
    // Before anything is started, so that nothing is left behind.
    let interrupt = Interrupt::install()?;
    let bench = Bench { program: std::env::current_exe().context("own path")?, cores, interrupt: &interrupt };
    let mut results = Results::new(&cores, options.seconds(), options.repeat())?;
    time_all(&bench, &cases, &mut results)?;
    more(&bench, &cases, &mut results)?;
    if let Some(valgrind) = valgrind {
        let counted: Vec<CaseOf<M>> = cases.into_iter().filter(cases::Case::counts).collect();
        count_all(&bench, &counted, &mut results, |case| count(&bench, &valgrind, case))?;
    }
    Ok(results)
}

/// Prints `text`, and writes the files that `options` ask for.
///
/// # Errors
/// When a file can't be written, and after that when some of the measurements failed.
pub fn tell<M: Method, P: Serialize>(
    options: &Options<M>,
    results: &Results<CaseOf<M>>,
    text: &str,
    document: &Document<'_, CaseOf<M>, P>,
    chart: impl FnOnce() -> svg::Document,
) -> anyhow::Result<()> {
    print!("{text}");
    if let Some(file) = &options.json {
        document.write(file)?;
    }
    if let Some(file) = &options.svg {
        save(file, &chart())?;
    }
    results.outcome()
}

/// What two runs of two processes under valgrind take.
const COUNT_SECONDS: f64 = 1.5;

/// Times every case. Each repetition goes through all cases, so that a disturbance hits each of them alike.
///
/// # Errors
/// After an interrupt. What else goes wrong is in the results.
fn time_all<C: Case>(bench: &Bench<'_>, cases: &[C], results: &mut Results<C>) -> anyhow::Result<()> {
    let (seconds, repeat) = (results.settings.seconds, results.settings.repeat);
    let said = |timing: &Timing| format!("{} us", microseconds(timing.mean_us));
    let measure = |case: &C| bench.time(*case, seconds);
    let timings =
        in_turns(cases, repeat, 2.5 * seconds, Case::name, measure, said, |case, error| results.fail(bench, *case, error))?;
    for (&case, timings) in cases.iter().zip(&timings) {
        results.rows.extend(Row::timed(case, timings));
    }
    Ok(())
}

/// Counts the instructions of every case, by `count`.
///
/// # Errors
/// As [`time_all`].
fn count_all<C: Case>(
    bench: &Bench<'_>,
    cases: &[C],
    results: &mut Results<C>,
    mut count: impl FnMut(C) -> anyhow::Result<Vec<Row<C>>>,
) -> anyhow::Result<()> {
    let all = |rows: &Vec<Row<C>>| rows.iter().find(|row| row.part.is_none()).map_or(0.0, |row| row.value);
    let said = |rows: &Vec<Row<C>>| format!("{:.0} instructions", all(rows));
    let found = in_turns(
        cases,
        1,
        COUNT_SECONDS,
        Case::name,
        |case| count(*case),
        said,
        |case, error| results.fail(bench, *case, error),
    )?;
    results.rows.extend(found.into_iter().flatten().flatten());
    Ok(())
}

/// Measures everything so often, one after the other in each repetition, and shows how far it is. What was found of each;
/// nothing of one that failed, which is not tried again. `seconds` is how long one takes.
///
/// # Errors
/// What `failed` says.
pub fn in_turns<I, T>(
    items: &[I],
    repeat: u32,
    seconds: f64,
    name: impl Fn(&I) -> String,
    mut measure: impl FnMut(&I) -> anyhow::Result<T>,
    said: impl Fn(&T) -> String,
    mut failed: impl FnMut(&I, &anyhow::Error) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Vec<T>>> {
    let steps = items.len() * repeat as usize;
    let mut progress = Progress::new(steps, steps as f64 * (seconds + START_SECONDS));
    let mut found: Vec<Option<Vec<T>>> = items.iter().map(|_| Some(Vec::new())).collect();
    for _ in 0..repeat {
        for (item, found) in items.iter().zip(&mut found) {
            let name = name(item);
            progress.start(&name);
            let outcome = match found {
                None => "left out".to_owned(),
                Some(values) => match measure(item) {
                    Ok(value) => {
                        let said = said(&value);
                        values.push(value);
                        said
                    }
                    Err(error) => {
                        *found = None;
                        failed(item, &error)?;
                        format!("FAILED: {error:#}")
                    }
                },
            };
            progress.finish(&name, || outcome);
        }
    }
    Ok(found.into_iter().map(Option::unwrap_or_default).collect())
}
