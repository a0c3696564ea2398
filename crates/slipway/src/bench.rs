//! `slipway bench`: hands over to the bench program.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::failure::{Failure, NOT_EXECUTABLE, NOT_FOUND};
use crate::locate;

/// Becomes slipway-bench; returns only if that fails.
pub fn exec(args: &[OsString]) -> Failure {
    match locate::bench() {
        Ok(path) => {
            let error = Command::new(&path).args(args).exec();
            Failure::new(NOT_EXECUTABLE, format!("bench: cannot execute {}: {error}", path.display()))
        }
        Err(missing) => Failure::new(NOT_FOUND, format!("bench: {missing}; build or install Slipway whole")),
    }
}
