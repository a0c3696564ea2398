//! `slipway-bench rpc`, end to end: real processes, every way, the files that are written.

use serde_json::Value;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Output};

fn under_watch() -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", "300"]);
    command
}

fn bench(args: &[&str]) -> Output {
    under_watch().arg(env!("CARGO_BIN_EXE_slipway-bench")).arg("rpc").args(args).output().expect("timeout(1) runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
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
    let timed = || rows.iter().filter(|row| row["unit"] == "us");
    for row in timed() {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
        assert!(number("value") > 0.0 && number("p50") > 0.0 && number("p50") <= number("p99"), "{row}");
    }
    let has = |test: &str, variant: &str| timed().any(|row| row["test"] == test && row["variant"] == variant);
    let placements: &[&str] = if processors() > 1 { &["different", "one-core"] } else { &["one-core"] };
    for test in [
        "null",
        "16-longwords",
        "256-longwords",
        "4095-longwords",
        "four-ints",
        "nothing",
        "64-in",
        "1024-in",
        "1024-out",
        "128-inout",
    ] {
        for place in placements {
            for way in ["stubs", "stubs-sleep", "stubs-one-process", "bare", "bare-sleep", "bare-one-process", "once"] {
                assert!(has(test, &format!("{way}/{place}")), "{test} {way} {place}");
            }
        }
        for way in ["client-stub", "server-stub", "ready"] {
            assert!(has(test, &format!("{way}/one-core")) && !has(test, &format!("{way}/different")), "{test} {way}");
        }
        let work = |row: &&Value| row["test"] == test && row["variant"] == "stubs/one-core/stub-work" && row["unit"] == "ns";
        assert!(rows.iter().any(|row| work(&row)), "{test}");
    }
    assert_eq!(value["published"]["rows"].as_array().unwrap().len(), 9);
    assert!(value["failed"].as_array().unwrap().is_empty());

    roxmltree::Document::parse(&fs::read_to_string(svg).unwrap()).unwrap();
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in ["null RPC", "0.27 | 0.485 ms", "8366 | 7512 | 2741", "one-core:", "Targets"] {
        assert!(table.contains(part), "'{part}' is not in\n{table}");
    }
}

#[test]
fn the_stubs_instructions_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("out.json");
    let args = ["--repeat", "1", "--seconds", "0.001", "--only", "four-ints", "--variants", "stubs-sleep,bare-sleep"];
    let output = bench(&[&args[..], &["--instructions", "--json", json.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", said(&output));
    let value: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let count = |variant: &str| -> f64 {
        let rows = value["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["unit"] == "instructions" && row["variant"] == variant);
        row.unwrap_or_else(|| panic!("{variant} in {value}"))["value"].as_f64().unwrap()
    };
    let all = count("stubs-sleep/one-core");
    let (client, server) = (count("stubs-sleep/one-core/client-stub"), count("stubs-sleep/one-core/server-stub"));
    let message = count("stubs-sleep/one-core/client-mach_msg");
    assert!(client > 0.0 && server > 0.0 && message > 0.0 && client + server + message < all, "{value}");
    let functions = [("client", "call_four"), ("client", "mig_get_reply_port"), ("server", "rpc_server"), ("server", "_Xfour")];
    for (side, function) in functions {
        assert!(count(&format!("stubs-sleep/one-core/{side}-stub/{function}")) > 0.0, "{function}");
    }
    assert!(count("bare-sleep/one-core") > 0.0);
}

#[test]
fn bad_requests_are_refused() {
    let cases: [(&[&str], i32, &str); 3] = [
        (&["--only", "17-longwords"], 2, "128-inout"),
        (&["--variants", "doves"], 2, "doves"),
        (&["--repeat", "0"], 2, "1..=1000"),
    ];
    for (args, code, part) in cases {
        let output = bench(args);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(part), "{args:?}: {said}");
    }
}

/// A client whose server is gone must end by itself: nobody else would end it.
#[test]
fn a_peer_without_the_other_ends() {
    for method in ["stubs", "bare", "once", "stubs-one-process"] {
        let job = format!(
            r#"{{"case":{{"test":"Null","method":"{method}","placement":"one-core"}},
                "side":"client","cpu":0,"work":{{"time":0.01}},"directory":"/nonexistent"}}"#
        );
        let (near, far) = UnixStream::pair().unwrap();
        drop(far);
        let output = under_watch()
            .args([env!("CARGO_BIN_EXE_slipway-bench"), "rpc-peer", &job])
            .stdin(OwnedFd::from(near))
            .output()
            .expect("timeout(1) runs");
        assert_eq!(output.status.code(), Some(1), "{method}: {}", said(&output));
        assert!(said(&output).contains("set-up"), "{method}: {}", said(&output));
    }
}
