//! The client and the server of `trap.defs` see the same, whatever they are written in and wherever the server is.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

const LANGUAGES: [&str; 3] = ["c", "rust", "old"];

/// No run takes longer.
fn watched(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg("100").arg(program);
    command
}

fn parties() -> Command {
    watched(Path::new(env!("CARGO_BIN_EXE_slipway-parties")))
}

/// Runs a command that must succeed: what it printed.
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("start {command:?}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    out.into_owned()
}

/// A run's transcripts, routines that were served by message, and arrays of the caller's that the server had itself.
struct Outcome {
    transcripts: [String; 2],
    messages: u32,
    lent: u32,
}

fn outcome(printed: &str, files: &[PathBuf; 2]) -> Outcome {
    let numbers: Vec<u32> = printed.split_whitespace().map(|n| n.parse().expect("a number")).collect();
    let transcripts = files.each_ref().map(|file| fs::read_to_string(file).expect("a transcript"));
    Outcome { transcripts, messages: numbers[0], lent: numbers[1] }
}

fn files(dir: &Path) -> [PathBuf; 2] {
    ["client", "server"].map(|name| dir.join(name))
}

fn in_one_process(client: &str, server: &str, way: &str) -> Outcome {
    let dir = tempfile::tempdir().expect("a directory");
    let files = files(dir.path());
    outcome(&succeed(parties().args(["both", client, server, way]).args(&files)), &files)
}

fn assert_same(a: &Outcome, b: &Outcome, what: &str) {
    for (side, (a, b)) in ["client", "server"].into_iter().zip(a.transcripts.iter().zip(&b.transcripts)) {
        let differs = a.lines().zip(b.lines()).enumerate().find(|(_, (a, b))| a != b);
        assert!(differs.is_none(), "{what}: the {side} sees something else: {differs:?}");
        assert_eq!(a.lines().count(), b.lines().count(), "{what}: the {side} sees more or less");
    }
}

/// What all others are compared with.
fn standard() -> Outcome {
    let standard = in_one_process("c", "c", "message");
    assert!(standard.transcripts.iter().all(|t| t.lines().count() > 500));
    standard
}

#[test]
fn by_message_in_one_process() {
    let standard = standard();
    for client in LANGUAGES {
        for server in LANGUAGES {
            let outcome = in_one_process(client, server, "message");
            assert_same(&standard, &outcome, &format!("{client} to {server}"));
            assert_eq!((outcome.messages, outcome.lent), (standard.messages, 0));
        }
    }
}

#[test]
fn by_trap() {
    let standard = standard();
    for client in LANGUAGES {
        for server in LANGUAGES {
            if client == "old" || server == "old" {
                let outcome = in_one_process(client, server, "trap");
                assert_same(&standard, &outcome, &format!("{client} to {server}"));
                assert_eq!(outcome.messages, standard.messages, "old stubs know messages only");
                continue;
            }
            // `tell' and `right' are messages. What comes right behind them, or before the server waits, may be one, so that it
            // may take a second run. Each other routine is called four times at least, so none of them always is.
            let trapped = (0..20).any(|_| {
                let outcome = in_one_process(client, server, "trap");
                assert_same(&standard, &outcome, &format!("{client} to {server}"));
                // The array that is `const' is not copied for a server in C.
                (2..6).contains(&outcome.messages) && outcome.lent == if server == "c" { 5 } else { 0 }
            });
            assert!(trapped, "{client} to {server}: some routine is never called by trap");
        }
    }
}

#[test]
fn by_traps_that_are_refused_midway() {
    let standard = standard();
    for client in ["c", "rust"] {
        for server in ["c", "rust"] {
            // How many are refused is a matter of luck, so that it may take a second run.
            let mixed = (0..20).any(|_| {
                let outcome = in_one_process(client, server, "midway");
                assert_same(&standard, &outcome, &format!("{client} to {server}"));
                outcome.messages > 10 && outcome.messages + 10 < standard.messages
            });
            assert!(mixed, "{client} to {server}: all by call, or all by message");
        }
    }
}

/// A process that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program, which says in a line of its output that it is ready.
fn start(command: &mut Command) -> Ended {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap_or_else(|error| panic!("start {command:?}: {error}"));
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("what the program says");
    assert!(!line.is_empty(), "{command:?} ended");
    Ended(child)
}

/// The name server's program, which another package makes; built now if it is not there.
fn name_server() -> PathBuf {
    let parties = Path::new(env!("CARGO_BIN_EXE_slipway-parties"));
    let path = parties.with_file_name("slipway-bootstrap");
    if !path.exists() {
        let profile = parties.parent().expect("a directory");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked", "-p", "slipway-bootstrap", "--target-dir"]).arg(profile.parent().expect("a directory"));
        succeed(cargo.args(profile.ends_with("release").then_some("--release")));
    }
    path
}

#[test]
fn in_two_processes() {
    let standard = standard();
    let name_server = name_server();
    for client in LANGUAGES {
        for server in LANGUAGES {
            let dir = tempfile::tempdir().expect("a directory");
            let (files, socket) = (files(dir.path()), dir.path().join("socket"));
            let _names = start(Command::new(&name_server).arg("--socket").arg(&socket));
            let mut command = Command::new(env!("CARGO_BIN_EXE_slipway-parties"));
            let running = start(command.args(["server", server]).arg(&files[1]).env("SLIPWAY_BOOTSTRAP", &socket));
            let printed = succeed(parties().args(["client", client]).arg(&files[0]).env("SLIPWAY_BOOTSTRAP", &socket));
            // The transcript is written line by line, each before its call is answered.
            drop(running);
            assert_same(&standard, &outcome(&printed, &files), &format!("{client} to {server}"));
        }
    }
}
