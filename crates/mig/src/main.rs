//! The interface compiler's command.

use std::process::ExitCode;

fn main() -> ExitCode {
    slipway_mig::cli::run(std::env::args_os().skip(1))
}
