//! `slipway run` and `slipway services`, with real name servers.

mod harness;

use std::fs;
use std::path::Path;
use std::process::Command;

use harness::bench::{ends, pidfd};
use harness::mach::{self, Msg, receive_right, role};
use harness::{Bench, Outcome, Running};
use rustix::process::{Pid, Signal, kill_process};
use slipway_mach::abi::types;
use slipway_mach::bootstrap;
use slipway_mach::task::Task;
use slipway_test_support::built;

/// A command of this test program, to play a part in the test `test`.
fn part(test: &str) -> Vec<String> {
    let own = std::env::current_exe().expect("the test's own path").display().to_string();
    vec![own, test.into(), "--exact".into(), "--nocapture".into(), "--include-ignored".into()]
}

fn slipway(bench: &Bench, args: &[&str], part: &[String]) -> Command {
    let mut command = bench.slipway(args);
    command.args(part).env("SLIPWAY_BOOTSTRAP_SERVER", built("slipway-bootstrap"));
    command
}

fn finish(command: Command) -> Outcome {
    Running::start(command).finish()
}

/// What `sh -c SCRIPT` in a private session does.
fn private(bench: &Bench, script: &str) -> Outcome {
    finish(slipway(bench, &["run", "--private", "--", "sh", "-c", script], &[]))
}

#[test]
fn a_program_has_a_name_server_of_its_own() {
    let test = "a_program_has_a_name_server_of_its_own";
    if role().is_some() {
        let port = receive_right();
        bootstrap::register(Task::current(), None, "mine", port, types::MAKE_SEND).expect("registered");
        assert_eq!(bootstrap::look_up(Task::current(), None, "mine"), Ok(port));
        let names = bootstrap::services(Task::current(), None).expect("the services").len();
        assert_eq!(names, 1);
        std::process::exit(7);
    }
    let bench = Bench::new();
    // Twice at once: one knows nothing of the other.
    let sessions: Vec<_> = (0..2)
        .map(|_| {
            let mut command = slipway(&bench, &["run", "--private", "--"], &part(test));
            command.env(mach::ROLE, "client");
            Running::start(command)
        })
        .collect();
    for session in sessions {
        let ended = session.finish();
        assert_eq!((ended.code(), ended.stderr.as_str()), (7, ""), "{ended:?}");
    }
    assert!(!bench.path("runtime/bootstrap").exists(), "nobody asked for the user's own server");
    bench.assert_nothing_left();
}

#[test]
fn services_start_with_their_first_message_and_end_with_the_session() {
    let test = "services_start_with_their_first_message_and_end_with_the_session";
    match role().as_deref() {
        Some("service") => {
            let port = bootstrap::check_in(Task::current(), None, "echo").expect("checked in");
            loop {
                let msg = mach::receive(port);
                mach::send(&Msg::new(2, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0)).int(std::process::id().into()));
            }
        }
        Some("client") => {
            let port = bootstrap::look_up(Task::current(), None, "echo").expect("the service");
            let reply = receive_right();
            mach::send(&Msg::new(1, (port, types::COPY_SEND), (reply, types::MAKE_SEND_ONCE)));
            println!("\nservice {}", mach::receive(reply).value(0));
            return;
        }
        _ => {}
    }
    let bench = Bench::new();
    // A program without arguments.
    let service = bench.script("service", &format!("#!/bin/sh\nSLIPWAY_TEST_ROLE=service exec {}\n", part(test).join(" ")));
    let option = format!("echo={}", service);
    let mut command = slipway(&bench, &["run", "--private", "--service", &option, "--"], &part(test));
    command.env(mach::ROLE, "client");
    let ended = finish(command);
    assert_eq!(ended.code(), 0, "{ended:?}");
    assert!(ended.stdout.lines().any(|line| line.starts_with("service ")), "{ended:?}");
    // The service, which waits for more, has ended with its session.
    bench.assert_nothing_left();
}

#[test]
fn exit_codes_and_signals_are_the_programs() {
    let bench = Bench::new();
    assert_eq!(private(&bench, "exit 255").code(), 255);
    assert_eq!(private(&bench, "kill -KILL $$").code(), 128 + 9);
    let none = finish(slipway(&bench, &["run", "--private", "/nonexistent/program"], &[]));
    assert_eq!(none.code(), 127);
    assert!(none.stderr.contains("/nonexistent/program: no such file"), "{none:?}");

    let mut session = Running::start(slipway(
        &bench,
        &["run", "--private", "--", "sh", "-c"],
        &["trap 'exit 5' TERM; echo there; while :; do read line; done".into()],
    ));
    assert_eq!(session.next_line().as_deref(), Some("there"));
    kill_process(Pid::from_raw(session.pid() as i32).expect("a process"), Signal::TERM).expect("a signal");
    assert_eq!(session.finish().code(), 5);
    bench.assert_nothing_left();
}

#[test]
fn a_killed_session_leaves_nothing() {
    let bench = Bench::new();
    let mut session = Running::start(slipway(
        &bench,
        &["run", "--private", "--", "sh", "-c"],
        &["echo $$ $SLIPWAY_BOOTSTRAP; read line".into()],
    ));
    let line = session.next_line().expect("a line");
    let (pid, socket) = line.split_once(' ').expect("a process and a socket");
    assert!(Path::new(socket).exists(), "{socket}");
    assert!(bench.processes().contains_key(&pid.parse().expect("a number")));
    let all: Vec<_> = bench.processes().into_keys().map(pidfd).collect();
    kill_process(Pid::from_raw(session.pid() as i32).expect("a process"), Signal::KILL).expect("a signal");
    assert!(all.iter().all(ends), "a process outlived its session");
    bench.assert_nothing_left();
}

#[test]
fn failures_say_what_to_do() {
    let bench = Bench::new();
    let mut command = slipway(&bench, &["run", "--private", "true"], &[]);
    command.env("SLIPWAY_BOOTSTRAP_SERVER", "/nonexistent/server");
    let missing = finish(command);
    assert_eq!(missing.code(), 125);
    assert!(missing.stderr.contains("SLIPWAY_BOOTSTRAP_SERVER names /nonexistent/server"), "{missing:?}");

    let long = "x".repeat(200);
    let wrong = finish(slipway(&bench, &["run", "--private", "--service", &format!("{long}=true"), "true"], &[]));
    assert_eq!(wrong.code(), 125);
    assert!(wrong.stderr.contains("1 to 127 bytes") && wrong.stderr.contains("ended early"), "{wrong:?}");

    let none = finish(slipway(&bench, &["services"], &[]));
    assert_eq!((none.code(), none.stdout.as_str()), (1, ""));
    assert!(none.stderr.contains("no name server runs at") && none.stderr.contains("runtime/bootstrap"), "{none:?}");

    let mut command = slipway(&bench, &["run", "true"], &[]);
    command.env("SLIPWAY_BOOTSTRAP", bench.path("gone"));
    let gone = finish(command);
    assert_eq!(gone.code(), 125);
    assert!(gone.stderr.contains("unset SLIPWAY_BOOTSTRAP"), "{gone:?}");
    bench.assert_nothing_left();
}

#[test]
fn services_are_listed() {
    let bench = Bench::new();
    let services = bench.path("services");
    fs::create_dir(&services).expect("a directory");
    fs::write(services.join("a.toml"), "name = 'org.example.a'\nprogram = '/bin/true'\nargs = ['x']\n").expect("a file");
    let mut command = slipway(&bench, &["run", "--private", "--services"], &[]);
    command.arg(&services).args(["--", harness::SLIPWAY, "services"]);
    let table = finish(command);
    assert_eq!(table.code(), 0, "{table:?}");
    for word in ["org.example.a", "on-demand", "/bin/true x"] {
        assert!(table.stdout.contains(word), "{word}: {table:?}");
    }
    let mut command = slipway(&bench, &["run", "--private", "--services"], &[]);
    command.arg(&services).args(["--", harness::SLIPWAY, "services", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&finish(command).stdout).expect("JSON");
    assert_eq!(json["services"][0]["name"], "org.example.a");
    assert_eq!(json["services"][0]["note"], serde_json::Value::Null);
    assert!(finish(slipway(&bench, &["run", "--private", harness::SLIPWAY, "services"], &[])).stdout.contains("no services"));
    bench.assert_nothing_left();
}

#[test]
fn without_private_the_users_own_server_is_started() {
    let bench = Bench::new();
    let ran = finish(slipway(&bench, &["run", "sh", "-c"], &["echo $PPID $$; exit 3".into()]));
    assert_eq!((ran.code(), ran.stderr.as_str()), (3, ""), "{ran:?}");
    let listed = finish(slipway(&bench, &["services"], &[]));
    assert_eq!(listed.code(), 0, "{listed:?}");
    end_server(&bench);
    bench.assert_nothing_left();
}

/// Ends the server that the bench's user has, and waits for that.
fn end_server(bench: &Bench) {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt::socket_peercred};
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("a socket");
    connect(&socket, &SocketAddrUnix::new(bench.path("runtime/bootstrap")).expect("a path")).expect("a server");
    let pid = socket_peercred(&socket).expect("the peer").pid;
    let process = pidfd(pid.as_raw_nonzero().get() as u32);
    kill_process(pid, Signal::TERM).expect("a signal");
    assert!(ends(&process), "the server does not end");
}
