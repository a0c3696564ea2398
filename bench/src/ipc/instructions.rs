//! Instructions in a round trip, counted by valgrind's callgrind in both processes.
//!
//! Two runs differ in nothing but their number of round trips, so their difference is what the round
//! trips execute. The kernel's instructions are not seen: a system call counts as the one that enters it.

use super::cases::Case;
use super::pair::Bench;
use super::peer::Side;
use anyhow::{Context, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Round trips of the shorter run, which also brings both ends up to speed.
const FEW: u64 = 300;
/// Round trips of the longer one.
const MANY: u64 = 1300;

/// Instructions of both processes together in one round trip of `case`.
///
/// # Errors
/// When a run fails, or valgrind writes something else than expected.
pub fn count(bench: &Bench<'_>, valgrind: &Path, case: Case) -> anyhow::Result<f64> {
    let few = run(bench, valgrind, case, FEW)?;
    let many = run(bench, valgrind, case, MANY)?;
    ensure!(many > few, "{MANY} round trips took {many} instructions, {FEW} took {few}");
    Ok((many - few) as f64 / (MANY - FEW) as f64)
}

fn run(bench: &Bench<'_>, valgrind: &Path, case: Case, round_trips: u64) -> anyhow::Result<u64> {
    let directory = tempfile::Builder::new().prefix("slipway-bench-").tempdir().context("temporary directory")?;
    let profile = |side: Side| -> PathBuf { directory.path().join(format!("{side:?}")) };
    bench.count(case, round_trips, |side| {
        let mut command = Command::new(valgrind);
        command.args(["--quiet", "--tool=callgrind"]);
        // A string instruction is one instruction, but callgrind counts its every step: have glibc copy
        // by vectors, whatever the length.
        command.env("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1073741824");
        command.arg(format!("--callgrind-out-file={}", profile(side).display()));
        command.arg(bench.program());
        command
    })?;
    let read = |side| -> anyhow::Result<u64> {
        let file = profile(side);
        let text = fs::read_to_string(&file).with_context(|| format!("can't read what callgrind wrote of the {side:?}"))?;
        total(&text).with_context(|| format!("callgrind wrote no total of the {side:?}"))
    };
    Ok(read(Side::Client)? + read(Side::Server)?)
}

/// The total of a callgrind profile: the first figure of its line "totals:", or, in versions that write none, "summary:".
fn total(profile: &str) -> Option<u64> {
    let figure = |name: &str| profile.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    figure("totals:").or_else(|| figure("summary:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_profile() {
        assert_eq!(total("version: 1\nevents: Ir\nsummary: 12\nfn=(1) main\n1 5\ntotals: 34\n"), Some(34));
        assert_eq!(total("summary: 12\n"), Some(12));
        assert_eq!(total("events: Ir\ntotals:\n"), None);
    }
}
