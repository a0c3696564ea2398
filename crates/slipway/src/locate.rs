//! Where the other parts of Slipway are: inside this program, in its installation or in its build directory.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use slipway_mach::bootstrap::launch;

use crate::parts;

const PRELOAD: &str = "libslipway_preload.so";
const BENCH: &str = "slipway-bench";
const DOMAIN: &str = "slipway-domain";
const LIBMACH: &str = "libmach.so.1";
const UNIX_SERVER: &str = "unix-server.so";

/// A part that is not where it should be.
#[derive(Debug, PartialEq, Eq)]
pub enum Missing {
    /// Not at the path that the variable gives.
    Named { variable: &'static str, path: PathBuf },
    /// At none of the places for it.
    Installed { what: &'static str, tried: Vec<PathBuf> },
    /// Inside this program, and not to be had from there.
    Carried { what: &'static str, why: String },
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named { variable, path } => {
                write!(f, "{variable} names {}, where no file is", path.display())
            }
            Self::Installed { what, tried } => {
                let tried: Vec<_> = tried.iter().map(|path| path.display().to_string()).collect();
                write!(f, "{what} not found (tried {})", tried.join(", "))
            }
            Self::Carried { what, why } => write!(f, "{what}: {why}"),
        }
    }
}

/// The preload library: `variable` (SLIPWAY_PRELOAD) alone if it is set, else the one inside this program, else where
/// `make install` or cargo puts it. The path is absolute, because the program may change its directory.
///
/// # Errors
/// What was tried.
pub fn preload(variable: Option<OsString>) -> Result<PathBuf, Missing> {
    let Some(path) = variable.filter(|value| !value.is_empty()).map(PathBuf::from) else {
        return part("lib/slipway", PRELOAD);
    };
    existing(&path).ok_or(Missing::Named { variable: "SLIPWAY_PRELOAD", path })
}

/// The libmach that the hooks load to go over ports: `variable` (SLIPWAY_LIBMACH) alone if it is set, else as [`preload`].
///
/// # Errors
/// What was tried.
pub fn libmach(variable: Option<OsString>) -> Result<PathBuf, Missing> {
    let Some(path) = variable.filter(|value| !value.is_empty()).map(PathBuf::from) else {
        // Cargo leaves it under the name that it links by.
        return part("lib", LIBMACH).or_else(|missing| installed("lib", "libmach.so").map_err(|_| missing));
    };
    existing(&path).ok_or(Missing::Named { variable: "SLIPWAY_LIBMACH", path })
}

/// The bench program.
///
/// # Errors
/// What was tried.
pub fn bench() -> Result<PathBuf, Missing> {
    installed("libexec/slipway", BENCH)
}

/// The host of tasks.
///
/// # Errors
/// What was tried.
pub fn domain() -> Result<PathBuf, Missing> {
    let domain = part("libexec/slipway", DOMAIN)?;
    if let Some(library) = carried("lib", LIBMACH) {
        // The host finds it by where it is itself.
        library?;
    }
    Ok(domain)
}

/// The file of a task: where it says; and the Unix server's, by its name alone, where that was installed.
pub fn task(given: &Path) -> PathBuf {
    if given != Path::new(UNIX_SERVER) || given.exists() {
        return given.to_owned();
    }
    // Cargo leaves it under its package's name.
    let found = installed("lib/slipway", UNIX_SERVER).or_else(|_| installed("lib/slipway", "libslipway_unix_task.so"));
    found.unwrap_or_else(|_| given.to_owned())
}

/// Has the name server's program found that is inside this one: its path, for the environment of what is run here. None if
/// there is none inside, or the variable names another.
///
/// # Errors
/// It can't be had from there.
pub fn bootstrap() -> Result<Option<PathBuf>, Missing> {
    if env::var_os(launch::PROGRAM_VARIABLE).is_some_and(|value| !value.is_empty()) {
        return Ok(None);
    }
    let carried = carried("libexec/slipway", launch::PROGRAM).transpose()?;
    Ok(carried.map(|path| launch::CARRIED.get_or_init(|| path).clone()))
}

/// `what` inside this program, else where it was [`installed`].
fn part(dir: &str, what: &'static str) -> Result<PathBuf, Missing> {
    carried(dir, what).unwrap_or_else(|| installed(dir, what))
}

fn carried(dir: &str, what: &'static str) -> Option<Result<PathBuf, Missing>> {
    parts::file(&format!("{dir}/{what}")).map(|part| part.map_err(|why| Missing::Carried { what, why }))
}

/// `what` in `dir` of the prefix whose bin/ has this program, else beside this program, as cargo
/// lays it out.
fn installed(dir: &str, what: &'static str) -> Result<PathBuf, Missing> {
    let executable = env::current_exe().unwrap_or_default();
    let beside = executable.parent().unwrap_or(Path::new("/"));
    let prefix = beside.parent().unwrap_or(beside);
    let tried = vec![prefix.join(dir).join(what), beside.join(what)];
    tried.iter().find_map(|path| existing(path)).ok_or(Missing::Installed { what, tried })
}

fn existing(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().filter(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_the_only_candidate() {
        let missing = preload(Some("/nonexistent/x.so".into())).expect_err("not there");
        assert_eq!(missing.to_string(), "SLIPWAY_PRELOAD names /nonexistent/x.so, where no file is");
        assert!(preload(Some("/".into())).is_err(), "a directory is no library");
    }

    #[test]
    fn a_relative_path_becomes_absolute() {
        let found = preload(Some("Cargo.toml".into())).expect("tests run in the crate's directory");
        assert!(found.is_absolute());
    }
}
