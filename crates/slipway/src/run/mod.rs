//! `slipway run`: a program with a name server; and `slipway services`, what a name server knows.

mod args;
mod private;
mod server;
mod services;
mod system;
mod tasks;

use std::os::unix::process::CommandExt;

use slipway_mach::bootstrap::launch::PROGRAM_VARIABLE;
use slipway_mach::bootstrap::{self, Address};

use crate::failure::Failure;
use crate::locate;
use crate::program::Program;

pub use args::{RunOptions, ServicesOptions};
pub use services::run as services;

/// Runs the program, tasks or system; the exit code is the program's own, or that of the task with which all ends.
///
/// # Errors
/// The program could not be run, or there is no name server for it; without `--private` this is the only way to return.
pub fn run(options: RunOptions) -> Result<u8, Failure> {
    let server = locate::bootstrap().map_err(|missing| Failure::own("the name server", missing))?;
    if let Some(path) = &options.config {
        return system::run(path);
    }
    let Some((name, args)) = options.program.split_first() else {
        return Err(Failure::usage("run: no program given (see slipway run --help)"));
    };
    let (program, args) = match tasks::host(&options.program)? {
        Some(host) => host,
        None => (Program::find(name)?, args.to_vec()),
    };
    if options.private {
        return private::run(&options, &program, &args);
    }
    Address::find()
        .and_then(|address| bootstrap::reach(&address))
        .map_err(|why| Failure::new(crate::failure::OWN, why.to_string()))?;
    let mut command = program.command();
    if let Some(server) = server {
        // For when the program is the next to need one.
        command.env(PROGRAM_VARIABLE, server);
    }
    Err(program.exec_failure(&command.args(args).exec()))
}
