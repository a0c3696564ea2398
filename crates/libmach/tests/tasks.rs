//! Several processes, in C against libmach.so: fork, exec, messages, rights and memory between tasks, deaths.

use std::process::Command;

mod support;

#[test]
fn tasks() {
    let program = support::compile("tasks", &["tasks.c", "check.c"], &[]);
    support::succeed(&mut Command::new(program));
}
