//! One run, end to end: the host and a view, the files that are written, and what is left in the tree.

use serde_json::Value;
use slipway_test_support::{built, watchdog};
use std::fs;
use std::process::{Command, Output};
use std::time::Duration;

fn bench(args: &[&str]) -> Output {
    // It is looked for beside the bench.
    built("slipway");
    Command::new(env!("CARGO_BIN_EXE_slipway-bench")).arg("unix").args(args).output().unwrap()
}

#[test]
fn the_host_and_a_view_are_measured_and_written() {
    let _watchdog = watchdog("bench unix", Duration::from_secs(200));
    let dir = tempfile::tempdir().unwrap();
    let (json, svg) = (dir.path().join("out.json"), dir.path().join("out.svg"));
    let files = ["--json", json.to_str().unwrap(), "--svg", svg.to_str().unwrap()];
    let asked = ["--ways", "library", "--only", "stat,start,git-status", "--repeat", "1", "--seconds", "0.005"];
    let output = bench(&[&asked[..], &files[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let value: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let rows: Vec<(&str, &str)> = value["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            assert!(row["value"].as_f64().unwrap() > 0.0 && row["unit"] == "us", "{row}");
            (row["test"].as_str().unwrap(), row["variant"].as_str().unwrap())
        })
        .collect();
    for row in [("stat", "host/free"), ("stat", "library/one-core"), ("start", "library/free")] {
        assert!(rows.contains(&row), "{row:?} is not in {rows:?}");
    }
    assert!(rows.iter().all(|(test, _)| ["stat", "start", "git-status"].contains(test)), "{rows:?}");
    roxmltree::Document::parse(&fs::read_to_string(svg).unwrap()).unwrap();
    let table = String::from_utf8_lossy(&output.stdout);
    for part in ["280 | 273 | 181", "start of a command", "slipway\n", "Targets"] {
        assert!(table.contains(part.trim()), "'{part}' is not in\n{table}");
    }
}

#[test]
fn names_that_there_are_not_are_refused() {
    for args in [["--only", "no-such"], ["--ways", "no-such"]] {
        let output = bench(&args);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("no 'no-such'; there is: "), "{output:?}");
    }
}
