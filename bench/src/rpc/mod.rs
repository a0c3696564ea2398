//! `slipway-bench rpc`: calls by mig's stubs, beside bare messages and what was published for Mach.
//!
//! The tests are those of Hohmuth and Rudolph's table (null: an integer that is passed back; arrays of 16, 256 and 4095
//! longwords that are passed back) and of Lepreau's (nothing, 64 and 1024 bytes In, 1024 Out, 128 InOut), and four
//! integers each way. They are made between two processes and between two tasks in one process.

mod stubs;

use crate::harness::chart::SYSTEM;
use crate::harness::exchange::Exchange;
use crate::harness::job::{Job, Side};
use crate::harness::link::Link;
use crate::harness::pair::Lab;
use crate::harness::results::{Results, Row, Unit};
use crate::harness::table::by_placement;
use crate::harness::{Bench, Case, METHOD, Method, Placement, Test};
use crate::meet::{Ends, meet, serve_beside, servers_cpu, two_tasks};
use slipway_mach::task::Task;
use stubs::{Bare, Client, Looped, Server, TIMES};

/// The bench.
pub const BENCH: Bench = Bench { name: "rpc", tests: TESTS, methods: METHODS, more, special: |_, _| Ok(()), report };

/// In the order of the numbers of `stubs/client.c`. Bytes are those of the bare messages: a header of 32, and if there is
/// data a type of 8 and the data. A null call's is a header.
const TESTS: &[Test] = &[
    Test::new("null", "null RPC (an integer)").bytes(32, 32),
    Test::new("16-longwords", "RPC, 16 longwords").bytes(104, 104),
    Test::new("256-longwords", "RPC, 256 longwords").bytes(1064, 1064),
    Test::new("4095-longwords", "RPC, 4095 longwords").bytes(16_424, 16_424),
    Test::new("four-ints", "four integers each way").bytes(96, 96),
    Test::new("nothing", "null RPC (no parameter)").bytes(32, 32),
    Test::new("64-in", "64 bytes In").bytes(104, 32),
    Test::new("1024-in", "1024 bytes In").bytes(1064, 32),
    Test::new("1024-out", "1024 bytes Out").bytes(32, 1064),
    Test::new("128-inout", "128 bytes InOut").bytes(168, 168),
];

/// A test's number in `stubs/client.c`.
fn number(test: &Test) -> i32 {
    TESTS.iter().position(|other| other.name == test.name).map_or(i32::MAX, |place| place as i32)
}

const METHODS: &[Method] = &[
    Method {
        name: "stubs",
        help: "Calls by mig's stubs between two processes",
        heading: "stubs",
        ratio: Some(("to bare", "bare")),
        prepare: |link, job| two_processes(link, job, None),
        ..METHOD
    },
    Method { name: "bare", help: "Bare messages with as much data, between two processes", heading: "bare", ..BARE },
    Method {
        name: "once",
        help: "Bare messages between two processes, answered by send-once rights",
        heading: "bare\nsend-once",
        prepare: |link, job| two_processes(link, job, Some(Bare { once: true, bytes: job.case.test.bytes })),
        ..BARE
    },
    Method {
        name: "stubs-sleep",
        help: "Calls by mig's stubs, where a waiter sleeps at once",
        heading: "stubs\nno spin",
        sleeps: true,
        counts: |_| 1000,
        ratio: Some(("to bare", "bare-sleep")),
        prepare: |link, job| two_processes(link, job, None),
        ..METHOD
    },
    Method {
        name: "bare-sleep",
        help: "Bare messages, where a waiter sleeps at once",
        heading: "bare\nno spin",
        sleeps: true,
        counts: |_| 1000,
        ..BARE
    },
    Method {
        name: "stubs-one-process",
        help: "Calls between two tasks in one process, a thread each",
        heading: "stubs\none proc.",
        ratio: Some(("to bare", "bare-one-process")),
        prepare: |link, job| one_process(link, job, None),
        ..METHOD
    },
    Method {
        name: "bare-one-process",
        help: "Bare messages between two tasks in one process",
        heading: "bare\none proc.",
        prepare: |link, job| one_process(link, job, Some(Bare { once: false, bytes: job.case.test.bytes })),
        ..BARE
    },
    Method {
        name: "client-stub",
        help: "A thousand times the client's stub, whose mach_msg takes a reply that lies ready",
        prepare: |_, job| looped(job, |looped| looped.call()),
        ..LOOPED
    },
    Method {
        name: "server-stub",
        help: "A thousand times the server's stub, for a request that lies ready",
        prepare: |_, job| looped(job, |looped| looped.serve()),
        ..LOOPED
    },
    Method {
        name: "ready",
        help: "A thousand times what that mach_msg itself does",
        prepare: |_, job| looped(job, |looped| looped.copy()),
        ..LOOPED
    },
];

const BARE: Method = Method {
    colour: SYSTEM,
    prepare: |link, job| two_processes(link, job, Some(Bare { once: false, bytes: job.case.test.bytes })),
    ..METHOD
};

const LOOPED: Method = Method { places: &[Placement::OneCore], counts: |_| 100, colour: SYSTEM, ..METHOD };

/// Calls and bare messages: the client's end. The server is a thread, which ends with its process.
struct Calls(Option<Near>);

struct Near {
    client: Client,
    ends: Ends,
    test: i32,
    bare: Option<Bare>,
}

fn near(ends: Ends, job: &Job, bare: Option<Bare>) -> anyhow::Result<Box<dyn Exchange>> {
    Ok(Box::new(Calls(Some(Near { client: Client::take()?, ends, test: number(job.case.test), bare }))))
}

fn serve(ends: Ends, cpu: usize, bare: Option<Bare>) -> anyhow::Result<()> {
    let server = Server::take()?;
    serve_beside(ends.task, cpu, move || match bare {
        None => server.serve(ends.own),
        Some(bare) => server.answer(ends.own, ends.other, bare),
    })
}

fn two_processes(link: &mut Link, job: &Job, bare: Option<Bare>) -> anyhow::Result<Box<dyn Exchange>> {
    let ends = meet(Task::current(), link, job.side)?;
    if job.side == Side::Client {
        return near(ends, job, bare);
    }
    serve(ends, job.cpu, bare)?;
    Ok(Box::new(Calls(None)))
}

fn one_process(link: &mut Link, job: &Job, bare: Option<Bare>) -> anyhow::Result<Box<dyn Exchange>> {
    let Some(cpu) = servers_cpu(link, job)? else { return Ok(Box::new(Calls(None))) };
    let (ours, theirs) = two_tasks()?;
    serve(theirs, cpu, bare)?;
    ours.task.enter();
    near(ours, job, bare)
}

impl Exchange for Calls {
    fn round_trip(&mut self) -> anyhow::Result<()> {
        let Some(Near { client, ends, test, bare }) = &mut self.0 else { return Ok(()) };
        match *bare {
            None => client.call(*test, ends.other),
            Some(bare) => client.message(ends.other, ends.own, bare),
        }
    }
}

/// Stubs that need no message. The server's process lends its CPU.
struct InOneThread(Option<Looped>, fn(&mut Looped) -> anyhow::Result<()>);

fn looped(job: &Job, work: fn(&mut Looped) -> anyhow::Result<()>) -> anyhow::Result<Box<dyn Exchange>> {
    let looped = (job.side == Side::Client).then(|| Looped::take(number(job.case.test))).transpose()?;
    Ok(Box::new(InOneThread(looped, work)))
}

impl Exchange for InOneThread {
    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.0.as_mut().map_or(Ok(()), self.1)
    }
}

/// The work of both stubs in a call, without any message.
fn stub_work(results: &Results, test: &Test, unit: Unit) -> Option<f64> {
    let of = |method: &str| results.value(test.name, &format!("{method}/one-core"), unit);
    Some((of("client-stub")? - of("ready")? + of("server-stub")?) / f64::from(TIMES))
}

fn more(_: &Lab<'_>, _: &[Case], results: &mut Results) -> anyhow::Result<()> {
    for test in TESTS {
        let row = |unit, value| Row::counted(test, "stubs/one-core/stub-work".to_owned(), unit, value);
        let ns = stub_work(results, test, Unit::Microseconds).map(|us| row(Unit::Nanoseconds, us * 1e3));
        let counted = stub_work(results, test, Unit::Instructions).map(|count| row(Unit::Instructions, count));
        results.rows.extend(ns.into_iter().chain(counted));
    }
    Ok(())
}

fn report(results: &Results) -> String {
    let mut out = by_placement(results, "call", |_| {});
    for (unit, name) in [(Unit::Nanoseconds, "ns"), (Unit::Instructions, "instructions")] {
        let work = |test: &Test| results.value(test.name, "stubs/one-core/stub-work", unit);
        let figures: Vec<String> =
            TESTS.iter().filter_map(|test| Some(format!("{} {:.1} {name}", test.name, work(test)?))).collect();
        if !figures.is_empty() {
            out += &format!("\nwork of both stubs, without a message: {}\n", figures.join(", "));
        }
    }
    out
}
