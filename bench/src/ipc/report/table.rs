//! The results for people.

use crate::ipc::cases::{Method, Test};
use crate::ipc::results::Results;
use crate::ipc::seed;
use crate::report::format::microseconds;
use crate::report::table::{aligned, new_table, target_table};
use crate::targets::Judgement;
use crate::trips::Placement;
use crate::trips::cases::{Method as _, Test as _};
use crate::trips::report::{failures, header};
use crate::trips::results::Unit;
use clap::ValueEnum;

/// The whole report.
pub fn render(results: &Results, judgements: &[Judgement]) -> String {
    let mut out = header("messages and rights, there and back", results);
    out.push_str(&floors(results));
    for placement in Placement::ALL {
        out.push_str(&section(results, placement));
    }
    out.push_str(&bytes(results));
    out.push_str(&instructions(results));
    out.push_str(&format!("\nMach, L3: round trips in milliseconds, {}\n", seed::SOURCE));
    out.push_str(&format!("\nTargets\n{}\n", target_table(judgements)));
    out.push_str(&failures(results));
    out
}

/// What the machine itself takes, in one line.
fn floors(results: &Results) -> String {
    let floor = |method, placement| results.us(Test::Floor, method, placement).map(microseconds);
    let figures = [
        ("cache line between the cores", floor(Method::CacheLine, Placement::Different)),
        ("futex between the cores", floor(Method::Futex, Placement::Different)),
        ("futex on one core", floor(Method::Futex, Placement::OneCore)),
        ("yielding on one core", floor(Method::Yield, Placement::OneCore)),
        ("16 KB copied once", floor(Method::Copy, Placement::OneCore)),
        ("the clock read once", floor(Method::Clock, Placement::OneCore)),
    ];
    let measured: Vec<String> = figures.into_iter().filter_map(|(what, us)| Some(format!("{what} {} us", us?))).collect();
    match measured.is_empty() {
        true => String::new(),
        false => format!("floor      {}\n", measured.join(", ")),
    }
}

fn section(results: &Results, placement: Placement) -> String {
    let here = |test: &Test| Method::value_variants().iter().any(|method| results.us(*test, *method, placement).is_some());
    let wanted = |test: &Test| *test != Test::Floor && here(test);
    let tests: Vec<Test> = results.tests(Unit::Microseconds).into_iter().filter(wanted).collect();
    let measured = |method: &&Method| tests.iter().any(|&test| results.us(test, **method, placement).is_some());
    let methods: Vec<Method> = Method::value_variants().iter().filter(measured).copied().collect();
    if methods.is_empty() {
        return String::new();
    }
    let mut heading = vec!["round trip".to_owned()];
    heading.extend(seed::COLUMNS.map(|column| format!("{}\nms", column.replacen(' ', "\n", 1))));
    heading.extend(methods.iter().map(|method| format!("{}\nus", method.heading())));
    let mut table = new_table(heading);
    for &test in &tests {
        let mut cells = vec![test.title()];
        let published = seed::published(test).map_or([None; 3], |line| line.columns());
        cells.extend(published.map(|ms| ms.map_or(String::new(), |ms| ms.to_string())));
        let us = |&method: &Method| results.us(test, method, placement).map_or(String::new(), microseconds);
        cells.extend(methods.iter().map(us));
        table.add_row(aligned(cells));
    }
    for &test in &tests {
        let each = |&method: &Method| results.right_us(test, method, placement);
        if methods.iter().all(|method| each(method).is_none()) {
            continue;
        }
        let mut cells = vec![format!("a right, of {}", test.title())];
        cells.extend(rights_ms(test).map(|ms| ms.map_or(String::new(), |ms| format!("{ms:.3}"))));
        cells.extend(methods.iter().map(|method| each(method).map_or(String::new(), a_right)));
        table.add_row(aligned(cells));
    }
    format!("\n{}: {}\n{table}\n", placement.name(), placement.title())
}

/// Between cores a sleeper's wake-up varies by more than one right costs.
fn a_right(us: f64) -> String {
    match us {
        ..=0.0 => "in noise".to_owned(),
        _ => microseconds(us),
    }
}

/// What a right cost in the published table, there and deallocated, milliseconds.
fn rights_ms(test: Test) -> [Option<f64>; 3] {
    let (Test::Ports(count), Some(line), Some(null)) = (test, seed::published(test), seed::published(Test::Longwords(0))) else {
        return [None; 3];
    };
    let pairs = line.columns().into_iter().zip(null.columns());
    let each: Vec<_> = pairs.map(|(line, null)| Some((line? - null?) / 2.0 / f64::from(count))).collect();
    [each[0], each[1], each[2]]
}

/// What a port takes, in one line.
fn bytes(results: &Results) -> String {
    let row = results.row(Test::MakePort, Method::Mach, Placement::OneCore, Unit::Bytes);
    row.map_or(String::new(), |row| format!("\na port that never leaves its task: {:.0} bytes of memory\n", row.value))
}

fn instructions(results: &Results) -> String {
    let tests = results.tests(Unit::Instructions);
    if tests.is_empty() {
        return String::new();
    }
    let count =
        |test: Test, method: Method| results.row(test, method, Placement::OneCore, Unit::Instructions).map(|row| row.value);
    let measured = |method: &&Method| tests.iter().any(|&test| count(test, **method).is_some());
    let methods: Vec<Method> = Method::value_variants().iter().filter(measured).copied().collect();
    let mut heading = vec!["instructions".to_owned()];
    heading.extend(methods.iter().map(|method| method.heading().to_owned()));
    let mut table = new_table(heading);
    for test in tests {
        let mut cells = vec![test.title()];
        cells.extend(methods.iter().map(|&method| count(test, method).map_or(String::new(), |count| format!("{count:.0}"))));
        table.add_row(aligned(cells));
    }
    format!("\ninstructions of both processes in a round trip, on one core, the kernel's left out\n{table}\n")
}

#[cfg(test)]
mod tests {
    use super::super::sample::results;
    use super::*;
    use crate::ipc::targets::judge;
    use crate::trips::report::tests::has_all;

    #[test]
    fn everything_is_in_the_report() {
        let results = results();
        let text = render(&results, &judge(&results));
        let parts = [
            "A & B <CPU>",
            "cache line between the cores 0.10 us, 16 KB copied once 0.30 us",
            "different: two processes on different cores",
            "one-core: two processes on one core",
            "null message",
            "0.401",
            "72.35",
            "a right, of 256 ports",
            "0.057",
            "a right, of 256 ports passed on",
            "never leaves its task: 185 bytes",
            "instructions of both processes",
            "740",
            "MISSED",
            "not measured",
            "FAILED: null, pipe/one-core: no pipes",
        ];
        has_all(&text, &parts);
    }

    #[test]
    fn a_test_has_a_line_where_it_was_measured() {
        let text = render(&results(), &[]);
        let (different, one_core) = text.split_once("one-core:").unwrap();
        assert!(!different.contains("make a port") && one_core.contains("make a port"), "{text}");
        assert!(different.contains("256 ports passed on") && !one_core.contains("256 ports passed on"), "{text}");
    }

    #[test]
    fn what_was_not_measured_has_no_column() {
        let mut results = results();
        results.rows.retain(|row| row.case.method == Method::Socket && row.case.placement == Placement::OneCore);
        let text = render(&results, &[]);
        assert!(text.contains("one-core:") && !text.contains("different:"), "{text}");
        assert!(!text.contains("floor ") && !text.contains("iceoryx2") && !text.contains("instructions of"), "{text}");
    }
}
