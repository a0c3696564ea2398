//! `slipway run --private`: one program with a name server of its own.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;

use slipway_mach::bootstrap::contact::{SOCKET, SOCKET_VARIABLE};
use tempfile::TempDir;

use super::RunOptions;
use super::server::Server;
use crate::failure::Failure;
use crate::program::Program;
use crate::x11::guard::Guard;
use crate::x11::process::{Target, attend, start, stop};
use crate::x11::signals::Signals;

/// Runs `program` with a private name server: its exit code, or 128 + the signal that ended it. Nothing of the
/// session is left when this returns, and soon after it if this process is killed.
///
/// # Errors
/// The server or the program could not be started.
pub fn run(options: &RunOptions, program: &Program, args: &[OsString]) -> Result<u8, Failure> {
    let signals = Signals::catch().map_err(|error| Failure::own("signal handlers", error))?;
    let scratch = tempfile::Builder::new()
        .prefix("slipway-run-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|error| Failure::own("temporary directory", error))?;
    let guard = Guard::start(scratch.path()).map_err(guard_failure)?;
    let mut session = Session { signals, guard, scratch, server: None };
    let result = session.run(options, program, args);
    session.close();
    result
}

struct Session {
    signals: Signals,
    guard: Guard,
    scratch: TempDir,
    server: Option<Server>,
}

impl Session {
    fn run(&mut self, options: &RunOptions, program: &Program, args: &[OsString]) -> Result<u8, Failure> {
        let socket = self.scratch.path().join(SOCKET);
        let server = self.server.insert(Server::start(&socket, options, &[])?);
        // The guard goes backwards.
        for target in server.targets().iter().rev() {
            guarded(&self.guard, target)?;
        }
        server.ready(&mut self.signals)?;
        let mut command = program.command();
        command.args(args).env(SOCKET_VARIABLE, &socket);
        let mut process = start(&mut command).map_err(|error| program.exec_failure(&error))?;
        guarded(&self.guard, &Target::Process(process.pidfd.as_fd()))?;
        let mut lives = true;
        let mut look = || {
            if lives && let Some(how) = server.ended() {
                lives = false;
                eprintln!("slipway: {how} while the program runs");
            }
        };
        attend(&mut process, &mut self.signals, &mut look).map_err(|error| Failure::own("waiting for the program", error))
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

pub(super) fn guarded(guard: &Guard, target: &Target<BorrowedFd<'_>>) -> Result<(), Failure> {
    guard.add(target).map_err(guard_failure)
}

pub(super) fn guard_failure(error: std::io::Error) -> Failure {
    Failure::own("the process that cleans up after a killed session", error)
}
