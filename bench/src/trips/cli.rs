//! The options that every bench of round trips has.

use clap::builder::RangedU64ValueParser;
use std::path::PathBuf;

/// How long, how often, and where the results go.
#[derive(clap::Args, Debug)]
pub struct Options {
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

impl Options {
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
