//! What one of the two processes of a measurement does: this program again, with a hidden subcommand.

use super::exchange::{Exchange, Timing, repeat, time};
use super::link::Link;
use crate::cores::pin;
use anyhow::{Context, bail};
use rustix::process::{Resource, Rlimit, Signal, getppid, getrlimit, set_parent_process_death_signal, setrlimit};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::os::fd::AsFd;
use std::path::PathBuf;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
pub struct Job<C> {
    /// What to measure.
    pub case: C,
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

/// Takes up the job of `args`: the link is standard input.
///
/// # Errors
/// When this process can't be made ready.
pub fn begin<C: DeserializeOwned>(args: &Args) -> anyhow::Result<(Link, Job<C>)> {
    let job: Job<C> = serde_json::from_str(&args.job).context("job")?;
    die_with_parent()?;
    raise_descriptor_limit()?;
    pin(job.cpu)?;
    let socket = std::io::stdin().as_fd().try_clone_to_owned().context("standard input")?;
    Ok((Link::new(socket), job))
}

/// Does a job of round trips. The client writes a [`Timing`] to standard output, if it was to time them.
///
/// # Errors
/// When the measurement can't be made.
pub fn work<E>(link: &mut Link, job: &Job<E::Case>) -> anyhow::Result<()>
where
    E: Exchange,
{
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
            exchange.check()?;
            println!("{}", serde_json::to_string(&timing)?);
        }
        Work::Count(count) => {
            link.announce(count)?;
            repeat(&mut exchange, count)?;
            exchange.check()?;
        }
        Work::Weigh(_) | Work::Own => bail!("no work of round trips"),
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
