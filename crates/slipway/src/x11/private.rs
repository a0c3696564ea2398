//! `slipway x11 --server`: one program in a server of its own.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::auth;
use super::server::XServer;
use crate::args::{LogLevel, ServerOptions};
use crate::failure::Failure;
use crate::hooks::Hooks;
use crate::program::Program;
use crate::session::Session;
use crate::settings::Settings;

/// Runs `program` in a private server; returns its exit code, or 128 + the signal that ended it.
///
/// # Errors
/// The server or the program could not be started.
pub fn run(options: &ServerOptions, settings: Settings, program: &Program, args: &[OsString]) -> Result<u8, Failure> {
    let name = Program::find(options.server.as_deref().unwrap_or_default())?;
    if let Some(screen) = options.screen {
        screen.arguments(&name.name)?;
    }
    let hooks = Hooks::new(settings, program);
    let mut session = Session::start("slipway-x11-")?;
    let authority = session.directory().join("Xauthority");
    let mut server = None;
    let mut run = || {
        auth::create(&authority).map_err(|error| Failure::own(authority.display(), error))?;
        let server = server.insert(XServer::start(&session, &name, options, &authority, &hooks)?);
        session.add_server(&server.process)?;
        let patience = Duration::from_secs(options.server_timeout.into());
        let display = server.ready(patience, &mut session.signals)?;
        let mut command = program.command();
        command.args(args);
        hooks.apply(&mut command, program);
        enter(&mut command, display, &authority);
        let tell = |how: &str| {
            if hooks.says(LogLevel::Error) {
                eprintln!("slipway: {how} while the program runs");
            }
        };
        session.run(program, &mut command, &mut server.process, tell)
    };
    let result = run();
    session.close(&mut [], server.as_mut().map(|server| &mut server.process));
    result
}

fn enter(command: &mut Command, display: u32, authority: &Path) {
    command.env("DISPLAY", format!(":{display}")).env("XAUTHORITY", authority);
    // Toolkits prefer a Wayland display, and would show the program on the user's own desktop.
    command.env_remove("WAYLAND_DISPLAY").env_remove("WAYLAND_SOCKET");
}
