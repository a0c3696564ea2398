//! Commands, and files of this repository.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A file of this repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Runs a command to its end.
///
/// # Panics
/// If it can't be started: the program is missing, and scripts/setup.sh installs it.
pub fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("start {command:?}: {error} (scripts/setup.sh installs what tests run)"))
}

/// Runs a command that must succeed: what it printed to standard output.
///
/// # Panics
/// If it can't be started or fails, with all that it printed.
pub fn succeed(command: &mut Command) -> String {
    let output = output(command);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    out.into_owned()
}

/// Makes a symbolic link, in the place of one that is there.
///
/// # Panics
/// If it can't.
pub fn symlink(file: &Path, link: &Path) {
    let _ = std::fs::remove_file(link);
    std::os::unix::fs::symlink(file, link).unwrap_or_else(|error| panic!("link {}: {error}", link.display()));
}
