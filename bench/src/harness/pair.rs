//! Starts the two processes of a measurement and waits for what they find.

use super::exchange::Timing;
use super::job::{Job, Side, Work};
use super::machine::Cores;
use super::process::{Guarded, Interrupt, read_text};
use super::{Case, Placement, link};
use anyhow::{Context, bail, ensure};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A measurement takes a second, under valgrind some.
const LIMIT: Duration = Duration::from_secs(120);
/// What a process gets to end after the other has failed.
const GRACE: Duration = Duration::from_secs(2);
/// Round trips of the shorter run whose instructions are counted, which also brings both ends up to speed.
const FEW: u64 = 300;

/// Where and with what measurements are made.
pub struct Lab<'a> {
    /// This program.
    pub program: PathBuf,
    /// The CPUs.
    pub cores: Cores,
    /// Signals to this program.
    pub interrupt: &'a Interrupt,
}

/// A process of a measurement, and what it says to standard error.
struct Peer {
    process: Guarded,
    side: Side,
    said: File,
}

impl Lab<'_> {
    /// Times `case` once.
    pub fn time(&self, case: Case, seconds: f64) -> anyhow::Result<Timing> {
        let output = self.measure(case, Work::Time(seconds), None)?;
        serde_json::from_str(&output).with_context(|| format!("no times: '{output}'"))
    }

    /// The number that the client finds as the bench's special work.
    pub fn special(&self, case: Case) -> anyhow::Result<f64> {
        let output = self.measure(case, Work::Special, None)?;
        output.trim().parse().with_context(|| format!("no number: '{output}'"))
    }

    /// Instructions of both processes together in one round trip of `case`, counted by valgrind's callgrind.
    ///
    /// Two runs differ in nothing but their number of round trips, so their difference is what the round trips execute.
    /// The kernel's instructions are not seen: a system call counts as the one that enters it.
    pub fn instructions(&self, case: Case, valgrind: &Path) -> anyhow::Result<f64> {
        let more = case.counts();
        let total = |count| -> anyhow::Result<u64> {
            let directory = Directory::new()?;
            self.measure(case, Work::Count(count), Some((valgrind, directory.path())))?;
            let of = |side: Side| {
                let file = directory.path().join(format!("{side:?}"));
                let profile = fs::read_to_string(file).with_context(|| format!("callgrind wrote nothing of the {side:?}"))?;
                callgrind_total(&profile).with_context(|| format!("callgrind wrote no total of the {side:?}"))
            };
            Ok(of(Side::Client)? + of(Side::Server)?)
        };
        let (few, many) = (total(FEW)?, total(FEW + more)?);
        ensure!(many > few, "{more} more round trips took {many} instructions, where few took {few}");
        Ok((many - few) as f64 / more as f64)
    }

    fn measure(&self, case: Case, work: Work, valgrind: Option<(&Path, &Path)>) -> anyhow::Result<String> {
        let directory = Directory::new()?;
        let start = |side, socket| self.start(case, work, side, socket, directory.path(), valgrind);
        let (near, far) = link::pair()?;
        let (server, mut client) = (start(Side::Server, near)?, start(Side::Client, far)?);
        let output = client.process.stdout().context("standard output")?;
        let (server_end, client_end) = (server.process.end()?, client.process.end()?);
        // A server that fails leaves a client that waits for it without end.
        if !self.interrupt.wait(&[server_end.as_fd(), client_end.as_fd()], LIMIT)? {
            bail!("no end after {} s, killed", LIMIT.as_secs());
        }
        let (first, second) = match self.interrupt.wait(&[client_end.as_fd()], Duration::ZERO)? {
            true => (client, server),
            false => (server, client),
        };
        let first = first.finish(self.interrupt, LIMIT);
        // The one that is left of a failed pair may wait for the other without end.
        let second = second.finish(self.interrupt, if first.is_ok() { LIMIT } else { GRACE });
        self.interrupt.check()?;
        match (first, second) {
            (Ok(()), Ok(())) => Ok(read_text(output)),
            (Err(first), Err(second)) => bail!("{first:#}; {second:#}"),
            (Err(error), Ok(())) | (Ok(()), Err(error)) => Err(error),
        }
    }

    fn start(
        &self,
        case: Case,
        work: Work,
        side: Side,
        socket: OwnedFd,
        directory: &Path,
        valgrind: Option<(&Path, &Path)>,
    ) -> anyhow::Result<Peer> {
        let cpu = match (side, case.placement) {
            (Side::Server, _) | (_, Placement::OneCore) => self.cores.first,
            (Side::Client, Placement::Different) => self.cores.second.context("no second core")?,
        };
        let mut command = Command::new(valgrind.map_or(&*self.program, |(valgrind, _)| valgrind));
        if let Some((_, profiles)) = valgrind {
            // A string instruction is one instruction, but callgrind counts its every step: have glibc copy by vectors,
            // whatever the length.
            command.env("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1073741824");
            command.args(["--quiet", "--tool=callgrind"]);
            command.arg(format!("--callgrind-out-file={}", profiles.join(format!("{side:?}")).display())).arg(&self.program);
        }
        command.args(Job { case, side, cpu, servers_cpu: self.cores.first, work, directory: directory.to_owned() }.arguments()?);
        if case.method.sleeps {
            command.env("SLIPWAY_SPIN", "0");
        }
        let said = tempfile::tempfile().context("temporary file")?;
        command.stdin(socket).stdout(Stdio::piped()).stderr(said.try_clone()?);
        Ok(Peer { process: Guarded::spawn(&mut command, None)?, side, said })
    }
}

/// A directory of one measurement, and what lies in shared memory under its name: iceoryx2 keeps a segment for ever, and a
/// process that was killed keeps all.
struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> anyhow::Result<Self> {
        tempfile::Builder::new().prefix("slipway-bench-").tempdir().map(Self).context("temporary directory")
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let name = self.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
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

impl Peer {
    fn finish(self, interrupt: &Interrupt, limit: Duration) -> anyhow::Result<()> {
        let Self { process, side, said } = self;
        let ended = process.finish(interrupt, limit).with_context(|| format!("the {side:?} said '{}'", contents(&said)));
        let (status, _) = ended?;
        ensure!(status.success(), "the {side:?} failed, {status}: {}", contents(&said));
        Ok(())
    }
}

fn contents(mut file: &File) -> String {
    let rewound = file.seek(SeekFrom::Start(0));
    rewound.map_or_else(|error| error.to_string(), |_| read_text(file).trim().to_owned())
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
