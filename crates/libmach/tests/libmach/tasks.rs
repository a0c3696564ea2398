//! Several processes, in C against libmach.so: fork, exec, messages, rights and memory between tasks, deaths.

use crate::{stubs::stubs, support};
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

#[test]
fn served() {
    let program = support::compile("served", &["served.c", "check.c"], &[]);
    support::run(&mut Command::new(program));
}

#[test]
fn exceptions() {
    let directory = stubs("exc").display().to_string();
    let server = format!("{directory}/excServer.c");
    let program = support::compile("exceptions", &["exceptions.c", "check.c"], &["-I", &directory, &server]);
    support::run(&mut Command::new(program));
}

#[test]
fn suspended() {
    let program = support::compile("suspend", &["suspend.c", "check.c"], &[]);
    support::run(&mut Command::new(program));
}
