//! The results for programs.

use super::super::results::{Missing, Results, Row, Settings};
use super::super::targets::Group;
use crate::machine::Machine;
use crate::report::file::write_json;
use crate::stats::geometric_mean;
use crate::targets::Judgement;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::Path;

#[derive(Serialize)]
struct Document<'a> {
    machine: &'a Machine,
    floor: Option<crate::x11::floor::Floor>,
    date: &'a str,
    settings: &'a Settings,
    /// Of the ratios of the main stage, over all tests of the first placement.
    geometric_mean: Option<f64>,
    /// The same for each placement and group.
    geometric_means: Value,
    rows: &'a [Row],
    targets: &'a [Judgement],
    skipped: &'a [Missing],
    failed: &'a [Missing],
}

/// Writes `results` to `file`.
///
/// # Errors
/// When the file can't be written.
pub fn write(file: &Path, results: &Results, targets: &[Judgement]) -> anyhow::Result<()> {
    write_json(file, &document(results, targets))
}

fn document<'a>(results: &'a Results, targets: &'a [Judgement]) -> Document<'a> {
    Document {
        machine: &results.machine,
        floor: results.floor,
        date: &results.date,
        settings: &results.settings,
        geometric_mean: results.overall_mean(),
        geometric_means: means(results),
        rows: &results.rows,
        targets,
        skipped: &results.skipped,
        failed: &results.failed,
    }
}

fn means(results: &Results) -> Value {
    let mut placements = Map::new();
    for placement in results.placements() {
        let rows = || results.main_rows().filter(move |row| row.placement == placement);
        let mut means = Map::new();
        means.insert("all".to_owned(), json!(geometric_mean(rows().map(|row| row.ratio))));
        for group in Group::ALL {
            let ratios = rows().filter(|row| Group::of(&row.test) == group);
            if let Some(mean) = geometric_mean(ratios.map(|row| row.ratio)) {
                means.insert(group.name().to_owned(), json!(mean));
            }
        }
        placements.insert(placement.name().to_owned(), Value::Object(means));
    }
    Value::Object(placements)
}

#[cfg(test)]
mod tests {
    use super::super::sample::results;
    use super::*;
    use crate::x11::targets;

    #[test]
    fn the_shape_that_readers_rely_on() {
        let results = results();
        let judged = targets::judge(&results, false);
        let value = serde_json::to_value(document(&results, &judged)).unwrap();
        let row = &value["rows"][0];
        for key in ["socket", "ours", "ratio", "cpu_us_socket", "cpu_us_ours"] {
            assert!(row[key].is_f64(), "{key}: {row}");
        }
        assert_eq!(row["test"], "pointer");
        assert_eq!(row["placement"], "different");
        assert_eq!(row["stage"], "full");
        assert_eq!(row["unit"], "operations/s");
        assert_eq!(value["rows"][1]["stage"], "1");
        assert!(value["rows"][6]["cpu_us_ours"].is_null());
        assert_eq!(value["date"], "2026-01-02T03:04:05Z");
        assert_eq!(value["machine"]["cores"], 2);
        assert_eq!(value["skipped"][0]["test"], "shmput10");
        let mean = value["geometric_mean"].as_f64().unwrap();
        let expected = (50.0_f64 * 6.9 * 1.31 * 0.97).powf(0.25);
        assert!((mean - expected).abs() < 1e-9, "{mean}");
        let hogs = value["geometric_means"]["hogs"]["round trips"].as_f64();
        assert!((hogs.unwrap() - 1.5).abs() < 1e-9);
        assert_eq!(value["targets"].as_array().unwrap().len(), judged.len());
    }
}
