//! One of the two processes of a measurement: this program again, with a hidden subcommand.

use super::cases::{Case, Method, Test};
use super::exchange::{Echo, Exchange, Timing, repeat, time};
use super::link::Link;
use super::methods::{floors, futex, iceoryx, ipc_channel, line, mach, pipe, socket};
use crate::cores::pin;
use anyhow::{Context, bail};
use rustix::process::{Resource, Rlimit, Signal, getppid, getrlimit, set_parent_process_death_signal, setrlimit};
use serde::{Deserialize, Serialize};
use std::os::fd::AsFd;
use std::path::PathBuf;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// It asks and measures.
    Client,
    /// It answers.
    Server,
}

/// What the client does with its round trips, or a process that has none does.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Times them, in runs of so many seconds.
    Time(f64),
    /// Does just so many: somebody else counts.
    Count(u64),
    /// Makes so many ports and says how many bytes each takes.
    Weigh(u64),
    /// Has the ports that the two of a measurement pass on rights to: a third process.
    Own,
}

/// What a process is started for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// What to measure.
    pub case: Case,
    /// Which end this is.
    pub side: Side,
    /// The CPU to stay on.
    pub cpu: usize,
    /// What to do.
    pub work: Work,
    /// A directory that belongs to this measurement alone and goes away after it.
    pub directory: PathBuf,
}

/// The options of the hidden subcommand.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A [`Job`] as JSON
    job: String,
}

/// Does the job of `args`. The link is standard input; the client writes a [`Timing`] to standard output.
///
/// # Errors
/// When the measurement can't be made.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let job: Job = serde_json::from_str(&args.job).context("job")?;
    die_with_parent()?;
    raise_descriptor_limit()?;
    pin(job.cpu)?;
    let socket = std::io::stdin().as_fd().try_clone_to_owned().context("standard input")?;
    let mut link = Link::new(socket);
    if let (Work::Own, Test::PassedOn(count)) = (job.work, job.case.test) {
        return mach::owner::own(&mut link, count);
    }
    match (job.case.method, job.case.test) {
        (Method::CacheLine, _) => work::<floors::CacheLine>(&mut link, &job),
        (Method::Futex, _) => work::<futex::Futex>(&mut link, &job),
        (Method::Yield, _) => work::<floors::Yield>(&mut link, &job),
        (Method::Copy, _) => work::<floors::Copy>(&mut link, &job),
        (Method::Clock, _) => work::<floors::Clock>(&mut link, &job),
        (Method::Pipe, Test::Longwords(_)) => work::<Echo<pipe::Pipe>>(&mut link, &job),
        (Method::Socket, Test::Longwords(_)) => work::<Echo<socket::Socket>>(&mut link, &job),
        (Method::Socket, Test::Ports(_)) => work::<socket::Rights>(&mut link, &job),
        (Method::Fabric, Test::Longwords(_)) => work::<Echo<line::Line>>(&mut link, &job),
        (Method::IpcChannel, Test::Longwords(_)) => work::<Echo<ipc_channel::Bytes>>(&mut link, &job),
        (Method::IpcChannel, Test::Ports(_)) => work::<ipc_channel::Rights>(&mut link, &job),
        (Method::Iceoryx2, Test::Longwords(_)) => work::<iceoryx::Iceoryx>(&mut link, &job),
        (Method::Mach, Test::MakePort) => work::<mach::local::MakePort>(&mut link, &job),
        (Method::Mach | Method::MachSleep, _) => work::<mach::Mach>(&mut link, &job),
        (Method::MachOneProcess, _) => work::<mach::OneProcess>(&mut link, &job),
        _ => bail!("{} can't be done", job.case.name()),
    }
}

fn work<E: Exchange>(link: &mut Link, job: &Job) -> anyhow::Result<()> {
    let mut exchange = E::prepare(link, job).context("set-up")?;
    if job.side == Side::Server {
        while let Some(count) = link.announced()? {
            exchange.serve_all(count)?;
        }
        return Ok(());
    }
    match job.work {
        Work::Time(seconds) => {
            let timing: Timing = time(&mut exchange, link, seconds)?;
            println!("{}", serde_json::to_string(&timing)?);
        }
        Work::Count(count) => {
            link.announce(count)?;
            repeat(&mut exchange, count)?;
        }
        Work::Weigh(count) => println!("{}", mach::local::weigh(count)?),
        Work::Own => bail!("no test of rights that are passed on"),
    }
    Ok(())
}

fn die_with_parent() -> anyhow::Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL)).context("parent-death signal")?;
    // A parent that died before the call above will never send the signal.
    if getppid() != parent { bail!("the parent process ended") } else { Ok(()) }
}

/// The tests of rights hold up to three descriptors for each.
fn raise_descriptor_limit() -> anyhow::Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).context("limit of descriptors")
}
