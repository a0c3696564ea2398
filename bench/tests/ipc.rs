//! `slipway-bench ipc`, end to end: real processes, every way, the files that are written.

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
    under_watch().arg(env!("CARGO_BIN_EXE_slipway-bench")).arg("ipc").args(args).output().expect("timeout(1) runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[test]
fn every_way_does_every_test_that_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let (json, svg) = (dir.path().join("out.json"), dir.path().join("out.svg"));
    let files = ["--json", json.to_str().unwrap(), "--svg", svg.to_str().unwrap()];
    let output = bench(&[&["--repeat", "2", "--seconds", "0.001"], &files[..]].concat());
    assert!(output.status.success(), "{}", said(&output));

    let value: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let rows = value["rows"].as_array().unwrap();
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
        assert!(number("value") > 0.0, "{row}");
        if row["unit"] == "bytes" {
            continue;
        }
        assert!(number("p50") > 0.0, "{row}");
        assert!(number("p50") <= number("p99"), "{row}");
        assert_eq!(row["unit"], "us");
    }
    let has = |test: &str, variant: &str| rows.iter().any(|row| row["test"] == test && row["variant"] == variant);
    let placements: &[&str] = if processors() > 1 { &["different", "one-core"] } else { &["one-core"] };
    for place in placements {
        for test in ["null", "16-longwords", "256-longwords", "4095-longwords"] {
            for way in ["pipe", "socket", "fabric", "ipc-channel", "mach", "mach-sleep", "mach-one-process"] {
                assert!(has(test, &format!("{way}/{place}")), "{test} {way} {place}");
            }
        }
        for test in ["1-port", "16-ports", "256-ports"] {
            for way in ["socket", "ipc-channel", "mach", "mach-sleep", "mach-one-process"] {
                assert!(has(test, &format!("{way}/{place}")), "{test} {way} {place}");
            }
        }
    }
    for place in placements {
        for test in ["rpc", "1-passed-on", "256-passed-on"] {
            assert!(has(test, &format!("mach/{place}")) && has(test, &format!("mach-sleep/{place}")), "{test} {place}");
        }
        assert!(has("rpc", &format!("mach-one-process/{place}")));
    }
    let weighed: Vec<_> = rows.iter().filter(|row| row["unit"] == "bytes").collect();
    assert!(matches!(&weighed[..], [row] if row["test"] == "make-port"), "{weighed:?}");
    assert!(has("make-port", "mach/one-core") && !has("make-port", "mach/different"));
    assert_eq!(has("null", "iceoryx2/different"), processors() > 1);
    assert!(has("floor", "copy/one-core"));
    assert_eq!(value["published"]["rows"].as_array().unwrap().len(), 7);
    assert!(value["failed"].as_array().unwrap().is_empty());

    roxmltree::Document::parse(&fs::read_to_string(svg).unwrap()).unwrap();
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in ["null message", "0.401", "29.69", "one-core:", "Targets"] {
        assert!(table.contains(part), "'{part}' is not in\n{table}");
    }
}

#[test]
fn instructions_do_not_depend_on_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("out.json");
    let args = [
        "--repeat",
        "1",
        "--seconds",
        "0.001",
        "--only",
        "null",
        "--variants",
        "pipe,fabric,mach-sleep",
        "--instructions",
        "--json",
    ];
    let count = |variant: &str| -> f64 {
        let output = bench(&[&args[..], &[json.to_str().unwrap()]].concat());
        assert!(output.status.success(), "{}", said(&output));
        let value: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
        let rows = value["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["unit"] == "instructions" && row["variant"] == variant);
        row.unwrap_or_else(|| panic!("{variant} in {value}"))["value"].as_f64().unwrap()
    };
    let (first, second) = (count("pipe/one-core"), count("pipe/one-core"));
    assert!(first > 0.0 && (first / second - 1.0).abs() < 0.02, "{first}, then {second}");
    assert!(count("fabric/one-core") > first);
    assert!(count("mach-sleep/one-core") > count("fabric/one-core"));
}

#[test]
fn what_fails_is_named_and_the_rest_is_measured() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("out.json");
    // Too few descriptors for 256 rights and enough for one.
    let output = under_watch()
        .args(["prlimit", "--nofile=64:64", env!("CARGO_BIN_EXE_slipway-bench"), "ipc"])
        .args(["--repeat", "2", "--seconds", "0.001", "--only", "1-port,256-ports", "--variants", "socket"])
        .args(["--json", json.to_str().unwrap()])
        .output()
        .expect("timeout(1) runs");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let value: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let rows = value["rows"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["test"] == "1-port"), "{value}");
    let failed = value["failed"].as_array().unwrap();
    assert_eq!(failed.len(), rows.len(), "{value}");
    for failure in failed {
        assert_eq!(failure["test"], "256-ports");
        assert!(failure["reason"].as_str().unwrap().contains("Too many open files"), "{failure}");
    }
}

#[test]
fn nothing_is_left_in_shared_memory() {
    if processors() < 2 {
        return;
    }
    let output = bench(&["--repeat", "1", "--seconds", "0.001", "--only", "null", "--variants", "iceoryx2"]);
    assert!(output.status.success(), "{}", said(&output));
    let left = || -> Vec<String> {
        let entries = fs::read_dir("/dev/shm").unwrap().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    // Other benches may be running: what they have goes away, what was left stays.
    let ours: Vec<String> = left().into_iter().filter(|name| name.starts_with("slipway-bench-")).collect();
    let gone = |name: &String| {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while left().contains(name) {
            if std::time::Instant::now() > end {
                return false;
            }
            std::thread::yield_now();
        }
        true
    };
    assert!(ours.iter().all(gone), "{ours:?}");
}

#[test]
fn bad_requests_are_refused() {
    let cases: [(&[&str], i32, &str); 4] = [
        (&["--only", "17-longwords"], 2, "17-longwords"),
        (&["--variants", "doves"], 2, "doves"),
        (&["--only", "1-port", "--variants", "pipe"], 2, "none of the tests"),
        (&["--seconds", "0"], 2, "0.001"),
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
    let job = |method: &str| {
        format!(
            r#"{{"case":{{"test":{{"Longwords":0}},"method":"{method}","placement":"one-core"}},
                "side":"client","cpu":0,"work":{{"time":0.01}},"directory":"/nonexistent"}}"#
        )
    };
    for method in ["socket", "pipe", "fabric", "ipc-channel", "mach", "mach-one-process"] {
        let (near, far) = UnixStream::pair().unwrap();
        drop(far);
        let output = under_watch()
            .args([env!("CARGO_BIN_EXE_slipway-bench"), "ipc-peer", &job(method)])
            .stdin(OwnedFd::from(near))
            .output()
            .expect("timeout(1) runs");
        assert_eq!(output.status.code(), Some(1), "{method}: {}", said(&output));
        assert!(said(&output).contains("set-up"), "{method}: {}", said(&output));
    }
}
