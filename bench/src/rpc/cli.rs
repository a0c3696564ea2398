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
    /// Only these ways
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub variants: Vec<Method>,
    /// Count the instructions of calls, with valgrind: those of the stubs by function, and of all of both processes, system
    /// calls as one each. Only for ways that poll nothing, with both ends on one core
    #[arg(long)]
    pub instructions: bool,
    #[command(flatten)]
    pub trips: Options,
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use clap::{CommandFactory, FromArgMatches, Parser};

    #[derive(Parser)]
    struct Bench {
        #[command(flatten)]
        args: Args,
    }

    /// The options of a line.
    pub fn parse(line: &str) -> Result<Args, clap::Error> {
        let words = ["bench"].into_iter().chain(line.split_whitespace());
        let matches = Bench::command().try_get_matches_from(words)?;
        Ok(Bench::from_arg_matches(&matches)?.args)
    }

    #[test]
    fn the_definition_is_sound() {
        Bench::command().debug_assert();
    }

    #[test]
    fn options() {
        let args = parse("--quick --only null,four-ints --variants stubs,bare --instructions").unwrap();
        assert_eq!((args.trips.repeat(), args.instructions), (3, true));
        assert_eq!(args.variants, [Method::Stubs, Method::Bare]);
        for line in ["--repeat 0", "--variants doves"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
