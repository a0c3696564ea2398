//! The tables for people.

use super::figures::{Column, Judgement, Verdict};
use super::format::{microseconds, ratio};
use super::results::{Results, Unit};
use super::{Method, Placement, Test};
use comfy_table::{Cell, CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle};

/// A line under the heading and no others: the tables are wide.
const RULED: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('─'))
    .content_lines(ContentLineStyle::none());

/// An empty table with that heading.
pub fn new_table(heading: Vec<String>) -> Table {
    let mut table = Table::new();
    table.load_style(RULED).set_content_arrangement(ContentArrangement::Disabled).set_header(aligned(heading));
    table
}

/// Text on the left, figures on the right.
pub fn aligned(cells: Vec<String>) -> Vec<Cell> {
    let mut cells = cells.into_iter().map(Cell::new);
    let first = cells.next();
    let rest = cells.map(|cell| cell.set_alignment(CellAlignment::Right));
    first.into_iter().chain(rest).collect()
}

/// The targets and what came of them.
pub fn targets(judgements: &[Judgement]) -> String {
    let mut table = new_table(["target", "wanted", "reached", "", ""].map(str::to_owned).to_vec());
    for judgement in judgements {
        let verdict = match judgement.verdict {
            Verdict::Met => "met",
            Verdict::Missed => "MISSED",
            Verdict::NotMeasured => "not measured",
        };
        let reached = judgement.reached.map_or(String::new(), |value| format!("{value:.2}"));
        table.add_row(vec![
            Cell::new(&judgement.what),
            Cell::new(&judgement.wanted).set_alignment(CellAlignment::Right),
            Cell::new(reached).set_alignment(CellAlignment::Right),
            Cell::new(verdict),
            Cell::new(&judgement.detail),
        ]);
    }
    format!("\nTargets\n{table}\n")
}

/// The whole report of a bench of round trips.
pub fn report(results: &Results) -> String {
    let (figures, settings) = (&results.bench.figures, &results.settings);
    let mut out = format!(
        "{}\nmachine    {}\ndate       {}\nplacement  {}\nmethod     medians of {} interleaved runs of {} s\n",
        figures.title,
        results.machine.line(),
        results.date,
        settings.cores,
        settings.repeat,
        settings.seconds
    );
    out += &(results.bench.code.report)(results);
    out += &instructions(results);
    for source in &figures.sources {
        out += &format!("\n{}{source}\n", figures.cited);
    }
    out += &targets(&results.targets);
    for missing in &results.failed {
        out += &format!("FAILED: {}, {}: {}\n", missing.test, missing.variant, missing.reason);
    }
    out
}

/// A table of times: a row for each test, a column for each method.
pub struct Times<'a> {
    results: &'a Results,
    place: Option<Placement>,
    /// Those that were timed there.
    pub tests: Vec<&'static Test>,
    methods: Vec<&'static Method>,
    table: Table,
}

impl<'a> Times<'a> {
    /// That of a placement, or of each method's own; None if nothing was timed there.
    pub fn new(results: &'a Results, first: &str, place: Option<Placement>) -> Option<Self> {
        let bench = results.bench;
        let shown = || bench.methods.iter().filter(|method| !method.heading.is_empty());
        let timed = |test, method| results.us(test, method, place).is_some();
        let tests: Vec<_> = bench.tests.iter().filter(|test| shown().any(|method| timed(test, method))).collect();
        let methods: Vec<_> = shown().filter(|method| tests.iter().any(|test| timed(test, method))).collect();
        let mut heading = vec![first.to_owned()];
        for columns in results.bench.figures.columns() {
            heading.push(columns[0].heading.clone());
            heading.extend(columns[0].ratio.clone());
        }
        for method in &methods {
            heading.push(format!("{}\nus", method.heading));
            heading.extend(method.ratio.as_ref().map(|(heading, _)| heading.clone()));
        }
        (!tests.is_empty()).then(|| Self { results, place, tests, methods, table: new_table(heading) })
    }

    /// Adds a row, if a method has a figure in it: what `published` says of a column, and of methods the microseconds.
    pub fn row(
        &mut self,
        title: String,
        published: impl Fn(&Column) -> Option<String>,
        us: impl Fn(&Self, &Method) -> Option<f64>,
    ) {
        let figures: Vec<Option<f64>> = self.methods.iter().map(|method| us(self, method)).collect();
        if figures.iter().all(Option::is_none) {
            return;
        }
        let mut cells = vec![title];
        for columns in self.results.bench.figures.columns() {
            cells.push(columns.iter().find_map(|column| published(column)).unwrap_or_default());
        }
        let figure = |us: f64| if us > 0.0 { microseconds(us) } else { "in noise".to_owned() };
        cells.extend(figures.into_iter().map(|us| us.map_or(String::new(), figure)));
        self.table.add_row(aligned(cells));
    }

    /// The microseconds of a test, done in that way.
    pub fn us(&self, test: &Test, method: &Method) -> Option<f64> {
        self.results.us(test, method, self.place)
    }

    /// Adds a row for each test.
    pub fn rows(&mut self) {
        for test in self.tests.clone() {
            let mut cells = vec![test.title.clone()];
            for columns in self.results.bench.figures.columns() {
                let column = columns.iter().find(|column| column.row(&test.name).is_some());
                cells.push(column.and_then(|column| column.cell(&test.name)).unwrap_or_default());
                if columns[0].ratio.is_some() {
                    let row = column.and_then(|column| column.row(&test.name));
                    cells.push(row.map_or(String::new(), |row| ratio(row[0] / row[row.len() - 1])));
                }
            }
            for method in &self.methods {
                let us = self.us(test, method);
                cells.push(us.map_or(String::new(), microseconds));
                if let Some((_, other)) = &method.ratio {
                    let other = self.results.bench.method(other).and_then(|other| self.us(test, other));
                    cells.push(us.zip(other).map_or(String::new(), |(us, other)| ratio(us / other)));
                }
            }
            self.table.add_row(aligned(cells));
        }
    }

    /// The table under its title.
    pub fn finish(self, title: &str) -> String {
        format!("\n{title}\n{}\n", self.table)
    }
}

/// The table of each placement.
pub fn by_placement(results: &Results, first: &str, more: impl Fn(&mut Times<'_>)) -> String {
    let section = |place: Placement| {
        let mut times = Times::new(results, first, Some(place))?;
        times.rows();
        more(&mut times);
        Some(times.finish(&format!("{}: {}", place.name(), place.title())))
    };
    Placement::ALL.into_iter().filter_map(section).collect()
}

fn instructions(results: &Results) -> String {
    let bench = results.bench;
    let count = |test: &Test, method: &Method| {
        results.value(&test.name, &format!("{}/{}", method.name, Placement::OneCore.name()), Unit::Instructions)
    };
    let methods: Vec<_> =
        bench.methods.iter().filter(|method| bench.tests.iter().any(|test| count(test, method).is_some())).collect();
    if methods.is_empty() {
        return String::new();
    }
    let heading = |method: &&Method| method.label().to_owned();
    let mut table = new_table(["instructions".to_owned()].into_iter().chain(methods.iter().map(heading)).collect());
    for test in &bench.tests {
        let counts: Vec<_> = methods.iter().map(|method| count(test, method)).collect();
        if counts.iter().any(Option::is_some) {
            let cells = counts.into_iter().map(|count| count.map_or(String::new(), |count| format!("{count:.0}")));
            table.add_row(aligned([test.title.clone()].into_iter().chain(cells).collect()));
        }
    }
    format!("\ninstructions of both processes in a round trip, on one core, the kernel's left out\n{table}\n")
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::sample;
    use super::super::{figures, results::Missing};
    use super::*;
    use crate::bench;

    #[test]
    fn everything_is_in_the_report() {
        let mut results = sample(
            bench("ipc"),
            &[
                ("floor", "cache-line/different", 0.1),
                ("null", "socket/different", 40.0),
                ("null", "mach/different", 0.5),
                ("256-ports", "socket/different", 290.0),
                ("256-ports", "mach/different", 25.0),
                ("null", "socket/one-core", 8.0),
            ],
        );
        let (test, reason) = ("null".to_owned(), "no pipes".to_owned());
        results.failed.push(Missing { test, variant: "pipe/one-core".to_owned(), reason });
        results.targets = figures::judge(&results).unwrap();
        let text = report(&results);
        for part in [
            "A & B <CPU>",
            "cache line between the cores 0.10 us",
            "one-core: two processes on one core",
            "null message",
            "72.35",
            "a right, of 256 ports",
            "0.057",
            "MISSED",
            "not measured",
            "FAILED: null, pipe/one-core: no pipes",
        ] {
            assert!(text.contains(part), "'{part}' is not in\n{text}");
        }
        let (_, one_core) = text.split_once("one-core: two").unwrap();
        assert!(
            !one_core.contains("256 ports ") && !text.contains("iceoryx2\n") && !text.contains("instructions of both"),
            "{text}"
        );
    }

    #[test]
    fn ratios_stand_beside_their_times() {
        let timed = [("null", "message/different", 1.0), ("null", "trap/one-core", 0.02), ("own-call", "message/one-core", 1.2)];
        let text = report(&sample(bench("colocate"), &timed));
        for part in ["34.5 | 33.1 | 9.8", "18.8 | - | 16.7", "x3.52", "x50.0"] {
            assert!(text.contains(part), "'{part}' is not in\n{text}");
        }
    }
}
