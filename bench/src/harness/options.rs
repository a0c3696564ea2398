//! The options that every bench of round trips has, and the cases that they ask for.

use super::chart::Chart;
use super::failure::Failure;
use super::machine::Cores;
use super::{Bench, Case, Placement, Test};
use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser};
use serde::Serialize;
use std::path::PathBuf;

/// What is measured, how long, how often, and where the results go.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Only these ways
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub variants: Vec<String>,
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
    repeat: Option<u32>,
    /// Length of each timed run, in seconds [default: 0.1; 0.03 with --quick]
    #[arg(long, value_name = "S", value_parser = |text: &str| seconds(text, 0.001))]
    seconds: Option<f64>,
    #[command(flatten)]
    pub files: Files,
}

/// Where the results go besides standard output.
#[derive(clap::Args, Debug)]
pub struct Files {
    /// Write the results to FILE as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a bar chart to FILE as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl Files {
    /// Writes those that were asked for.
    pub fn write(&self, results: &impl Serialize, chart: &Chart) -> anyhow::Result<()> {
        let files = [(&self.json, serde_json::to_string_pretty(results)? + "\n"), (&self.svg, chart.draw()?)];
        for (file, text) in files.iter().filter_map(|(file, text)| Some((file.as_ref()?, text))) {
            std::fs::write(file, text).with_context(|| format!("can't write {}", file.display()))?;
        }
        Ok(())
    }
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

/// Parses seconds of a run, of which there are so many at least.
pub fn seconds(text: &str, least: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (least..=60.0).contains(&seconds) => Ok(seconds),
        _ => Err(format!("not a number of seconds between {least} and 60")),
    }
}

/// The command with the names of the benches' methods.
pub fn complete(command: clap::Command, benches: &'static [Bench]) -> clap::Command {
    benches.iter().fold(command, |command, bench| {
        let methods = bench.methods.iter().map(|method| PossibleValue::new(&*method.name).help(&*method.help));
        let parser = PossibleValuesParser::new(methods);
        command.mut_subcommand(bench.code.name, |bench| bench.mut_arg("variants", |variants| variants.value_parser(parser)))
    })
}

/// The test called `name`, as "null", "256-longwords", or "256" for that.
fn find(bench: &'static Bench, name: &str) -> Result<&'static Test, Failure> {
    bench.test(name).or_else(|| bench.test(&format!("{name}-longwords"))).ok_or_else(|| {
        let names: Vec<&str> = bench.tests.iter().filter(|test| test.share.is_none()).map(|test| &*test.name).collect();
        Failure::Usage(format!("there is no test '{name}'; there are {}", names.join(", ")))
    })
}

/// What `options` ask for, as far as `cores` allow it. A test that there isn't, or nothing to measure, is an error.
pub fn plan(bench: &'static Bench, options: &Options, cores: &Cores) -> Result<Vec<Case>, Failure> {
    let tests: Vec<&Test> = match options.only.is_empty() {
        true => bench.tests.iter().collect(),
        false => options.only.iter().map(|name| find(bench, name.trim())).collect::<Result<_, _>>()?,
    };
    let asked = |name: &str| options.variants.is_empty() || options.variants.iter().any(|variant| variant == name);
    let mut cases = Vec::new();
    for test in tests {
        for method in bench.methods.iter().filter(|method| asked(&method.name)) {
            for placement in Placement::ALL {
                let room = placement == Placement::OneCore || cores.second.is_some();
                if room && method.does(test, placement) {
                    cases.push(Case { bench, test, method, placement });
                }
            }
        }
    }
    match cases.is_empty() {
        true => Err(Failure::Usage("none of the tests asked for can be done in any of those ways here".to_owned())),
        false => Ok(cases),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BENCHES, Cli, bench};
    use clap::{CommandFactory, FromArgMatches, Parser};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn parse(line: &str) -> Options {
        Line::parse_from(["bench"].into_iter().chain(line.split_whitespace())).options
    }

    #[test]
    fn bad_values_are_refused() {
        let command = complete(Cli::command(), &BENCHES);
        command.clone().debug_assert();
        for line in ["--repeat 0", "--seconds 0", "--seconds nan", "--variants doves", "--instructions=yes"] {
            let words = ["slipway-bench", "ipc"].into_iter().chain(line.split_whitespace());
            let parsed = command.clone().try_get_matches_from(words).and_then(|found| Cli::from_arg_matches(&found));
            assert!(parsed.is_err(), "{line}");
        }
    }

    #[test]
    fn everything_is_planned_once_and_only_where_it_can_be_done() {
        let two = Cores { first: 0, second: Some(1) };
        for bench in BENCHES.iter() {
            let names: Vec<String> = plan(bench, &parse(""), &two).unwrap().iter().map(Case::name).collect();
            assert!(names.iter().enumerate().all(|(index, name)| !names[..index].contains(name)), "{names:?}");
            for test in bench.tests.iter().filter(|test| test.share.is_none()) {
                assert!(names.iter().any(|name| name.starts_with(&test.name)), "{}", test.name);
            }
            let alone = plan(bench, &parse(""), &Cores { first: 3, second: None }).unwrap();
            assert!(alone.iter().all(|case| case.placement == Placement::OneCore));
        }
        let has = |line: &str, name: &str| plan(bench("ipc"), &parse(line), &two).unwrap().iter().any(|it| it.name() == name);
        assert!(has("", "256-ports, socket/different") && !has("", "256-ports, pipe/different"));
        assert!(has("--only 256", "256-longwords, pipe/one-core") && !has("", "null, iceoryx2/one-core"));
        for line in ["--only 1-port --variants pipe", "--only 17"] {
            assert!(plan(bench("ipc"), &parse(line), &two).is_err(), "{line}");
        }
    }
}
