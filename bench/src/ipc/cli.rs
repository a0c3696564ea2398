//! The options of `slipway-bench ipc`.

use super::cases::Method;
use clap::builder::RangedU64ValueParser;
use std::path::PathBuf;

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
    /// Short runs, under a minute
    #[arg(long)]
    pub quick: bool,
    /// Only these tests: floor, null, 16, 256, 4095, 1-port, 16-ports, 256-ports, rpc, 1-passed-on,
    /// 256-passed-on, make-port
    #[arg(long, value_name = "TEST", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Only these ways
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub variants: Vec<Method>,
    /// Interleaved repetitions, of which the median counts [default: 5; 3 with --quick]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u32>::new().range(1..=1000))]
    pub repeat: Option<u32>,
    /// Length of each timed run, in seconds [default: 0.1; 0.03 with --quick]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Count the instructions that both processes execute in a round trip, with valgrind: system calls
    /// count as one. Only for ways that poll nothing, with both ends on one core; of Mach messages those
    /// without spinning
    #[arg(long)]
    pub instructions: bool,

    /// Write the results to FILE as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a chart to FILE as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

impl Args {
    /// Repetitions, as asked for or as the set has them.
    pub fn repeat(&self) -> u32 {
        self.repeat.unwrap_or(if self.quick { 3 } else { 5 })
    }

    /// Seconds of a timed run, likewise.
    pub fn seconds(&self) -> f64 {
        self.seconds.unwrap_or(if self.quick { 0.03 } else { 0.1 })
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.001..=60.0).contains(&seconds) => Ok(seconds),
        _ => Err("not a number of seconds between 0.001 and 60".to_owned()),
    }
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
        let plain = parse("").unwrap();
        assert_eq!((plain.repeat(), plain.seconds()), (5, 0.1));
        let quick = parse("--quick --repeat 9").unwrap();
        assert_eq!((quick.repeat(), quick.seconds()), (9, 0.03));
        let some = parse("--only null,256 --only 1-port --variants socket,iceoryx2").unwrap();
        assert_eq!(some.only, ["null", "256", "1-port"]);
        assert_eq!(some.variants, [Method::Socket, Method::Iceoryx2]);
    }

    #[test]
    fn bad_values() {
        for line in ["--repeat 0", "--seconds 0", "--seconds nan", "--variants doves", "--instructions=yes"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
