//! The results for programs.

use crate::colocate::cases::{Case, Test};
use crate::colocate::results::Results;
use crate::colocate::seed::{self, Stage};
use crate::targets::Judgement;
use crate::trips::report::Document;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct PublishedTables {
    source: &'static str,
    columns: [&'static str; 3],
    rows: Vec<PublishedRow>,
    message_stages_cycles: [Stage; 5],
    trap_stages_cycles: [Stage; 5],
}

#[derive(Serialize)]
struct PublishedRow {
    test: String,
    us: [Option<f64>; 3],
}

/// Writes `results` to `file`.
///
/// # Errors
/// When the file can't be written.
pub fn write(file: &Path, results: &Results, targets: &[Judgement]) -> anyhow::Result<()> {
    document(results, targets).write(file)
}

fn document<'a>(results: &'a Results, targets: &'a [Judgement]) -> Document<'a, Case, PublishedTables> {
    let row = |test: Test| Some(PublishedRow { test: test.name(), us: seed::published(test)?.us });
    let published = PublishedTables {
        source: seed::SOURCE,
        columns: seed::COLUMNS,
        rows: Test::ALL.into_iter().filter_map(row).collect(),
        message_stages_cycles: seed::MESSAGE_STAGES,
        trap_stages_cycles: seed::TRAP_STAGES,
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
        assert_eq!(value["rows"].as_array().unwrap().last().unwrap()["variant"], "trap/one-core/routine");
        assert_eq!(value["published"]["trap_stages_cycles"][4][1], 1174);
        assert_eq!(value["failed"][0]["variant"], "capnp/one-core");
        assert_eq!(value["targets"].as_array().unwrap().len(), judged.len());
    }
}
