//! Calls beyond Mach 3.0's IPC, in C against libmach.so.

use crate::support;
use std::process::Command;

fn passes(name: &str) {
    let program = support::compile(name, &[&format!("{name}.c"), "check.c"], &[]);
    support::run(&mut Command::new(program));
}

#[test]
fn attributes_of_receive_rights() {
    passes("attributes");
}

#[test]
fn host_task_threads_and_memory() {
    passes("kernel");
}

#[test]
fn semaphores_and_words() {
    passes("sync");
}
