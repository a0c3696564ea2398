//! Tests end to end: real servers, real programs, the files that are written.

use serde_json::Value;
use slipway_test_support::built;
use std::fs;
use std::process::{Command, Output};

fn bench(line: &str) -> Output {
    // It starts the servers, and is looked for beside the bench.
    built("slipway");
    Command::new("timeout")
        .args(["--kill-after=10", "300"])
        .arg(env!("CARGO_BIN_EXE_slipway-bench"))
        .arg("x11")
        .args(shlex::split(line).expect("a line of arguments"))
        .output()
        .expect("timeout(1) runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_baseline_measures_and_writes_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("out.json");
    let svg = dir.path().join("out.svg");
    let output = bench(&format!(
        "--baseline --tests pointer --placement shared,free --repeat 1 --seconds 1 --json {} --svg {}",
        json.display(),
        svg.display()
    ));
    assert!(output.status.success(), "{}", said(&output));

    let value: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let rows = value["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{value}");
    for (row, placement) in rows.iter().zip(["shared", "free"]) {
        assert_eq!(row["test"], "pointer");
        assert_eq!(row["placement"], placement);
        let number = |key: &str| row[key].as_f64().unwrap();
        assert!(number("socket") > 0.0);
        assert!((number("ratio") - number("ours") / number("socket")).abs() < 1e-9);
        // Null on kernels without schedstat.
        if !row["cpu_us_socket"].is_null() {
            assert!(number("cpu_us_socket") > 0.0 && number("cpu_us_ours") > 0.0);
        }
    }
    if std::thread::available_parallelism().unwrap().get() > 1 {
        assert!(value["floor"]["across_us"].as_f64().unwrap() > 0.0);
    }
    assert!(value["settings"]["baseline"].as_bool().unwrap());
    assert_ne!(value["settings"]["server"], "");

    let chart = fs::read_to_string(svg).unwrap();
    roxmltree::Document::parse(&chart).unwrap();
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("geometric mean: all x"), "{table}");
}

#[test]
fn the_programs_of_the_seed_are_measured_over_all_three() {
    for part in ["libslipway_preload.so", "libmach.so", "slipway-bootstrap"] {
        built(part);
    }
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("out.json");
    let output = bench(&format!("--table seed --placement free --repeat 1 --seconds 0.1 --json {}", json.display()));
    assert!(output.status.success(), "{}", said(&output));
    let value: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let rows = value["rows"].as_array().unwrap();
    let whole: Vec<_> = rows.iter().filter(|row| row["whole"] == true).collect();
    assert_eq!(whole.len(), 3, "{value}");
    for row in whole {
        let us: Vec<f64> = row["us"].as_array().unwrap().iter().map(|us| us.as_f64().unwrap()).collect();
        // A time less that of a start may be below zero on a busy machine.
        assert!(us.len() == 3 && us.iter().all(|us| *us != 0.0), "{row}");
    }
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("Mach Communication Primitives"), "{table}");
}

#[test]
fn what_is_missing_is_named() {
    for (line, code, part) in [
        ("--preload /nowhere/lib.so", 3, "/nowhere/lib.so"),
        ("--baseline --tests nosuchtest", 2, "nosuchtest"),
        ("--baseline --server-command no-such-server", 3, "no-such-server"),
        ("--baseline --placement free --server-command 'Xvfb -nosuchoption'", 1, "-nosuchoption"),
        ("--placement nowhere", 2, "nowhere"),
    ] {
        let output = bench(line);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{line}: {said}");
        assert!(said.contains(part), "{line}: {said}");
    }
}

/// A library that does nothing stands for hooks that don't take: the ratio would be 1, and a lie.
#[test]
fn a_server_without_a_hub_is_no_result() {
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("libslipway_preload.so");
    fs::write(&library, "").unwrap();
    let output = bench(&format!("--preload {} --placement free --tests noop", library.display()));
    let said = said(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("has no hub"), "{said}");
}
