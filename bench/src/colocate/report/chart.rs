//! The results as a chart, the published figures as marks.

use crate::colocate::cases::Method;
use crate::colocate::results::Results;
use crate::colocate::seed;
use crate::trips::chart::{Chart, Key, OURS, SYSTEM, sections};
use svg::Document;

/// The chart of `results`.
pub fn draw(results: &Results) -> Document {
    let colour = |method| if matches!(method, Method::Plain | Method::Virtual | Method::Capnp) { SYSTEM } else { OURS };
    let marks = |test| seed::published(test).map_or_else(Vec::new, |published| published.us.to_vec());
    let chart = Chart {
        title: "Calls to a server elsewhere and in the same process: microseconds",
        keys: &[Key(OURS, "by mig's stubs"), Key(SYSTEM, "by other means")],
        marks: &seed::COLUMNS,
        sources: &[seed::SOURCE],
        sections: sections(results, |_| true, colour, marks),
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
        for part in ["null RPC", "1K In", "message, different", "trap, one-core", "in kernel, trap"] {
            assert!(texts.contains(&part), "{part} in {texts:?}");
        }
    }
}
