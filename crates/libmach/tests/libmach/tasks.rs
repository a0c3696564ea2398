//! Several processes, in C against libmach.so: fork, exec, messages, rights and memory between tasks, deaths.

use crate::support;
use std::process::Command;

#[test]
fn tasks() {
    let program = support::compile("tasks", &["tasks.c", "check.c"], &[]);
    support::run(&mut Command::new(program));
}

#[test]
fn task_ports() {
    let program = support::compile("task_ports", &["task_ports.c", "check.c"], &[]);
    support::run(&mut Command::new(program));
}
