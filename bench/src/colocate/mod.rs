//! `slipway-bench colocate`: calls to a server in another process and to one that shares the caller's, beside what was
//! published for Mach.
//!
//! The tests are those of Lepreau's table (nothing, 64 and 1024 bytes In, 1024 Out, 128 InOut), and calls that a server
//! makes itself. They are made by messages between processes and within one, by traps, as plain calls, and with another
//! library.

mod calls;
mod capnp;
mod rust;
mod stubs;

use crate::harness::chart::SYSTEM;
use crate::harness::results::Results;
use crate::harness::table::Times;
use crate::harness::{Bench, METHOD, Method, Placement, Test};
use calls::{in_one_process, in_one_thread, two_processes};

/// The bench.
pub const BENCH: Bench =
    Bench { name: "colocate", tests: TESTS, methods: METHODS, more: |_, _, _| Ok(()), special: |_, _| Ok(()), report };

/// Calls that the server makes of its own in one of the client's: `OWN_CALLS` of `stubs/colocate_client.c`.
const OWN_CALLS: u32 = 100;

/// In the order of the numbers of `stubs/colocate_client.c`.
const TESTS: &[Test] = &[
    Test::new("null", "null RPC"),
    Test::new("64-in", "64 In").bytes(64, 0),
    Test::new("1k-in", "1K In").bytes(1024, 0),
    Test::new("1k-in-const", "1K In, const").bytes(1024, 0),
    Test::new("1k-out", "1K Out").bytes(0, 1024),
    Test::new("128-inout", "128 InOut").bytes(128, 128),
    Test { each: OWN_CALLS, ..Test::new("own-library", "a server's call to the library") },
    Test { each: OWN_CALLS, ..Test::new("own-call", "a server's call to another") },
];

/// A test's number in `stubs/colocate_client.c`.
fn number(test: &Test) -> i32 {
    TESTS.iter().position(|other| other.name == test.name).map_or(i32::MAX, |place| place as i32)
}

fn is_clients(test: &Test, _: Placement) -> bool {
    test.each == 1
}

fn is_published(test: &Test, _: Placement) -> bool {
    test.each == 1 && test.name != "1k-in-const"
}

/// Where calls cost next to nothing, many show what they do.
fn many(test: &Test) -> u64 {
    if test.each == 1 { 100_000 } else { 0 }
}

const METHODS: &[Method] = &[
    Method {
        name: "message",
        help: "By messages between two processes, with stubs that know no traps",
        heading: "message",
        ratio: Some(("to trap", "trap")),
        prepare: two_processes,
        ..METHOD
    },
    Method {
        name: "message-trap-stubs",
        help: "The same with stubs that ask for a trap first",
        heading: "message\ntrap stubs",
        prepare: two_processes,
        ..METHOD
    },
    Method {
        name: "message-registered",
        help: "By messages with stubs that know no traps, to a server that has registered its routines",
        places: &[Placement::Different],
        does: |test, _| test.name == "null",
        prepare: two_processes,
        ..METHOD
    },
    Method {
        name: "message-sleep",
        help: "By messages between two processes, where a waiter sleeps at once",
        heading: "message\nno spin",
        does: is_clients,
        counts: |test| if test.each == 1 { 1000 } else { 0 },
        sleeps: true,
        prepare: two_processes,
        ..METHOD
    },
    Method {
        name: "one-process",
        help: "By messages between two tasks in one process, a thread each",
        heading: "message\none proc.",
        ratio: Some(("to trap", "trap")),
        prepare: in_one_process,
        ..METHOD
    },
    Method {
        name: "trap",
        help: "By trap between two tasks in one process; one call at a time",
        heading: "trap",
        places: &[Placement::OneCore],
        counts: many,
        prepare: in_one_process,
        ..METHOD
    },
    Method {
        name: "trap-concurrent",
        help: "The same; any number of calls at a time",
        heading: "trap\nconcurr.",
        places: &[Placement::OneCore],
        does: is_clients,
        counts: many,
        prepare: in_one_process,
        ..METHOD
    },
    Method {
        name: "trap-rust",
        help: "By trap with client and server in Rust; one call at a time",
        heading: "trap\nRust",
        places: &[Placement::OneCore],
        does: is_clients,
        counts: many,
        prepare: in_one_process,
        ..METHOD
    },
    Method { name: "plain", help: "A plain call of the routine", heading: "C call", ..PLAIN },
    Method {
        name: "virtual",
        help: "A call of the routine through a table, as virtual functions are called",
        heading: "virtual",
        ..PLAIN
    },
    Method {
        name: "capnp",
        help: "The crate capnp-rpc over AF_UNIX, between two processes",
        heading: "Cap'n\nProto",
        colour: SYSTEM,
        does: is_published,
        prepare: |link, job| Ok(Box::new(capnp::Capnp::new(link, job)?)),
        ..METHOD
    },
];

const PLAIN: Method =
    Method { colour: SYSTEM, places: &[Placement::OneCore], does: is_published, counts: many, prepare: in_one_thread, ..METHOD };

fn report(results: &Results) -> String {
    let Some(mut times) = Times::new(results, "call", None) else { return String::new() };
    times.rows();
    times.finish("messages between different cores, all else in one thread")
}
