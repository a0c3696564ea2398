//! Private X servers: sessions of `slipway x11 --server`, plain ones and some with the hooks.

use super::plan::Stage;
use crate::harness::failure::Failure;
use crate::harness::machine::placed;
use crate::harness::placement::name_of;
use anyhow::{Context, bail};
use rustix::net::sockopt::socket_peercred;
use slipway_transport::status::{self, Transport};
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// How long a server may take to get ready, seconds.
const START_LIMIT: &str = "60";

/// The screen that everything is measured on.
const SCREEN: &str = "1280x1024x24";

/// What is run in a session: it says how clients connect, and keeps the session until its standard input ends, at the latest
/// with this process.
const KEEPER: &str = "env | grep -E '^(DISPLAY|XAUTHORITY|LD_PRELOAD|SLIPWAY_[A-Z0-9_]*)='; echo; exec cat";

/// What all servers of a run have in common.
pub struct Setup {
    /// The program `slipway`.
    pub slipway: PathBuf,
    /// The server's command and arguments of the user's.
    pub command: Vec<String>,
    /// Use this display and the next ones instead of the first that are free.
    pub display: Option<u32>,
    /// The preload library, if it is not the one that `slipway` finds.
    pub preload: Option<PathBuf>,
}

/// A running server; stopped when it goes out of scope.
pub struct Server {
    session: Child,
    pub pid: u32,
    pub display: u32,
    /// The session's variables.
    variables: HashMap<String, String>,
    /// LD_PRELOAD of it and of clients with the hooks.
    pub preload: Option<String>,
    /// How its hooks wait on rings; none: it has none.
    pub stage: Option<Stage>,
}

impl Server {
    /// Starts server number `index` of a run and waits until it takes connections.
    pub fn start(setup: &Setup, index: u32, cpu: Option<usize>, stage: Option<Stage>) -> anyhow::Result<Self> {
        let mut command = Command::new(&setup.slipway);
        command.arg("x11");
        match stage {
            Some(stage) => command.args(["--stage", &name_of(stage)]),
            None => command.arg("--off"),
        };
        Self::start_as(command, setup, index, cpu, stage)
    }

    /// As [`Server::start`], over Mach ports, with a name server of its own.
    pub fn start_over_ports(setup: &Setup, index: u32, cpu: Option<usize>) -> anyhow::Result<Self> {
        let mut command = Command::new(&setup.slipway);
        command.args(["run", "--private", "--"]).arg(&setup.slipway).args(["x11", "--over", "ports"]);
        let server = Self::start_as(command, setup, index, cpu, None)?;
        server.check_hub()?;
        Ok(server)
    }

    fn start_as(
        mut command: Command,
        setup: &Setup,
        index: u32,
        cpu: Option<usize>,
        stage: Option<Stage>,
    ) -> anyhow::Result<Self> {
        command.env("SLIPWAY_X11", "on").args(["--server", &setup.command[0], "--server-timeout", START_LIMIT]);
        if let Some(display) = setup.display {
            command.args(["--display", &(display + index).to_string()]);
        }
        for argument in setup.command[1..].iter().map(String::as_str).chain(["-screen", "0", SCREEN]) {
            command.args(["--server-arg", argument]);
        }
        command.envs(setup.preload.iter().map(|path| ("SLIPWAY_PRELOAD", path)));
        command.args(["--", "sh", "-c", KEEPER]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let session = placed(cpu, || command.spawn())?.context("can't start slipway")?;
        let mut server = Self { session, pid: 0, display: 0, variables: HashMap::new(), preload: None, stage };
        let stdout = BufReader::new(server.session.stdout.take().context("standard output")?);
        // To its end: a keeper that can't write the rest would end, and the server with it.
        let said = stdout.lines().map_while(Result::ok).take_while(|line| !line.is_empty());
        let variable = |line: String| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        server.variables = said.filter_map(variable).collect();
        // `slipway` ends by itself when the server takes too long.
        let Some(display) = server.variables.get("DISPLAY") else {
            bail!("'{}' did not start, as slipway says", setup.command.join(" "));
        };
        server.display = display.trim_start_matches(':').parse().with_context(|| format!("display '{display}'"))?;
        server.preload = server.variables.get("LD_PRELOAD").cloned();
        let listener = socket_peercred(server.connect().context("the server's socket")?).context("SO_PEERCRED")?;
        server.pid = listener.pid.as_raw_nonzero().get() as u32;
        if stage.is_some() {
            server.check_hub()?;
        }
        Ok(server)
    }

    fn connect(&self) -> std::io::Result<UnixStream> {
        UnixStream::connect(format!("/tmp/.X11-unix/X{}", self.display))
    }

    /// Asks the server's hooks: a ratio measured without them would be 1, and a lie.
    fn check_hub(&self) -> Result<(), Failure> {
        let Some(preload) = &self.preload else {
            return Err(Failure::Missing(
                "slipway did not find the preload library; build it, or give --preload PATH".to_owned(),
            ));
        };
        let display = self.display;
        status::query(display).map(drop).map_err(|cause| {
            Failure::NotHooked(format!(
                "the server on display :{display}, started with LD_PRELOAD={preload}, has no hub: {cause}"
            ))
        })
    }

    /// Whether the client `pid` of this hooked server is on shared memory.
    pub fn on_ring(&self, pid: u32) -> anyhow::Result<bool> {
        Ok(self.transport(pid)? == Some(Transport::Ring))
    }

    /// What a connection of the client `pid` goes over; None if it has none yet. Without hooks it is the socket.
    pub fn transport(&self, pid: u32) -> anyhow::Result<Option<Transport>> {
        if self.preload.is_none() {
            return Ok(Some(Transport::Socket));
        }
        let connections = status::query(self.display)?.connections;
        Ok(connections.iter().find(|client| client.pid == pid).map(|client| client.transport))
    }

    pub fn is_running(&self) -> bool {
        self.connect().is_ok()
    }

    /// The environment of a client, with the hooks that the server has or without.
    pub fn environment(&self, command: &mut Command, hooked: bool) {
        let is_hooks = |name: &str| !matches!(name, "DISPLAY" | "XAUTHORITY");
        let given = hooked && self.preload.is_some();
        command.envs(self.variables.iter().filter(|(name, _)| given || !is_hooks(name)));
        if given {
            command.env("SLIPWAY_X11", "on");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.session.stdin.take());
        // Its end takes the server with it.
        let _ = self.session.wait();
    }
}
