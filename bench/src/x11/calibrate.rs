//! How many repetitions take the time that a run should last.

use super::x11perf::{Amount, Sample};

/// A run this long says how fast a test is, well enough to size the next one.
const TELLING_SECONDS: f64 = 0.02;

/// Most repetitions that a run is grown by at a time: a short run is mostly the closing round trip,
/// from which nothing follows.
const GROWTH: f64 = 200.0;

/// Most passes in a run.
const PASSES: f64 = 500.0;

/// What calibration found.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// What makes a run of the wanted length.
    pub amount: Amount,
    /// The run with a single repetition: what a client's start and end cost.
    pub start: Sample,
}

/// Finds what takes `seconds`, by longer and longer runs made with `run`. `hint` is a first guess
/// of the repetitions, from a slower or equally fast side.
///
/// Tests that create or map windows do no more repetitions than fill the screen, however many are
/// asked for: a millisecond. Those are done in as many passes as make up the time.
///
/// # Errors
/// The first error of `run`.
pub fn calibrate(
    seconds: f64,
    hint: Option<u32>,
    mut run: impl FnMut(u32) -> anyhow::Result<Sample>,
) -> anyhow::Result<Calibration> {
    let start = run(1)?;
    let telling = TELLING_SECONDS.min(seconds);
    let mut reps = 1;
    let mut last = start.clone();
    if let Some(hint) = hint.filter(|&hint| hint > 20 && last.seconds < telling) {
        reps = hint / 20;
        last = run(reps)?;
    }
    let all_done = |reps: u32, run: &Sample| run.operations >= start.operations * u64::from(reps);
    while last.seconds < telling && all_done(reps, &last) {
        let wanted = telling * 1.5 / last.seconds;
        reps = scaled(reps, wanted.clamp(2.0, GROWTH));
        last = run(reps)?;
    }
    let amount = match all_done(reps, &last) {
        true => Amount { reps: scaled(reps, seconds / last.seconds), passes: 1 },
        false => Amount { reps, passes: (seconds / last.seconds).clamp(1.0, PASSES) as u32 },
    };
    Ok(Calibration { amount, start })
}

fn scaled(reps: u32, factor: f64) -> u32 {
    // x11perf reads a C int.
    (f64::from(reps) * factor).clamp(1.0, f64::from(i32::MAX)) as u32
}

/// CPU microseconds that an operation costs server and client together.
///
/// The run with one repetition is subtracted, so that the client's start, connection and end don't
/// count; where both are of one repetition there is nothing to subtract, and all counts.
pub fn cpu_us(start: &Sample, run: &Sample) -> Option<f64> {
    let (first, all) = (start.cpu_ns?, run.cpu_ns?);
    let (few, many) = (start.all_operations(), run.all_operations());
    let (ns, operations) = match many > few && all > first {
        true => (all - first, many - few),
        false => (all, many),
    };
    Some(ns as f64 / 1000.0 / operations as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(operations: u64, seconds: f64, cpu_ns: u64) -> Sample {
        Sample { operations, seconds, passes: 1, cpu_ns: Some(cpu_ns) }
    }

    /// A test of `objects` operations a repetition, `each` seconds a repetition, and a constant.
    fn run(objects: u64, each: f64) -> impl FnMut(u32) -> anyhow::Result<Sample> {
        move |reps| {
            let seconds = 60e-6 + each * f64::from(reps);
            Ok(sample(u64::from(reps) * objects, seconds, 0))
        }
    }

    #[test]
    fn runs_get_the_wanted_length() {
        for each in [1e-7, 1e-5, 1e-3, 0.05] {
            for hint in [None, Some(100), Some(1_000_000)] {
                let found = calibrate(0.5, hint, run(1000, each)).unwrap();
                assert_eq!(found.amount.passes, 1);
                let length = each * f64::from(found.amount.reps);
                assert!((0.4..0.6).contains(&length), "{each} {hint:?}: {length}");
                assert_eq!(found.start.operations, 1000);
            }
        }
    }

    #[test]
    fn a_slow_test_is_run_once() {
        let found = calibrate(0.5, Some(700), run(1, 2.0)).unwrap();
        assert_eq!(found.amount, Amount::ONE);
    }

    #[test]
    fn a_test_that_fills_the_screen_is_done_in_passes() {
        for hint in [None, Some(10_000)] {
            let found = calibrate(0.4, hint, |reps| {
                let operations = u64::from(reps * 4).min(2400);
                Ok(sample(operations, operations as f64 * 1e-6, 0))
            });
            let amount = found.unwrap().amount;
            assert!(amount.reps >= 600, "{amount:?}");
            assert!((150..=170).contains(&amount.passes), "{amount:?}");
        }
    }

    #[test]
    fn the_closing_round_trip_is_not_part_of_the_rate() {
        let run = sample(1000, 0.011, 0);
        assert!((run.rate(0.001) - 100_000.0).abs() < 1e-6);
        // Never more than half of a run.
        assert!((run.rate(0.011) - 2.0 * run.rate(0.0)).abs() < 1e-6);
    }

    #[test]
    fn the_start_of_a_client_costs_no_operation() {
        let start = sample(1, 1e-4, 5_000_000);
        let cost = cpu_us(&start, &sample(1001, 0.1, 25_000_000)).unwrap();
        assert!((cost - 20.0).abs() < 1e-9, "{cost}");
        let cost = cpu_us(&start, &start).unwrap();
        assert!((cost - 5000.0).abs() < 1e-9, "{cost}");
    }
}
