//! `cthreads.h`, in C against libmach.so and libmach.a.

use crate::support;
use slipway_test_support::repository;
use std::{fs, process::Command};

const SOURCES: [&str; 2] = ["cthreads.c", "check.c"];

#[test]
fn threads_mutexes_and_conditions() {
    let program = support::compile("cthreads", &SOURCES, &[]);
    support::run(&mut Command::new(program));
}

/// With the static library, and the libraries that mach.pc names for it.
#[test]
fn linked_statically() {
    let pc = fs::read_to_string(repository("scripts/mach.pc.in")).expect("mach.pc.in can be read");
    let needed = pc.lines().find_map(|line| line.strip_prefix("Libs.private:")).expect("mach.pc.in names libraries");
    let archive = support::library().join("libmach.a").display().to_string();
    let flags: Vec<&str> = [archive.as_str()].into_iter().chain(needed.split_whitespace()).collect();
    let program = support::link("cthreads-static", &SOURCES, &flags);
    support::run(&mut Command::new(program));
}
