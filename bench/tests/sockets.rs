//! One test, end to end: real servers and clients, the files that are written, and what is left of a bench that was killed.

use serde_json::Value;
use slipway_test_support::{built, until, watchdog};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn command(line: &str) -> Command {
    // It starts the programs with hooks, and is looked for beside the bench.
    built("slipway");
    let mut command = Command::new(env!("CARGO_BIN_EXE_slipway-bench"));
    command.arg("sockets").args(line.split(' ')).env("SLIPWAY_PRELOAD", built("libslipway_preload.so"));
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What the run of a line of options printed, wrote as JSON, and drew.
fn bench(line: &str) -> (String, Value, String) {
    let dir = tempfile::tempdir().unwrap();
    let (json, svg) = (dir.path().join("out.json"), dir.path().join("out.svg"));
    let output = command(line).arg("--json").arg(&json).arg("--svg").arg(&svg).output().unwrap();
    assert!(output.status.success(), "{line}: {}", said(&output));
    let value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    (String::from_utf8_lossy(&output.stdout).into_owned(), value, fs::read_to_string(svg).unwrap())
}

#[test]
fn a_test_is_measured_over_all_three_and_written() {
    let _watchdog = watchdog("bench sockets", Duration::from_secs(200));
    let (table, value, svg) = bench("--only redis:2 --placement shared,free --repeat 1 --seconds 0.05");
    let rows = value["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{value}");
    for (row, placement) in rows.iter().zip(["shared", "free"]) {
        assert_eq!((row["test"].as_str(), row["placement"].as_str()), (Some("redis:2"), Some(placement)));
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
        assert!(number("socket") > 0.0 && number("tcp") > 0.0);
        assert!((number("ratio") - number("ours") / number("socket")).abs() < 1e-9);
        assert_eq!(row["on_ring"], true, "{row}");
        // Null on kernels without schedstat.
        for key in ["cpu_us_socket", "cpu_us_tcp", "cpu_us_ours"] {
            assert!(row[key].is_null() || number(key) > 0.0, "{key} in {row}");
        }
    }
    assert!(value["settings"]["programs"][0].as_str().unwrap().starts_with("redis "), "{value}");
    assert!(value["targets"].as_array().unwrap().iter().any(|target| target["reached"].is_number()), "{value}");
    roxmltree::Document::parse(&svg).unwrap();
    for part in ["shared: server and client on one shared core", "redis:2", "geometric mean: x", "Targets"] {
        assert!(table.contains(part), "'{part}' is not in\n{table}");
    }
}

#[test]
fn a_baseline_has_no_hooks_and_a_missing_program_is_a_row() {
    let _watchdog = watchdog("bench sockets --baseline", Duration::from_secs(200));
    let (table, value, _) = bench("--baseline --only redis:1 --placement shared --repeat 1 --seconds 0.05");
    assert!(value["rows"][0]["on_ring"].is_null(), "{value}");
    assert!(table.contains("again") && !table.contains("Targets"), "{table}");

    let dir = tempfile::tempdir().unwrap();
    let found =
        std::env::split_paths(&std::env::var_os("PATH").unwrap()).map(|dir| dir.join("setpriv")).find(|path| path.exists());
    symlink(found.expect("setpriv"), dir.path().join("setpriv")).unwrap();
    let output = command("--only redis --placement shared").env("PATH", dir.path()).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("redis") && table.contains("apt-get install redis-server"), "{table}");
}

#[test]
fn bad_requests_are_refused_and_hooks_without_effect_are_no_result() {
    let _watchdog = watchdog("bench sockets, refused", Duration::from_secs(200));
    let dir = tempfile::tempdir().unwrap();
    // A library that does nothing stands for hooks that don't take: the ratio would be 1, and a lie.
    let library = dir.path().join("libslipway_preload.so");
    fs::write(&library, "").unwrap();
    let library = format!("--preload {} --only redis:1 --placement shared --seconds 0.05", library.display());
    for (line, code, part) in [
        ("--only rediss", 2, "postgresql"),
        ("--only redis:0", 2, "redis:50"),
        ("--only dbus:2", 2, "D-Bus: 1"),
        ("--placement flood", 2, "hogs"),
        ("--preload /nowhere/lib.so", 3, "/nowhere/lib.so"),
        (&*library, 4, "not in effect"),
    ] {
        let output = command(line).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}: {}", said(&output));
        assert!(said(&output).contains(part), "{line}: {}", said(&output));
    }
}

#[test]
fn nothing_runs_on_after_a_kill() {
    let _watchdog = watchdog("bench sockets, killed", Duration::from_secs(200));
    let dir = tempfile::tempdir().unwrap();
    let mut bench = command("--only redis:1 --placement shared --seconds 60");
    let mut bench = bench.env("TMPDIR", dir.path()).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let children = || {
        let text = fs::read_to_string(format!("/proc/{0}/task/{0}/children", bench.id())).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    until("three servers and a client run", || children().len() > 3);
    let started = children();
    bench.kill().unwrap();
    bench.wait().unwrap();
    for pid in started {
        // A process that nobody waits for yet has ended, too.
        let state = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        until("it has ended", || !Path::new(&format!("/proc/{pid}")).exists() || state().contains(") Z "));
    }
}
