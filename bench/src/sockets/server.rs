//! Servers of one program, in directories of their own, and their clients.

use super::programs::{Peer, Program, Values};
use crate::harness::failure::Failure;
use crate::harness::process::{Guarded, Interrupt, cpu_ns_with_children, tree};
use anyhow::{Context, bail};
use rustix::process::{Signal, getuid};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to start or to end, and a client for one operation.
const LIMIT: Duration = Duration::from_secs(60);
/// A run that takes longer than this hangs.
const RUN_LIMIT: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(5);
/// How long a connection may take to get to shared memory.
const RING_LIMIT: Duration = Duration::from_secs(1);
/// How much longer for each client.
const RING_EACH: Duration = Duration::from_millis(5);
/// Operations of a client that is not waited for.
const MANY: u64 = 100_000;
/// The user of what root may not run: nobody's number on every Linux.
const NOBODY: u32 = 65_534;

/// What all servers of a run have in common.
pub struct Lab<'a> {
    /// The program `slipway`.
    pub slipway: PathBuf,
    /// The preload library, if it is not the one that `slipway` finds.
    pub preload: Option<PathBuf>,
    /// The value of PATH.
    pub path: OsString,
    /// The directory in which each server has one.
    pub directory: PathBuf,
    pub interrupt: &'a Interrupt,
}

/// One run of a client.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub operations: u64,
    pub seconds: f64,
    /// CPU nanoseconds that server and client used while the client lived; none without schedstat.
    pub cpu_ns: Option<u64>,
}

/// A running server of a program and what runs beside it; they are ended when it goes out of scope.
pub struct Server<'a> {
    lab: &'a Lab<'a>,
    pub program: &'a Program,
    peer: Peer,
    directory: PathBuf,
    values: Values,
    clients_cpu: Option<usize>,
    processes: Vec<Guarded>,
}

impl<'a> Server<'a> {
    /// Starts the server, at the first of `cpus`, and what is beside it, at the second as all clients, and waits until it
    /// answers. `index` tells sides of one kind apart.
    pub fn start(
        lab: &'a Lab<'a>,
        program: &'a Program,
        (peer, index): (Peer, usize),
        [cpu, clients_cpu]: [Option<usize>; 2],
    ) -> anyhow::Result<Self> {
        let directory = lab.directory.join(format!("{}-{index}", program.name));
        let is_new = !directory.exists();
        // Both are free at once, so that they differ.
        let ports = [TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?];
        let [port, front] = ports.map(|port| port.local_addr().map(|address| address.port().to_string()));
        let shown = directory.display().to_string();
        let values = Values::new([("dir", shown), ("port", port?), ("front", front?)]);
        let mut server = Self { lab, program, peer, directory, values, clients_cpu, processes: Vec::new() };
        if is_new {
            for path in [&server.directory, &server.directory.join("run")] {
                fs::create_dir(path).with_context(|| format!("can't make {}", path.display()))?;
                fs::set_permissions(path, Permissions::from_mode(0o700))?;
                chown(path, server.user(), server.user())?;
            }
            if let Some(line) = &program.once {
                Guarded::spawn(&mut server.command(line, false), None)?.finish(lab.interrupt, LIMIT).context(line.clone())?;
            }
        }
        for (name, text) in &program.files {
            fs::write(server.directory.join(name), server.filled(text))?;
        }
        let _ = fs::remove_file(server.socket());
        server.spawn(&program.server, cpu)?;
        server.until("takes no connection", |server| server.is_listening())?;
        if let Some(beside) = &program.beside {
            server.spawn(beside, clients_cpu)?;
        }
        if let Some(first) = &program.first {
            server.until("does not answer its first client", |server| {
                let client = Guarded::spawn(&mut server.command(first, true), clients_cpu);
                client.is_ok_and(|client| client.finish(lab.interrupt, LIMIT).is_ok())
            })?;
        }
        lab.interrupt.check()?;
        Ok(server)
    }

    fn filled(&self, text: &str) -> String {
        let lines = self.program.lines(self.peer).iter();
        self.values.fill(&lines.fold(text.to_owned(), |text, (name, line)| text.replace(&format!("{{{name}}}"), line)))
    }

    /// Who runs it, if not this user.
    fn user(&self) -> Option<u32> {
        (self.program.unprivileged && getuid().is_root()).then_some(NOBODY)
    }

    /// A command of one line; with the hooks, if this side has them and it is to. It ends when this program does, however
    /// that ends.
    fn command(&self, line: &str, hooks: bool) -> Command {
        let words = shlex::split(&self.filled(line)).unwrap_or_default();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "INT"]);
        if let Some(user) = self.user() {
            command.args([format!("--reuid={user}"), format!("--regid={user}"), "--clear-groups".to_owned()]);
        }
        command.arg("--");
        if hooks && self.peer == Peer::Slipway {
            command.arg(&self.lab.slipway).args(["sockets", "--"]);
        }
        for name in ["LD_PRELOAD", "SLIPWAY_SOCKETS", "SLIPWAY_X11"] {
            command.env_remove(name);
        }
        command.envs(self.lab.preload.iter().map(|path| ("SLIPWAY_PRELOAD", path)));
        command.envs(self.program.env.iter().map(|(name, value)| (name, self.filled(value))));
        command.env("PATH", &self.lab.path).env("SLIPWAY_RUNTIME_DIR", self.directory.join("run"));
        command.envs([("HOME", &self.directory), ("XDG_CONFIG_HOME", &self.directory)]);
        command.args(words).current_dir(&self.directory).stdin(Stdio::null());
        command
    }

    fn spawn(&mut self, line: &str, cpu: Option<usize>) -> anyhow::Result<()> {
        self.processes.push(Guarded::spawn(&mut self.command(line, true), cpu)?);
        Ok(())
    }

    fn socket(&self) -> PathBuf {
        self.directory.join(self.filled(&self.program.socket))
    }

    fn is_listening(&self) -> bool {
        match self.peer {
            Peer::Tcp => TcpStream::connect(self.filled("127.0.0.1:{port}")).is_ok(),
            Peer::Unix | Peer::Slipway => UnixStream::connect(self.socket()).is_ok(),
        }
    }

    /// Waits until `reached`; that a server ended before, or that it takes too long, is an error with what the server said.
    fn until(&mut self, what: &str, reached: impl Fn(&Self) -> bool) -> anyhow::Result<()> {
        let end = Instant::now() + LIMIT;
        while !reached(self) {
            let ended = self.processes.iter_mut().any(|process| !process.is_running());
            if ended || Instant::now() > end {
                let what = if ended { "ended" } else { what };
                let said: Vec<String> = self.processes.iter().map(Guarded::said).collect::<anyhow::Result<_>>()?;
                bail!("{} {what}: {}", self.program.server.split(' ').next().unwrap_or_default(), said.join(" / "));
            }
            self.lab.interrupt.wait(&[], PAUSE)?;
        }
        Ok(())
    }

    /// CPU nanoseconds that the server and what is beside it have used, once no process of theirs comes or goes: some end
    /// with their clients.
    fn cpu_ns(&self) -> Option<u64> {
        let end = Instant::now() + RING_LIMIT;
        let all = || self.processes.iter().flat_map(|process| tree(process.id())).collect::<Vec<u32>>();
        let mut seen = vec![all()];
        while seen.len() < 3 && Instant::now() < end {
            self.lab.interrupt.wait(&[], PAUSE).ok()?;
            let now = all();
            seen.retain(|before| *before == now);
            seen.push(now);
        }
        cpu_ns_with_children(seen.last()?)
    }

    /// Starts a client, and says what it is about to print.
    fn client(&self, clients: u32, each: u64) -> anyhow::Result<(Guarded, Values)> {
        let numbers = [("clients", u64::from(clients)), ("each", each), ("count", each * u64::from(clients))];
        let values = Values::new(numbers.map(|(name, number)| (name, number.to_string())));
        Ok((Guarded::spawn(&mut self.command(&values.fill(&self.program.client), true), self.clients_cpu)?, values))
    }

    /// Has so many clients do so many operations each.
    pub fn run(&self, clients: u32, each: u64) -> anyhow::Result<Sample> {
        let before = self.cpu_ns();
        let start = Instant::now();
        let (client, values) = self.client(clients, each)?;
        let ended = client.finish(self.lab.interrupt, RUN_LIMIT);
        let life = start.elapsed().as_secs_f64();
        let program = self.program.client.split(' ').next().unwrap_or_default();
        let (printed, used) = ended.with_context(|| format!("{program}, {each} operations by each of {clients} clients"))?;
        let operations = each * u64::from(clients);
        let seconds = self.program.seconds(&values, operations, &printed, life).with_context(|| program.to_owned())?;
        let cpu = || Some(self.cpu_ns()?.checked_sub(before?)? + used?);
        Ok(Sample { operations, seconds, cpu_ns: cpu() })
    }

    /// Whether the hooks have so many clients' connections on shared memory; that this server has none at all is an error.
    pub fn is_on_ring(&self, clients: u32) -> anyhow::Result<bool> {
        let each = (MANY / u64::from(clients)).max(MANY / 100);
        let (mut probe, _) = self.client(clients, each)?;
        // The offer comes a moment after the socket, and a connection is on its socket until both ends have agreed.
        let limit = RING_LIMIT + clients * RING_EACH;
        let (start, mut seen) = (Instant::now(), None);
        while seen.is_none_or(|seen: Instant| seen.elapsed() < limit) {
            if !probe.is_running() {
                // A fast client may end before both ends have agreed, or before it was seen that they have.
                if start.elapsed() > limit {
                    break;
                }
                probe = self.client(clients, each)?.0;
            }
            let line = format!("{} sockets status --json {}", self.lab.slipway.display(), self.socket().display());
            match Guarded::spawn(&mut self.command(&line, false), None)?.finish(self.lab.interrupt, LIMIT) {
                Ok((status, _)) if status.contains("\"ring\"") => return Ok(true),
                Ok((status, _)) if status.contains("\"transport\"") => seen = seen.or(Some(Instant::now())),
                Err(why) if start.elapsed() > RING_LIMIT => {
                    return Err(Failure::NotHooked(format!("{}: {why:#}", self.program.name)).into());
                }
                _ => self.lab.interrupt.wait(&[], PAUSE).map(drop)?,
            }
        }
        Ok(false)
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().rev() {
            // Only so do servers end their children, too. What does not end is killed.
            let _ = process.stop(Signal::INT, LIMIT);
        }
    }
}
