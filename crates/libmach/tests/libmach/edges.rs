//! The library at its edges, in C against libmach.so. `CONFORMANCE_WRAPPER` runs it under another program, as in `conformance.rs`.

use crate::support;
use std::process::Command;

#[test]
fn edges() {
    let program = support::compile("edges", &["edges.c", "check.c"], &[]);
    let wrapper = std::env::var("CONFORMANCE_WRAPPER").unwrap_or_default();
    let mut words = wrapper.split_whitespace().map(str::to_owned).chain([program.display().to_string()]);
    let first = words.next().expect("the program at least");
    support::run(Command::new(first).args(words));
}
