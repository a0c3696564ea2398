//! A port that never leaves its task: what it takes to make and destroy, and to have.

use crate::ipc::cases::Case;
use crate::ipc::peer::Job;
use crate::trips::exchange::Exchange;
use crate::trips::link::Link;
use anyhow::{Context, ensure};
use slipway_mach::abi::right;
use slipway_mach::task::Task;
use std::fs;

/// A "round trip" makes a port and destroys it.
pub struct MakePort(Task);

impl Exchange for MakePort {
    type Case = Case;

    fn prepare(_: &mut Link, _: &Job) -> anyhow::Result<Self> {
        Ok(Self(Task::current()))
    }

    fn round_trip(&mut self) -> anyhow::Result<()> {
        let name = self.0.allocate(right::RECEIVE).context("mach_port_allocate")?;
        self.0.mod_refs(name, right::RECEIVE, -1).context("mach_port_mod_refs")
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// By how many bytes of memory the process grows for each of `count` ports.
///
/// # Errors
/// When there is no port left, or the kernel doesn't tell.
pub fn weigh(count: u64) -> anyhow::Result<f64> {
    let task = Task::current();
    // What the first of a kind takes is not theirs.
    let mut names = vec![0; count as usize];
    let first = task.allocate(right::RECEIVE).context("mach_port_allocate")?;
    names.fill(first);
    let before = resident()?;
    for name in &mut names[1..] {
        *name = task.allocate(right::RECEIVE).context("mach_port_allocate")?;
    }
    let grown = resident()?.saturating_sub(before);
    ensure!(names.iter().all(|&name| task.get_refs(name, right::RECEIVE) == Ok(1)), "a port is not there");
    Ok(grown as f64 / count as f64)
}

/// The process's memory that is there and not of a file, bytes.
fn resident() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("/proc/self/status has no RssAnon")?;
    let kib = line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).context("RssAnon is no number")?;
    Ok(kib * 1024)
}
