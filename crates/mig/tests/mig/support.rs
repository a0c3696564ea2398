//! Running the compiler and C compilers.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use slipway_test_support::output;
use slipway_test_support::repository;

/// The repository's root.
pub fn root() -> PathBuf {
    repository("")
}

/// The headers and .defs of libmach.
pub fn include() -> PathBuf {
    root().join("include")
}

/// The compiler, with libmach's definitions.
pub fn mig() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mig"));
    command.arg("-I").arg(include()).env_remove("CC").env_remove("CPP").env_remove("MIGCC");
    command
}

/// Runs a command; panics with all it said if it fails.
pub fn run(command: &mut Command) -> String {
    let output = output(command);
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} failed ({}):\n{text}", output.status);
    text
}

/// The C compilers that generated code is for.
pub const COMPILERS: [&str; 2] = ["gcc", "clang"];

/// Compiles each file as strictly as generated code is promised to pass, with all warnings as errors.
pub fn compile_strictly(dir: &Path, files: &[PathBuf], extra: &[&OsStr]) {
    compile_strictly_with(&[include()], dir, files, extra);
}

/// As [`compile_strictly`], with headers from these directories.
pub fn compile_strictly_with(headers: &[PathBuf], dir: &Path, files: &[PathBuf], extra: &[&OsStr]) {
    for compiler in COMPILERS {
        for file in files {
            let mut command = Command::new(compiler);
            command.args(["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-O2", "-c", "-o", "/dev/null"]);
            command.args(headers.iter().flat_map(|path| [OsStr::new("-I"), path.as_os_str()]));
            command.arg("-I").arg(dir).args(extra).arg(file).current_dir(dir);
            run(&mut command);
        }
    }
}

/// The C files in a directory, sorted.
pub fn c_files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap_or_else(|e| panic!("can't list {}: {e}", dir.display()));
    let mut files: Vec<_> = entries.flatten().map(|e| e.path()).filter(|p| p.extension() == Some(OsStr::new("c"))).collect();
    files.sort();
    files
}

/// Compares a text with a golden file, or writes the file where `UPDATE_GOLDEN` is set.
pub fn golden(file: &Path, text: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file, text).unwrap_or_else(|e| panic!("can't write {}: {e}", file.display()));
        return;
    }
    let expected = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        expected == text,
        "{} is not what is made now; if that is right, run the test with UPDATE_GOLDEN=1 and look at the difference.\nNow:\n{text}",
        file.display()
    );
}

/// rustfmt as it is away from this repository, whose lines are longer.
pub fn rustfmt() -> Command {
    let mut command = Command::new("rustfmt");
    command.args(["--check", "--edition", "2024", "--config-path", "/dev/null"]);
    command
}
