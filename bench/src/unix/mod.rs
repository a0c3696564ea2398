//! `slipway-bench unix`: calls and commands on the host, in `slipway unix`, and under other programs that show a command another tree of
//! files, in turns.

mod calls;
mod report;
mod tree;

pub use calls::run as work;

use crate::harness::figures::part;
use crate::harness::format::{median, microseconds, range};
use crate::harness::machine::Cores;
use crate::harness::options::{Files, seconds};
use crate::harness::process::{Guarded, Interrupt, find_program, find_slipway};
use crate::harness::progress::Progress;
use crate::harness::results::Missing;
use anyhow::Context;
use calls::{Times, Work};
use clap::builder::RangedU64ValueParser;
use report::{Results, Row};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Nothing here takes longer.
const LIMIT: Duration = Duration::from_secs(300);
/// How often a start is timed in each repetition.
const STARTS: usize = 5;

/// The options.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Short runs, about 3 minutes
    #[arg(long)]
    quick: bool,
    /// Only these tests; a name that there isn't gets the list of them
    #[arg(long, value_name = "TEST", value_delimiter = ',')]
    only: Vec<String>,
    /// Only these ways, and the host; a name that there isn't gets the list of them
    #[arg(long, value_name = "WAY", value_delimiter = ',')]
    ways: Vec<String>,
    /// Interleaved repetitions, of which the median counts [default: 5; 3 with --quick]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u32>::new().range(1..=1000))]
    repeat: Option<u32>,
    /// Length of each timed run of a call, in seconds [default: 0.1; 0.03 with --quick]
    #[arg(long, value_name = "S", value_parser = |text: &str| seconds(text, 0.001))]
    seconds: Option<f64>,

    #[command(flatten)]
    files: Files,
}

/// The part of benches.toml.
#[derive(Debug, Deserialize)]
pub struct Catalog {
    pub sources: Vec<String>,
    pub ways: Vec<Way>,
    pub tests: Vec<Test>,
    pub targets: Vec<report::Target>,
}

/// How a command is run. `{slipway}`, `{tree}` and `{over}` stand for that program, the directory that commands run in, and an empty one.
#[derive(Debug, Deserialize)]
pub struct Way {
    pub name: String,
    pub heading: String,
    /// What it is run by, and the Debian package of that.
    #[serde(default)]
    program: Option<(String, String)>,
    #[serde(default)]
    command: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct Test {
    pub name: String,
    pub title: String,
    /// A script of the shell; none: a call, or the start of a command.
    pub script: Option<String>,
    /// What the script needs, and the Debian package of that.
    #[serde(default)]
    program: Option<(String, String)>,
    /// Published microseconds; none: of nothing like it.
    pub published: Option<[f64; 3]>,
}

impl Test {
    /// Whether it is one call, and no command.
    pub fn is_call(&self) -> bool {
        self.script.is_none() && self.name != "start"
    }
}

/// A way that is there.
struct Runner<'a> {
    way: &'a Way,
    home: &'a Path,
    slipway: &'a Path,
    interrupt: &'a Interrupt,
}

impl Runner<'_> {
    fn tree(&self) -> PathBuf {
        self.home.join("tree")
    }

    /// A command in this way, on one CPU or wherever it may run: how many microseconds it took, and what it printed.
    fn run(&self, command: &[&str], cpu: Option<usize>) -> anyhow::Result<(f64, String)> {
        let over = self.home.join("over");
        let _ = fs::remove_dir_all(&over);
        ["upper", "work", "merged"].iter().try_for_each(|name| fs::create_dir_all(over.join(name)))?;
        let named = [("{slipway}", self.slipway), ("{tree}", &self.tree()), ("{over}", &over)];
        let word = |word: &String| {
            let put = |word: String, (name, path): &(&str, &Path)| word.replace(name, &path.to_string_lossy());
            named.iter().fold(word.clone(), put)
        };
        let mut words = self.way.command.iter().map(word).chain(command.iter().map(|word| (*word).to_owned()));
        let mut all = Command::new(words.next().context("no command")?);
        all.args(words).current_dir(self.tree()).env("XDG_STATE_HOME", self.home).envs(tree::GIT);
        let start = Instant::now();
        let (printed, _) = Guarded::spawn(&mut all, cpu)?.finish(self.interrupt, LIMIT)?;
        Ok((start.elapsed().as_secs_f64() * 1e6, printed))
    }

    /// Times calls or commands from inside.
    fn work(&self, work: &Work, cpu: Option<usize>) -> anyhow::Result<Times> {
        let this = std::env::current_exe().context("own path")?;
        let text = serde_json::to_string(work)?;
        let (_, printed) = self.run(&[&this.to_string_lossy(), "unix-work", &text], cpu)?;
        self.clean()?;
        serde_json::from_str(&printed).with_context(|| format!("it printed '{printed}'"))
    }

    /// Removes what was made in the tree, in the ways that have none of their own.
    fn clean(&self) -> anyhow::Result<()> {
        for entry in fs::read_dir(self.tree())? {
            let entry = entry?;
            match entry.file_name().to_string_lossy().as_ref() {
                "src" | ".git" => {}
                _ if entry.file_type()?.is_dir() => fs::remove_dir_all(entry.path())?,
                _ => fs::remove_file(entry.path())?,
            }
        }
        Ok(())
    }

    fn start(&self) -> anyhow::Result<Times> {
        let times = (0..STARTS).map(|_| Ok(self.run(&["true"], None)?.0)).collect::<anyhow::Result<Vec<f64>>>()?;
        Ok(Times::from([("start".to_owned(), median(&times).unwrap_or_default())]))
    }
}

/// A kind of work: its name, where its calls run, and what times it.
type Part<'a> = (&'a str, Option<usize>, Option<Work>);

/// The interpreter: `python3` may be a script that looks for one.
fn python() -> String {
    let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let path = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    if path.is_empty() { "python3".to_owned() } else { path }
}

/// Measures what `args` ask for and reports it. What failed is an error too, after the report.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let cores = Cores::choose()?;
    let catalog: Catalog = part("unix")?;
    let known = |asked: &[String], names: Vec<&str>| match asked.iter().find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(crate::harness::failure::Failure::Usage(format!("no '{name}'; there is: {}", names.join(", ")))),
        None => Ok(()),
    };
    known(&args.only, catalog.tests.iter().map(|test| &*test.name).collect())?;
    known(&args.ways, catalog.ways.iter().map(|way| &*way.name).collect())?;
    let (seconds, repeat) =
        (args.seconds.unwrap_or(if args.quick { 0.03 } else { 0.1 }), args.repeat.unwrap_or(if args.quick { 3 } else { 5 }));
    let mut results = Results::new(&cores, seconds, repeat)?;
    let home = tempfile::Builder::new().prefix("slipway-bench-").tempdir().context("temporary directory")?;
    let interrupt = Interrupt::install()?;
    let has = |program: &Option<(String, String)>| {
        program.as_ref().map_or(Ok(()), |(name, package)| find_program(name, package).map(drop))
    };
    tree::make(&home.path().join("tree"), find_program("git", "git").is_ok())?;
    let slipway = find_slipway()?;

    let mut ways = Vec::new();
    for way in catalog.ways.iter().filter(|way| way.name == "host" || args.ways.is_empty() || args.ways.contains(&way.name)) {
        let runner = Runner { way, home: home.path(), slipway: &slipway, interrupt: &interrupt };
        match has(&way.program).and_then(|()| runner.run(&["true"], None)) {
            Ok(_) => ways.push(runner),
            Err(error) => results.skip("all", &way.name, &error),
        }
    }
    let mut asked: Vec<&Test> = Vec::new();
    let python = python();
    // Scripts work on what those before them made: all of them or none.
    let mut scripts: Vec<(String, String)> = Vec::new();
    for test in &catalog.tests {
        let is_asked = args.only.is_empty() || args.only.contains(&test.name);
        match has(&test.program) {
            Ok(()) => scripts.extend(test.script.as_ref().map(|script| (test.name.clone(), script.replace("{python}", &python)))),
            Err(error) if is_asked => results.skip(&test.name, "all", &error),
            Err(_) => {}
        }
        if is_asked && has(&test.program).is_ok() {
            asked.push(test);
        }
    }
    let mut parts: Vec<Part<'_>> = Vec::new();
    if asked.iter().any(|test| test.is_call()) {
        parts.extend([("free", None, Some(Work::Calls(seconds))), ("one-core", Some(cores.first), Some(Work::Calls(seconds)))]);
    }
    if asked.iter().any(|test| test.name == "start") {
        parts.push(("free", None, None));
    }
    if asked.iter().any(|test| test.script.is_some()) {
        parts.push(("free", None, Some(Work::Commands(scripts))));
    }

    let steps = parts.len() * ways.len() * repeat as usize;
    let progress = Progress::new(steps, steps as f64 * (4.0 + 10.0 * seconds));
    let mut found: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for _ in 0..repeat {
        for (place, cpu, work) in &parts {
            for runner in &ways {
                let name = format!("{}/{place}", runner.way.name);
                let what = match work {
                    Some(Work::Calls(_)) => "calls",
                    Some(Work::Commands(_)) => "commands",
                    None => "start",
                };
                let step = format!("{what}, {name}");
                progress.start(&step);
                let timed = work.as_ref().map_or_else(|| runner.start(), |work| runner.work(work, *cpu));
                interrupt.check()?;
                match timed {
                    Ok(times) => {
                        progress.finish(&step, &format!("{} us in all", microseconds(times.values().sum())));
                        times.into_iter().for_each(|(test, us)| found.entry((test, name.clone())).or_default().push(us));
                    }
                    Err(error) => {
                        progress.finish(&step, &format!("FAILED: {error:#}"));
                        let missing = Missing { test: what.to_owned(), variant: name, reason: format!("{error:#}") };
                        results.failed.push(missing);
                    }
                }
            }
        }
    }
    drop(progress);
    for test in &asked {
        for ((_, variant), times) in found.iter().filter(|((name, _), _)| *name == test.name) {
            results.rows.push(Row::new(test, variant, median(times).unwrap_or_default(), range(times.iter().copied())));
        }
    }
    results.judge(&catalog);
    print!("{}", results.table(&catalog));
    args.files.write(&results, &results.chart(&catalog))?;
    match results.failed.len() {
        0 => Ok(()),
        count => anyhow::bail!("{count} measurements failed"),
    }
}
