//! The options of `slipway-bench ipc`.

use super::cases::Method;
use crate::trips::cli::Options;

/// Messages and rights between two processes, there and back, beside what was published for Mach.
///
/// The tests are those of Hohmuth and Rudolph's table: a null message (the header), 16, 256 and 4095
/// longwords, and 1, 16 and 256 rights that the receiver deallocates. Beyond them: an RPC, whose answer
/// goes to a send-once right; rights to ports of a third process, passed on; a port that is made and
/// destroyed and never leaves its task, and the memory that it takes. Every variant is measured in
/// each repetition by two fresh processes, so that all of them see the same weather. A value is the
/// mean of one run, the median of the repetitions; p50 and p99 are of round trips timed one by one.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    pub trips: Options<Method>,
}
