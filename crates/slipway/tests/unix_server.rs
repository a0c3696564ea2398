//! The Unix server as a task: one file, in a process of its own and in that of a program in C, by message and by trap.

mod harness;

use harness::tasks::{command, config, task_of};
use harness::{Bench, Outcome, Running};
use slipway_test_support::{built, repository, succeed};
use std::fs;
use std::process::Command;

/// The client, in the test's directory.
fn client(bench: &Bench) {
    for defs in ["unix", "unix_signal"] {
        let mut mig = Command::new(built("mig"));
        mig.args(["--trap", "-sheader", &format!("{defs}sServer.h"), "-I"]).arg(repository("include"));
        mig.arg(repository(&format!("include/servers/{defs}.defs")));
        succeed(mig.current_dir(bench.path("")));
    }
    let text = fs::read_to_string(harness::build::asset("c/unix_client.c")).expect("the source");
    let file = |name: &str| bench.path(name).display().to_string();
    let include = format!("-I{}", file(""));
    task_of(bench, "client", &text, &[&include, &file("unixUser.c"), &file("unix_signalsServer.c")]);
}

fn run(bench: &Bench, args: &[&str]) -> Outcome {
    built("libslipway_unix_task.so");
    let mut command = command(bench, args);
    command.current_dir(bench.path("")).env("XDG_STATE_HOME", bench.path("state"));
    Running::start(command).finish()
}

const SAID: &str = "wrote 10, read 'a ta', size 10, mode 100640\n/proc: No such file or directory\nsignal: 10 of its own\n";

#[test]
fn one_file_serves_wherever_it_runs() {
    let bench = Bench::new();
    client(&bench);
    fs::create_dir(bench.path("work")).expect("a directory");
    let work = bench.path("work").display().to_string();
    for (layer, more, processes) in
        [("apart", "", ["a", "b"]), ("messages", "'--messages', ", ["a", "a"]), ("trap", "", ["a", "a"])]
    {
        let text = format!(
            "main = 'client'\n\
             [task.server]\nfile = 'unix-server.so'\nargs = [{more}'--layer', '{layer}']\nprocess = '{}'\nprovides = ['slipway.unix']\n\
             [task.client]\nfile = 'client.so'\nargs = ['{work}']\nprocess = '{}'\nafter = ['server']\n",
            processes[0], processes[1]
        );
        let ended = run(&bench, &["--config", &config(&bench, &text)]);
        assert_eq!((ended.code(), &*ended.stdout), (0, SAID), "{layer}: {ended:?}");
        assert!(!bench.path("work/written").exists());
        let mut diff = bench.slipway(&["unix", "diff", layer]);
        let shown = Running::start({
            diff.env("XDG_STATE_HOME", bench.path("state"));
            diff
        })
        .succeed();
        assert!(shown.contains("created") && shown.contains("work/written"), "{layer}: {shown}");
    }
    bench.assert_nothing_left();
}

#[test]
fn on_the_command_line_a_server_without_a_layer_changes_nothing() {
    let bench = Bench::new();
    client(&bench);
    let ended = run(&bench, &["--private", "unix-server.so", "client.so", "--", "/tmp"]);
    assert_eq!((ended.code(), &*ended.stdout), (1, ""), "{ended:?}");
    assert!(ended.stderr.contains("Read-only file system"), "{ended:?}");
    let ended = run(&bench, &["--private", "unix-server.so", "--", "--layer", "../x"]);
    assert_eq!(ended.code(), 1, "{ended:?}");
    assert!(ended.stderr.starts_with("unix-server: \"../x\" can't be a layer's name"), "{ended:?}");
}
