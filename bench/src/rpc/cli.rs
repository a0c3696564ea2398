//! The options of `slipway-bench rpc`.

use super::cases::Method;
use crate::trips::cli::Options;

/// Calls by mig's stubs, beside the bare messages that carry as much and what was published for Mach.
///
/// The tests are those of Hohmuth and Rudolph's table (null: an integer that is passed back; arrays of 16, 256 and 4095
/// longwords that are passed back) and of Lepreau's (nothing, 64 and 1024 bytes In, 1024 Out, 128 InOut), and four integers
/// each way. They are made between two processes and between two tasks in one process. A value is the mean of one
/// run, the median of the repetitions; p50 and p99 are of calls timed one by one.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    pub trips: Options<Method>,
}
