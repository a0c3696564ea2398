//! The preload library: where it is, how a program gets it.

use crate::harness::failure::Failure;
use clap::ValueEnum;
use serde::Serialize;
use std::path::{Path, PathBuf};

const LIBRARY: &str = "libslipway_preload.so";

/// How much of the waiting protocol is in use: SLIPWAY_X11_STAGE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
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

/// What a hooked process is started with.
#[derive(Debug, Clone)]
pub struct Hooks {
    /// LD_PRELOAD, the library first.
    pub preload: String,
    /// SLIPWAY_X11_STAGE.
    pub stage: Stage,
}

/// LD_PRELOAD with the library first: `given`, else the one next to this program as built or as installed.
pub fn with_library(given: Option<&Path>) -> Result<String, Failure> {
    let tried: Vec<PathBuf> = match given {
        Some(path) => vec![path.to_owned()],
        None => {
            let dir = std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_owned)).unwrap_or_default();
            ["../lib/slipway", "../../lib/slipway", ""].iter().map(|place| dir.join(place).join(LIBRARY)).collect()
        }
    };
    // The dynamic linker of a program with another working directory must find it too.
    let found = tried.iter().find(|path| path.is_file()).and_then(|path| path.canonicalize().ok());
    let library = found.ok_or_else(|| {
        let tried: Vec<String> = tried.iter().map(|path| path.display().to_string()).collect();
        let tried = tried.join(", ");
        Failure::Missing(format!(
            "the preload library was not found (tried {tried}); build it, or give --preload PATH or SLIPWAY_PRELOAD"
        ))
    })?;
    Ok([library.display().to_string()].into_iter().chain(preload(None)).collect::<Vec<_>>().join(":"))
}

/// LD_PRELOAD for a process with `hooks`, or for a plain one: what the environment has, less Slipway's library.
pub fn preload(hooks: Option<&Hooks>) -> Option<String> {
    hooks.map(|hooks| hooks.preload.clone()).or_else(|| others(&std::env::var_os("LD_PRELOAD")?.to_string_lossy()))
}

fn others(inherited: &str) -> Option<String> {
    let is_other = |path: &&str| !path.is_empty() && Path::new(path).file_name() != Some(LIBRARY.as_ref());
    let kept: Vec<&str> = inherited.split([':', ' ']).filter(is_other).collect();
    (!kept.is_empty()).then(|| kept.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_preloads_stay_ours_goes() {
        assert_eq!(others("/a/x.so:/b/libslipway_preload.so y.so").as_deref(), Some("/a/x.so:y.so"));
        assert_eq!(others(""), None);
    }
}
