//! Signals that a program handles while it makes calls.
#![cfg(target_arch = "x86_64")]

mod harness;

use harness::build::{build_c, scratch_in_target};
use harness::process::clean;
use harness::{Running, SLIPWAY};
use std::fs;
use std::process::Command;

/// As the kernel has it: where a signal comes before the server has a call, that fails with EINTR, and the emulation library makes it again.
#[test]
fn a_signal_interrupts_no_call_that_does_not_wait() {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    if (numbers.next(), numbers.next()) < (Some(6), Some(17)) {
        return eprintln!("not tried: only from Linux 6.17 on a signal waits for every call that the server has");
    }
    let scratch = scratch_in_target();
    let program = scratch.path().join("timer");
    build_c(include_str!("c/timer.c"), &program, &[]);
    fs::write(scratch.path().join("host"), "of the host").expect("write");
    let mut command = Command::new(SLIPWAY);
    command.args(["unix", "--quiet", "--discard", "--"]).arg(&program).current_dir(scratch.path());
    clean(command.env("XDG_STATE_HOME", scratch.path().join("state")));
    let ran = Running::start(command).finish();
    assert_eq!((ran.code(), ran.stdout.as_str(), ran.stderr.as_str()), (0, "signals came\n", ""));
}
