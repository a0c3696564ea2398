//! The results for people.

use crate::report::format::{microseconds, ratio};
use crate::report::table::{aligned, new_table, target_table};
use crate::rpc::cases::{Method, Test};
use crate::rpc::parts;
use crate::rpc::results::Results;
use crate::rpc::seed::{self, Published};
use crate::targets::Judgement;
use crate::trips::Placement;
use crate::trips::cases::{Method as _, Test as _};
use crate::trips::report::{failures, header};
use crate::trips::results::Unit;

/// The whole report.
pub fn render(results: &Results, judgements: &[Judgement]) -> String {
    let mut out = header("calls by mig's stubs, there and back, beside bare messages with as much data", results);
    for placement in Placement::ALL {
        out.push_str(&section(results, placement));
    }
    out.push_str(&work(results));
    out.push_str(&instructions(results));
    for source in seed::SOURCES {
        out.push_str(&format!("\nPublished: {source}\n"));
    }
    out.push_str(&format!("\nTargets\n{}\n", target_table(judgements)));
    out.push_str(&failures(results));
    out
}

/// What was published, in a cell each: milliseconds of the first source, cycles of the second.
fn published(test: Test) -> [String; 2] {
    match seed::published(test) {
        None => [String::new(), String::new()],
        Some(Published::Milliseconds { mach_ms, l3_emulation_ms }) => {
            [format!("{mach_ms} | {l3_emulation_ms} ms"), String::new()]
        }
        Some(Published::Cycles { message_cycles, kernel_message_cycles, kernel_trap_cycles }) => {
            [String::new(), format!("{message_cycles} | {kernel_message_cycles} | {kernel_trap_cycles}")]
        }
    }
}

fn section(results: &Results, placement: Placement) -> String {
    const METHODS: [Method; 7] = [
        Method::Stubs,
        Method::Bare,
        Method::Once,
        Method::StubsSleep,
        Method::BareSleep,
        Method::StubsOneProcess,
        Method::BareOneProcess,
    ];
    let us = |test, method| results.us(test, method, placement);
    let tests: Vec<Test> =
        results.tests(Unit::Microseconds).into_iter().filter(|&test| METHODS.iter().any(|&m| us(test, m).is_some())).collect();
    let methods: Vec<Method> =
        METHODS.into_iter().filter(|&method| tests.iter().any(|&test| us(test, method).is_some())).collect();
    if tests.is_empty() {
        return String::new();
    }
    let mut heading =
        vec!["call".to_owned(), "Mach | L3 emul.\n1996".to_owned(), "Mach | in kernel | trap\n1993, cycles".to_owned()];
    for method in &methods {
        heading.push(format!("{}\nus", method.heading()));
        if method.bare().is_some() {
            heading.push("to bare".to_owned());
        }
    }
    let mut table = new_table(heading);
    for test in tests {
        let mut cells = vec![test.title()];
        cells.extend(published(test));
        for &method in &methods {
            cells.push(us(test, method).map_or(String::new(), microseconds));
            if method.bare().is_some() {
                cells.push(results.to_bare(test, method, placement).map_or(String::new(), ratio));
            }
        }
        table.add_row(aligned(cells));
    }
    format!("\n{}: {}\n{table}\n", placement.name(), placement.title())
}

/// The stubs' work without a message.
fn work(results: &Results) -> String {
    let figures: Vec<String> =
        Test::ALL.iter().copied().filter_map(|test| Some(format!("{} {:.1} ns", test.name(), results.work_ns(test)?))).collect();
    match figures.is_empty() {
        true => String::new(),
        false => format!("\nwork of both stubs, without a message: {}\n", figures.join(", ")),
    }
}

fn instructions(results: &Results) -> String {
    let tests: Vec<Test> = Test::ALL.iter().copied().filter(|&test| results.instructions(test, None).is_some()).collect();
    if tests.is_empty() {
        return String::new();
    }
    let columns = [Some(parts::CLIENT), Some(parts::SERVER), Some(parts::MESSAGE), None];
    let heading =
        ["instructions", "client's stub", "server's stub", "client's mach_msg", "both processes", "the stubs by function"];
    let mut table = new_table(heading.map(str::to_owned).to_vec());
    for test in tests {
        let mut cells = vec![test.title()];
        cells.extend(columns.map(|part| results.instructions(test, part).map_or(String::new(), |count| format!("{count:.0}"))));
        cells.push(by_function(results, test));
        table.add_row(aligned(cells));
    }
    format!("\ninstructions of a call, on one core, no spinning, the kernel's left out\n{table}\n")
}

fn by_function(results: &Results, test: Test) -> String {
    let of_test = results.rows.iter().filter(|row| row.case.test == test && row.unit == Unit::Instructions && row.value >= 0.5);
    let named = of_test.filter_map(|row| Some((row.part.as_deref()?.split_once('/')?.1, row.value)));
    named.map(|(function, count)| format!("{function} {count:.0}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::sample::results;
    use super::*;
    use crate::rpc::targets::judge;
    use crate::trips::report::tests::has_all;

    #[test]
    fn everything_is_in_the_report() {
        let results = results();
        let text = render(&results, &judge(&results));
        let parts = [
            "A & B <CPU>",
            "different: two processes on different cores",
            "null RPC (an integer)",
            "0.27 | 0.485 ms",
            "5843 | 5890 | 1791",
            "x1.25",
            "x1.50",
            "four-ints 8.0 ns",
            "call_four 70, mig_get_reply_port 20, _Xfour 65",
            "2300",
            "MISSED",
            "FAILED: null, once/one-core: no right",
        ];
        has_all(&text, &parts);
    }

    #[test]
    fn what_was_not_measured_has_no_column() {
        let mut results = results();
        results.rows.retain(|row| row.case.placement == Placement::OneCore && row.case.test == Test::Null);
        let text = render(&results, &[]);
        assert!(text.contains("one proc.") && !text.contains("no spin") && !text.contains("different:"), "{text}");
    }
}
