//! The log-structured store of `examples/store`.

use crate::support;
use slipway_test_support::repository;
use std::process::Command;

/// The log against a table, with its process killed, its tail torn, and its bytes changed.
#[test]
fn the_log_keeps_what_it_was_given() {
    let program = support::program("log-test");
    let mut compile = Command::new("cc");
    compile.args(["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror"]);
    compile.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-o"]).arg(&program);
    compile.args(["log.c", "checksum.c", "log_test.c"].map(|file| repository("examples/store").join(file)));
    support::run(&mut compile);
    let directory = tempfile::tempdir().expect("make a directory");
    for seed in ["1", "2"] {
        let mut test = Command::new("timeout");
        support::run(test.arg("600").arg(&program).arg(directory.path()).args([seed, "4"]));
    }
}
