//! The store of `examples/store`: its tasks in two processes, in one, and as a system in which it is killed.

mod harness;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use harness::Bench;
use harness::tasks::{config, run, shared, start};
use rustix::process::{Pid, Signal, kill_process};
use slipway_test_support::{built, repository, succeed};

fn example(file: &str) -> PathBuf {
    repository("examples/store").join(file)
}

/// The three tasks, in the test's directory.
fn build(bench: &Bench) {
    let path = |name: &str| bench.path(name).display().to_string();
    let mut mig = Command::new(built("mig"));
    mig.arg("--trap").arg("-I").arg(repository("include")).args([
        "-user",
        &path("storeUser.c"),
        "-server",
        &path("storeServer.c"),
    ]);
    mig.args(["-header", &path("store.h"), "-sheader", &path("storeServer.h")]).arg(example("store.defs"));
    succeed(&mut mig);
    let made = path("storeServer.c").replace("storeServer.c", "");
    let given = example("").display().to_string();
    let (log, checksum) = (example("log.c").display().to_string(), example("checksum.c").display().to_string());
    let places = ["-I", &made, "-I", &given];
    let with = |files: &[&str]| -> Vec<String> { places.iter().chain(files).map(|word| (*word).to_owned()).collect() };
    for (task, source, more) in [
        ("store.so", "server.c", with(&[&log, &checksum, &path("storeServer.c")])),
        ("load.so", "load.c", with(&[&path("storeUser.c")])),
        ("watch.so", "watch.c", with(&[&path("storeUser.c")])),
    ] {
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        shared(&example(source), &bench.path(task), &more);
    }
}

/// A configuration of the example, for this bench: its file is where the test may write.
fn text(bench: &Bench, name: &str) -> String {
    let text = fs::read_to_string(example(name)).expect("the example's file");
    text.replace("demo.log", &bench.path("demo.log").display().to_string())
}

#[test]
fn one_word_moves_the_store() {
    let bench = Bench::new();
    build(&bench);
    let apart = text(&bench, "pair.toml").replace("\"--seconds\", \"2\"", "\"--seconds\", \"1\"");
    let together = apart.replace("process = \"store\"", "process = \"load\"");
    assert_ne!(apart, together);
    for system in [apart, together] {
        // What was put last time is there, and is put anew.
        let ended = run(&bench, &["--config", &config(&bench, &system)]);
        assert_eq!(ended.code(), 0, "{ended:?}");
        assert!(ended.stdout.starts_with("TITLE") && ended.stdout.contains(" calls/s "), "{ended:?}");
    }
    bench.assert_nothing_left();
}

#[test]
fn nothing_that_was_put_is_missing_when_the_store_was_killed() {
    let bench = Bench::new();
    build(&bench);
    // The load does not end before its store has.
    let text = text(&bench, "system.toml").replace("\"--seconds\", \"3\"", "\"--seconds\", \"1\", \"--restarts\", \"1\"");
    assert!(text.contains("--restarts"), "{text}");
    let mut system = start(&bench, &text);
    system.wait_line("watch: 10000 entries");
    let said = system.wait_error("store: 0 entries in ");
    let process = said.lines().find_map(|line| line.strip_prefix("store: 0 entries in ")?.rsplit_once(", process "));
    let process = process.and_then(|(_, number)| number.parse().ok()).unwrap_or_else(|| panic!("{said}"));
    kill_process(Pid::from_raw(process).expect("a process"), Signal::KILL).expect("kill");
    let ended = system.finish();
    assert_eq!(ended.code(), 0, "{ended:?}");
    // A call to a store that is about to be gone, but not yet for the name server, fails as well, and counts.
    let line =
        ended.stdout.lines().find(|line| line.starts_with("load: the store ended ")).unwrap_or_else(|| panic!("{ended:?}"));
    assert!(line.contains(" times, and no value that was put is missing"), "{line}");
    assert_eq!(ended.stderr.matches("it starts again").count(), 1, "{ended:?}");
    assert!(ended.stderr.contains("store: 10000 entries in "), "{ended:?}");
    bench.assert_nothing_left();
}
