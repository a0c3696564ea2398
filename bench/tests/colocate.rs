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
        if row["unit"] == "ns" {
            continue;
        }
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
        assert!(number("value") > 0.0 && number("p50") > 0.0 && number("p50") <= number("p99"), "{row}");
    }
    let has = |test: &str, variant: &str| rows.iter().any(|row| row["test"] == test && row["variant"] == variant);
    for test in ["null", "64-in", "1k-in", "1k-out", "128-inout"] {
        for way in
            ["message", "message-trap-stubs", "message-sleep", "one-process", "trap", "trap-concurrent", "trap-rust", "plain"]
        {
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
fn the_stages_instructions_are_told_apart() {
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
    let sum = |way: &str| -> f64 {
        let prefix = format!("{way}/one-core/");
        let rows = value["rows"].as_array().unwrap().iter().filter(|row| row["unit"] == "instructions");
        let stages = rows.filter(|row| row["variant"].as_str().unwrap().starts_with(&prefix));
        stages
            .filter(|row| row["variant"] != format!("{prefix}the loop around it"))
            .map(|row| row["value"].as_f64().unwrap())
            .sum()
    };
    for name in ["port, table, routine looked up", "a place taken in the server's turn", "routine"] {
        assert!(count(&format!("trap/one-core/{name}")) > 0.0, "{name}");
    }
    for name in ["client's stub, request", "request into the ring", "request out of the ring", "routine", "reply into the ring"] {
        assert!(count(&format!("message-sleep/one-core/{name}")) > 0.0, "{name}");
    }
    let (trap, message) = (sum("trap"), sum("message-sleep"));
    assert!((trap - count("trap/one-core")).abs() < 1.0);
    assert!((message - count("message-sleep/one-core")).abs() < 1.0 && message > trap);
    assert!(count("plain/one-core") < trap);
}

#[test]
fn the_stages_are_timed() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("out.json");
    let ways = "trap,message,one-process,message-trap-stubs";
    let args = ["--repeat", "1", "--seconds", "0.001", "--only", "null,128-inout", "--variants", ways];
    let output = bench(&[&args[..], &["--json", json.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", said(&output));
    let value: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let ns = |test: &str, variant: &str| -> f64 {
        let rows = value["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["unit"] == "ns" && row["test"] == test && row["variant"] == variant);
        row.unwrap_or_else(|| panic!("{test} {variant} in {value}"))["value"].as_f64().unwrap()
    };
    let us = |test: &str, variant: &str| -> f64 {
        let rows = value["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["unit"] == "us" && row["test"] == test && row["variant"] == variant);
        row.unwrap_or_else(|| panic!("{test} {variant} in {value}"))["value"].as_f64().unwrap()
    };
    for test in ["null", "128-inout"] {
        let of = |part: &str| ns(test, &format!("trap/one-core/{part}"));
        // The loops' calls are those that are timed by themselves, for which a busy machine may need some times as long.
        let timed = us(test, "trap/one-core") * 1e3;
        for part in ["all, with the readings taken off", "mach_trap", "turn taken and given back"] {
            assert!((timed / 8.0..timed * 8.0).contains(&of(part)), "{test}: {part}: {} ns, {timed} ns in a run", of(part));
        }
        assert!(of("routine") < timed, "{test}: {} of {timed}", of("routine"));
    }
    if std::thread::available_parallelism().map_or(1, usize::from) > 1 {
        for (test, way) in [("null", "message"), ("128-inout", "message"), ("null", "one-process"), ("128-inout", "one-process")]
        {
            let of = |part: &str| ns(test, &format!("{way}/different/{part}"));
            let all = of("all, with the readings taken off");
            assert!(of("request sent") > 0.0 && of("reply sent") > 0.0 && of("to the server's core") > 0.0, "{test} {way}");
            assert!(all > of("client's stub, request") && all > of("routine"), "{test} {way}");
        }
        assert!(ns("null", "message-trap-stubs/different/trap stub") > 0.0);
    }
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
