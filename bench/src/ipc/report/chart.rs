//! The results as a chart, the published figures as marks.

use crate::ipc::cases::{Method, Test};
use crate::ipc::results::{Results, Row};
use crate::ipc::seed;
use crate::report::drawing::save;
use crate::trips::Placement;
use crate::trips::chart::{Bar, Chart, Key, OURS, SYSTEM, Section};
use crate::trips::results::Unit;
use std::path::Path;
use svg::Document;

const PEER: &str = "#d1a04f";

/// Writes the chart of `results` to `file`.
///
/// # Errors
/// When the file can't be written.
pub fn write(file: &Path, results: &Results) -> anyhow::Result<()> {
    save(file, &draw(results))
}

fn draw(results: &Results) -> Document {
    let rows: Vec<&Row> = results.rows.iter().filter(|row| row.unit == Unit::Microseconds && row.value > 0.0).collect();
    let section = |test: Test| {
        let mut rows: Vec<&Row> = rows.iter().filter(|row| row.case.test == test).copied().collect();
        rows.sort_by_key(|row| Placement::ALL.iter().position(|place| *place == row.case.placement));
        (!rows.is_empty()).then(|| Section {
            title: test.title(),
            bars: rows.into_iter().map(bar).collect(),
            marks: published_us(test).to_vec(),
        })
    };
    let chart = Chart {
        title: "Messages and rights, there and back: microseconds",
        keys: &[Key(OURS, "Slipway"), Key(PEER, "other libraries"), Key(SYSTEM, "the system")],
        marks: &seed::COLUMNS,
        sources: &[seed::SOURCE],
        sections: Test::ALL.into_iter().filter_map(section).collect(),
    };
    chart.draw(results)
}

fn bar(row: &Row) -> Bar {
    let label = format!("{}, {}", row.case.method.heading().replace('\n', " "), row.case.placement.name());
    Bar { label, us: row.value, colour: colour(row.case.method) }
}

fn colour(method: Method) -> &'static str {
    match method {
        Method::Fabric | Method::Mach | Method::MachSleep | Method::MachOneProcess => OURS,
        Method::IpcChannel | Method::Iceoryx2 => PEER,
        _ => SYSTEM,
    }
}

/// The published figures of `test`, in the order of their columns, microseconds.
fn published_us(test: Test) -> [Option<f64>; 3] {
    seed::published(test).map_or([None; 3], |line| line.columns().map(|ms| ms.map(|ms| ms * 1000.0)))
}

#[cfg(test)]
mod tests {
    use super::super::sample::results;
    use super::*;

    #[test]
    fn the_chart_is_well_formed_and_whole() {
        let results = results();
        let drawn = draw(&results).to_string();
        let document = roxmltree::Document::parse(&drawn).unwrap();
        let texts: Vec<&str> = document
            .descendants()
            .filter(|node| node.has_tag_name("text"))
            .map(|node| node.text().unwrap_or_default().trim())
            .collect();
        for part in ["null message", "256 ports", "AF_UNIX, one-core", "290", "L3 native"] {
            assert!(texts.contains(&part), "{part} in {texts:?}");
        }
        assert!(texts.iter().any(|text| text.contains("A & B <CPU>") && text.contains("2026-01-02")));
        let filled = |colours: &[&str]| -> usize {
            let fills = document.descendants().filter_map(|node| Some((node.tag_name().name(), node.attribute("fill")?)));
            fills.filter(|(name, fill)| *name == "rect" && colours.contains(fill)).count()
        };
        let timed = results.rows.iter().filter(|row| row.unit == Unit::Microseconds).count();
        assert_eq!(filled(&[OURS, PEER, SYSTEM]), timed + 3);
    }

    #[test]
    fn longer_times_have_longer_bars() {
        let results = results();
        let drawn = draw(&results).to_string();
        let document = roxmltree::Document::parse(&drawn).unwrap();
        let width = |name: &str| -> f64 {
            let label = document.descendants().find(|node| node.text().is_some_and(|text| text.trim() == name)).unwrap();
            let group = label.ancestors().find(|node| node.has_tag_name("g")).unwrap();
            let bar = group.children().find(|node| node.has_tag_name("rect")).unwrap();
            bar.attribute("width").unwrap().parse().unwrap()
        };
        assert!(width("Mach, different") < width("iceoryx2, different"));
        assert!(width("iceoryx2, different") < width("AF_UNIX, different"));
    }

    #[test]
    fn a_chart_without_rows_is_still_a_chart() {
        let mut results = results();
        results.rows.clear();
        roxmltree::Document::parse(&draw(&results).to_string()).unwrap();
    }
}
