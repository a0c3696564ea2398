//! `slipway-bench ipc`, `rpc`, `colocate` and `channel`, end to end: real processes, every method, the files that are written.

use serde_json::Value;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Output};

const BENCH: &str = env!("CARGO_BIN_EXE_slipway-bench");

fn under_watch(program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", "300", program]);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What the run of a line of options printed, wrote as JSON, and drew.
fn bench(line: &str) -> (String, Value, String) {
    let dir = tempfile::tempdir().unwrap();
    let (json, svg) = (dir.path().join("out.json"), dir.path().join("out.svg"));
    let mut command = under_watch(BENCH);
    let output = command.args(line.split(' ')).arg("--json").arg(&json).arg("--svg").arg(&svg).output().unwrap();
    assert!(output.status.success(), "{line}: {}", said(&output));
    let value: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert!(value["failed"].as_array().unwrap().is_empty(), "{line}: {value}");
    (String::from_utf8_lossy(&output.stdout).into_owned(), value, fs::read_to_string(svg).unwrap())
}

fn find(value: &Value, test: &str, variant: &str, unit: &str) -> Option<f64> {
    let mut rows = value["rows"].as_array().unwrap().iter();
    rows.find(|row| row["test"] == test && row["variant"] == variant && row["unit"] == unit)?["value"].as_f64()
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// That these tests were timed in these ways, at all placements unless a way names one, and the table has these parts.
fn is_whole(name: &str, published: usize, tests: &[(&str, &str)], parts: &[&str]) -> Value {
    let (table, value, svg) = bench(&format!("{name} --repeat 1 --seconds 0.001"));
    for row in value["rows"].as_array().unwrap().iter().filter(|row| row["unit"] == "us") {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
        assert!(number("value") > 0.0 && number("p50") > 0.0 && number("p50") <= number("p99"), "{row}");
    }
    let placements: &[&str] = if processors() > 1 { &["different", "one-core"] } else { &["one-core"] };
    for (test, way) in tests.iter().flat_map(|(tests, ways)| {
        let ways = move || ways.split(' ');
        tests.split(' ').flat_map(move |test| ways().map(move |way| (test, way)))
    }) {
        match way.split_once('/') {
            Some((_, "different")) if processors() < 2 => {}
            Some(_) => assert!(find(&value, test, way, "us").is_some(), "{test} {way}"),
            None => {
                for place in placements {
                    assert!(find(&value, test, &format!("{way}/{place}"), "us").is_some(), "{test} {way} {place}");
                }
            }
        }
    }
    assert_eq!(value["published"]["rows"].as_array().unwrap().len(), published);
    roxmltree::Document::parse(&svg).unwrap();
    for part in parts {
        assert!(table.contains(part), "'{part}' is not in\n{table}");
    }
    value
}

#[test]
fn ipc_does_every_test_in_every_way() {
    let tests = [
        ("null 16-longwords 256-longwords 4095-longwords", "pipe socket fabric ipc-channel mach mach-sleep mach-one-process"),
        ("null", "iceoryx2/different"),
        ("1-port 16-ports 256-ports", "socket ipc-channel mach mach-sleep mach-one-process"),
        ("rpc", "mach-one-process"),
        ("rpc rpc-100-owned rpc-100-moved 1-passed-on 256-passed-on", "mach mach-sleep"),
        ("floor", "cache-line/different futex yield/one-core copy/one-core clock/one-core"),
        ("make-port", "mach/one-core"),
    ];
    let value = is_whole(
        "ipc",
        7,
        &tests,
        &[
            if std::thread::available_parallelism().unwrap().get() > 1 {
                "floor      cache line between the cores "
            } else {
                "floor      futex on one core "
            },
            "null message",
            "0.401",
            "29.69",
            "a right, of 256 ports ",
            "0.057",
            "one-core: two processes on one core",
            "bytes of memory",
            "Targets",
        ],
    );
    assert!(find(&value, "make-port", "mach/one-core", "bytes").unwrap() > 0.0);
}

#[test]
fn rpc_makes_every_call_in_every_way() {
    let all = "null 16-longwords 256-longwords 4095-longwords four-ints nothing 64-in 1024-in 1024-out 128-inout";
    let tests = [
        (all, "stubs stubs-sleep stubs-one-process bare bare-sleep bare-one-process once"),
        (all, "client-stub/one-core server-stub/one-core ready/one-core"),
    ];
    let value = is_whole(
        "rpc",
        9,
        &tests,
        &["null RPC", "0.27 | 0.485 ms", "8366 | 7512 | 2741", "one-core:", "work of both stubs", "not measured"],
    );
    assert!(find(&value, "four-ints", "stubs/one-core/stub-work", "ns").is_some());
}

#[test]
fn colocate_makes_every_call_in_every_way() {
    let tests = [
        ("null 64-in 1k-in 1k-out 128-inout", "message message-trap-stubs message-sleep one-process capnp"),
        ("null 64-in 1k-in 1k-out 128-inout", "trap/one-core trap-concurrent/one-core trap-rust/one-core"),
        ("null 64-in 1k-in 1k-out 128-inout", "plain/one-core virtual/one-core"),
        ("1k-in-const own-library own-call", "message one-process trap/one-core"),
        ("null", "message-registered/different"),
    ];
    is_whole("colocate", 7, &tests, &["128 InOut", "34.5 | 33.1 | 9.8", "18.8 | - | 16.7", "x3.52", "Targets"]);
}

#[test]
fn channel_does_every_test_over_both_crates() {
    let tests = "64 4k 64k 1m stream set-1000 set-1000-each sender receiver memory memory-made";
    is_whole("channel", 0, &[(tests, "ipc-channel slipway slipway-sleep")], &["times", "a set of 1,000 senders", "Targets"]);
}

#[test]
fn instructions_do_not_depend_on_the_run() {
    let count = |line: &str, test: &str, variant: &str| {
        let (table, value, _) = bench(&format!("{line} --repeat 1 --seconds 0.001 --instructions"));
        assert!(table.contains("instructions of both processes"), "{table}");
        let variant = variant.split(' ');
        variant.map(|variant| find(&value, test, variant, "instructions").unwrap()).collect::<Vec<f64>>()
    };
    let ipc = || {
        count("ipc --only null --variants pipe,fabric,mach-sleep", "null", "pipe/one-core fabric/one-core mach-sleep/one-core")
    };
    let (first, second) = (ipc(), ipc());
    assert!(first[0] > 0.0 && first[0] < first[1] && first[1] < first[2], "{first:?}");
    // The start of two processes differs by some ten thousand instructions from run to run.
    assert!((first[0] / second[0] - 1.0).abs() < 0.05, "{first:?}, then {second:?}");
    let rpc = "stubs-sleep/one-core bare-sleep/one-core stubs/one-core/stub-work";
    let rpc = count("rpc --only four-ints --variants stubs-sleep,bare-sleep,client-stub,server-stub,ready", "four-ints", rpc);
    assert!(rpc[2] > 0.0 && rpc[0] > rpc[1] && rpc[1] > rpc[2], "{rpc:?}");
    let ways = "message-sleep/one-core trap/one-core plain/one-core";
    let colocate = count("colocate --only null --variants message-sleep,trap,plain", "null", ways);
    assert!(colocate[0] > 5.0 * colocate[1] && colocate[1] > colocate[2] && colocate[2] > 0.0, "{colocate:?}");
}

#[test]
fn what_fails_is_named_and_the_rest_is_measured() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("out.json");
    // Too few descriptors for 256 rights and enough for one.
    let mut command = under_watch("prlimit");
    command.args(["--nofile=64:64", BENCH, "ipc", "--repeat", "2", "--seconds", "0.001", "--only", "1-port,256-ports"]);
    let output = command.args(["--variants", "socket", "--json"]).arg(&json).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("FAILED: 256-ports, socket/one-core: "));
    let value: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let (rows, failed) = (value["rows"].as_array().unwrap(), value["failed"].as_array().unwrap());
    assert!(!rows.is_empty() && rows.iter().all(|row| row["test"] == "1-port"), "{value}");
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
    bench("ipc --repeat 1 --seconds 0.001 --only null --variants iceoryx2");
    let left = || -> Vec<String> {
        let entries = fs::read_dir("/dev/shm").unwrap().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    // Other benches may be running: what they have goes away, what was left stays.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    for name in left().into_iter().filter(|name| name.starts_with("slipway-bench-")) {
        while left().contains(&name) {
            assert!(std::time::Instant::now() < end, "{name}");
            std::thread::yield_now();
        }
    }
}

#[test]
fn bad_requests_are_refused() {
    for (line, part) in [
        ("ipc --only 17-longwords", "256-passed-on"),
        ("ipc --variants doves", "doves"),
        ("ipc --only 1-port --variants pipe", "none of the tests"),
        ("ipc --seconds 0", "0.001"),
        ("rpc --repeat 0", "1..=1000"),
        ("colocate --only 17", "128-inout"),
    ] {
        let output = under_watch(BENCH).args(line.split(' ')).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {}", said(&output));
        assert!(said(&output).contains(part), "{line}: {}", said(&output));
    }
}

/// A client whose server is gone must end by itself: nobody else would end it.
#[test]
fn a_peer_without_the_other_ends() {
    for (bench, test, methods) in [
        ("ipc", "null", "socket pipe fabric ipc-channel mach mach-one-process"),
        ("rpc", "null", "stubs bare once stubs-one-process"),
        ("colocate", "null", "message trap capnp"),
        ("channel", "64", "ipc-channel slipway"),
    ] {
        for method in methods.split(' ') {
            let job = format!(
                r#"{{"case":["{bench}","{test}","{method}","one-core"],
                    "side":"client","cpu":0,"servers_cpu":0,"work":{{"time":0.01}},"directory":"/nonexistent"}}"#
            );
            let (near, far) = UnixStream::pair().unwrap();
            drop(far);
            let output = under_watch(BENCH).args(["peer", &job]).stdin(OwnedFd::from(near)).output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{bench} {method}: {}", said(&output));
            assert!(said(&output).starts_with("slipway-bench: "), "{bench} {method}: {}", said(&output));
        }
    }
}
