//! One of the two processes of a measurement.

use super::capnp::Capnp;
use super::cases::{Case, Method, OWN_CALLS, Test};
use super::rust;
use super::stubs::{Client, register, serve, tell_other};
use crate::trips::exchange::Exchange;
use crate::trips::job::{self, Args, Side, begin, work};
use crate::trips::link::Link;
use crate::trips::meet::{End, meet, serve_beside, servers_cpu, two_tasks};
use anyhow::{Context, bail, ensure};
use slipway_mach::task::Task;

/// What a process is started for.
pub type Job = job::Job<Case>;

/// Does the job of `args`.
///
/// # Errors
/// When the measurement can't be made.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let (mut link, job) = begin::<Case>(args)?;
    match job.case.method {
        Method::Capnp => work::<Capnp>(&mut link, &job),
        _ => work::<Calls>(&mut link, &job),
    }
}

/// Calls. The server is a thread, which ends with its process.
struct Calls(Option<Near>);

/// The client's end.
struct Near {
    client: Client,
    server: u32,
    test: Test,
    /// Calls that must be traps.
    traps: Option<Traps>,
}

/// The ports that are called by trap, with what they had when the client had made so many calls.
pub struct Traps {
    ports: Vec<Trapped>,
    turns: u64,
}

struct Trapped {
    end: End,
    /// Calls in each of the client's.
    each: u64,
    before: u64,
}

impl Traps {
    /// Waits until all of `client`'s calls are traps: from the first one on, if nobody else sends messages.
    ///
    /// # Errors
    /// What a call returns, or that they do not become traps.
    pub fn settle(client: &mut Client, test: Test, server: u32, called: &[(End, u64)]) -> anyhow::Result<Self> {
        let port = |&(end, each)| Ok(Trapped { end, each, before: trap_calls(end)? });
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
    ///
    /// # Errors
    /// When some were messages.
    pub fn check(&self, turns: u64) -> anyhow::Result<()> {
        let made = turns - self.turns;
        for Trapped { end, each, before } in &self.ports {
            let (due, traps) = (made * each, trap_calls(*end)? - before);
            ensure!(traps == due, "{traps} of {due} calls were traps, so that something else was measured");
        }
        Ok(())
    }
}

/// How many traps were made at a port of this process.
fn trap_calls(end: End) -> anyhow::Result<u64> {
    end.task.trap_calls(end.own).context("nothing is registered at the port")
}

/// Has a thread answer at the end's port, and its own calls go to the end's other.
fn start(case: Case, end: End, cpu: usize) -> anyhow::Result<()> {
    tell_other(end.other);
    beside(case, end, cpu)
}

fn beside(case: Case, end: End, cpu: usize) -> anyhow::Result<()> {
    serve_beside(end.task, cpu, move || {
        match case.method {
            // What is not asked for does not matter to stubs that don't ask.
            Method::Trap | Method::MessageTrapStubs => register(end.own, false)?,
            Method::TrapConcurrent => register(end.own, true)?,
            Method::TrapRust => return rust::serve(end.own),
            _ => {}
        }
        serve(end.own)
    })
}

impl Exchange for Calls {
    type Case = Case;

    fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let case = job.case;
        let near = |server| Ok(Self(Some(Near { client: Client::take(case.method)?, server, test: case.test, traps: None })));
        match case.method {
            Method::Plain | Method::Virtual => {
                return if job.side == Side::Client { near(0) } else { Ok(Self(None)) };
            }
            Method::OneProcess | Method::Trap | Method::TrapConcurrent | Method::TrapRust => {
                let Some(cpu) = servers_cpu(link, job)? else { return Ok(Self(None)) };
                let (ours, theirs) = two_tasks()?;
                start(case, theirs, cpu)?;
                // The server's own calls come here.
                beside(case, ours, job.cpu)?;
                ours.task.enter();
                let mut client = Client::take(case.method)?;
                settle(&mut client, case.method, case.test, ours.other)?;
                let own_calls = (case.test == Test::OwnCall).then_some((ours, OWN_CALLS.into()));
                let called: Vec<_> = [(theirs, 1)].into_iter().chain(own_calls).collect();
                let by_trap = case.method != Method::OneProcess;
                let traps = by_trap.then(|| Traps::settle(&mut client, case.test, ours.other, &called)).transpose()?;
                return Ok(Self(Some(Near { client, server: ours.other, test: case.test, traps })));
            }
            _ => {}
        }
        let task = Task::current();
        let (own, other) = meet(task, link, job.side)?;
        let end = End { task, own, other };
        if job.side == Side::Server {
            return start(case, end, job.cpu).map(|()| Self(None));
        }
        if case.test == Test::OwnCall {
            beside(case, end, job.cpu)?;
        }
        near(other)
    }

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

    /// The thread does.
    fn serve(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn serve_all(&mut self, _: u64) -> anyhow::Result<()> {
        Ok(())
    }
}

/// A few calls by message, after which the servers' threads wait: a trap needs that.
///
/// # Errors
/// What a call returns.
pub fn settle(client: &mut Client, method: Method, test: Test, server: u32) -> anyhow::Result<()> {
    client.change(Method::OneProcess)?;
    (0..100).try_for_each(|_| {
        std::thread::yield_now();
        client.call(test, server)
    })?;
    client.change(method)
}
