//! The conformance table, in C against libmach.so: every routine on every kind of name, with Mach's return
//! codes and what Mach leaves behind. `CONFORMANCE_WRAPPER="valgrind -q --error-exitcode=9"` runs it under valgrind.

use std::{path::Path, process::Command, sync::OnceLock};

mod support;

const SOURCES: [&str; 13] = [
    "check.c",
    "conformance/main.c",
    "conformance/fixtures.c",
    "conformance/names.c",
    "conformance/references.c",
    "conformance/rights.c",
    "conformance/requests.c",
    "conformance/notifications.c",
    "conformance/send.c",
    "conformance/bodies.c",
    "conformance/receiving.c",
    "conformance/memory.c",
    "conformance/calls.c",
];

fn run(part: &str) {
    static PROGRAM: OnceLock<std::path::PathBuf> = OnceLock::new();
    let program: &Path = PROGRAM.get_or_init(|| support::compile("conformance", &SOURCES, &[]));
    let wrapper = std::env::var("CONFORMANCE_WRAPPER").unwrap_or_default();
    let mut words = wrapper.split_whitespace();
    let mut command = match words.next() {
        Some(first) => {
            let mut command = Command::new(first);
            command.args(words).arg(program).env("CONFORMANCE_SECONDS", "600");
            command
        }
        None => Command::new(program),
    };
    support::succeed(command.arg(part));
}

#[test]
fn names() {
    run("names");
}

#[test]
fn user_references() {
    run("references");
}

#[test]
fn rights_inserted_and_extracted() {
    run("rights");
}

#[test]
fn requests_for_notifications() {
    run("requests");
}

#[test]
fn notifications() {
    run("notifications");
}

#[test]
fn headers_sent() {
    run("send");
}

#[test]
fn bodies_sent() {
    run("bodies");
}

#[test]
fn receiving() {
    run("receive");
}

#[test]
fn memory() {
    run("memory");
}

#[test]
fn remaining_calls() {
    run("calls");
}
