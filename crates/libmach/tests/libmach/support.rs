//! C programs as tests: compiled with the system's compiler, linked with the library of this build.

use slipway_test_support::{built, repository, succeed, symlink};
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// A C source of these tests.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

/// Where a program of Darwin's dialect finds its headers, in this order.
pub const HEADERS_OF_DARWIN: &[&str] = &["include/darwin", "include"];

/// The headers of the library, sorted; those of Darwin's dialect are not among them.
pub fn headers() -> Vec<PathBuf> {
    let darwin = repository("include/darwin");
    headers_in(&repository("include")).into_iter().filter(|path| !path.starts_with(&darwin)).collect()
}

/// The headers below a directory, sorted.
pub fn headers_in(directory: &Path) -> Vec<PathBuf> {
    fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).expect("include can be read") {
            let path = entry.expect("include can be read").path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "h") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(directory, &mut found);
    found.sort();
    found
}

/// A directory with the library under the names by which it is linked and loaded.
pub fn library() -> PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        let directory = program("lib");
        std::fs::create_dir_all(&directory).expect("make a directory");
        for (name, link) in [("libmach.so", "libmach.so"), ("libmach.so", "libmach.so.1"), ("libmach.a", "libmach.a")] {
            symlink(&built(name), &directory.join(link));
        }
        directory
    };
    MADE.get_or_init(make).clone()
}

/// A place for a program of this name.
pub fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs a program, which must succeed. Those of the tests have watchdogs of their own; so has `timeout`, for the rest.
pub fn run(command: &mut Command) {
    // No test starts the user's own name server, or asks it: this is a socket where nobody is.
    if !command.get_envs().any(|(name, _)| name == "SLIPWAY_BOOTSTRAP") {
        command.env("SLIPWAY_BOOTSTRAP", program("no-name-server"));
    }
    succeed(command);
}

/// Compiles C sources and links them with the library.
pub fn compile(name: &str, sources: &[&str], flags: &[&str]) -> PathBuf {
    let library = library();
    let path = format!("-Wl,-rpath,{}", library.display());
    link(name, sources, &[flags, &["-L", &library.display().to_string(), "-lmach", "-lpthread", &path]].concat())
}

/// Compiles C sources and links them as the last of the flags say.
pub fn link(name: &str, sources: &[&str], flags: &[&str]) -> PathBuf {
    link_with(&["include"], name, sources, flags)
}

/// As [`link`], with headers from these directories.
pub fn link_with(headers: &[&str], name: &str, sources: &[&str], flags: &[&str]) -> PathBuf {
    let output = program(name);
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
    cc.args(headers.iter().flat_map(|path| ["-I".into(), repository(path)])).arg("-o").arg(&output);
    run(cc.args(sources.iter().map(|name| source(name))).args(flags));
    output
}
