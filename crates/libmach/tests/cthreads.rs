//! `cthreads.h`, in C against libmach.so and libmach.a.

use std::{fs, process::Command};

mod support;

const SOURCES: [&str; 2] = ["cthreads.c", "check.c"];

#[test]
fn threads_mutexes_and_conditions() {
    let program = support::compile("cthreads", &SOURCES, &[]);
    support::succeed(&mut Command::new(program));
}

/// With the static library, and the libraries that mach.pc names for it.
#[test]
fn linked_statically() {
    let pc = fs::read_to_string(support::repository("scripts/mach.pc.in")).expect("mach.pc.in can be read");
    let needed = pc.lines().find_map(|line| line.strip_prefix("Libs.private:")).expect("mach.pc.in names libraries");
    let archive = support::library().join("libmach.a").display().to_string();
    let flags: Vec<&str> = [archive.as_str()].into_iter().chain(needed.split_whitespace()).collect();
    let program = support::link("cthreads-static", &SOURCES, &flags);
    support::succeed(&mut Command::new(program));
}
