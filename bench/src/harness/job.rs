//! What one of the two processes of a measurement does: this program again, with a hidden subcommand.

use super::Case;
use super::exchange::time;
use super::link::Link;
use super::machine::pin;
use anyhow::{Context, bail};
use rustix::process::{Resource, Rlimit, Signal, getppid, getrlimit, set_parent_process_death_signal, setrlimit};
use serde::{Deserialize, Serialize};
use std::os::fd::AsFd;
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// It asks and measures.
    Client,
    /// It answers.
    Server,
}

/// What the client does.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Times round trips, in runs of so many seconds.
    Time(f64),
    /// Does just so many: somebody else counts.
    Count(u64),
    /// Something of the bench's own.
    Special,
}

/// What a process is started for, as it stands on its command line.
#[derive(Clone, Serialize, Deserialize)]
pub struct Job {
    pub case: Case,
    pub side: Side,
    pub cpu: usize,
    /// That of the server, whose thread may be in the client's process.
    pub servers_cpu: usize,
    pub work: Work,
    /// A directory that belongs to this measurement alone and goes away after it.
    pub directory: PathBuf,
}

impl Job {
    /// The arguments of the hidden subcommand.
    pub fn arguments(&self) -> anyhow::Result<[String; 2]> {
        Ok(["peer".to_owned(), serde_json::to_string(self)?])
    }
}

/// Does the job that `text` describes; the link is standard input. A client that times writes a
/// [`Timing`](super::exchange::Timing) to standard output.
pub fn run(text: &str) -> anyhow::Result<()> {
    let job: Job = serde_json::from_str(text).context("job")?;
    die_with_parent()?;
    raise_descriptor_limit()?;
    pin(job.cpu)?;
    let mut link = Link::new(std::io::stdin().as_fd().try_clone_to_owned().context("standard input")?);
    if let (Work::Special, Side::Client) = (job.work, job.side) {
        return (job.case.bench.code.special)(&mut link, &job);
    }
    let mut exchange = (job.case.bench.code.prepare)(&mut link, &job).context("set-up")?;
    if job.side == Side::Server {
        while let Some(count) = link.announced()? {
            exchange.serve(count)?;
        }
        return Ok(());
    }
    match job.work {
        Work::Time(seconds) => {
            let timing = time(&mut *exchange, &mut link, seconds)?;
            println!("{}", serde_json::to_string(&timing)?);
        }
        Work::Count(count) => {
            link.announce(count)?;
            exchange.repeat(count)?;
        }
        Work::Special => {}
    }
    exchange.check()
}

/// Starts a server's thread, which stays on `cpu`. It ends with the process, and the process with it if it fails.
pub fn beside(cpu: usize, serve: impl FnOnce() -> anyhow::Result<()> + Send + 'static) -> anyhow::Result<()> {
    std::thread::Builder::new().name("server".to_owned()).spawn(move || {
        if let Err(error) = pin(cpu).and_then(|()| serve()) {
            eprintln!("slipway-bench: the server's thread: {error:#}");
            std::process::exit(1);
        }
    })?;
    Ok(())
}

fn die_with_parent() -> anyhow::Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL)).context("parent-death signal")?;
    // A parent that died before the call above will never send the signal.
    if getppid() != parent { bail!("the parent process ended") } else { Ok(()) }
}

/// Keeps one CPU busy until the parent dies. Pinning is the caller's business.
pub fn hog() -> anyhow::Result<()> {
    die_with_parent()?;
    let mut word = 1_u64;
    loop {
        word = std::hint::black_box(word.rotate_left(7) ^ 0x9e37_79b9);
    }
}

/// The tests of rights hold up to three descriptors for each, servers several for each client.
pub fn raise_descriptor_limit() -> anyhow::Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).context("limit of descriptors")
}
