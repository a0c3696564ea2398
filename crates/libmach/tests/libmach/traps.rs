//! Calls in place of messages, in C against libmach.so.

use crate::support;
use slipway_test_support::repository;
use std::process::Command;

#[test]
fn traps() {
    let object = support::program("throws.o");
    let mut compiler = Command::new("c++");
    compiler.args(["-Wall", "-Wextra", "-Werror", "-O1", "-g", "-c", "-I"]).arg(repository("include"));
    support::run(compiler.arg("-o").arg(&object).arg(support::source("throws.cpp")));
    let object = object.display().to_string();
    let program = support::compile("traps", &["traps.c", "adder.c", "check.c"], &[&object, "-lstdc++"]);
    support::run(&mut Command::new(program));
}
