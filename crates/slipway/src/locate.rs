//! Where the other parts of an installation, or of a build directory, are.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

const PRELOAD: &str = "libslipway_preload.so";
const BENCH: &str = "slipway-bench";
const DOMAIN: &str = "slipway-domain";

/// A part that is not where it should be.
#[derive(Debug, PartialEq, Eq)]
pub enum Missing {
    /// Not at the path that the variable gives.
    Named { variable: &'static str, path: PathBuf },
    /// At none of the places for it.
    Installed { what: &'static str, tried: Vec<PathBuf> },
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
        }
    }
}

/// The preload library: `variable` (SLIPWAY_PRELOAD) alone if it is set, else where `make install`
/// or cargo puts it. The path is absolute, because the program may change its directory.
///
/// # Errors
/// What was tried.
pub fn preload(variable: Option<OsString>) -> Result<PathBuf, Missing> {
    let Some(path) = variable.filter(|value| !value.is_empty()).map(PathBuf::from) else {
        return installed("lib/slipway", PRELOAD);
    };
    existing(&path).ok_or(Missing::Named { variable: "SLIPWAY_PRELOAD", path })
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
    installed("libexec/slipway", DOMAIN)
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
