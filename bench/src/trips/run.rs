//! The timed part of a run.

use super::Case;
use super::exchange::Timing;
use super::pair::Bench;
use super::results::{Results, Row};
use crate::report::format::microseconds;
use crate::report::progress::Progress;

/// What a measurement takes beside its two timed runs, seconds: two processes, and finding the length.
const START_SECONDS: f64 = 0.06;

/// Times every case. Each repetition goes through all cases, so that a disturbance hits each of them alike.
///
/// # Errors
/// After an interrupt. What else goes wrong is in the results.
pub fn time_all<C: Case>(bench: &Bench<'_>, cases: &[C], results: &mut Results<C>) -> anyhow::Result<()> {
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
                        results.fail(bench, case, &error)?;
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
