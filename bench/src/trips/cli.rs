//! The options that every bench of round trips has.

use super::cases::Method;
use clap::builder::RangedU64ValueParser;
use std::path::PathBuf;

/// What is measured, how long, how often, and where the results go.
#[derive(clap::Args, Debug)]
pub struct Options<M: Method> {
    /// Only these ways
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub variants: Vec<M>,
    /// Count the instructions that both processes execute, with valgrind: system calls count as one. Only for ways that
    /// poll nothing, with both ends on one core
    #[arg(long)]
    pub instructions: bool,
    /// Short runs, about a minute
    #[arg(long)]
    pub quick: bool,
    /// Only these tests; a name that there isn't gets the list of them
    #[arg(long, value_name = "TEST", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Interleaved repetitions, of which the median counts [default: 5; 3 with --quick]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u32>::new().range(1..=1000))]
    pub repeat: Option<u32>,
    /// Length of each timed run, in seconds [default: 0.1; 0.03 with --quick]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Write the results to FILE as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a chart to FILE as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

impl<M: Method> Options<M> {
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
    use crate::ipc::Method as Ipc;
    use clap::{Args, CommandFactory, FromArgMatches, Parser};

    #[derive(Parser)]
    struct Bench<A: Args> {
        #[command(flatten)]
        args: A,
    }

    /// The options of a line.
    pub fn parse<A: Args>(line: &str) -> Result<A, clap::Error> {
        let words = ["bench"].into_iter().chain(line.split_whitespace());
        let mut command = Bench::<A>::command();
        command.clone().debug_assert();
        Ok(Bench::<A>::from_arg_matches(&command.try_get_matches_from_mut(words)?)?.args)
    }

    #[test]
    fn the_sets_give_way_to_what_is_asked_for() {
        let plain: Options<Ipc> = parse("").unwrap();
        assert_eq!((plain.repeat(), plain.seconds(), plain.instructions), (5, 0.1, false));
        let quick: Options<Ipc> = parse("--quick --repeat 9 --instructions").unwrap();
        assert_eq!((quick.repeat(), quick.seconds(), quick.instructions), (9, 0.03, true));
        let some: Options<Ipc> = parse("--only null,256 --only 1-port --variants socket,iceoryx2").unwrap();
        assert_eq!(some.only, ["null", "256", "1-port"]);
        assert_eq!(some.variants, [Ipc::Socket, Ipc::Iceoryx2]);
    }

    #[test]
    fn bad_values() {
        for line in ["--repeat 0", "--seconds 0", "--seconds nan", "--variants doves", "--instructions=yes"] {
            assert!(parse::<Options<Ipc>>(line).is_err(), "{line}");
        }
    }
}
