//! Calls to servers, which are threads that end with their process.

use super::rust;
use super::stubs::{Client, register, serve, tell_other};
use crate::harness::exchange::Exchange;
use crate::harness::job::{Job, Side};
use crate::harness::link::Link;
use crate::meet::{Ends, meet, serve_beside, servers_cpu, two_tasks};
use anyhow::{Context, bail, ensure};
use slipway_mach::task::Task;

/// The client's end; none in another process.
struct Calls(Option<Near>);

struct Near {
    client: Client,
    server: u32,
    test: i32,
    /// Calls that must be traps.
    traps: Option<Traps>,
}

impl Near {
    fn boxed(job: &Job, client: Client, server: u32, traps: Option<Traps>) -> Box<dyn Exchange> {
        Box::new(Calls(Some(Self { client, server, test: job.case.bench.number(job.case.test), traps })))
    }
}

impl Exchange for Calls {
    fn round_trip(&mut self) -> anyhow::Result<()> {
        match &mut self.0 {
            Some(Near { client, server, test, .. }) => client.call(*test, *server),
            None => Ok(()),
        }
    }

    fn check(&self) -> anyhow::Result<()> {
        match &self.0 {
            Some(Near { client, traps: Some(traps), .. }) => traps.check(client.turns()),
            _ => Ok(()),
        }
    }
}

/// Calls without a server.
pub fn in_one_thread(_: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
    match job.side {
        Side::Client => Ok(Near::boxed(job, Client::take(&job.case.method.name)?, 0, None)),
        Side::Server => Ok(Box::new(Calls(None))),
    }
}

/// Calls to another process.
pub fn two_processes(link: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
    let ends = meet(Task::current(), link, job.side)?;
    if job.side == Side::Server {
        start(job, ends, job.cpu)?;
        return Ok(Box::new(Calls(None)));
    }
    if job.case.test.name == "own-call" {
        beside(job, ends, job.cpu)?;
    }
    Ok(Near::boxed(job, Client::take(&job.case.method.name)?, ends.other, None))
}

/// Calls to another task of this process.
pub fn in_one_process(link: &mut Link, job: &Job) -> anyhow::Result<Box<dyn Exchange>> {
    let Some(cpu) = servers_cpu(link, job)? else { return Ok(Box::new(Calls(None))) };
    let (ours, theirs) = two_tasks()?;
    start(job, theirs, cpu)?;
    // The server's own calls come here.
    beside(job, ours, job.cpu)?;
    ours.task.enter();
    let (method, test) = (&*job.case.method.name, job.case.bench.number(job.case.test));
    let mut client = Client::take("one-process")?;
    // A few calls by message, after which the servers' threads wait: a trap needs that.
    for _ in 0..100 {
        std::thread::yield_now();
        client.call(test, ours.other)?;
    }
    client.change(method)?;
    let own_calls = (job.case.test.name == "own-call").then_some((ours, job.case.test.each.into()));
    let called: Vec<_> = [(theirs, 1)].into_iter().chain(own_calls).collect();
    let traps = (method != "one-process").then(|| Traps::settle(&mut client, test, ours.other, &called)).transpose()?;
    Ok(Near::boxed(job, client, ours.other, traps))
}

/// Has a thread answer at the end's port, and its own calls go to the end's other.
fn start(job: &Job, ends: Ends, cpu: usize) -> anyhow::Result<()> {
    tell_other(ends.other);
    beside(job, ends, cpu)
}

fn beside(job: &Job, ends: Ends, cpu: usize) -> anyhow::Result<()> {
    let method = job.case.method.name.clone();
    serve_beside(ends.task, cpu, move || {
        match &*method {
            // What is not asked for does not matter to stubs that don't ask.
            "trap" | "message-trap-stubs" | "message-registered" => register(ends.own, false)?,
            "trap-concurrent" => register(ends.own, true)?,
            "trap-rust" => return rust::serve(ends.own),
            _ => {}
        }
        serve(ends.own)
    })
}

/// The ports that are called by trap, with what they had when the client had made so many calls.
struct Traps {
    ports: Vec<Trapped>,
    turns: u64,
}

struct Trapped {
    ends: Ends,
    /// Calls in each of the client's.
    each: u64,
    before: u64,
}

impl Traps {
    /// Waits until all of `client`'s calls are traps: from the first one on, if nobody else sends messages.
    fn settle(client: &mut Client, test: i32, server: u32, called: &[(Ends, u64)]) -> anyhow::Result<Self> {
        let port = |&(ends, each)| Ok(Trapped { ends, each, before: trap_calls(ends)? });
        for _ in 0..10_000 {
            let traps = Self { ports: called.iter().map(port).collect::<anyhow::Result<_>>()?, turns: client.turns() };
            client.call(test, server)?;
            if traps.check(client.turns()).is_ok() {
                return Ok(traps);
            }
            std::thread::yield_now();
        }
        bail!("the server does not come to wait for calls")
    }

    /// Fails unless all calls of a client that has made so many were traps.
    fn check(&self, turns: u64) -> anyhow::Result<()> {
        let made = turns - self.turns;
        for Trapped { ends, each, before } in &self.ports {
            let (due, traps) = (made * each, trap_calls(*ends)? - before);
            ensure!(traps == due, "{traps} of {due} calls were traps, so that something else was measured");
        }
        Ok(())
    }
}

/// How many traps were made at a port of this process.
fn trap_calls(ends: Ends) -> anyhow::Result<u64> {
    ends.task.trap_calls(ends.own).context("nothing is registered at the port")
}
