//! `slipway-bench colocate`, end to end: real processes, every way, the files that are written.

use serde_json::Value;
use std::fs;
use std::process::{Command, Output};

fn bench(args: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", "300", env!("CARGO_BIN_EXE_slipway-bench"), "colocate"]);
    command.args(args).output().expect("timeout(1) runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_way_makes_every_call() {
    let dir = tempfile::tempdir().unwrap();
    let (json, svg) = (dir.path().join("out.json"), dir.path().join("out.svg"));
    let files = ["--json", json.to_str().unwrap(), "--svg", svg.to_str().unwrap()];
    let output = bench(&[&["--repeat", "1", "--seconds", "0.001"], &files[..]].concat());
    assert!(output.status.success(), "{}", said(&output));

    let value: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let rows = value["rows"].as_array().unwrap();
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
        assert!(number("value") > 0.0 && number("p50") > 0.0 && number("p50") <= number("p99"), "{row}");
    }
    let has = |test: &str, variant: &str| rows.iter().any(|row| row["test"] == test && row["variant"] == variant);
    for test in ["null", "64-in", "1k-in", "1k-out", "128-inout"] {
        for way in ["message", "message-trap-stubs", "message-sleep", "one-process", "trap", "trap-concurrent", "plain"] {
            assert!(has(test, &format!("{way}/one-core")), "{test} {way}");
        }
        assert!(has(test, "virtual/one-core") && has(test, "capnp/one-core") && !has(test, "trap/different"), "{test}");
    }
    for test in ["1k-in-const", "own-library", "own-call"] {
        assert!(has(test, "message/one-core") && has(test, "trap/one-core") && !has(test, "plain/one-core"), "{test}");
    }
    assert_eq!(value["published"]["rows"].as_array().unwrap().len(), 7);
    assert!(value["failed"].as_array().unwrap().is_empty());

    roxmltree::Document::parse(&fs::read_to_string(svg).unwrap()).unwrap();
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in ["128 InOut", "34.5 | 33.1 | 9.8", "Targets"] {
        assert!(table.contains(part), "'{part}' is not in\n{table}");
    }
}

#[test]
fn the_stages_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("out.json");
    let args = ["--repeat", "1", "--seconds", "0.001", "--only", "128-inout", "--variants", "trap,message-sleep,plain"];
    let output = bench(&[&args[..], &["--instructions", "--json", json.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", said(&output));
    let value: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let count = |variant: &str| -> f64 {
        let rows = value["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["unit"] == "instructions" && row["variant"] == variant);
        row.unwrap_or_else(|| panic!("{variant} in {value}"))["value"].as_f64().unwrap()
    };
    let stages = |way: &str, names: [&str; 4]| -> f64 {
        let counts = names.map(|name| count(&format!("{way}/one-core/{name}")));
        assert!(counts.iter().all(|&count| count > 0.0), "{way}: {counts:?}");
        counts.iter().sum()
    };
    let trap = stages("trap", ["client's stub", "mach_trap, in and out", "server's trap function", "routine"]);
    assert!((trap - count("trap/one-core")).abs() < 1.0);
    let message = stages("message-sleep", ["client's stub", "mach_msg, both ways", "server's stub", "routine"]);
    assert!((message - count("message-sleep/one-core")).abs() < 1.0 && message > trap);
    assert!(count("plain/one-core") < trap);
}

#[test]
fn bad_requests_are_refused() {
    let cases: [(&[&str], &str); 2] = [(&["--only", "17-longwords"], "128-inout"), (&["--variants", "doves"], "doves")];
    for (args, part) in cases {
        let output = bench(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
        assert!(said(&output).contains(part), "{args:?}: {}", said(&output));
    }
}
