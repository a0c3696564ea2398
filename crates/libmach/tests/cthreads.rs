//! `cthreads.h`, in C against libmach.so.

use std::process::Command;

mod support;

#[test]
fn threads_mutexes_and_conditions() {
    let program = support::compile("cthreads", &["cthreads.c", "check.c"], &["-Wpedantic"]);
    support::succeed(&mut Command::new(program));
}
