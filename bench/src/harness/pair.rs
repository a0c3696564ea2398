//! Starts the two processes of a measurement and waits for what they find.

use super::exchange::Timing;
use super::job::{Job, Side, Work};
use super::machine::Cores;
use super::process::{Guarded, Interrupt};
use super::{Case, Placement, link};
use anyhow::{Context, ensure};
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A measurement takes a second, under valgrind some.
const LIMIT: Duration = Duration::from_secs(120);
/// What a process gets to end after the other has failed.
const GRACE: Duration = Duration::from_secs(2);
/// Round trips of the shorter run whose instructions are counted, which also brings both ends up to speed.
const FEW: u64 = 300;

/// Where and with what measurements are made.
pub struct Lab<'a> {
    pub program: PathBuf,
    pub cores: Cores,
    pub interrupt: &'a Interrupt,
}

impl Lab<'_> {
    pub fn time(&self, case: Case, seconds: f64) -> anyhow::Result<Timing> {
        let output = self.measure(case, Work::Time(seconds), None)?;
        serde_json::from_str(&output).with_context(|| format!("no times: '{output}'"))
    }

    /// The number that the client finds as the bench's special work.
    pub fn special(&self, case: Case) -> anyhow::Result<f64> {
        let output = self.measure(case, Work::Special, None)?;
        output.parse().with_context(|| format!("no number: '{output}'"))
    }

    /// Instructions of both processes together in one round trip of `case`, counted by valgrind's callgrind.
    ///
    /// Two runs differ in nothing but their number of round trips, so their difference is what the round trips execute.
    /// The kernel's instructions are not seen: a system call counts as the one that enters it.
    pub fn instructions(&self, case: Case, valgrind: &Path) -> anyhow::Result<f64> {
        let more = case.counts();
        let total = |count| -> anyhow::Result<u64> { Ok(self.measure(case, Work::Count(count), Some(valgrind))?.parse()?) };
        let (few, many) = (total(FEW)?, total(FEW + more)?);
        ensure!(many > few, "{more} more round trips took {many} instructions, where few took {few}");
        Ok((many - few) as f64 / more as f64)
    }

    /// What the client prints; under valgrind the instructions of both.
    fn measure(&self, case: Case, work: Work, valgrind: Option<&Path>) -> anyhow::Result<String> {
        let directory = Directory::new()?;
        let directory = directory.0.path();
        let start = |side, socket| self.start(case, work, side, socket, directory, valgrind);
        let (near, far) = link::pair()?;
        let (server, client) = (start(Side::Server, near)?, start(Side::Client, far)?);
        let (server_end, client_end) = (server.end()?, client.end()?);
        // A server that fails leaves a client that waits for it without end.
        let ended = self.interrupt.wait(&[server_end.as_fd(), client_end.as_fd()], LIMIT)?;
        let client_first = self.interrupt.wait(&[client_end.as_fd()], Duration::ZERO)?;
        let mut both = [(Side::Client, client), (Side::Server, server)];
        both.sort_by_key(|(side, _)| (*side == Side::Client) != client_first);
        let mut failed = if ended { Vec::new() } else { vec!["neither came to an end".to_owned()] };
        let mut output = String::new();
        for (side, process) in both {
            // The one that is left of a failed pair may wait for the other without end.
            match process.finish(self.interrupt, if failed.is_empty() { LIMIT } else { GRACE }) {
                // The server prints nothing.
                Ok((printed, _)) => output += &printed,
                Err(error) => failed.push(format!("the {side:?}: {error:#}")),
            }
        }
        self.interrupt.check()?;
        ensure!(failed.is_empty(), "{}", failed.join("; "));
        let Some(_) = valgrind else { return Ok(output) };
        let of = |side: Side| {
            let profile = fs::read_to_string(profile(directory, side)).unwrap_or_default();
            callgrind_total(&profile).with_context(|| format!("callgrind wrote no total of the {side:?}"))
        };
        Ok((of(Side::Client)? + of(Side::Server)?).to_string())
    }

    fn start(
        &self,
        case: Case,
        work: Work,
        side: Side,
        socket: OwnedFd,
        directory: &Path,
        valgrind: Option<&Path>,
    ) -> anyhow::Result<Guarded> {
        let cpu = match (side, case.placement) {
            (Side::Server, _) | (_, Placement::OneCore) => self.cores.first,
            (Side::Client, Placement::Different) => self.cores.second.context("no second core")?,
        };
        let mut command = Command::new(valgrind.unwrap_or(&self.program));
        if valgrind.is_some() {
            // A string instruction is one instruction, but callgrind counts its every step: have glibc copy by vectors,
            // whatever the length.
            command.env("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1073741824");
            command.args(["--quiet", "--tool=callgrind"]);
            command.arg(format!("--callgrind-out-file={}", profile(directory, side).display())).arg(&self.program);
        }
        command.args(Job { case, side, cpu, servers_cpu: self.cores.first, work, directory: directory.to_owned() }.arguments()?);
        if case.method.sleeps {
            command.env("SLIPWAY_SPIN", "0");
        }
        Guarded::spawn(command.stdin(socket), None)
    }
}

/// Where callgrind writes what a side executed.
fn profile(directory: &Path, side: Side) -> PathBuf {
    directory.join(format!("{side:?}.callgrind"))
}

/// A directory of one measurement, and what lies in shared memory under its name: iceoryx2 keeps a segment for ever, and a
/// process that was killed keeps all.
struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> anyhow::Result<Self> {
        tempfile::Builder::new().prefix("slipway-bench-").tempdir().map(Self).context("temporary directory")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let name = self.0.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        for entry in fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&name) {
                // It may be gone by now, which is as good.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// The total of a callgrind profile: the first figure of its line "totals:", or, in versions that write none, "summary:".
fn callgrind_total(profile: &str) -> Option<u64> {
    let figure = |name: &str| profile.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    figure("totals:").or_else(|| figure("summary:"))
}

#[cfg(test)]
mod tests {
    use super::callgrind_total;

    #[test]
    fn the_total_of_a_profile() {
        assert_eq!(callgrind_total("version: 1\nevents: Ir\nsummary: 12\nfn=(1) main\n1 5\ntotals: 34\n"), Some(34));
        assert_eq!(callgrind_total("summary: 12\n"), Some(12));
        assert_eq!(callgrind_total("events: Ir\ntotals:\n"), None);
    }
}
