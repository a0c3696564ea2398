//! The headers compile by themselves and together, as C and C++, with no warning, and have Mach's values.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

mod support;

/// As which language, by which compilers.
const LANGUAGES: [(&str, &str, [&str; 2]); 5] = [
    ("c", "c99", ["gcc", "clang"]),
    ("c", "c11", ["gcc", "clang"]),
    ("c", "gnu17", ["gcc", "clang"]),
    ("c++", "c++11", ["g++", "clang++"]),
    ("c++", "c++20", ["g++", "clang++"]),
];

fn headers(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("include can be read") {
        let path = entry.expect("include can be read").path();
        if path.is_dir() {
            headers(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "h") {
            found.push(path);
        }
    }
}

/// Those of the compilers that are installed. The first of each pair, or the system's `cc`, always is.
fn installed<'a>(compilers: &[&'a str; 2]) -> Vec<&'a str> {
    let there = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    compilers.iter().copied().filter(there).collect()
}

fn check(source: &Path) {
    for (language, standard, compilers) in LANGUAGES {
        let compilers = installed(&compilers);
        assert!(!compilers.is_empty(), "no compiler for {language} is installed");
        for compiler in compilers {
            let mut command = Command::new(compiler);
            command.args(["-x", language, "-std"].map(|argument| match argument {
                "-std" => format!("-std={standard}"),
                other => other.to_owned(),
            }));
            command.args(["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Werror"]);
            command.args(["-fsyntax-only", "-I"]).arg(support::repository("include")).arg(source);
            support::succeed(&mut command);
        }
    }
}

#[test]
fn each_by_itself() {
    let include = support::repository("include");
    let mut found = Vec::new();
    headers(&include, &mut found);
    assert!(found.len() > 30, "only {} headers in {}", found.len(), include.display());
    let mut text = String::new();
    for header in &found {
        let name = header.strip_prefix(&include).expect("a path in include").display().to_string();
        let alone = Path::new(env!("CARGO_TARGET_TMPDIR")).join("alone.c");
        fs::write(&alone, format!("#include <{name}>\nextern int nothing_else;\n")).expect("write a source");
        let mut command = Command::new("cc");
        command.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"]).arg(&include);
        support::succeed(command.arg(&alone));
        text += &format!("#include <{name}>\n");
    }
    let together = Path::new(env!("CARGO_TARGET_TMPDIR")).join("together.c");
    fs::write(&together, text + "extern int nothing_else;\n").expect("write a source");
    check(&together);
}

#[test]
fn macros_and_initialisers() {
    check(&support::source("headers.c"));
}

/// Every value and layout, against numbers that are written down a second time.
#[test]
fn values() {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("values");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"]).arg(support::repository("include"));
    support::succeed(cc.arg("-o").arg(&program).arg(support::source("values.c")));
    support::succeed(&mut Command::new(program));
}
