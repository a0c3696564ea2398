//! The options of `slipway-bench x11`.

use super::hooks::Stage;
use super::placement::Placement;
use clap::builder::RangedU64ValueParser;
use std::path::PathBuf;

/// x11perf over the plain socket and over shared memory, interleaved, on private X servers.
///
/// Rates are medians of the repetitions; the CPU time an operation is that of server and client
/// together (nanosecond counters of the scheduler), less what a client's start and end cost. The
/// number of repetitions inside a run is found before measuring, for each side by itself, and
/// handed to x11perf (-repeat 1 -reps N), whose own calibration takes 5 to 20 seconds a run.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The default set of tests, under 2 minutes (the default)
    #[arg(long, group = "set")]
    pub quick: bool,
    /// Fewer tests, about one minute
    #[arg(long, group = "set")]
    pub demo: bool,
    /// Every test that x11perf lists, with every number of sub-windows (about 20 minutes)
    #[arg(long, group = "set")]
    pub all: bool,
    /// These tests: x11perf's options without the dash; "move:16" for 16 sub-windows
    #[arg(long, group = "set", value_name = "A,B,C", value_delimiter = ',')]
    pub tests: Vec<String>,

    /// Where the processes run; all tests are run at each of those given here. The default is
    /// `different` for all tests and a few tests at the others (but `different` alone with --tests)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub placement: Vec<Placement>,
    /// Stages of the transport to measure; more than one gives more columns, and takes
    /// longer than the sets say
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum, default_value = "full")]
    pub stage: Vec<Stage>,
    /// Interleaved repetitions, of which the median counts
    #[arg(long, value_name = "N", default_value = "3", value_parser = RangedU64ValueParser::<u32>::new().range(1..=1000))]
    pub repeat: u32,
    /// Length of each timed run, in seconds
    #[arg(long, value_name = "S", default_value = "0.4", value_parser = seconds)]
    pub seconds: f64,

    /// Write the results to FILE as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a bar chart to FILE as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// The preload library [default: beside this program, as built or as installed]
    #[arg(long, value_name = "PATH", env = "SLIPWAY_PRELOAD")]
    pub preload: Option<PathBuf>,
    /// The X server, with arguments if need be
    #[arg(long, value_name = "COMMAND", default_value = "Xvfb")]
    pub server_command: String,
    /// Use display N and those after it [default: the first free ones]
    #[arg(long, value_name = "N")]
    pub display: Option<u32>,
    /// Both sides plain, no hooks anywhere: how far the ratios are from 1 is the noise of this
    /// machine
    #[arg(long, alias = "no-hooks")]
    pub baseline: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.05..=60.0).contains(&seconds) => Ok(seconds),
        _ => Err("not a number of seconds between 0.05 and 60".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, FromArgMatches, Parser};

    #[derive(Parser)]
    struct Bench {
        #[command(flatten)]
        args: Args,
    }

    fn parse(line: &str) -> Result<Args, clap::Error> {
        let words = ["bench"].into_iter().chain(line.split_whitespace());
        let matches = Bench::command().try_get_matches_from(words)?;
        Ok(Bench::from_arg_matches(&matches)?.args)
    }

    #[test]
    fn the_definition_is_sound() {
        Bench::command().debug_assert();
    }

    #[test]
    fn lists() {
        let args = parse("--tests dot,noop --placement different,hogs --stage 1 --stage full").unwrap();
        assert_eq!(args.tests, ["dot", "noop"]);
        assert_eq!(args.placement, [Placement::Different, Placement::Hogs]);
        assert_eq!(args.stage, [Stage::One, Stage::Full]);
        assert_eq!(parse("").unwrap().stage, [Stage::Full]);
    }

    #[test]
    fn bad_values() {
        for line in
            ["--quick --all", "--placement nowhere", "--stage 3", "--repeat 0", "--seconds 0", "--seconds nan", "--seconds 1h"]
        {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
