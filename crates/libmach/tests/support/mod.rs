//! C programs as tests: compiled with the system's compiler, linked with the library of this build.

#[allow(dead_code, reason = "not every test links")]
#[path = "../../../slipway/tests/harness/built.rs"]
pub mod built;

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

/// A file of this repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A C source of these tests.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

/// A directory with the library under the names by which it is linked and loaded.
#[allow(dead_code, reason = "not every test links")]
pub fn library() -> PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        let directory = program("lib");
        std::fs::create_dir_all(&directory).expect("make a directory");
        for (name, link) in [("libmach.so", "libmach.so"), ("libmach.so", "libmach.so.1"), ("libmach.a", "libmach.a")] {
            let file = built::built(name);
            let link = directory.join(link);
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(&file, &link).unwrap_or_else(|error| panic!("{}: {error}", link.display()));
        }
        directory
    };
    MADE.get_or_init(make).clone()
}

/// A place for a program of this name.
pub fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs a command to its end. The programs have watchdogs of their own; so has `timeout`, for the rest.
pub fn run(command: &mut Command) -> Output {
    // No test starts the user's own name server, or asks it: this is a socket where nobody is.
    if !command.get_envs().any(|(name, _)| name == "SLIPWAY_BOOTSTRAP") {
        command.env("SLIPWAY_BOOTSTRAP", program("no-name-server"));
    }
    command.output().unwrap_or_else(|error| panic!("start {command:?}: {error}"))
}

/// Runs a command that must succeed.
pub fn succeed(command: &mut Command) {
    let output = run(command);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
}

/// Gives the library the name by which programs ask for it.
#[allow(dead_code, reason = "not every test links")]
pub fn link_soname(library: &Path) {
    let by_soname = library.join("libmach.so.1");
    if let Err(error) = std::os::unix::fs::symlink("libmach.so", &by_soname) {
        assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists, "{}: {error}", by_soname.display());
    }
}

/// Compiles C sources and links them with the library.
#[allow(dead_code, reason = "not every test links")]
pub fn compile(name: &str, sources: &[&str], flags: &[&str]) -> PathBuf {
    let library = library();
    let path = format!("-Wl,-rpath,{}", library.display());
    link(name, sources, &[flags, &["-L", &library.display().to_string(), "-lmach", "-lpthread", &path]].concat())
}

/// Compiles C sources and links them as the last of the flags say.
#[allow(dead_code, reason = "not every test links")]
pub fn link(name: &str, sources: &[&str], flags: &[&str]) -> PathBuf {
    let output = program(name);
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]);
    cc.arg(repository("include")).arg("-o").arg(&output);
    succeed(cc.args(sources.iter().map(|name| source(name))).args(flags));
    output
}
