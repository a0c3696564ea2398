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
    /// Only these ways
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub variants: Vec<Method>,
    /// Count the instructions of calls, with valgrind, by stages: of one message and of one trap, system calls as one each
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
        let args = parse("--quick --only null,1k-in --variants trap,message --instructions").unwrap();
        assert_eq!((args.trips.repeat(), args.instructions), (3, true));
        assert_eq!(args.variants, [Method::Trap, Method::Message]);
        assert!(parse("--variants doves").is_err());
    }
}
