//! Where the other parts of an installation, or of a build directory, are.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

const PRELOAD: &str = "libslipway_preload.so";
const BENCH: &str = "slipway-bench";

/// A part that is not where it should be.
#[derive(Debug, PartialEq, Eq)]
pub struct Missing {
    what: &'static str,
    tried: Vec<PathBuf>,
    variable: Option<&'static str>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tried: Vec<_> = self.tried.iter().map(|path| path.display().to_string()).collect();
        write!(f, "{} not found (tried {}", self.what, tried.join(", "))?;
        match self.variable {
            Some(variable) => write!(f, "; set {variable} to its path)"),
            None => write!(f, ")"),
        }
    }
}

/// The preload library: `variable` (SLIPWAY_PRELOAD) alone if it is set, else where `make install`
/// or cargo puts it. The path is absolute, because the program may change its directory.
///
/// # Errors
/// What was tried.
pub fn preload(variable: Option<OsString>) -> Result<PathBuf, Missing> {
    let candidates = match variable.filter(|value| !value.is_empty()) {
        Some(path) => vec![PathBuf::from(path)],
        None => beside(&[&format!("../lib/slipway/{PRELOAD}"), PRELOAD]),
    };
    first(candidates, "preload library", Some("SLIPWAY_PRELOAD"))
}

/// The bench program.
///
/// # Errors
/// What was tried.
pub fn bench() -> Result<PathBuf, Missing> {
    first(beside(&[BENCH, &format!("../libexec/slipway/{BENCH}")]), BENCH, None)
}

fn beside(names: &[&str]) -> Vec<PathBuf> {
    let executable = env::current_exe().unwrap_or_default();
    let dir = executable.parent().unwrap_or(Path::new("."));
    names.iter().map(|name| dir.join(name)).collect()
}

fn first(candidates: Vec<PathBuf>, what: &'static str, variable: Option<&'static str>) -> Result<PathBuf, Missing> {
    candidates
        .iter()
        .filter(|path| path.is_file())
        .find_map(|path| path.canonicalize().ok())
        .ok_or(Missing { what, tried: candidates, variable })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_the_only_candidate() {
        let missing = preload(Some("/nonexistent/x.so".into())).expect_err("not there");
        assert_eq!(missing.tried, [PathBuf::from("/nonexistent/x.so")]);
        assert!(missing.to_string().contains("SLIPWAY_PRELOAD"));
    }

    #[test]
    fn a_relative_path_becomes_absolute() {
        let found = preload(Some("Cargo.toml".into())).expect("tests run in the crate's directory");
        assert!(found.is_absolute());
    }
}
