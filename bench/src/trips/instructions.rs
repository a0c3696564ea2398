//! Instructions in a round trip, counted by valgrind's callgrind in both processes.
//!
//! Two runs differ in nothing but their number of round trips, so their difference is what the round
//! trips execute. The kernel's instructions are not seen: a system call counts as the one that enters it.

use super::Case;
use super::callgrind::total;
use super::job::Side;
use super::pair::Bench;
use anyhow::{Context, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Round trips of the shorter run, which also brings both ends up to speed.
const FEW: u64 = 300;
/// Round trips that the longer one has more.
pub const MORE: u64 = 1000;

/// What callgrind wrote of the two processes of a run.
pub struct Profiles {
    /// Of the client.
    pub client: String,
    /// Of the server.
    pub server: String,
}

/// What is in one round trip, of what a run has and one with so many `more` of them.
pub fn each(few: f64, many: f64, more: u64) -> f64 {
    (many - few) / more as f64
}

/// Instructions of both processes together in one round trip of `case`.
///
/// # Errors
/// When a run fails, or valgrind writes something else than expected.
pub fn count<C: Case>(bench: &Bench<'_>, valgrind: &Path, case: C) -> anyhow::Result<f64> {
    let (few, many) = profiles(bench, valgrind, case, MORE)?;
    let sum = |profiles: &Profiles| -> anyhow::Result<u64> {
        let of = |profile: &str, side| total(profile).with_context(|| format!("callgrind wrote no total of the {side}"));
        Ok(of(&profiles.client, "client")? + of(&profiles.server, "server")?)
    };
    let (few, many) = (sum(&few)?, sum(&many)?);
    ensure!(many > few, "{MORE} more round trips took {many} instructions, where few took {few}");
    Ok(each(few as f64, many as f64, MORE))
}

/// The profiles of a run of few round trips, and of one of so many `more`.
///
/// # Errors
/// When a run fails, or valgrind writes nothing.
pub fn profiles<C: Case>(bench: &Bench<'_>, valgrind: &Path, case: C, more: u64) -> anyhow::Result<(Profiles, Profiles)> {
    Ok((run(bench, valgrind, case, FEW)?, run(bench, valgrind, case, FEW + more)?))
}

fn run<C: Case>(bench: &Bench<'_>, valgrind: &Path, case: C, round_trips: u64) -> anyhow::Result<Profiles> {
    let directory = tempfile::Builder::new().prefix("slipway-bench-").tempdir().context("temporary directory")?;
    let profile = |side: Side| -> PathBuf { directory.path().join(format!("{side:?}")) };
    bench.count(case, round_trips, |side| {
        let mut command = Command::new(valgrind);
        command.args(["--quiet", "--tool=callgrind", "--dump-instr=yes"]);
        // A string instruction is one instruction, but callgrind counts its every step: have glibc copy
        // by vectors, whatever the length.
        command.env("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1073741824");
        command.arg(format!("--callgrind-out-file={}", profile(side).display()));
        command.arg(bench.program());
        command
    })?;
    let read =
        |side| fs::read_to_string(profile(side)).with_context(|| format!("can't read what callgrind wrote of the {side:?}"));
    Ok(Profiles { client: read(Side::Client)?, server: read(Side::Server)? })
}
