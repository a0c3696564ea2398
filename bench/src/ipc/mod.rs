//! `slipway-bench ipc`: messages and rights, there and back, beside what was published for Mach.
//!
//! The tests are those of Hohmuth and Rudolph's table: a null message (the header), 16, 256 and 4095 longwords, and 1, 16
//! and 256 rights that the receiver deallocates. Beyond them: an RPC, whose answer goes to a send-once right; rights to
//! ports of a third process, passed on; a port that is made and destroyed and never leaves its task.

mod echo;
mod floors;
mod iceoryx;
mod ipc_channel;
mod line;
mod mach;
mod owner;
mod system;

use crate::harness::chart::{LIBRARY, SYSTEM};
use crate::harness::format::microseconds;
use crate::harness::job::Job;
use crate::harness::link::Link;
use crate::harness::pair::Lab;
use crate::harness::results::{Results, Row, Unit};
use crate::harness::table::by_placement;
use crate::harness::{Bench, Case, METHOD, Method, Placement, Test};
use echo::echo;
use system::{Pipe, Socket};

/// Ports whose memory is measured.
const WEIGHED: u64 = 100_000;
/// Round trips by which two runs differ whose instructions are counted.
const COUNTED: u64 = 1000;

/// The bench.
pub const BENCH: Bench = Bench { name: "ipc", tests: TESTS, methods: METHODS, more, special, report };

const fn test(name: &'static str, title: &'static str, bytes: usize) -> Test {
    Test::new(name, title).bytes(bytes, bytes)
}

/// Bytes are those of the Mach message that carries the test's data: a header of 32, a descriptor of 8, and data. Every
/// method carries as many.
const TESTS: &[Test] = &[
    test("floor", "floor", 32),
    test("null", "null message", 32),
    test("16-longwords", "16 longwords", 104),
    test("256-longwords", "256 longwords", 1064),
    test("4095-longwords", "4095 longwords", LONGEST),
    test("1-port", "1 port", 48).ports(1),
    test("16-ports", "16 ports", 168).ports(16),
    test("256-ports", "256 ports", 2088).ports(256),
    test("rpc", "RPC", 32),
    test("rpc-100-owned", "RPC, 100 ports", 32).ports(100),
    test("rpc-100-moved", "RPC, 100 moved ports", 32).ports(100),
    test("1-passed-on", "1 port passed on", 48).ports(1),
    test("256-passed-on", "256 ports passed on", 2088).ports(256),
    test("make-port", "make a port", 32),
];

/// Bytes of the longest message.
const LONGEST: usize = 16_424;

/// What a test is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// What the machine itself takes.
    Floor,
    /// Bytes.
    Data,
    /// Rights to ports of the sender.
    Rights,
    /// A request with a send-once right, to one port or to several that the server made.
    Rpc,
    /// The same, where the client made the ports and moved their receive rights to the server.
    Moved,
    /// Rights to ports of a third process.
    PassedOn,
    /// A port that never leaves its task.
    MakePort,
}

fn kind(test: &Test) -> Kind {
    match test.name {
        "floor" => Kind::Floor,
        "make-port" => Kind::MakePort,
        "rpc-100-moved" => Kind::Moved,
        name if name.starts_with("rpc") => Kind::Rpc,
        name if name.ends_with("passed-on") => Kind::PassedOn,
        _ if test.ports > 0 => Kind::Rights,
        _ => Kind::Data,
    }
}

fn floor(test: &Test, _: Placement) -> bool {
    kind(test) == Kind::Floor
}

fn data(test: &Test, _: Placement) -> bool {
    kind(test) == Kind::Data
}

fn data_and_rights(test: &Test, _: Placement) -> bool {
    matches!(kind(test), Kind::Data | Kind::Rights)
}

fn by_mach(test: &Test, _: Placement) -> bool {
    !matches!(kind(test), Kind::Floor | Kind::MakePort)
}

const METHODS: &[Method] = &[
    Method {
        name: "cache-line",
        help: "A word in shared memory that both ends watch without a pause",
        places: &[Placement::Different],
        does: floor,
        prepare: |link, job| Ok(Box::new(floors::CacheLine::new(link, job)?)),
        ..SYSTEMS
    },
    Method {
        name: "futex",
        help: "Two futexes",
        does: floor,
        counts: |_| COUNTED,
        prepare: |link, job| Ok(Box::new(floors::Futex(floors::CacheLine::new(link, job)?))),
        ..SYSTEMS
    },
    Method {
        name: "yield",
        help: "A word in shared memory, and sched_yield until it changes",
        places: &[Placement::OneCore],
        does: floor,
        prepare: |link, job| Ok(Box::new(floors::Yield(floors::CacheLine::new(link, job)?))),
        ..SYSTEMS
    },
    Method {
        name: "copy",
        help: "Copying 16 KB within a core, once",
        places: &[Placement::OneCore],
        does: floor,
        prepare: |_, _| Ok(Box::new(floors::Copy { from: vec![1; LONGEST], to: vec![0; LONGEST] })),
        ..SYSTEMS
    },
    Method {
        name: "clock",
        help: "Reading the clock, twice in each timed round trip",
        places: &[Placement::OneCore],
        does: floor,
        prepare: |_, _| Ok(Box::new(floors::Clock)),
        ..SYSTEMS
    },
    Method {
        name: "pipe",
        help: "Two pipes",
        heading: "pipe",
        does: data,
        counts: |_| COUNTED,
        prepare: echo::<Pipe>,
        ..SYSTEMS
    },
    Method {
        name: "socket",
        help: "AF_UNIX, SOCK_SEQPACKET; rights are descriptors",
        heading: "AF_UNIX",
        does: data_and_rights,
        counts: |_| COUNTED,
        prepare: |link, job| match kind(job.case.test) {
            Kind::Rights => Ok(Box::new(system::Rights::new(link, job)?)),
            _ => echo::<Socket>(link, job),
        },
        ..SYSTEMS
    },
    Method {
        name: "fabric",
        help: "A bare line of the fabric: two rings in a shared segment, nothing of Mach",
        heading: "bare line",
        does: data,
        counts: |_| COUNTED,
        prepare: echo::<line::Line>,
        ..METHOD
    },
    Method {
        name: "ipc-channel",
        help: "The crate ipc-channel; data by its byte channels, rights by its channels of senders",
        heading: "ipc-channel",
        colour: LIBRARY,
        does: data_and_rights,
        counts: |_| COUNTED,
        prepare: |link, job| match kind(job.case.test) {
            Kind::Rights => Ok(Box::new(ipc_channel::Rights::new(link, job)?)),
            _ => echo::<ipc_channel::Bytes>(link, job),
        },
        ..METHOD
    },
    Method {
        name: "iceoryx2",
        help: "The crate iceoryx2, publish and subscribe, busy polling; received data is read where it lies",
        heading: "iceoryx2",
        colour: LIBRARY,
        // Ends that never sleep would each use up their turns on a shared core.
        places: &[Placement::Different],
        does: data,
        prepare: |link, job| Ok(Box::new(iceoryx::Iceoryx::new(link, job)?)),
        ..METHOD
    },
    Method {
        name: "mach",
        help: "Mach messages between two tasks, a process each",
        heading: "Mach",
        does: |test, place| match kind(test) {
            Kind::MakePort => place == Placement::OneCore,
            kind => kind != Kind::Floor,
        },
        counts: |test| if kind(test) == Kind::MakePort { COUNTED } else { 0 },
        prepare: |link, job| match kind(job.case.test) {
            Kind::MakePort => Ok(Box::new(mach::MakePort(slipway_mach::task::Task::current()))),
            _ => mach::two_processes(link, job),
        },
        ..METHOD
    },
    Method {
        name: "mach-sleep",
        help: "The same, where a waiter sleeps at once",
        heading: "Mach\nno spin",
        does: by_mach,
        // Waiting for two lines is a sleep by futex_waitv; on a valgrind that lacks it the library polls instead.
        counts: |test| if kind(test) == Kind::PassedOn { 0 } else { COUNTED },
        sleeps: true,
        prepare: mach::two_processes,
        ..METHOD
    },
    Method {
        name: "mach-one-process",
        help: "Mach messages between two tasks in one process, a thread each",
        heading: "Mach\none proc.",
        does: |test, _| test.name == "rpc" || matches!(kind(test), Kind::Data | Kind::Rights),
        prepare: mach::one_process,
        ..METHOD
    },
];

const SYSTEMS: Method = Method { colour: SYSTEM, ..METHOD };

fn more(lab: &Lab<'_>, cases: &[Case], results: &mut Results) -> anyhow::Result<()> {
    for &case in cases.iter().filter(|case| kind(case.test) == Kind::MakePort) {
        match lab.special(case) {
            Ok(bytes) => results.rows.push(Row::counted(case.test, case.variant(), Unit::Bytes, bytes)),
            Err(error) => results.fail(lab, case, &error)?,
        }
    }
    Ok(())
}

/// The third process of rights that are passed on, and the one that says how many bytes a port takes.
fn special(link: &mut Link, job: &Job) -> anyhow::Result<()> {
    match kind(job.case.test) {
        Kind::PassedOn => owner::own(link, job.case.test.ports),
        _ => {
            println!("{}", mach::weigh(WEIGHED)?);
            Ok(())
        }
    }
}

fn report(results: &Results) -> String {
    let floors = [
        ("cache line between the cores", "cache-line/different"),
        ("futex between the cores", "futex/different"),
        ("futex on one core", "futex/one-core"),
        ("yielding on one core", "yield/one-core"),
        ("16 KB copied once", "copy/one-core"),
        ("the clock read once", "clock/one-core"),
    ];
    let us = |variant| results.value("floor", variant, Unit::Microseconds).map(microseconds);
    let floors: Vec<String> =
        floors.into_iter().filter_map(|(what, variant)| Some(format!("{what} {} us", us(variant)?))).collect();
    let mut out = if floors.is_empty() { String::new() } else { format!("floor      {}\n", floors.join(", ")) };
    out += &by_placement(results, "round trip", |times| {
        let tests = times.tests.iter().filter(|test| matches!(kind(test), Kind::Rights | Kind::PassedOn));
        for test in tests.copied().collect::<Vec<_>>() {
            // One right, there and deallocated: half of what the round trip takes above a null message.
            let each = |all: f64, null: f64| (all - null) / 2.0 / f64::from(test.ports);
            times.row(
                format!("a right, of {}", test.title),
                |column| Some(format!("{:.3}", each(column.row(test.name)?[0], column.row("null")?[0]))),
                |times, method| Some(each(times.us(test, method)?, times.us(BENCH.test("null")?, method)?)),
            );
        }
    });
    if let Some(bytes) = results.value("make-port", "mach/one-core", Unit::Bytes) {
        out += &format!("\na port that never leaves its task: {bytes:.0} bytes of memory\n");
    }
    out
}
