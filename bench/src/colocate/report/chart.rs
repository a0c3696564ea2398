//! The results as a chart, the published figures as marks.

use crate::colocate::cases::{Method, Test};
use crate::colocate::results::{Results, Row};
use crate::colocate::seed;
use crate::report::drawing::save;
use crate::trips::Placement;
use crate::trips::chart::{Bar, Chart, Key, OURS, SYSTEM, Section};
use crate::trips::results::Unit;
use std::path::Path;
use svg::Document;

/// Writes the chart of `results` to `file`.
///
/// # Errors
/// When the file can't be written.
pub fn write(file: &Path, results: &Results) -> anyhow::Result<()> {
    save(file, &draw(results))
}

fn draw(results: &Results) -> Document {
    let section = |test: Test| {
        let of_test = |row: &&Row| row.unit == Unit::Microseconds && row.case.test == test;
        let mut rows: Vec<&Row> = results.rows.iter().filter(of_test).collect();
        rows.sort_by_key(|row| Placement::ALL.iter().position(|place| *place == row.case.placement));
        let mut marks = vec![None; seed::COLUMNS.len()];
        if let Some(published) = seed::published(test) {
            marks = published.us.to_vec();
        }
        let bars = rows.into_iter().map(bar).collect::<Vec<_>>();
        (!bars.is_empty()).then(|| Section { title: test.title().to_owned(), bars, marks })
    };
    let chart = Chart {
        title: "Calls to a server elsewhere and in the same process: microseconds",
        keys: &[Key(OURS, "by mig's stubs"), Key(SYSTEM, "by other means")],
        marks: &seed::COLUMNS,
        sources: &[seed::SOURCE],
        sections: Test::ALL.into_iter().filter_map(section).collect(),
    };
    chart.draw(results)
}

fn bar(row: &Row) -> Bar {
    let Row { case, value, .. } = row;
    let label = format!("{}, {}", case.method.heading().replace('\n', " "), case.placement.name());
    let other = matches!(case.method, Method::Plain | Method::Virtual | Method::Capnp);
    Bar { label, us: *value, colour: if other { SYSTEM } else { OURS } }
}

#[cfg(test)]
mod tests {
    use super::super::sample::results;
    use super::*;

    #[test]
    fn the_chart_is_well_formed_and_whole() {
        let drawn = draw(&results()).to_string();
        let document = roxmltree::Document::parse(&drawn).unwrap();
        let texts: Vec<&str> = document
            .descendants()
            .filter(|node| node.has_tag_name("text"))
            .map(|node| node.text().unwrap_or_default().trim())
            .collect();
        for part in ["null RPC", "1K In", "message, different", "trap, one-core", "in kernel, trap"] {
            assert!(texts.contains(&part), "{part} in {texts:?}");
        }
    }
}
