//! The results for people.

use super::stages;
use crate::colocate::cases::{Method, Test};
use crate::colocate::results::Results;
use crate::colocate::seed::{self, SOURCE};
use crate::report::format::{microseconds, ratio};
use crate::report::table::{aligned, new_table, target_table};
use crate::targets::Judgement;
use crate::trips::cases::{Method as _, Test as _};
use crate::trips::report::{failures, header};
use crate::trips::results::Unit;
use clap::ValueEnum;

/// The whole report.
pub fn render(results: &Results, judgements: &[Judgement]) -> String {
    let mut out = header("calls to a server in another process, and to one that shares the caller's", results);
    out.push_str(&times(results));
    out.push_str(&stages::render(results));
    out.push_str(&instructions(results));
    out.push_str(&format!("\nPublished: {SOURCE}\n"));
    out.push_str(&format!("\nTargets\n{}\n", target_table(judgements)));
    out.push_str(&failures(results));
    out
}

fn optional(value: Option<f64>, text: fn(f64) -> String) -> String {
    value.map_or(String::new(), text)
}

/// The third table and the fifth, ours beside them.
fn times(results: &Results) -> String {
    const METHODS: [Method; 10] = [
        Method::Message,
        Method::MessageTrapStubs,
        Method::MessageSleep,
        Method::OneProcess,
        Method::Trap,
        Method::TrapConcurrent,
        Method::TrapRust,
        Method::Plain,
        Method::Virtual,
        Method::Capnp,
    ];
    let tests = results.tests(Unit::Microseconds);
    let methods: Vec<Method> =
        METHODS.into_iter().filter(|&method| tests.iter().any(|&test| results.call_us(test, method).is_some())).collect();
    let mut heading = vec!["call".to_owned(), "Mach | in kernel | trap\n1993, us".to_owned(), "message\nto trap".to_owned()];
    for method in &methods {
        heading.push(format!("{}\nus", method.heading()));
        if matches!(method, Method::Message | Method::OneProcess) {
            heading.push("to trap".to_owned());
        }
    }
    let mut table = new_table(heading);
    for test in tests {
        let published = seed::published(test);
        let columns = |us: [Option<f64>; 3]| us.map(|us| us.map_or("-".to_owned(), |us| format!("{us:.1}"))).join(" | ");
        let mut cells = vec![test.title(), published.map_or(String::new(), |it| columns(it.us))];
        cells.push(optional(published.and_then(|it| it.ratio()), ratio));
        for &method in &methods {
            cells.push(optional(results.call_us(test, method), microseconds));
            if matches!(method, Method::Message | Method::OneProcess) {
                cells.push(optional(results.to_trap(test, method), ratio));
            }
        }
        table.add_row(aligned(cells));
    }
    format!("\nmessages between different cores, all else in one thread\n{table}\n")
}

/// Of whole calls.
fn instructions(results: &Results) -> String {
    let whole = |method: Method| {
        let figures: Vec<String> = Test::ALL
            .iter()
            .filter_map(|&test| Some(format!("{} {:.0}", test.title(), results.instructions(test, method, None)?)))
            .collect();
        (!figures.is_empty()).then(|| format!("{}: {}\n", method.name(), figures.join(", ")))
    };
    let counted = Method::value_variants().iter().copied().filter_map(whole).collect::<String>();
    match counted.is_empty() {
        true => counted,
        false => {
            format!("\ninstructions of a call, plain and virtual ones and those of Rust with the loop around them\n{counted}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::results;
    use super::*;
    use crate::colocate::targets::judge;
    use crate::trips::report::tests::has_all;

    #[test]
    fn everything_is_in_the_report() {
        let results = results();
        let text = render(&results, &judge(&results));
        let parts = [
            "A & B <CPU>",
            "null RPC",
            "34.5 | 33.1 | 9.8",
            "18.8 | - | 16.7",
            "x3.52",
            "x50.0",
            "x4.00",
            "a call by trap, by stages",
            "port, table, routine looked up",
            "2-6, 10, 11",
            "1174",
            "113",
            "13.7",
            "in noise",
            "MISSED",
            "FAILED: null, capnp/one-core: no socket",
        ];
        has_all(&text, &parts);
    }
}
