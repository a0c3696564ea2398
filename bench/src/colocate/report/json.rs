//! The results for programs.

use crate::colocate::cases::{Case, Method};
use crate::colocate::results::Results;
use crate::colocate::seed::{self, Published as Figures};
use crate::colocate::stages::{Group, groups, least_ns};
use crate::targets::Judgement;
use crate::trips::cases::Method as _;
use crate::trips::report::{Document, Published, published};
use serde::Serialize;

/// What was published, and where it stands here.
#[derive(Serialize)]
pub struct PublishedTables {
    source: &'static str,
    columns: [&'static str; 3],
    rows: Vec<Published<Figures>>,
    message_stages_cycles: [(u32, u32); 21],
    trap_stages_cycles: [u32; 12],
    stages: [Way; 2],
}

/// Which of our stages stand for which of the published ones.
#[derive(Serialize)]
struct Way {
    way: String,
    /// Less than this, or a range that begins at nothing, can't be told from nothing.
    least_ns: f64,
    groups: &'static [Group],
}

/// All of a run.
pub fn document<'a>(results: &'a Results, targets: &'a [Judgement]) -> Document<'a, Case, PublishedTables> {
    let published = PublishedTables {
        source: seed::SOURCE,
        columns: seed::COLUMNS,
        rows: published(seed::published),
        message_stages_cycles: seed::MESSAGE_STAGES,
        trap_stages_cycles: seed::TRAP_STAGES,
        stages: [Method::Message, Method::Trap].map(|method| Way {
            way: method.name(),
            least_ns: least_ns(method),
            groups: groups(method).unwrap_or_default(),
        }),
    };
    Document::new(results, published, targets)
}

#[cfg(test)]
mod tests {
    use super::super::sample::results;
    use super::*;
    use crate::colocate::targets::judge;

    #[test]
    fn the_shape_that_readers_rely_on() {
        let results = results();
        let judged = judge(&results);
        let value = serde_json::to_value(document(&results, &judged)).unwrap();
        let row = &value["rows"][0];
        assert_eq!((row["test"].as_str(), row["variant"].as_str()), (Some("null"), Some("message/different")));
        assert_eq!((row["unit"].as_str(), row["value"].as_f64()), (Some("us"), Some(1.0)));
        assert!(row["p50"].is_f64() && row["p99"].is_f64());
        let last = value["rows"].as_array().unwrap().last().unwrap();
        assert_eq!(
            (last["variant"].as_str(), last["unit"].as_str()),
            (Some("message-trap-stubs/different/trap stub"), Some("ns"))
        );
        assert_eq!(value["published"]["stages"][1]["groups"][1]["stages"][1]["published"][0], 3);
        assert_eq!(value["published"]["trap_stages_cycles"][1], 213);
        assert_eq!(value["failed"][0]["variant"], "capnp/one-core");
        assert_eq!(value["targets"].as_array().unwrap().len(), judged.len());
    }
}
