//! What the tests of several crates run and don't depend on: programs, shared objects and tasks of the workspace, never older
//! than their sources.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// The variable with the directory in which they have been built just now, for all test programs at once.
const DONE: &str = "SLIPWAY_TESTS_BUILT";

/// A file that a package or an example of the workspace gives, by its name in the directory of this test program's profile.
/// What has changed is built first, once in a process; with nothing changed that is a fraction of a second.
pub fn built(file: &str) -> PathBuf {
    static PROFILE: OnceLock<PathBuf> = OnceLock::new();
    let path = PROFILE.get_or_init(build).join(file);
    assert!(path.is_file(), "{} was not built; which package gives it?", path.display());
    path
}

/// The shared object of an example.
pub fn example(name: &str) -> PathBuf {
    built(&format!("examples/lib{name}.so"))
}

/// Builds them all: the directory in which they are.
fn build() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let profile = test.ancestors().nth(2).expect("the directory above deps").to_owned();
    if std::env::var_os(DONE).is_some_and(|done| Path::new(&done) == profile) {
        return profile;
    }
    let mut cargo = Command::new(env!("CARGO"));
    // Of the whole workspace: cargo compiles what packages share once more for every other selection of them.
    cargo.args(["build", "--quiet", "--locked", "--workspace", "--lib", "--bins", "--examples"]);
    cargo.arg("--target-dir").arg(profile.parent().expect("a target directory"));
    match profile.file_name().and_then(|name| name.to_str()) {
        None | Some("debug") => {}
        Some(other) => {
            cargo.args(["--profile", other]);
        }
    }
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("start cargo");
    assert!(output.status.success(), "{cargo:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    profile
}
