//! The preload library: where it is, how a program gets it.

use crate::failure::Failure;
use clap::ValueEnum;
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const LIBRARY: &str = "libslipway_preload.so";

/// How much of the waiting protocol is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize)]
pub enum Stage {
    /// A doorbell for every write, no spinning (XFree86's stage 1)
    #[value(name = "1")]
    #[serde(rename = "1")]
    One,
    /// A doorbell only when the peer sleeps, no spinning (XFree86's stage 2b)
    #[value(name = "2b")]
    #[serde(rename = "2b")]
    TwoB,
    /// Everything: look, spin, sleep
    #[value(name = "full")]
    #[serde(rename = "full")]
    Full,
}

impl Stage {
    /// The value of SLIPWAY_X11_STAGE.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::TwoB => "2b",
            Self::Full => "full",
        }
    }
}

/// What a hooked process is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hooks {
    /// LD_PRELOAD, the library first.
    pub preload: String,
    /// SLIPWAY_X11_STAGE.
    pub stage: Stage,
}

/// Finds the library: `given`, else next to this program as built or as installed.
///
/// # Errors
/// [`Failure::MissingPreload`] with the places that were tried.
pub fn find_library(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let tried = match given {
        Some(path) => vec![path.to_owned()],
        None => {
            let dir = std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_owned)).unwrap_or_default();
            ["../lib/slipway", "../../lib/slipway", ""].iter().map(|place| dir.join(place).join(LIBRARY)).collect()
        }
    };
    tried
        .iter()
        .find(|path| path.is_file())
        // The dynamic linker of a program with another working directory must find it too.
        .and_then(|path| path.canonicalize().ok())
        .ok_or_else(|| Failure::MissingPreload {
            tried: tried.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
        })
}

/// LD_PRELOAD with `library` in front of what the environment has.
pub fn with_library(library: &Path, inherited: Option<&OsStr>) -> String {
    match without_library(inherited) {
        Some(rest) => format!("{}:{rest}", library.display()),
        None => library.display().to_string(),
    }
}

/// LD_PRELOAD for a plain process: what the environment has, less Slipway's library.
pub fn without_library(inherited: Option<&OsStr>) -> Option<String> {
    let inherited = inherited.map(OsStr::to_string_lossy)?;
    let kept: Vec<&str> = inherited
        .split([':', ' '])
        .filter(|path| !path.is_empty() && Path::new(path).file_name() != Some(LIBRARY.as_ref()))
        .collect();
    (!kept.is_empty()).then(|| kept.join(":"))
}

/// This process's LD_PRELOAD.
pub fn inherited() -> Option<OsString> {
    std::env::var_os("LD_PRELOAD")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_preloads_stay_ours_goes() {
        let inherited = Some(OsStr::new("/a/x.so:/b/libslipway_preload.so y.so"));
        assert_eq!(without_library(inherited).as_deref(), Some("/a/x.so:y.so"));
        let library = Path::new("/l/libslipway_preload.so");
        assert_eq!(with_library(library, inherited), "/l/libslipway_preload.so:/a/x.so:y.so");
        assert_eq!(with_library(library, None), "/l/libslipway_preload.so");
        assert_eq!(without_library(Some(OsStr::new(""))), None);
    }

    #[test]
    fn a_missing_library_names_the_places() {
        let error = find_library(Some(Path::new("/nowhere/lib.so"))).unwrap_err();
        assert!(error.to_string().contains("/nowhere/lib.so"), "{error}");
    }
}
