//! `slipway-bench rpc`: calls by mig's stubs, beside bare messages and what was published for Mach.
//!
//! The tests are those of Hohmuth and Rudolph's table (null: an integer that is passed back; arrays of 16, 256 and 4095
//! longwords that are passed back) and of Lepreau's (nothing, 64 and 1024 bytes In, 1024 Out, 128 InOut), and four
//! integers each way. They are made between two processes and between two tasks in one process.

mod stubs;

use crate::harness::exchange::Exchange;
use crate::harness::job::{Job, Side};
use crate::harness::link::Link;
use crate::harness::pair::Lab;
use crate::harness::results::{Results, Row, Unit};
use crate::harness::table::by_placement;
use crate::harness::{Case, Code, Test};
use crate::meet::{Ends, meet, serve_beside, servers_cpu, two_tasks};
use slipway_mach::task::Task;
use stubs::{Bare, Client, Looped, Server, TIMES};

/// The bench.
pub const CODE: Code = Code { name: "rpc", prepare, more, special: |_, _| Ok(()), report };

fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
    let method = &*job.case.method.name;
    let bare = !method.starts_with("stubs");
    let bare = bare.then_some(Bare { once: method == "once", bytes: job.case.test.bytes });
    match method {
        "client-stub" => looped(job, Looped::call),
        "server-stub" => looped(job, Looped::serve),
        "ready" => looped(job, Looped::copy),
        _ if method.ends_with("one-process") => one_process(link, job, bare),
        _ => two_processes(link, job, bare),
    }
}

/// A test's number in `stubs/client.c`.
fn number(job: &Job) -> i32 {
    job.case.bench.number(job.case.test)
}

/// Calls and bare messages: the client's end. The server is a thread, which ends with its process.
struct Calls(Option<Near>);

struct Near {
    client: Client,
    ends: Ends,
    test: i32,
    bare: Option<Bare>,
}

fn near(ends: Ends, job: &Job, bare: Option<Bare>) -> anyhow::Result<Box<dyn Exchange>> {
    Ok(Box::new(Calls(Some(Near { client: Client::take()?, ends, test: number(job), bare }))))
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
    let looped = (job.side == Side::Client).then(|| Looped::take(number(job))).transpose()?;
    Ok(Box::new(InOneThread(looped, work)))
}

impl Exchange for InOneThread {
    fn round_trip(&mut self) -> anyhow::Result<()> {
        self.0.as_mut().map_or(Ok(()), self.1)
    }
}

/// The work of both stubs in a call, without any message.
fn stub_work(results: &Results, test: &Test, unit: Unit) -> Option<f64> {
    let of = |method: &str| results.value(&test.name, &format!("{method}/one-core"), unit);
    Some((of("client-stub")? - of("ready")? + of("server-stub")?) / f64::from(TIMES))
}

fn more(_: &Lab<'_>, _: &[Case], results: &mut Results) -> anyhow::Result<()> {
    for test in &results.bench.tests {
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
        let work = |test: &Test| results.value(&test.name, "stubs/one-core/stub-work", unit);
        let figures: Vec<String> =
            results.bench.tests.iter().filter_map(|test| Some(format!("{} {:.1} {name}", test.name, work(test)?))).collect();
        if !figures.is_empty() {
            out += &format!("\nwork of both stubs, without a message: {}\n", figures.join(", "));
        }
    }
    out
}
