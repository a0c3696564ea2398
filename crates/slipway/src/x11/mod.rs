//! `slipway x11`: a program with the hooks, alone or with a private server.

mod auth;
mod over;
mod private;
mod screen;
mod server;

use std::env;
use std::os::unix::process::CommandExt;

use crate::args::X11;
use crate::failure::Failure;
use crate::hooks::Hooks;
use crate::program::Program;
use crate::settings::Settings;

pub use screen::Screen;

/// Runs the program; the exit code is its own.
///
/// # Errors
/// The program could not be run; without `--server` this is the only way to return.
pub fn run(args: X11) -> Result<u8, Failure> {
    let mut settings = Settings::new(&args.hooks, |name| env::var_os(name))?;
    settings.variables.extend(over::variables(args.over)?);
    let Some((name, program_args)) = args.program.split_first() else {
        return Err(Failure::usage("x11: no program given (see slipway x11 --help)"));
    };
    let program = Program::find(name)?;
    if args.server.server.is_some() {
        return private::run(&args.server, settings, &program, program_args);
    }
    let hooks = Hooks::new(settings, &program);
    let mut command = program.command();
    command.args(program_args);
    hooks.apply(&mut command, &program);
    if let Some(display) = &args.hold {
        return over::hold(display, command, &program);
    }
    Err(program.exec_failure(&command.exec()))
}
