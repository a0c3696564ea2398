//! The grammar and the help of `slipway run` and `slipway services`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  slipway run --private -- make check          a name server for one command
  slipway run --private --service org.example.kv=./kvd -- ./client
  slipway run --private kvd.so client.so -- -v  two tasks in one process: calls in place of messages
  slipway run --config system.toml             a system of tasks, started again when they fail

Every program finds the name server by itself and starts it if need be: `slipway run` is for
what is to have one of its own.

Environment:
  SLIPWAY_BOOTSTRAP         socket of the name server, as --private sets it for PROGRAM
  SLIPWAY_BOOTSTRAP_SERVER  the name server's program [default: slipway-bootstrap in
                            ../libexec/slipway beside the directory of the slipway executable,
                            or in that directory, or in PATH]
  SLIPWAY_RUNTIME_DIR       directory of the user's own name server's socket

Exit status:
  The program's own (with --private: 128 + N if signal N ended it); of several tasks, the last
  one's; with --config, that of the task named main, else of the first that failed. If it could not be run:
  2 wrong options, 125 there is no name server, 126 not executable, 127 not found.";

/// Run a program that uses Mach IPC, with the name server there
#[derive(Debug, Default, Args)]
#[command(override_usage = "slipway run [--private [--service NAME=PROGRAM]... [--services DIR]...] [--] PROGRAM [ARGS]...\n       \
                            slipway run [--private ...] TASK.so [TASK.so]... [-- ARGS...]\n       \
                            slipway run --config FILE",
          after_help = EXAMPLES)]
pub struct RunOptions {
    /// Start a name server for PROGRAM and its children alone; it ends with PROGRAM, and with it what it has started
    #[arg(long)]
    pub private: bool,
    /// Have the private server start PROGRAM with the first message to the service NAME; may be repeated
    #[arg(long, value_name = "NAME=PROGRAM", requires = "private", value_parser = parse_service)]
    pub service: Vec<OsString>,
    /// Have the private server read the service files in DIR (see `slipway-bootstrap --help`); may be repeated
    #[arg(long, value_name = "DIR", requires = "private")]
    pub services: Vec<PathBuf>,
    /// Run the tasks that FILE describes, in the processes that it says, with a name server of their own
    #[arg(long, value_name = "FILE", conflicts_with_all = ["private", "program"])]
    pub config: Option<PathBuf>,
    /// The program, found in PATH, and its arguments; or tasks, which are shared objects, and after -- the arguments of the last
    #[arg(trailing_var_arg = true, required_unless_present = "config", value_name = "PROGRAM [ARGS]")]
    pub program: Vec<OsString>,
}

/// Show the services that the name server knows
///
/// A service is active while a task serves it, on demand if its program starts with its first message, and
/// else inactive. The name server is that of SLIPWAY_BOOTSTRAP or the user's own; it is not started.
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0; 1 if there is no name server; 2 wrong options.")]
pub struct ServicesOptions {
    /// Print everything as one JSON object, for programs
    #[arg(long)]
    pub json: bool,
}

fn parse_service(text: &str) -> Result<OsString, String> {
    match text.split_once('=') {
        Some((name, program)) if !name.is_empty() && !program.is_empty() => Ok(text.into()),
        _ => Err("wanted is NAME=PROGRAM".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command, one_line};
    use clap::{CommandFactory, Parser};

    fn run(args: &[&str]) -> Result<RunOptions, clap::Error> {
        match Cli::try_parse_from(["slipway", "run"].iter().chain(args))?.command {
            Command::Run(options) => Ok(options),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_end_at_the_program() {
        let options = run(&["--private", "--service", "a=b", "--service", "c=d=e", "x", "--private", "-y"]).expect("parses");
        assert_eq!((options.service.len(), options.program.len()), (2, 3));
        assert!(!run(&["--", "--private"]).expect("parses").private);
    }

    #[test]
    fn what_is_wrong_is_said_in_a_line() {
        for wrong in
            [&["--service", "a=b", "x"][..], &["--private", "--service", "a", "x"], &["--private"], &["--services", "d", "x"]]
        {
            let line = one_line(&run(wrong).expect_err("refused"));
            assert!(!line.contains('\n') && line.contains("--"), "{line}");
        }
    }

    #[test]
    fn the_manual_has_every_option() {
        const MANUAL: &str = include_str!("../../../../docs/man/slipway.1");
        let cli = Cli::command();
        for name in ["run", "services"] {
            assert!(MANUAL.contains(&format!(".Cm {name}")), "{name}");
            for argument in cli.find_subcommand(name).expect(name).get_arguments() {
                if let Some(long) = argument.get_long().filter(|long| *long != "help") {
                    assert!(MANUAL.contains(&format!("Fl -{long}")), "--{long}");
                }
            }
        }
    }
}
