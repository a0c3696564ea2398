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
    /// Only these ways
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub variants: Vec<Method>,
    /// Count the instructions that both processes execute in a round trip, with valgrind: system calls
    /// count as one. Only for ways that poll nothing, with both ends on one core; of Mach messages those
    /// without spinning
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
    fn the_sets_give_way_to_what_is_asked_for() {
        let plain = parse("").unwrap().trips;
        assert_eq!((plain.repeat(), plain.seconds()), (5, 0.1));
        let quick = parse("--quick --repeat 9").unwrap().trips;
        assert_eq!((quick.repeat(), quick.seconds()), (9, 0.03));
        let some = parse("--only null,256 --only 1-port --variants socket,iceoryx2").unwrap();
        assert_eq!(some.trips.only, ["null", "256", "1-port"]);
        assert_eq!(some.variants, [Method::Socket, Method::Iceoryx2]);
    }

    #[test]
    fn bad_values() {
        for line in ["--repeat 0", "--seconds 0", "--seconds nan", "--variants doves", "--instructions=yes"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
