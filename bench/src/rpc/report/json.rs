//! The results for programs.

use crate::rpc::cases::Case;
use crate::rpc::results::Results;
use crate::rpc::seed::{self, Published as Figures};
use crate::targets::Judgement;
use crate::trips::report::{Document, Published, published};
use serde::Serialize;

/// What was published.
#[derive(Serialize)]
pub struct PublishedTable {
    sources: [&'static str; 2],
    rows: Vec<Published<Figures>>,
}

/// All of a run.
pub fn document<'a>(results: &'a Results, targets: &'a [Judgement]) -> Document<'a, Case, PublishedTable> {
    let published = PublishedTable { sources: seed::SOURCES, rows: published(seed::published) };
    Document::new(results, published, targets)
}

#[cfg(test)]
mod tests {
    use super::super::sample::results;
    use super::*;
    use crate::rpc::targets::judge;

    #[test]
    fn the_shape_that_readers_rely_on() {
        let results = results();
        let judged = judge(&results);
        let value = serde_json::to_value(document(&results, &judged)).unwrap();
        let row = &value["rows"][0];
        assert_eq!((row["test"].as_str(), row["variant"].as_str()), (Some("null"), Some("stubs/different")));
        assert_eq!((row["unit"].as_str(), row["value"].as_f64()), (Some("us"), Some(0.75)));
        assert!(row["p50"].is_f64() && row["p99"].is_f64());
        let last = value["rows"].as_array().unwrap().last().unwrap();
        assert_eq!(last["variant"], "stubs-sleep/one-core/client-mach_msg");
        assert_eq!((last["unit"].as_str(), last["value"].as_f64()), (Some("instructions"), Some(1000.0)));
        assert_eq!(value["published"]["rows"][0]["mach_ms"], 0.27);
        assert_eq!(value["published"]["rows"][4]["kernel_trap_cycles"], 656);
        assert_eq!(value["failed"][0]["variant"], "once/one-core");
        assert_eq!(value["targets"].as_array().unwrap().len(), judged.len());
    }
}
