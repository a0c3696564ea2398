//! The conformance table, in C against libmach.so: every routine on every kind of name, with Mach's return
//! codes and what Mach leaves behind. `CONFORMANCE_WRAPPER="valgrind -q --error-exitcode=9"` runs it under valgrind.

use crate::support;
use std::{path::PathBuf, process::Command, sync::OnceLock};

const SOURCES: [&str; 14] = [
    "check.c",
    "conformance/main.c",
    "conformance/fixtures.c",
    "conformance/far.c",
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

fn run(part: &[&str]) {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| support::compile("conformance", &SOURCES, &[]));
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
    support::run(command.args(part));
}

/// With send rights to ports of the same process, and to ports of another.
macro_rules! parts {
    ($($test:ident, $far:ident: $part:literal;)*) => {
        $(
            #[test]
            fn $test() {
                run(&[$part]);
            }

            #[test]
            fn $far() {
                run(&[$part, "far"]);
            }
        )*
    };
}

parts! {
    names, names_far: "names";
    user_references, user_references_far: "references";
    rights_inserted_and_extracted, rights_inserted_and_extracted_far: "rights";
    requests_for_notifications, requests_for_notifications_far: "requests";
    notifications, notifications_far: "notifications";
    headers_sent, headers_sent_far: "send";
    bodies_sent, bodies_sent_far: "bodies";
    receiving, receiving_far: "receive";
}

#[test]
fn memory() {
    run(&["memory"]);
}

#[test]
fn remaining_calls() {
    run(&["calls"]);
}
