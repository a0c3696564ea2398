//! Blocking calls of threads that are cancelled, interrupted by signals, jumped out of or killed: as on a plain socket.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::support::{hooked_with, watchdog::Step};

/// The program that makes them.
fn compiled(dir: &Path) -> PathBuf {
    let program = dir.join("interrupt");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c/interrupt.c");
    let flags = ["-O1", "-Wall", "-Werror", "-Wno-unused-result", "-Wno-deprecated-declarations", "-pthread", "-o"];
    let done = Command::new("cc").args(flags).arg(&program).arg(source).output().expect("start cc");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

const ALL: (&str, &str) = ("SLIPWAY_SOCKETS", "all");

/// What it prints with the hooks and without.
fn same(what: &'static str) {
    let _step = Step::begin(what);
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("make a temporary directory");
    let program = compiled(dir.path());
    let run = |command: &mut Command, name: &str| {
        let Output { status, stdout, stderr } = command.arg(what).arg(dir.path().join(name)).output().expect("start it");
        let (printed, errors) = (String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr).into_owned());
        assert!(status.success(), "{status}: {printed}\n{errors}");
        printed
    };
    let plain = run(Command::new(&program).env_remove("LD_PRELOAD"), "plain");
    assert_eq!(run(&mut Command::new(&program), "hooked"), plain);
}

#[test]
fn a_cancelled_thread_ends() {
    hooked_with(&[ALL], || same("cancelled"));
}

#[test]
fn the_handler_that_ran_decides_whether_a_call_goes_on() {
    hooked_with(&[ALL], || same("signals"));
}

#[test]
fn what_a_call_is_about_lives_as_long_as_the_call() {
    hooked_with(&[ALL], || same("closed"));
}

#[test]
fn a_wait_after_a_jump_sleeps() {
    hooked_with(&[ALL], || same("jumps"));
}

#[test]
fn a_wait_after_another_was_killed_in_one_sleeps() {
    hooked_with(&[ALL], || same("killed"));
}

#[test]
fn a_handler_may_use_what_it_has_interrupted() {
    hooked_with(&[ALL], || same("within"));
}
