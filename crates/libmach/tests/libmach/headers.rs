//! The headers compile by themselves and together, as C and C++, with no warning, and have Mach's values.

use crate::support;
use slipway_test_support::repository;
use std::{fs, path::Path, process::Command};

/// As which language, by which compilers.
const LANGUAGES: [(&str, &str, [&str; 2]); 5] = [
    ("c", "c99", ["gcc", "clang"]),
    ("c", "c11", ["gcc", "clang"]),
    ("c", "gnu17", ["gcc", "clang"]),
    ("c++", "c++11", ["g++", "clang++"]),
    ("c++", "c++20", ["g++", "clang++"]),
];

fn check(source: &Path) {
    for (language, standard, compilers) in LANGUAGES {
        for compiler in compilers {
            let mut command = Command::new(compiler);
            command.args(["-x", language, "-std"].map(|argument| match argument {
                "-std" => format!("-std={standard}"),
                other => other.to_owned(),
            }));
            command.args(["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Werror"]);
            command.args(["-fsyntax-only", "-I"]).arg(repository("include")).arg(source);
            support::run(&mut command);
        }
    }
}

#[test]
fn each_by_itself() {
    let include = repository("include");
    let found = support::headers();
    assert!(found.len() > 30, "only {} headers in {}", found.len(), include.display());
    let mut text = String::new();
    for header in &found {
        let name = header.strip_prefix(&include).expect("a path in include").display().to_string();
        let alone = support::program("alone.c");
        fs::write(&alone, format!("#include <{name}>\nextern int nothing_else;\n")).expect("write a source");
        let mut command = Command::new("cc");
        command.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"]).arg(&include);
        support::run(command.arg(&alone));
        text += &format!("#include <{name}>\n");
    }
    let together = support::program("together.c");
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
    let program = support::program("values");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"]).arg(repository("include"));
    support::run(cc.arg("-o").arg(&program).arg(support::source("values.c")));
    support::run(&mut Command::new(program));
}
