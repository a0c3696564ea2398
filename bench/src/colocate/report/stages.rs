//! The first table and the second: the stages of a call, ours beside them.

use crate::colocate::cases::{Method, Test};
use crate::colocate::results::{Results, Row};
use crate::colocate::stages::{self, ALL, BARE_LINE, CACHE_LINE, Group, IN_NOISE, STAMP, TURN, cycles, groups};
use crate::report::table::{aligned, new_table};
use crate::trips::cases::Test as _;

/// The calls whose stages are in the tables: the one of the published tables, and the shortest.
const TESTS: [Test; 2] = [Test::InOut128, Test::Null];

/// A column of figures.
struct Column {
    test: Test,
    /// The way whose instructions were counted; None for a column of nanoseconds.
    counted: Option<Method>,
    /// The way that was timed.
    timed: Method,
    heading: &'static str,
}

/// The tables of both ways.
pub fn render(results: &Results) -> String {
    let message = [
        (Some(Method::MessageSleep), Method::Message, "instr."),
        (None, Method::Message, "ns"),
        (None, Method::OneProcess, "ns, one\nprocess"),
    ];
    let trap = [(Some(Method::Trap), Method::Trap, "instr."), (None, Method::Trap, "ns")];
    table(results, Method::Message, "a call by message", &message) + &table(results, Method::Trap, "a call by trap", &trap)
}

fn table(results: &Results, way: Method, title: &str, kinds: &[(Option<Method>, Method, &'static str)]) -> String {
    let Some(groups) = groups(way) else { return String::new() };
    let all_columns = TESTS
        .into_iter()
        .flat_map(|test| kinds.iter().map(move |&(counted, timed, heading)| Column { test, counted, timed, heading }));
    let columns: Vec<Column> = all_columns.filter(|column| column.all(results).is_some()).collect();
    if columns.is_empty() {
        return String::new();
    }
    let published = match way {
        Method::Trap => "1993, cycles\nin kernel",
        _ => "1993, cycles\nown task | in kernel",
    };
    let mut heading = vec![title.to_owned(), "its\nstages".to_owned(), published.to_owned()];
    heading.extend(columns.iter().map(|column| format!("{}\n{}", column.test.title(), column.heading)));
    let mut table = new_table(heading);
    let mut line = |name: String, numbers: &[usize], cells: Vec<String>| {
        let sums = cycles(way, numbers).into_iter().flatten().map(|sum| sum.to_string()).collect::<Vec<_>>();
        table.add_row(aligned([vec![name, spans(numbers), sums.join(" | ")], cells].concat()));
    };
    let mut every = Vec::new();
    for group in groups {
        let numbers: Vec<usize> = group.stages.iter().flat_map(|stage| stage.published).copied().collect();
        line(group.name.to_owned(), &numbers, columns.iter().map(|column| column.group(results, group)).collect());
        every.extend(numbers);
        let several = group.stages.len() > 1 && columns.iter().any(|column| column.counted.is_some());
        for stage in group.stages.iter().filter(|_| several) {
            let cells = columns.iter().map(|column| column.stage(results, stage.name)).collect();
            line(format!("  {}", stage.name), stage.published, cells);
        }
    }
    every.sort_unstable();
    let all = columns.iter().map(|column| column.all(results).map_or(String::new(), figure)).collect();
    line("all".to_owned(), &every, all);
    format!("\n{title}, by stages: {}\n{table}\n{}", how(way), floors(results, way))
}

/// How the figures came about.
fn how(way: Method) -> &'static str {
    match way {
        Method::Trap => "instructions without the kernel's; times are differences of loops",
        _ => "instructions on one core without spinning, the kernel's left out; times between two cores",
    }
}

impl Column {
    fn ns<'a>(&self, results: &'a Results, part: &str) -> Option<&'a Row> {
        results.ns(self.test, self.timed, part)
    }

    fn all(&self, results: &Results) -> Option<f64> {
        match self.counted {
            Some(counted) => results.instructions(self.test, counted, None),
            None => self.ns(results, ALL).map(|row| row.value),
        }
    }

    fn group(&self, results: &Results, group: &Group) -> String {
        let Some(counted) = self.counted else {
            return self.ns(results, group.name).map_or(String::new(), |row| match stages::is_told(row) {
                true => figure(row.value),
                false => IN_NOISE.to_owned(),
            });
        };
        let counts = group.stages.iter().map(|stage| results.instructions(self.test, counted, Some(stage.name)));
        counts.sum::<Option<f64>>().map_or(String::new(), figure)
    }

    fn stage(&self, results: &Results, stage: &str) -> String {
        let count = self.counted.and_then(|counted| results.instructions(self.test, counted, Some(stage)));
        count.map_or(String::new(), figure)
    }
}

/// Three digits at most behind a point that small times need.
fn figure(value: f64) -> String {
    if value < 30.0 && value.fract().abs() > 0.05 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// "3-6, 10, 11".
fn spans(numbers: &[usize]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [first, .., last] if run.len() > 2 => format!("{first}-{last}"),
        run => run.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
    });
    runs.collect::<Vec<_>>().join(", ")
}

/// What the machine takes anyway, in one line.
fn floors(results: &Results, way: Method) -> String {
    let parts = [(CACHE_LINE, false), (BARE_LINE, true), (TURN, false), (STAMP, false)];
    let of = |part, test| results.ns(test, way, part).map(|row| figure(row.value));
    let said = parts.iter().filter_map(|&(part, differs)| {
        let values: Vec<String> =
            TESTS.into_iter().filter_map(|test| Some(format!("{} ns for {}", of(part, test)?, test.title()))).collect();
        match differs {
            true if !values.is_empty() => Some(format!("{part}: {}", values.join(", "))),
            true => None,
            false => Some(format!("{part}: {} ns", TESTS.into_iter().find_map(|test| of(part, test))?)),
        }
    });
    let said = said.collect::<Vec<_>>().join("; ");
    if said.is_empty() { said } else { format!("{said}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_numbers_are_short() {
        assert_eq!(spans(&[11, 2, 3, 4]), "2-4, 11");
        assert_eq!(spans(&[1, 12]), "1, 12");
        assert_eq!(spans(&[3, 4]), "3, 4");
    }

    #[test]
    fn figures_are_short() {
        assert_eq!([15.62, 3.0, 326.5, 0.31].map(figure), ["15.6", "3", "326", "0.3"]);
    }
}
