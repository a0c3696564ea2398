//! The results as a chart, the published figures as marks.

use crate::rpc::cases::Method;
use crate::rpc::results::Results;
use crate::rpc::seed;
use crate::trips::chart::{Chart, Key, OURS, SYSTEM, sections};
use svg::Document;

/// The chart of `results`.
pub fn draw(results: &Results) -> Document {
    let colour = |method: Method| if method.bare().is_some() { OURS } else { SYSTEM };
    let marks = |test| seed::published(test).map_or_else(Vec::new, |published| published.us().to_vec());
    let chart = Chart {
        title: "Calls by stubs and bare messages, there and back: microseconds",
        keys: &[Key(OURS, "calls by stubs"), Key(SYSTEM, "bare messages with as much data")],
        marks: &seed::COLUMNS,
        sources: &seed::SOURCES,
        sections: sections(results, Method::crosses, colour, marks),
    };
    chart.draw(results)
}

#[cfg(test)]
mod tests {
    use super::super::sample::results;
    use super::*;
    use crate::trips::chart::tests::texts;

    #[test]
    fn the_chart_is_well_formed_and_whole() {
        let drawn = draw(&results()).to_string();
        let document = roxmltree::Document::parse(&drawn).unwrap();
        let texts = texts(&document);
        for part in ["null RPC (an integer)", "1024 bytes In", "stubs, different", "9.00", "in kernel, trap"] {
            assert!(texts.contains(&part), "{part} in {texts:?}");
        }
        // Two columns were published for each of two calls, three for the third; each has its mark, and one in the key.
        assert_eq!(document.descendants().filter(|node| node.has_tag_name("path")).count(), 2 + 2 + 3 + 5);
        assert!(!texts.contains(&"ready, one-core"));
    }
}
