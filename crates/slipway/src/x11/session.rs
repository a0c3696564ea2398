//! `slipway x11 --server`: one program in a server of its own.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use slipway_bootstrap::supervise::Process;
use tempfile::TempDir;

use super::auth;
use super::guard::Guard;
use super::process::{Target, attend, start, stop};
use super::server::Server;
use super::signals::Signals;
use crate::args::{LogLevel, ServerOptions};
use crate::failure::Failure;
use crate::hooks::Hooks;
use crate::program::Program;
use crate::settings::Settings;

/// Runs `program` in a private server; returns its exit code, or 128 + the signal that ended it.
/// Nothing of the session is left when this returns.
///
/// # Errors
/// The server or the program could not be started.
pub fn run(options: &ServerOptions, settings: Settings, program: &Program, args: &[OsString]) -> Result<u8, Failure> {
    let server = Program::find(options.server.as_deref().unwrap_or_default())?;
    if let Some(screen) = options.screen {
        screen.arguments(&server.name)?;
    }
    let hooks = Hooks::new(settings, program);
    let signals = Signals::catch().map_err(|error| Failure::own("signal handlers", error))?;
    let scratch = tempfile::Builder::new()
        .prefix("slipway-x11-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|error| Failure::own("temporary directory", error))?;
    let guard = Guard::start(scratch.path()).map_err(|error| Failure::own("x11-guard", error))?;
    let mut session = Session { options, hooks, signals, guard, scratch, server: None };
    let result = session.run(&server, program, args);
    session.close();
    result
}

struct Session<'a> {
    options: &'a ServerOptions,
    hooks: Hooks,
    signals: Signals,
    guard: Guard,
    scratch: TempDir,
    server: Option<Server>,
}

impl Session<'_> {
    fn run(&mut self, server: &Program, program: &Program, args: &[OsString]) -> Result<u8, Failure> {
        let authority = self.scratch.path().join("Xauthority");
        auth::create(&authority).map_err(|error| Failure::own(authority.display(), error))?;
        let server = self.server.insert(Server::start(server, self.options, &authority, &self.hooks)?);
        // The guard goes backwards.
        for target in server.targets().iter().rev() {
            guarded(&self.guard, target)?;
        }
        let patience = Duration::from_secs(self.options.server_timeout.into());
        let display = server.ready(patience, &mut self.signals)?;

        let mut command = program.command();
        command.args(args);
        self.hooks.apply(&mut command, program);
        enter(&mut command, display, &authority);
        let mut process = start(&mut command).map_err(|error| program.exec_failure(&error))?;
        guarded(&self.guard, &Target::Process(process.pidfd.as_fd()))?;
        self.attend(&mut process)
    }

    /// Passes signals on until the program ends.
    fn attend(&mut self, program: &mut Process) -> Result<u8, Failure> {
        let (server, hooks) = (&mut self.server, &self.hooks);
        let mut watches_server = true;
        let mut look = || {
            if watches_server && let Some(how) = server.as_mut().and_then(Server::ended) {
                watches_server = false;
                if hooks.says(LogLevel::Error) {
                    eprintln!("slipway: {how} while the program runs");
                }
            }
        };
        attend(program, &mut self.signals, &mut look).map_err(|error| Failure::own("waiting for the program", error))
    }

    fn close(mut self) {
        let targets = self.server.iter().flat_map(Server::targets).collect::<Vec<_>>();
        stop(&targets, self.scratch.path());
        if let Some(server) = &mut self.server {
            // Only to leave no zombie to whoever executed us.
            server.ended();
        }
        self.guard.dismiss();
    }
}

fn guarded(guard: &Guard, target: &Target<BorrowedFd<'_>>) -> Result<(), Failure> {
    guard.add(target).map_err(|error| Failure::own("x11-guard", error))
}

fn enter(command: &mut Command, display: u32, authority: &Path) {
    command.env("DISPLAY", format!(":{display}")).env("XAUTHORITY", authority);
    // Toolkits prefer a Wayland display, and would show the program on the user's own desktop.
    command.env_remove("WAYLAND_DISPLAY").env_remove("WAYLAND_SOCKET");
}
