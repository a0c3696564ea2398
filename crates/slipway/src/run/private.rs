//! `slipway run --private`: one program with a name server of its own.

use std::ffi::OsString;

use slipway_mach::bootstrap::contact::{SOCKET, SOCKET_VARIABLE};

use super::args::RunOptions;
use super::server;
use crate::failure::Failure;
use crate::program::Program;
use crate::session::Session;

/// Runs `program` with a private name server: its exit code, or 128 + the signal that ended it.
///
/// # Errors
/// The server or the program could not be started.
pub fn run(options: &RunOptions, program: &Program, args: &[OsString]) -> Result<u8, Failure> {
    let mut session = Session::start("slipway-run-")?;
    let mut server = None;
    let mut run = || {
        let socket = session.directory().join(SOCKET);
        let server = server.insert(server::start(&session, &socket, options, &[])?);
        session.add_server(server)?;
        server::ready(server, &mut session.signals)?;
        let mut command = program.command();
        command.args(args).env(SOCKET_VARIABLE, &socket);
        session.run(program, &mut command, server, |how| eprintln!("slipway: {how} while the program runs"))
    };
    let result = run();
    session.close(&mut [], server.as_mut());
    result
}
