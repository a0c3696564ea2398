//! The results for programs.

use crate::ipc::cases::Case;
use crate::ipc::results::Results;
use crate::ipc::seed::{self, Published as Figures};
use crate::targets::Judgement;
use crate::trips::report::{Document, Published, published};
use serde::Serialize;

/// What was published.
#[derive(Serialize)]
pub struct PublishedTable {
    source: &'static str,
    rows: Vec<Published<Figures>>,
}

/// All of a run.
pub fn document<'a>(results: &'a Results, targets: &'a [Judgement]) -> Document<'a, Case, PublishedTable> {
    let published = PublishedTable { source: seed::SOURCE, rows: published(seed::published) };
    Document::new(results, published, targets)
}

#[cfg(test)]
mod tests {
    use super::super::sample::results;
    use super::*;
    use crate::ipc::targets::judge;

    #[test]
    fn the_shape_that_readers_rely_on() {
        let results = results();
        let judged = judge(&results);
        let value = serde_json::to_value(document(&results, &judged)).unwrap();
        let row = &value["rows"][2];
        assert_eq!(row["test"], "null");
        assert_eq!(row["variant"], "socket/different");
        assert_eq!(row["unit"], "us");
        for (key, expected) in [("value", 40.0), ("p50", 36.0), ("p99", 120.0)] {
            assert_eq!(row[key].as_f64(), Some(expected), "{key}: {row}");
        }
        let counted = value["rows"].as_array().unwrap().last().unwrap();
        assert_eq!((counted["unit"].as_str(), counted["value"].as_f64()), (Some("instructions"), Some(740.0)));
        assert!(counted["p50"].is_null());
        assert_eq!(value["published"]["rows"][0]["test"], "null");
        assert_eq!(value["published"]["rows"][0]["l3_native_ms"], 0.039);
        assert!(value["published"]["rows"][6]["l3_native_ms"].is_null());
        assert_eq!(value["machine"]["cores"], 2);
        assert_eq!(value["date"], "2026-01-02T03:04:05Z");
        assert_eq!(value["failed"][0]["variant"], "pipe/one-core");
        assert_eq!(value["targets"].as_array().unwrap().len(), judged.len());
    }
}
