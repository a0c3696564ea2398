//! Tasks as shared objects, and what runs them.

use super::build::asset;
use super::built::built;
use super::{Bench, Outcome, Running};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The files that `slipway run` needs for tasks: name server, host, library; the library's directory.
fn parts() -> &'static (PathBuf, PathBuf) {
    static PARTS: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
    PARTS.get_or_init(|| {
        built("slipway-domain");
        (built("slipway-bootstrap"), built("libmach.so"))
    })
}

/// Compiles C into a shared object, linked with the library.
pub fn shared(source: &Path, output: &Path, flags: &[&str]) {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let library = parts().1.parent().expect("a directory").display().to_string();
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I"]).arg(include);
    cc.arg("-o").arg(output).arg(source).args(flags).args(["-L", &library, "-lmach", "-lpthread"]);
    let done = cc.output().expect("start cc");
    assert!(done.status.success(), "{cc:?}: {}", String::from_utf8_lossy(&done.stderr));
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
    command.args(args).env("SLIPWAY_BOOTSTRAP_SERVER", &parts().0);
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
