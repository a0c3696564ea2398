//! The tables for people.

use super::figures::Judgement;
use super::format::{microseconds, ratio};
use super::results::{Results, Unit};
use super::{Method, Placement, Test};
use comfy_table::{Cell, CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle};

/// A line under the heading and no others: the tables are wide.
const RULED: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('─'))
    .content_lines(ContentLineStyle::none());

/// A table of these rows under that heading, with so many columns of figures after the first; the others are text.
pub fn table(heading: Vec<String>, figures: usize, rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let alignment = |at: usize| if (1..=figures).contains(&at) { CellAlignment::Right } else { CellAlignment::Left };
    let cell = |(at, text): (usize, String)| Cell::new(text).set_alignment(alignment(at));
    let aligned = |cells: Vec<String>| cells.into_iter().enumerate().map(cell).collect::<Vec<_>>();
    let mut table = Table::new();
    table.load_style(RULED).set_content_arrangement(ContentArrangement::Disabled).set_header(aligned(heading));
    table.add_rows(rows.into_iter().map(aligned));
    table
}

/// What stands over the tables: a title, and lines of what is known.
pub fn head<const N: usize>(title: &str, lines: [(&str, String); N]) -> String {
    let known = lines.iter().filter(|(_, line)| !line.is_empty());
    known.fold(format!("{title}\n"), |head, (name, line)| format!("{head}{name:<10} {line}\n"))
}

/// The targets and what came of them.
pub fn targets(judgements: &[Judgement]) -> String {
    let row = |judgement: &Judgement| {
        let verdict = judgement.verdict.replace("missed", "MISSED").replace('-', " ");
        let reached = judgement.reached.map_or(String::new(), |value| format!("{value:.2}"));
        vec![judgement.what.clone(), judgement.wanted.clone(), reached, verdict, judgement.detail.clone()]
    };
    let table = table(["target", "wanted", "reached", "", ""].map(str::to_owned).to_vec(), 2, judgements.iter().map(row));
    format!("\nTargets\n{table}\n")
}

/// The whole report of a bench of round trips.
pub fn report(results: &Results) -> String {
    let (bench, settings) = (results.bench, &results.settings);
    let figures = &bench.figures;
    let mut out = head(
        &figures.title,
        [
            ("machine", results.machine.line()),
            ("date", results.date.clone()),
            ("placement", settings.cores.clone()),
            ("method", settings.method()),
            ("floor", figures.floors(results)),
        ],
    );
    match &figures.one_table {
        Some(title) => out += &times(results, None, title),
        None => Placement::ALL.iter().for_each(|place| {
            out += &times(results, Some(*place), &format!("{}: {}", place.name(), place.title()));
        }),
    }
    out += &figures.notes(results);
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

/// The table of times at a placement, or at each method's own: a row for each test, a column for each method. Nothing if
/// nothing was timed there.
fn times(results: &Results, place: Option<Placement>, title: &str) -> String {
    let bench = results.bench;
    let us = |test: &Test, method: &Method| results.us(test, method, place);
    let shown = || bench.methods.iter().filter(|method| !method.heading.is_empty());
    let tests: Vec<&Test> = bench.tests.iter().filter(|test| shown().any(|method| us(test, method).is_some())).collect();
    let methods: Vec<&Method> = shown().filter(|method| tests.iter().any(|test| us(test, method).is_some())).collect();
    if tests.is_empty() {
        return String::new();
    }
    let mut heading = vec![bench.figures.what.clone()];
    for column in &bench.figures.published {
        heading.push(column.heading.clone());
        heading.extend(column.ratio.clone());
    }
    for method in &methods {
        heading.push(format!("{}\nus", method.heading));
        heading.extend(method.ratio.as_ref().map(|(heading, _)| heading.clone()));
    }
    let row = |test: &&Test| {
        let mut cells = vec![test.title.clone()];
        for column in &bench.figures.published {
            cells.push(column.cell(test).unwrap_or_default());
            let row = column.row(&test.name);
            cells.extend(column.ratio.as_ref().map(|_| row.map_or(String::new(), |row| ratio(row[0] / row[row.len() - 1]))));
        }
        for method in &methods {
            let figure = |us: f64| if us > 0.0 { microseconds(us) } else { "in noise".to_owned() };
            let mine = us(test, method);
            cells.push(mine.map_or(String::new(), figure));
            if let Some((_, other)) = &method.ratio {
                let other = bench.method(other).and_then(|other| us(test, other));
                cells.push(mine.zip(other).map_or(String::new(), |(mine, other)| ratio(mine / other)));
            }
        }
        cells
    };
    format!("\n{title}\n{}\n", table(heading, usize::MAX, tests.iter().map(row)))
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
    let heading = ["instructions"].into_iter().chain(methods.iter().map(|method| method.label())).map(str::to_owned).collect();
    let tests = bench.tests.iter().filter(|test| methods.iter().any(|method| count(test, method).is_some()));
    let rows = tests.map(|test| {
        let counts = methods.iter().map(|method| count(test, method).map_or(String::new(), |count| format!("{count:.0}")));
        [test.title.clone()].into_iter().chain(counts).collect()
    });
    let table = table(heading, usize::MAX, rows);
    format!("\ninstructions of both processes in a round trip, on one core, the kernel's left out\n{table}\n")
}
