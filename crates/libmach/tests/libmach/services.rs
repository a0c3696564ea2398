//! Services by name, in C against libmach.so and a name server of the test's own; and the example that uses them.

use crate::support;
use slipway_test_support::{NameServer, repository};
use std::{fs, path::Path, process::Command};

#[test]
fn services() {
    let program = support::compile("services", &["services.c", "check.c"], &[]);
    let directory = tempfile::tempdir().expect("make a directory");
    let socket = directory.path().join("bootstrap");
    let _server = NameServer::start(&socket);
    support::run(Command::new(program).env("SLIPWAY_BOOTSTRAP", &socket));
}

/// What `make install` lays out below a prefix, as far as a program needs it.
fn install(prefix: &Path) {
    let pc = fs::read_to_string(repository("scripts/mach.pc.in")).expect("mach.pc.in can be read");
    let pc = pc.replace("@PREFIX@", &prefix.display().to_string()).replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    fs::create_dir_all(prefix.join("lib/pkgconfig")).expect("make a directory");
    fs::write(prefix.join("lib/pkgconfig/mach.pc"), pc).expect("write mach.pc");
    for name in ["libmach.so", "libmach.so.1"] {
        let file = support::library().join(name);
        std::os::unix::fs::symlink(file, prefix.join("lib").join(name)).expect("make a link");
    }
    let include = repository("include").canonicalize().expect("there are headers");
    std::os::unix::fs::symlink(include, prefix.join("include")).expect("make a link");
}

/// The key-value service: its makefile finds the library by pkg-config, and the demonstration goes through.
#[test]
fn key_value_example() {
    let directory = tempfile::tempdir().expect("make a directory");
    let (prefix, example) = (directory.path().join("prefix"), directory.path().join("kv"));
    install(&prefix);
    fs::create_dir(&example).expect("make a directory");
    for entry in fs::read_dir(repository("examples/kv")).expect("there is the example") {
        let entry = entry.expect("the example can be read");
        if entry.path().is_file() {
            fs::copy(entry.path(), example.join(entry.file_name())).expect("copy a file");
        }
    }
    let socket = directory.path().join("bootstrap");
    let _server = NameServer::start(&socket);
    let mut make = Command::new("timeout");
    make.args(["600", "make", "CFLAGS=-O1 -Wextra -Werror", "demo", "-C"]).arg(&example);
    make.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).env("SLIPWAY_BOOTSTRAP", &socket);
    support::run(&mut make);
}
