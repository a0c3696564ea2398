//! What the tests need built: the hooks, and small programs in C.

use slipway_test_support::{built, succeed};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The hooks.
pub fn preload() -> PathBuf {
    built("libslipway_preload.so")
}

/// Compiles tests/c/`name`.c into `dir` with `flags`.
pub fn c_program(name: &str, dir: &Path, flags: &[&str]) -> PathBuf {
    let program = dir.join(name);
    cc(&asset(&format!("c/{name}.c")), &program, flags);
    program
}

/// Compiles the text `source` into `output` with `flags`.
pub fn build_c(source: &str, output: &Path, flags: &[&str]) {
    let file = output.with_extension("c");
    fs::write(&file, source).expect("write a source file");
    cc(&file, output, flags);
}

fn cc(source: &Path, output: &Path, flags: &[&str]) {
    let mut cc = Command::new("cc");
    succeed(cc.args(["-O1", "-Wall", "-Werror", "-o"]).arg(output).arg(source).args(flags));
}

/// The path of a file below this crate's tests directory.
pub fn asset(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// A directory for one test's files, removed afterwards.
pub fn scratch() -> TempDir {
    tempfile::tempdir().expect("make a temporary directory")
}

/// The same in the build directory: a system's /tmp may forbid execution and set-uid programs.
pub fn scratch_in_target() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("make a temporary directory")
}

/// An executable script. Another process writes it: a descriptor of ours, inherited by what
/// another test starts at this moment, would make its execution fail (ETXTBSY).
pub fn script(path: &Path, text: &str) {
    succeed(Command::new("sh").args(["-c", r#"printf %s "$2" > "$1" && chmod 755 "$1""#, "sh"]).arg(path).arg(text));
}

/// A copy of a program, which another process writes, as a [`script`].
pub fn copy_program(from: impl AsRef<Path>, to: &Path) {
    succeed(Command::new("cp").arg("--preserve=mode").arg(from.as_ref()).arg(to));
}

pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}
