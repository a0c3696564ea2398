//! Tasks as shared objects, and what runs them.

use super::build::asset;
use super::{Bench, Outcome, Running};
use slipway_test_support::{built, repository, succeed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles C into a shared object, linked with the library.
pub fn shared(source: &Path, output: &Path, flags: &[&str]) {
    let library = built("libmach.so").parent().expect("a directory").display().to_string();
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I"]);
    cc.arg(repository("include"));
    cc.arg("-o").arg(output).arg(source).args(flags).args(["-L", &library, "-lmach", "-lpthread"]);
    succeed(&mut cc);
}

/// The task of tests/c/task.c, compiled into the test's directory.
pub fn task(bench: &Bench) -> PathBuf {
    let output = bench.path("task.so");
    shared(&asset("c/task.c"), &output, &[]);
    output
}

/// A task of this text.
pub fn task_of(bench: &Bench, name: &str, text: &str, flags: &[&str]) -> PathBuf {
    let (source, output) = (bench.path(&format!("{name}.c")), bench.path(&format!("{name}.so")));
    fs::write(&source, text).expect("a source file");
    shared(&source, &output, flags);
    output
}

/// `slipway run ARGS`.
pub fn command(bench: &Bench, args: &[&str]) -> Command {
    let mut command = bench.slipway(&["run"]);
    // The host of tasks lies beside the program.
    built("slipway-domain");
    command.args(args).env("SLIPWAY_BOOTSTRAP_SERVER", built("slipway-bootstrap"));
    command
}

/// What `slipway run ARGS` does.
pub fn run(bench: &Bench, args: &[&str]) -> Outcome {
    Running::start(command(bench, args)).finish()
}

/// A configuration file of this text.
pub fn config(bench: &Bench, text: &str) -> String {
    let path = bench.path("system.toml");
    fs::write(&path, text).expect("a configuration");
    path.to_str().expect("UTF-8").to_owned()
}

/// A system of this text, started.
pub fn start(bench: &Bench, text: &str) -> Running {
    Running::start(command(bench, &["--config", &config(bench, text)]))
}
