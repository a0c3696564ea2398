//! One of the two processes of a measurement.

use super::capnp::Capnp;
use super::cases::{Case, Method, Test};
use super::stubs::{Client, register, serve, tell_other};
use crate::trips::exchange::Exchange;
use crate::trips::job::{self, Args, Side, begin, work};
use crate::trips::link::Link;
use crate::trips::meet::{End, meet, serve_beside, servers_cpu, two_tasks};
use slipway_ports::task::Task;

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
            _ => {}
        }
        serve(end.own)
    })
}

impl Exchange for Calls {
    type Case = Case;

    fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let case = job.case;
        let near = |server| Ok(Self(Some(Near { client: Client::take(case.method)?, server, test: case.test })));
        match case.method {
            Method::Plain | Method::Virtual => {
                return if job.side == Side::Client { near(0) } else { Ok(Self(None)) };
            }
            Method::OneProcess | Method::Trap | Method::TrapConcurrent => {
                let Some(cpu) = servers_cpu(link, job)? else { return Ok(Self(None)) };
                let (ours, theirs) = two_tasks()?;
                start(case, theirs, cpu)?;
                // The server's own calls come here.
                beside(case, ours, job.cpu)?;
                ours.task.enter();
                let mut client = Client::take(case.method)?;
                settle(&mut client, case.method, case.test, ours.other)?;
                return Ok(Self(Some(Near { client, server: ours.other, test: case.test })));
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
            Some(Near { client, server, test }) => client.call(*test, *server),
            None => Ok(()),
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
