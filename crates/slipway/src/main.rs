//! The `slipway` command line.

mod args;
mod bench;
mod elf;
mod failure;
mod hooks;
mod inspect;
mod locate;
mod parts;
mod ports;
mod program;
mod run;
mod session;
mod settings;
mod size;
mod sockets;
mod status;
mod unix;
mod x11;

use mach as _;
use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use args::{Cli, Command, Sockets, SocketsCommand, X11, X11Command};
use failure::{Failure, USAGE};

fn main() -> ExitCode {
    if let Some(launch) = launch(env::args_os().skip(1)) {
        return finish(launch);
    }
    match Cli::try_parse() {
        // The compiler has exit codes of its own.
        Ok(Cli { command: Command::Mig { args } }) => slipway_mig::cli::run(args),
        Ok(cli) => finish(run(cli)),
        Err(error) if is_help(&error) => error.exit(),
        Err(error) => finish(Err(Failure::new(USAGE, args::one_line(&error)))),
    }
}

/// `slipway x11 -- PROGRAM [ARGS]...` and `slipway sockets -- PROGRAM [ARGS]...`, which scripts put before each of their programs.
/// They need no grammar, and to build one takes longer than all else that they do. None for any other command.
fn launch(mut args: impl Iterator<Item = OsString>) -> Option<Result<u8, Failure>> {
    let how = args.next()?;
    let program: Vec<OsString> = args.next().filter(|dashes| dashes == "--").map(|_| args.collect())?;
    match (how.to_str()?, program.is_empty()) {
        ("x11", false) => Some(x11::run(X11 { program, ..X11::default() })),
        ("sockets", false) => Some(sockets::run(&Sockets { program, ..Sockets::default() }).and_then(Err)),
        _ => None,
    }
}

fn run(cli: Cli) -> Result<u8, Failure> {
    match cli.command {
        Command::X11(X11 { command: Some(X11Command::Status(options)), .. }) => status::run_x11(&options),
        Command::X11(args) => x11::run(args),
        Command::Sockets(Sockets { command: Some(SocketsCommand::Status(options)), .. }) => status::run_sockets(&options),
        Command::Sockets(args) => Err(sockets::run(&args)?),
        Command::Ports(options) => ports::run(&options),
        Command::Run(args) => run::run(args),
        Command::Services(options) => run::services(&options),
        Command::Unix(options) => unix::run(options),
        Command::Mig { .. } => unreachable!("done before"),
        Command::Bench { args } => Err(bench::exec(&args)),
        Command::Guard { dir } => session::watch(&dir),
    }
}

fn finish(result: Result<u8, Failure>) -> ExitCode {
    result
        .unwrap_or_else(|failure| {
            eprintln!("slipway: {}", failure.message);
            failure.code
        })
        .into()
}

fn is_help(error: &clap::Error) -> bool {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    matches!(error.kind(), DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand | DisplayVersion)
}
