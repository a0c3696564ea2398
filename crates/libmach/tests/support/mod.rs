//! C programs as tests: compiled with the system's compiler, linked with the library of this build.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A file of this repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A C source of these tests.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

/// The directory where Cargo has put libmach.so, beside this test.
#[allow(dead_code, reason = "not every test links")]
pub fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let beside = test.ancestors().skip(1).take(2).find(|directory| directory.join("libmach.so").exists());
    beside.unwrap_or_else(|| panic!("no libmach.so beside {}: build the package first", test.display())).to_owned()
}

/// A place for a program of this name.
#[allow(dead_code, reason = "not every test links")]
pub fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs a command to its end. The programs have watchdogs of their own; so has `timeout`, for the rest.
pub fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("start {command:?}: {error}"))
}

/// Runs a command that must succeed.
pub fn succeed(command: &mut Command) {
    let output = run(command);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
}

/// Compiles C sources and links them with the library.
#[allow(dead_code, reason = "not every test links")]
pub fn compile(name: &str, sources: &[&str], flags: &[&str]) -> PathBuf {
    let (output, library) = (program(name), library());
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-I"]).arg(repository("include"));
    cc.args(flags).arg("-o").arg(&output).args(sources.iter().map(|name| source(name)));
    cc.arg("-L").arg(&library).args(["-lmach", "-lpthread"]);
    // An rpath of the old kind comes before LD_LIBRARY_PATH, where Cargo may have an older build of the library.
    cc.arg(format!("-Wl,--disable-new-dtags,-rpath,{}", library.display()));
    let by_soname = library.join("libmach.so.1");
    if let Err(error) = std::os::unix::fs::symlink("libmach.so", &by_soname) {
        assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists, "{}: {error}", by_soname.display());
    }
    succeed(&mut cc);
    output
}
