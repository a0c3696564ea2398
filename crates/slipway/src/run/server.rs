//! A private name server.

use std::io::pipe;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::io::{FdFlags, fcntl_setfd};
use slipway_mach::bootstrap::launch::{self, READY};

use super::args::RunOptions;
use crate::failure::{Failure, OWN};
use crate::session::Session;
use crate::session::server::{Report, Server};
use crate::session::signals::Signals;

/// How long the server may take to be ready.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts a name server at `socket`, with views on it at others.
///
/// # Errors
/// It can't be found or executed.
pub fn start(session: &Session, socket: &Path, options: &RunOptions, views: &[String]) -> Result<Server, Failure> {
    let program = launch::find().map_err(|why| Failure::new(OWN, why))?;
    let own = |error| Failure::own(program.display(), error);
    let (output, their_output) = pipe().map_err(own)?;
    let (life, theirs) = pipe().map_err(own)?;
    // The server and what it starts inherit this end. Nothing else is started until it is closed below.
    fcntl_setfd(&theirs, FdFlags::empty()).map_err(|error| own(error.into()))?;
    let mut command = Command::new(&program);
    command.arg("--socket").arg(socket);
    for service in &options.service {
        command.arg("--service").arg(service);
    }
    for dir in &options.services {
        command.arg("--services").arg(dir);
    }
    for view in views {
        command.arg("--view").arg(view);
    }
    command.env_remove("LD_PRELOAD").stdout(their_output);
    Server::start("the name server", session, &mut command, output, life).map_err(own)
}

/// Waits until the server can be connected to.
///
/// # Errors
/// It ended, was not ready in time, or a signal came.
pub fn ready(server: &mut Server, signals: &mut Signals) -> Result<(), Failure> {
    let why = match server.report(Instant::now() + PATIENCE, signals)? {
        Report::Line(line) if line == READY.as_bytes() => return Ok(()),
        Report::Late => format!("the name server was not ready within {} s", PATIENCE.as_secs()),
        // What it lacked it has written to standard error itself.
        Report::Closed(Some(status)) => format!("the name server ended early ({status})"),
        Report::Line(_) | Report::Closed(None) => "the name server said something else than that it is ready".into(),
    };
    Err(Failure::new(OWN, why))
}
