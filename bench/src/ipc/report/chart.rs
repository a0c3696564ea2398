//! The results as a chart, the published figures as marks.

use crate::ipc::cases::{Method, Test};
use crate::ipc::results::Results;
use crate::ipc::seed;
use crate::trips::chart::{Chart, Key, OURS, SYSTEM, sections};
use svg::Document;
const PEER: &str = "#d1a04f";

/// The chart of `results`.
pub fn draw(results: &Results) -> Document {
    let chart = Chart {
        title: "Messages and rights, there and back: microseconds",
        keys: &[Key(OURS, "Slipway"), Key(PEER, "other libraries"), Key(SYSTEM, "the system")],
        marks: &seed::COLUMNS,
        sources: &[seed::SOURCE],
        sections: sections(results, |_| true, colour, |test| published_us(test).to_vec()),
    };
    chart.draw(results)
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
    use crate::trips::chart::tests::texts;
    use crate::trips::results::Unit;

    #[test]
    fn the_chart_is_well_formed_and_whole() {
        let results = results();
        let drawn = draw(&results).to_string();
        let document = roxmltree::Document::parse(&drawn).unwrap();
        let texts = texts(&document);
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
