//! The options of `slipway-bench colocate`.

use super::cases::Method;
use crate::trips::cli::Options;

/// Calls to a server in another process and to one that shares the caller's, beside what was published for Mach.
///
/// The tests are those of Lepreau's table (nothing, 64 and 1024 bytes In, 1024 Out, 128 InOut), and calls that a server makes
/// itself. They are made by messages between processes and within one, by traps, as plain calls, and with another library.
/// A value is the mean of one run, the median of the repetitions; p50 and p99 are of calls timed one by one.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    pub trips: Options<Method>,
}
