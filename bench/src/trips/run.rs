//! The timed part of a run.

use super::Case;
use super::exchange::Timing;
use super::pair::Bench;
use super::results::{Results, Row};
use crate::report::format::microseconds;
use crate::report::progress::Progress;

/// What a measurement takes beside its timed runs, seconds: two processes, and finding the length.
const START_SECONDS: f64 = 0.06;

/// What two runs of two processes under valgrind take.
const COUNT_SECONDS: f64 = 1.5;

/// Times every case. Each repetition goes through all cases, so that a disturbance hits each of them alike.
///
/// # Errors
/// After an interrupt. What else goes wrong is in the results.
pub fn time_all<C: Case>(bench: &Bench<'_>, cases: &[C], results: &mut Results<C>) -> anyhow::Result<()> {
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
pub fn count_all<C: Case>(
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
