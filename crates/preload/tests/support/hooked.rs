//! Processes that carry the hooks.

use slipway_test_support::built;
use std::{
    any::type_name,
    fs::Permissions,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, ExitStatus, Stdio},
};

use super::watchdog;

/// Set in the processes that carry the hooks.
const INSIDE: &str = "SLIPWAY_TEST_INSIDE";

/// Small rings, so that going round their end is common.
const SMALL: [(&str, &str); 3] = [("SLIPWAY_X11_MIN", "4K"), ("SLIPWAY_X11_RING", "4K"), ("SLIPWAY_X11_AFTER", "0")];

/// How a process with the hooks ended.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `body` in a process with the hooks and rings of 4 KiB.
pub fn hooked<F: FnOnce()>(body: F) {
    hooked_with(&[], body);
}

/// As [`hooked`], with these environment variables too.
pub fn hooked_with<F: FnOnce()>(variables: &[(&str, &str)], body: F) {
    hooked_output(variables, body, |_| {});
}

/// As [`hooked_with`], and looks at what the process printed.
pub fn hooked_output<F: FnOnce()>(variables: &[(&str, &str)], body: F, check: impl FnOnce(&Outcome)) {
    if is_inside() {
        body();
        return;
    }
    let outcome = rerun(test_of::<F>(), variables);
    let shown = || format!("{}\n{}", outcome.stdout, outcome.stderr);
    assert!(outcome.status.success(), "{}: {}", outcome.status, shown());
    assert!(outcome.stdout.contains("1 passed"), "the test did not run: {}", shown());
    outcome.stderr.lines().filter(|line| line.starts_with("not run:")).for_each(|line| eprintln!("{line}"));
    check(&outcome);
}

/// Whether this process carries the hooks.
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// The name of the test that a closure is in, as the test program's arguments want it.
fn test_of<F>() -> &'static str {
    let name = type_name::<F>();
    let name = name.split_once("::").map_or(name, |(_, rest)| rest);
    name.split_once("::{{closure}}").map_or(name, |(test, _)| test)
}

fn rerun(test: &str, variables: &[(&str, &str)]) -> Outcome {
    let closed = Permissions::from_mode(0o700);
    let runtime = tempfile::Builder::new().permissions(closed).tempdir().expect("make a temporary directory");
    let mut command = Command::new(std::env::current_exe().expect("the test program"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SLIPWAY_")) {
        command.env_remove(name);
    }
    command
        .args([test, "--exact", "--nocapture", "--include-ignored", "--test-threads=1"])
        .env(INSIDE, "1")
        .env("LD_PRELOAD", library())
        .env("SLIPWAY_RUNTIME_DIR", runtime.path())
        .envs(SMALL)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (status, stdout, stderr) = watchdog::output(command, test);
    Outcome { status, stdout, stderr }
}

/// Whether connections of this process get their rings at once.
pub fn begins_on_ring() -> bool {
    std::env::var("SLIPWAY_X11_AFTER").is_ok_and(|after| after == "0")
}

/// The hooks.
pub fn library() -> PathBuf {
    built("libslipway_preload.so")
}
