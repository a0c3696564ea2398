//! `slipway run --config`: a system of tasks.
//!
//! * [`config`]: the file. * [`process`]: a process, with a task or several. * [`supervisor`]: what is started when, and
//!   what becomes of it.

mod config;
mod process;
mod supervisor;

use std::path::Path;

use crate::failure::{Failure, USAGE};

/// Runs a system until it is over; the exit code.
///
/// # Errors
/// The file is wrong, or the system's own parts could not be started.
pub fn run(path: &Path) -> Result<u8, Failure> {
    let system = config::read(path).map_err(|why| Failure::new(USAGE, why))?;
    supervisor::run(system)
}
