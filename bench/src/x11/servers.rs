//! Private X servers, one plain and one with the hooks for each stage.

use super::hooks::{Hooks, preload};
use super::plan::name_of;
use crate::harness::failure::Failure;
use crate::harness::process::{Guarded, Interrupt, Launch, read_text};
use anyhow::{Context, bail};
use rustix::process::Signal;
use rustix::rand::{GetRandomFlags, getrandom};
use slipway_transport::status::{self, Transport};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a server may take to get ready.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The screen that everything is measured on.
pub const SCREEN: &str = "1280x1024x24";

/// What all servers of a run have in common.
pub struct Setup {
    /// The server's command and arguments of the user's.
    pub command: Vec<String>,
    /// Directory for the authority file and the logs; removed by its owner.
    pub dir: PathBuf,
    /// The Xauthority file.
    pub auth: PathBuf,
    /// Use this display and the next ones instead of the first that are free.
    pub display: Option<u32>,
}

impl Setup {
    /// The environment of a server or client: with `hooks` or without any trace of them.
    pub fn environment(&self, command: &mut Command, hooks: Option<&Hooks>) {
        command.env("XAUTHORITY", &self.auth);
        if let Some(hooks) = hooks {
            command.env("SLIPWAY_X11", "on").env("SLIPWAY_X11_STAGE", name_of(hooks.stage));
        }
    }
}

/// Writes an Xauthority file with one random cookie that is good for any display, so that nobody else can connect.
///
/// Its one record: the family "wild", then address, display number, method and data, each with a length of 16 bits in
/// network order. Empty address and number match every display.
pub fn write_authority(file: &Path) -> anyhow::Result<()> {
    let mut cookie = [0; 16];
    getrandom(&mut cookie, GetRandomFlags::empty()).context("random cookie")?;
    let mut record = vec![0xff, 0xff];
    for field in [b"".as_slice(), b"", b"MIT-MAGIC-COOKIE-1", &cookie] {
        record.extend((field.len() as u16).to_be_bytes());
        record.extend(field);
    }
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    opened.and_then(|mut out| out.write_all(&record)).with_context(|| format!("can't write {}", file.display()))
}

/// A running server; stopped when it goes out of scope.
pub struct Server {
    process: Guarded,
    /// Its display number.
    pub display: u32,
    log: PathBuf,
}

impl Server {
    /// Starts server number `index` of a run and waits until it takes connections.
    pub fn start(
        setup: &Setup,
        index: u32,
        cpus: &[usize],
        hooks: Option<&Hooks>,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Self> {
        let log = setup.dir.join(format!("server-{index}.log"));
        let preload = preload(hooks);
        let launch = Launch {
            cpus,
            preload: preload.as_deref(),
            // Asked, not killed: it has a lock file and a socket to remove.
            death: "TERM",
        };
        let mut command = launch.command(&setup.command[0]);
        command.args(&setup.command[1..]);
        if let Some(display) = setup.display {
            command.arg(format!(":{}", display + index));
        }
        command
            .args(["-screen", "0", SCREEN, "-noreset", "-nolisten", "tcp"])
            .arg("-auth")
            .arg(&setup.auth)
            .args(["-displayfd", "1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).with_context(|| format!("can't write {}", log.display()))?);
        setup.environment(&mut command, hooks);
        let mut process = Guarded::spawn(&mut command, Some(Signal::TERM))?;
        let display = Self::ready(&mut process, interrupt).with_context(|| {
            let (command, said) = (setup.command.join(" "), one_line(&log));
            format!("'{command}' did not start; it said: {said}")
        })?;
        let server = Self { process, display, log };
        if let Some(hooks) = hooks {
            server.check_hub(hooks)?;
        }
        Ok(server)
    }

    /// Reads the display number that the server writes once it listens.
    fn ready(process: &mut Guarded, interrupt: &Interrupt) -> anyhow::Result<u32> {
        let mut pipe = process.stdout().context("standard output")?;
        let mut text = String::new();
        while !text.ends_with('\n') {
            if !interrupt.wait(&[pipe.as_fd()], START_LIMIT)? {
                bail!("not ready after {} s", START_LIMIT.as_secs());
            }
            let mut bytes = [0; 32];
            match pipe.read(&mut bytes).context("display number")? {
                0 => bail!("it ended"),
                count => text.push_str(&String::from_utf8_lossy(&bytes[..count])),
            }
        }
        let number = text.trim();
        number.parse().with_context(|| format!("display number '{number}'"))
    }

    /// Asks the server's hooks: a ratio measured without them would be 1, and a lie.
    fn check_hub(&self, hooks: &Hooks) -> Result<(), Failure> {
        let (display, preload, said) = (self.display, &hooks.preload, self.said());
        status::query(display).map(drop).map_err(|cause| {
            Failure::NotHooked(format!(
                "the server on display :{display}, started with LD_PRELOAD={preload}, has no hub: {cause}; it said: {said}"
            ))
        })
    }

    /// Whether the client `pid` of this hooked server is on shared memory.
    pub fn on_ring(&self, pid: u32) -> anyhow::Result<bool> {
        let status = status::query(self.display)?;
        Ok(status.connections.iter().any(|client| client.pid == pid && client.transport == Transport::Ring))
    }

    /// What the server has written to standard error, in one line.
    pub fn said(&self) -> String {
        match one_line(&self.log) {
            said if said.is_empty() => "nothing".to_owned(),
            said => said,
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Whether it's still there.
    pub fn is_running(&mut self) -> bool {
        self.process.is_running()
    }
}

fn one_line(log: &Path) -> String {
    let text = File::open(log).map(read_text).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" / ")
}
