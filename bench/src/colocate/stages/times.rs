//! The time that the stages of a call take.
//!
//! Of a message: from readings of the clock at every border between programs, stubs and library. What `mach_msg` takes is
//! divided by two more measurements of the same run: how long its sender's half takes when that is a call of its own, and
//! half of a cache line's way to the other core and back. Of a trap, which readings would disturb: from loops around ever
//! more of it, whose differences are the stages.

use super::probe::{self, Figure, Probe, What};
use crate::colocate::cases::{Case, Method, Test};
use crate::colocate::results::{Results, Row};
use crate::ipc;
use crate::stats::median;
use crate::trips::pair::Bench;
use crate::trips::results::Unit;
use crate::trips::run::in_turns;
use crate::trips::{Case as _, Placement};
use std::collections::HashMap;

/// The calls whose stages are timed.
const TESTS: [Test; 2] = [Test::Null, Test::InOut128];

/// All of a call with readings of the clock; the name of a row.
pub const ALL: &str = "all, with the readings taken off";
/// A cache line there and back.
pub const CACHE_LINE: &str = "a cache line, there and back";
/// A bare line of the fabric with as much data, there and back.
pub const BARE_LINE: &str = "a bare line, there and back";
/// What the table says of a stage that can't be told from none.
pub const IN_NOISE: &str = "in noise";

/// One thing to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Stages(Probe),
    Floor(ipc::Case),
}

const CACHE: Step = Step::Floor(ipc::Case::CACHE_LINE);
const CLOCK: Step = Step::Floor(ipc::Case::CLOCK);

fn line(test: Test) -> Step {
    Step::Floor(ipc::Case::bare_line(test.bytes().0 as u32))
}

fn steps(cases: &[Case]) -> Vec<Step> {
    let mut steps = Vec::new();
    for &Case { test, method, placement } in cases.iter().filter(|case| TESTS.contains(&case.test)) {
        let mut add = |what| steps.push(Step::Stages(Probe { what, test, method, placement }));
        match (method, placement) {
            (Method::Message | Method::OneProcess, Placement::Different) => {
                add(What::Borders);
                add(What::Halves);
                steps.extend([CACHE, CLOCK, line(test)]);
            }
            (Method::Trap, Placement::OneCore) => add(What::Loops),
            (Method::MessageTrapStubs, Placement::Different) if test == Test::Null => add(What::Stubs),
            _ => {}
        }
    }
    let mut once: Vec<Step> = Vec::new();
    for step in steps {
        if !once.contains(&step) {
            once.push(step);
        }
    }
    once
}

fn measure(bench: &Bench<'_>, step: Step, seconds: f64) -> anyhow::Result<Vec<Figure>> {
    match step {
        Step::Stages(probe) => bench.ask(probe, seconds),
        Step::Floor(case) => {
            let timing = bench.time(case, seconds)?;
            // As of the stages the middle one of many; but of the clock, by which they are timed, the mean.
            let us = if step == CLOCK { timing.mean_us } else { timing.p50_us };
            Ok(vec![Figure { part: name(&step), ns: us * 1e3 }])
        }
    }
}

fn name(step: &Step) -> String {
    match step {
        Step::Stages(probe) => probe.name(),
        Step::Floor(case) => case.name(),
    }
}

/// What the repetitions found: a value each.
type Series = HashMap<(Step, String), Vec<f64>>;

/// Times the stages of those of `cases` that have some.
///
/// # Errors
/// After an interrupt. What else goes wrong is in the results.
pub fn time(bench: &Bench<'_>, cases: &[Case], results: &mut Results) -> anyhow::Result<()> {
    let (seconds, repeat) = (results.settings.seconds, results.settings.repeat);
    let steps = steps(cases);
    if steps.is_empty() {
        return Ok(());
    }
    let (mut series, mut failed) = (Series::new(), Vec::new());
    let said =
        |figures: &Vec<Figure>| figures.last().map_or(String::new(), |figure| format!("{} {:.1} ns", figure.part, figure.ns));
    let found = in_turns(
        &steps,
        repeat,
        2.0 * seconds,
        name,
        |step| measure(bench, *step, seconds),
        said,
        |step, error| {
            failed.push((name(step), format!("{error:#}")));
            bench.interrupt.check()
        },
    )?;
    for (step, repetitions) in steps.iter().zip(found) {
        for figure in repetitions.into_iter().flatten() {
            series.entry((*step, figure.part)).or_default().push(figure.ns);
        }
    }
    for (variant, reason) in failed {
        results.fail_part("stages", &variant, reason);
    }
    for case in cases {
        // What failed has no series, which is told above.
        results.rows.extend(rows(*case, &series).unwrap_or_default());
    }
    Ok(())
}

/// A value for each repetition: of several series.
fn combine<const N: usize>(series: [&Vec<f64>; N], value: impl Fn([f64; N]) -> f64) -> Vec<f64> {
    let length = series.iter().map(|values| values.len()).min().unwrap_or_default();
    (0..length).map(|at| value(series.map(|values| values[at]))).collect()
}

fn rows(case: Case, series: &Series) -> Option<Vec<Row>> {
    let Case { test, method, placement } = case;
    let of = |what, part: &str| series.get(&(Step::Stages(Probe { what, test, method, placement }), part.to_owned()));
    let floor = |step: Step| {
        let values = |step| series.get(&(step, name(&step)));
        // The time between two readings of the clock has one in it.
        Some(combine([values(step)?, values(CLOCK)?], |[floor, clock]| floor - clock))
    };
    let named: Vec<(&str, Vec<f64>)> = match (method, placement) {
        (Method::Message | Method::OneProcess, Placement::Different) => {
            let border = |part| of(What::Borders, part).cloned();
            let cache = floor(CACHE)?;
            let cross = combine([&cache], |[cache]| cache / 2.0);
            // What disturbed one run has not disturbed the other: the middle one is taken off.
            let one_way = median(&cross)?;
            let received = |way, sent| Some(combine([of(What::Borders, way)?, sent], |[way, sent]| way - sent - one_way));
            let (asked, answered) = (of(What::Halves, probe::REQUEST_SENT)?, of(What::Halves, probe::REPLY_SENT)?);
            vec![
                ("client's stub, request", border(probe::CLIENT_BEFORE)?),
                ("request sent", asked.clone()),
                ("to the server's core", cross.clone()),
                ("request received", received(probe::REQUEST, asked)?),
                ("server's stub, before", border(probe::SERVER_BEFORE)?),
                ("routine", border(probe::ROUTINE)?),
                ("server's stub, after", border(probe::SERVER_AFTER)?),
                ("reply sent", answered.clone()),
                ("to the client's core", cross.clone()),
                ("reply received", received(probe::REPLY, answered)?),
                ("client's stub, reply", border(probe::CLIENT_AFTER)?),
                (ALL, border(probe::WHOLE)?),
                (probe::STAMP, border(probe::STAMP)?),
                (CACHE_LINE, cache),
                (BARE_LINE, floor(line(test))?),
            ]
        }
        (Method::Trap, Placement::OneCore) => {
            let step =
                |outer, inner| Some(combine([of(What::Loops, outer)?, of(What::Loops, inner)?], |[outer, inner]| outer - inner));
            vec![
                ("client's stub", step(probe::LOOP_STUB, probe::LOOP_TRAP)?),
                ("mach_trap", step(probe::LOOP_TRAP, probe::LOOP_FUNCTION)?),
                ("server's trap function", step(probe::LOOP_FUNCTION, probe::LOOP_ROUTINE)?),
                ("routine", step(probe::LOOP_ROUTINE, probe::LOOP)?),
                (ALL, step(probe::LOOP_STUB, probe::LOOP)?),
                (probe::LOOP_TURN, step(probe::LOOP_TURN, probe::LOOP)?),
            ]
        }
        (Method::MessageTrapStubs, Placement::Different) => {
            probe::BY_STUB.iter().map(|part| Some((*part, of(What::Stubs, part)?.clone()))).collect::<Option<_>>()?
        }
        _ => return None,
    };
    named.into_iter().map(|(name, values)| Row::spread(case, name, Unit::Nanoseconds, &values)).collect()
}

/// The least time of a stage that can be told from none, nanoseconds. Readings of the clock run a little ahead of the
/// instructions around them, or behind; differences of loops are off only as far as the loops vary.
pub fn least_ns(way: Method) -> f64 {
    if way == Method::Trap { 0.1 } else { 2.0 }
}

/// Whether a stage's time can be told from none.
pub fn is_told(row: &Row) -> bool {
    row.range[0] > 0.0 && row.value >= least_ns(row.case.method)
}
