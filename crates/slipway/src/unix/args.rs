//! The grammar and the help of `slipway unix`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  slipway unix -- make install          run it; the files stay as they are, the changes are in a layer
  slipway unix diff make-1              what it changed
  slipway unix keep make-1              apply that to the files; or:
  slipway unix discard make-1           forget it
  slipway unix --layer make-1 -- app    run a program in that layer, and change it
  slipway unix --layer make-1 --new try -- app    the same, with its changes in a layer above
  slipway unix --read-only --hide ~/.ssh -- ./configure

The command protects against accidents only: a program that means to can get around it. See
docs/unix.md for what is promised.

Environment:
  XDG_STATE_HOME  layers are in slipway/unix there [default: ~/.local/state]

Exit status:
  The command's own; it ends by the signal that ended the command. If it could not be run:
  2 wrong options, 125 no layer or no net could be made, 126 not executable, 127 not found.
  Of the others: 0; 1 conflicts (keep) or a layer that is not sound (check); 2 wrong options
  or no such layer; 125 it could not be done.";

/// Run a command on a copy-on-write view of the files; show, keep or discard what it changed
#[derive(Debug, Default, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    override_usage = "slipway unix [OPTIONS] [--] COMMAND [ARGS]...\n       \
                      slipway unix diff|keep|discard|shell|export|reads|check LAYER ...\n       \
                      slipway unix list [--json]",
    after_help = EXAMPLES
)]
pub struct Unix {
    #[command(subcommand)]
    pub command: Option<UnixCommand>,
    /// The command, found in PATH as it sees it, and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND [ARGS]")]
    pub program: Vec<OsString>,
    #[command(flatten)]
    pub options: UnixOptions,
}

/// What a command sees and may change.
#[derive(Debug, Default, Clone, Args)]
pub struct UnixOptions {
    /// Run over this layer; several lie on each other in this order. The last is changed, without --new
    #[arg(long, value_name = "LAYER")]
    pub layer: Vec<String>,
    /// Make a layer of this name for what is changed [default: the command's name and a number, without --layer]
    #[arg(long, value_name = "NAME")]
    pub new: Option<String>,
    /// Forget what was changed when the command and all that it started have ended
    #[arg(long, conflicts_with = "read_only")]
    pub discard: bool,
    /// Refuse changes, with the error of a file system that is read-only
    #[arg(long, conflicts_with = "new")]
    pub read_only: bool,
    /// Make PATH look as if it were not there; may be repeated
    #[arg(long, value_name = "PATH")]
    pub hide: Vec<PathBuf>,
    /// Let changes of PATH and below go to the files themselves; may be repeated
    #[arg(long, value_name = "PATH")]
    pub allow_write: Vec<PathBuf>,
    /// Refuse sockets, but for local ones
    #[arg(long)]
    pub no_network: bool,
    /// Confine a command that may mean harm: nothing outside the layer is changed, no process outside is reached (docs/unix.md says how far)
    #[arg(long)]
    pub contain: bool,
    /// Have the server answer every call with a name in it, also where a program could look by itself
    #[arg(long)]
    pub net_only: bool,
    /// Don't say what was changed
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Subcommand)]
pub enum UnixCommand {
    /// Show what a layer changes: names, with PATH or --contents also contents as diff -u does
    Diff(DiffOptions),
    /// Apply what a layer changes to the files, all of it or nothing
    ///
    /// The files are compared with what they were when the layer changed them; conflicts are named, and nothing is changed then. One that was
    /// interrupted is finished by the next, or undone.
    Keep(KeepOptions),
    /// Remove a layer
    Discard(LayerOptions),
    /// List layers
    List(ListOptions),
    /// Run a shell over a layer ($SHELL, else sh)
    Shell(ShellOptions),
    /// Write what a layer changes into a tar archive, with removed names as OCI images have them (.wh.NAME)
    Export(ExportOptions),
    /// Show what commands in a layer used: files read, directories listed, names missed, programs run
    Reads(ReadsOptions),
    /// Say whether a layer is sound
    Check(LayerOptions),
}

#[derive(Debug, Args)]
pub struct DiffOptions {
    /// The layer
    pub layer: String,
    /// Only what is here or below
    pub path: Option<PathBuf>,
    /// Show contents, too
    #[arg(long)]
    pub contents: bool,
    /// Print everything as one JSON object, for programs
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct KeepOptions {
    /// The layer
    pub layer: String,
    /// Only what is here or below; the layer keeps the rest
    pub paths: Vec<PathBuf>,
    /// Print conflicts as one JSON object, for programs
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct LayerOptions {
    /// The layers
    #[arg(required = true)]
    pub layer: Vec<String>,
}

#[derive(Debug, Args)]
pub struct ListOptions {
    /// Print everything as one JSON object, for programs
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ShellOptions {
    /// The layer
    pub layer: String,
}

#[derive(Debug, Args)]
pub struct ExportOptions {
    /// The layer
    pub layer: String,
    /// The archive; - is standard output
    pub archive: PathBuf,
}

#[derive(Debug, Args)]
pub struct ReadsOptions {
    /// The layer
    pub layer: String,
    /// Print everything as one JSON object, for programs
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::{CommandFactory, Parser};

    fn unix(args: &[&str]) -> Result<Unix, clap::Error> {
        match Cli::try_parse_from(["slipway", "unix"].iter().chain(args))?.command {
            Command::Unix(options) => Ok(options),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_command_after_dashes_is_a_command() {
        let options = unix(&["--layer", "a", "--layer", "b", "--", "diff", "--json"]).expect("parses");
        assert_eq!((options.options.layer.len(), options.program.len()), (2, 2));
        assert!(matches!(unix(&["diff", "a"]).expect("parses").command, Some(UnixCommand::Diff(_))));
        assert_eq!(unix(&["make", "--new", "x"]).expect("parses").program, ["make", "--new", "x"]);
    }

    #[test]
    fn the_manual_has_every_option() {
        const MANUAL: &str = include_str!("../../../../docs/man/slipway-unix.1");
        let cli = Cli::command();
        let unix = cli.find_subcommand("unix").expect("unix");
        for command in unix.get_subcommands() {
            assert!(MANUAL.contains(&format!(".Cm unix {}", command.get_name())), "{}", command.get_name());
        }
        for argument in unix.get_arguments().chain(unix.get_subcommands().flat_map(clap::Command::get_arguments)) {
            if let Some(long) = argument.get_long().filter(|long| *long != "help") {
                assert!(MANUAL.contains(&format!("Fl -{long}")), "--{long}");
            }
        }
    }
}
