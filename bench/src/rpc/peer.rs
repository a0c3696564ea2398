//! One of the two processes of a measurement.

use super::cases::{Case, Method, Test};
use super::stubs::{Bare, Client, Looped, Server};
use crate::trips::exchange::Exchange;
use crate::trips::job::{self, Args, Side, begin, work};
use crate::trips::link::Link;
use crate::trips::meet::{End, meet, serve_beside, servers_cpu, two_tasks};
use slipway_mach::task::Task;

type Job = job::Job<Case>;

/// Does the job of `args`.
///
/// # Errors
/// When the measurement can't be made.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let (mut link, job) = begin::<Case>(args)?;
    match job.case.method.crosses() {
        false => work::<InOneThread>(&mut link, &job),
        true => work::<Calls>(&mut link, &job),
    }
}

/// Calls and bare messages. The server is a thread, which ends with its process.
struct Calls(Option<Near>);

/// The client's end.
struct Near {
    client: Client,
    end: End,
    test: Test,
    bare: Option<Bare>,
}

/// The bare messages of a case; None if it has calls.
fn bare(case: Case) -> Option<Bare> {
    match case.method {
        Method::Bare | Method::BareSleep | Method::BareOneProcess => Some(Bare { once: false, bytes: case.test.bytes() }),
        Method::Once => Some(Bare { once: true, bytes: case.test.bytes() }),
        _ => None,
    }
}

fn serve(case: Case, end: End, cpu: usize) -> anyhow::Result<()> {
    let server = Server::take()?;
    serve_beside(end.task, cpu, move || match bare(case) {
        None => server.serve(end.own),
        Some(bare) => server.answer(end.own, end.other, bare),
    })
}

impl Exchange for Calls {
    type Case = Case;

    fn prepare(link: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let near = |end| Ok(Self(Some(Near { client: Client::take()?, end, test: job.case.test, bare: bare(job.case) })));
        if matches!(job.case.method, Method::StubsOneProcess | Method::BareOneProcess) {
            let Some(cpu) = servers_cpu(link, job)? else { return Ok(Self(None)) };
            let (ours, theirs) = two_tasks()?;
            serve(job.case, theirs, cpu)?;
            ours.task.enter();
            return near(ours);
        }
        let task = Task::current();
        let (own, other) = meet(task, link, job.side)?;
        let end = End { task, own, other };
        match job.side {
            Side::Server => serve(job.case, end, job.cpu).map(|()| Self(None)),
            Side::Client => near(end),
        }
    }

    fn round_trip(&mut self) -> anyhow::Result<()> {
        let Some(Near { client, end, test, bare }) = &mut self.0 else { return Ok(()) };
        match *bare {
            None => client.call(*test, end.other),
            Some(bare) => client.message(end.other, end.own, bare),
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

/// Stubs that need no message. The server's process lends its CPU.
struct InOneThread {
    looped: Option<Looped>,
    case: Case,
}

impl Exchange for InOneThread {
    type Case = Case;

    fn prepare(_: &mut Link, job: &Job) -> anyhow::Result<Self> {
        let looped = (job.side == Side::Client).then(|| Looped::take(job.case.test)).transpose()?;
        Ok(Self { looped, case: job.case })
    }

    fn round_trip(&mut self) -> anyhow::Result<()> {
        match (&mut self.looped, self.case.method) {
            (None, _) => Ok(()),
            (Some(looped), Method::Ready) => looped.copy(),
            (Some(looped), Method::ServerStub) => looped.serve(),
            (Some(looped), _) => looped.call(self.case.test),
        }
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn serve_all(&mut self, _: u64) -> anyhow::Result<()> {
        Ok(())
    }
}
