//! The results as a chart, the published figures as marks.

use crate::report::drawing::save;
use crate::rpc::cases::Test;
use crate::rpc::results::{Results, Row};
use crate::rpc::seed;
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
    let crosses = |row: &&Row| row.unit == Unit::Microseconds && row.case.method.crosses();
    let section = |test: Test| {
        let mut rows: Vec<&Row> = results.rows.iter().filter(crosses).filter(|row| row.case.test == test).collect();
        rows.sort_by_key(|row| Placement::ALL.iter().position(|place| *place == row.case.placement));
        let marks = seed::published(test).map_or_else(Vec::new, |published| published.us().to_vec());
        (!rows.is_empty()).then(|| Section { title: test.title(), bars: rows.into_iter().map(bar).collect(), marks })
    };
    let chart = Chart {
        title: "Calls by stubs and bare messages, there and back: microseconds",
        keys: &[Key(OURS, "calls by stubs"), Key(SYSTEM, "bare messages with as much data")],
        marks: &seed::COLUMNS,
        sources: &seed::SOURCES,
        sections: Test::ALL.into_iter().filter_map(section).collect(),
    };
    chart.draw(results)
}

fn bar(row: &Row) -> Bar {
    let Row { case, value, .. } = row;
    let label = format!("{}, {}", case.method.heading().replace('\n', " "), case.placement.name());
    Bar { label, us: *value, colour: if case.method.bare().is_some() { OURS } else { SYSTEM } }
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
        for part in ["null RPC (an integer)", "1024 bytes In", "stubs, different", "9.00", "in kernel, trap"] {
            assert!(texts.contains(&part), "{part} in {texts:?}");
        }
        // Two columns were published for each of two calls, three for the third; each has its mark, and one in the key.
        assert_eq!(document.descendants().filter(|node| node.has_tag_name("path")).count(), 2 + 2 + 3 + 5);
        assert!(!texts.contains(&"ready, one-core"));
    }
}
