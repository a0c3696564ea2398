//! `slipway sockets`: a program with the hooks for any local stream socket.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;

use serde::Deserialize;
use slipway_layer::base_directory;
use slipway_transport::endpoint::Choice;

use crate::args::Sockets;
use crate::failure::Failure;
use crate::hooks::Hooks;
use crate::program::Program;
use crate::settings::Settings;

/// The variable that tells the hooks which sockets.
const VARIABLE: &str = "SLIPWAY_SOCKETS";

/// The file `sockets.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    only: Vec<String>,
    not: Vec<String>,
}

/// Becomes the program; returns why it could not.
///
/// # Errors
/// Wrong options, a variable or file that can't be read, or no such program.
pub fn run(args: &Sockets) -> Result<Failure, Failure> {
    let settings = Settings::new(&args.hooks, |name| env::var_os(name))?;
    let Some((name, program_args)) = args.program.split_first() else {
        return Err(Failure::usage("sockets: no program given (see slipway sockets --help)"));
    };
    let choice = choice(args, env::var_os(VARIABLE), file)?;
    let program = Program::find(name)?;
    let hooks = Hooks::new(settings, &program);
    let mut command = program.command();
    command.args(program_args).env(VARIABLE, choice.to_string());
    hooks.apply(&mut command, &program);
    Ok(program.exec_failure(&command.exec()))
}

/// The options, over the variable, over the file; an option replaces the list of its name.
fn choice(args: &Sockets, variable: Option<OsString>, file: impl Fn() -> Result<File, Failure>) -> Result<Choice, Failure> {
    let from_outside = || match variable.as_ref().filter(|text| !text.is_empty()) {
        Some(text) => {
            let text = text.to_string_lossy();
            Choice::parse(&text).map_err(|why| Failure::usage(format!("environment variable {VARIABLE}={text}: {why}")))
        }
        None => file().map(|file| Choice::Globs { only: plain(&file.only), not: plain(&file.not) }),
    };
    if !args.only.is_empty() && !args.not.is_empty() {
        return Ok(Choice::Globs { only: plain(&args.only), not: plain(&args.not) });
    }
    let (mut only, mut not) = match from_outside()? {
        Choice::Globs { only, not } => (only, not),
        Choice::Displays => Default::default(),
    };
    for (list, option) in [(&mut only, &args.only), (&mut not, &args.not)] {
        if !option.is_empty() {
            *list = plain(option);
        }
    }
    Ok(Choice::Globs { only, not })
}

/// Globs as the variable can hold them, whose items a colon separates.
fn plain(globs: &[String]) -> Vec<String> {
    globs.iter().filter(|glob| !glob.is_empty()).map(|glob| glob.replace(':', "?")).collect()
}

/// What the user's file says; nothing if there is none.
fn file() -> Result<File, Failure> {
    let Some(dir) = base_directory("XDG_CONFIG_HOME", ".config") else { return Ok(File::default()) };
    let path = dir.join("slipway/sockets.toml");
    // Who has become another user may have the former one's home, in which nothing is to be seen.
    let is_hidden = || std::fs::symlink_metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_hidden() => return Ok(File::default()),
        Err(error) => return Err(Failure::usage(format!("sockets: {} can't be read: {error}", path.display()))),
        Ok(text) => text,
    };
    toml::from_str(&text).map_err(|error| Failure::usage(format!("sockets: {}: {}", path.display(), error.message())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn chosen(args: &[&str], variable: Option<&str>) -> Choice {
        let all = ["slipway", "sockets"].iter().chain(args).chain(&["true"]);
        let Command::Sockets(args) = Cli::try_parse_from(all).expect("parses").command else { panic!("another command") };
        let file = || Ok(File { only: vec!["/f/*".into()], not: vec!["*/bus".into()] });
        choice(&args, variable.map(OsString::from), file).expect("good")
    }

    #[test]
    fn options_over_variable_over_file() {
        assert_eq!(chosen(&[], None).to_string(), "all:+/f/*:-*/bus");
        assert_eq!(chosen(&["--only", "/a:b"], None).to_string(), "all:+/a?b:-*/bus");
        assert_eq!(chosen(&["--not", "x", "--not", "y"], Some("+/v")).to_string(), "all:+/v:-x:-y");
        assert_eq!(chosen(&[], Some("all")).to_string(), "all");
        assert_eq!(chosen(&["--only", "/a", "--not", "/b"], Some("nonsense")).to_string(), "all:+/a:-/b");
    }
}
