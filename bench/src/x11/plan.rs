//! Which tests are measured where.

use super::Args;
use crate::harness::failure::Failure;
use crate::harness::machine::Cores;
use crate::harness::placement::Placement;
use anyhow::{Context, bail};
use clap::ValueEnum;
use serde::Serialize;
use std::path::Path;
use std::process::Command;

/// How much of the waiting protocol is in use: SLIPWAY_X11_STAGE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
pub enum Stage {
    /// A doorbell for every write, no spinning (XFree86's stage 1)
    #[value(name = "1")]
    #[serde(rename = "1")]
    One,
    /// A doorbell only when the peer sleeps, no spinning (XFree86's stage 2b)
    #[value(name = "2b")]
    #[serde(rename = "2b")]
    TwoB,
    /// Everything: look, spin, sleep
    #[serde(rename = "full")]
    Full,
}

/// A test of x11perf, with its number of sub-windows where the test has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What this program calls it: x11perf's option, ":K" appended for all but the first number
    /// of sub-windows that x11perf tries ("move", "move:16").
    pub name: String,
    /// x11perf's option, without the dash.
    pub option: String,
    /// Sub-windows, for the tests on windows.
    pub kids: Option<u32>,
    pub label: String,
}

/// Every test of the installed x11perf, in its order.
#[derive(Debug)]
pub struct Catalog(Vec<Job>);

impl Catalog {
    /// Asks `x11perf` for its tests. That its two lists don't fit each other is an error.
    pub fn read(x11perf: &Path) -> anyhow::Result<Self> {
        let ask = |args: &[&str]| -> anyhow::Result<String> {
            let output = Command::new(x11perf).args(args).env_remove("LD_PRELOAD").output();
            let output = output.with_context(|| format!("can't run {}", x11perf.display()))?;
            // The usage goes to standard error, the labels to standard output.
            Ok(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
        };
        Self::parse(&ask(&["-help"])?, &ask(&["-labels", "-all"])?)
    }

    fn parse(usage: &str, labels: &str) -> anyhow::Result<Self> {
        let tests = usage.lines().filter_map(|line| {
            let (option, label) = line.trim_start().strip_prefix('-')?.split_once(' ')?;
            Some((option, label.trim()))
        });
        let mut labels = labels.lines().peekable();
        let mut jobs: Vec<Job> = Vec::new();
        // Both lists are in the order of x11perf's table; the usage has the general options first,
        // whose descriptions are no labels.
        for (option, text) in tests {
            let first = jobs.len();
            while let Some(label) = labels.peek() {
                let kids =
                    label.strip_prefix(text).and_then(|rest| rest.strip_prefix(" (")?.strip_suffix(" kids)")?.parse().ok());
                if kids.is_none() && (*label != text || jobs.len() > first) {
                    break;
                }
                let name = match kids {
                    Some(kids) if jobs.len() > first => format!("{option}:{kids}"),
                    _ => option.to_owned(),
                };
                jobs.push(Job { name, option: option.to_owned(), kids, label: (*label).to_owned() });
                labels.next();
            }
        }
        match labels.next() {
            _ if jobs.is_empty() => bail!("x11perf lists no tests"),
            Some(label) => bail!("x11perf lists a test without an option for it: {label}"),
            None => Ok(Self(jobs)),
        }
    }

    /// The test called `name`: "dot", "move", "move:16".
    pub fn find(&self, name: &str) -> Result<&Job, Failure> {
        let same = |job: &&Job| job.name == name || job.kids.is_some_and(|kids| format!("{}:{kids}", job.option) == name);
        self.0.iter().find(same).ok_or_else(|| {
            Failure::Usage(format!("x11perf has no test '{name}'; x11perf -help lists them (without the dash here)"))
        })
    }

    fn steps<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Step>, Failure> {
        names.into_iter().map(|name| self.step(name.trim())).collect()
    }

    /// The step called `name`: a test, or "pointer+noop".
    fn step(&self, name: &str) -> Result<Step, Failure> {
        let (test, flood) = name.split_once('+').map_or((name, None), |(test, flood)| (test, Some(flood)));
        Ok(Step { job: self.find(test)?.clone(), flood: flood.map(|flood| self.find(flood).cloned()).transpose()? })
    }
}

/// The tests of --quick; --demo has those with a star.
const QUICK: &str = "pointer* prop* getimage10* getimage100 getimage500* putimage10* putimage100* putimage500* noop* dot* line1* \
                     line10 seg1 rect1* rect10 rect100 rect500 circle1 gc* move* resize map ftext*";
const ROUND_TRIPS: [&str; 3] = ["pointer", "prop", "getimage10"];
const PLAIN_CLIENT: [&str; 5] = ["pointer", "getimage10", "noop", "rect10", "putimage100"];
const FLOODS: [&str; 2] = ["pointer+noop", "pointer+rect10"];

#[derive(Debug, Clone)]
pub struct Step {
    pub job: Job,
    /// What another client does all the while.
    pub flood: Option<Job>,
}

impl Step {
    pub fn name(&self) -> String {
        let flood = self.flood.as_ref();
        flood.map_or(self.job.name.clone(), |flood| format!("{}+{}", self.job.name, flood.name))
    }

    pub fn label(&self) -> String {
        let (flood, label) = (self.flood.as_ref(), &self.job.label);
        flood.map_or(label.clone(), |flood| format!("{label} while another client floods: {}", flood.label))
    }
}

/// The tests of a placement; the servers are started afresh for each.
pub type Phase = (Placement, Vec<Step>);

/// What `args` ask for. A test that x11perf hasn't, or a placement that this machine can't do, is an error.
pub fn phases(args: &Args, catalog: &Catalog, cores: &Cores) -> anyhow::Result<Vec<Phase>> {
    let chosen = match args {
        Args { all: true, .. } => catalog.0.iter().map(|job| Step { job: job.clone(), flood: None }).collect(),
        Args { tests, .. } if !tests.is_empty() => catalog.steps(tests.iter().map(String::as_str))?,
        _ => {
            let quick = QUICK.split_whitespace().filter(|name| !args.demo || name.ends_with('*'));
            catalog.steps(quick.map(|name| name.trim_end_matches('*')))?
        }
    };
    let mut phases = Vec::new();
    for &placement in &args.placement {
        let flood = placement == Placement::Flood;
        phases.push((placement, if flood { catalog.steps(FLOODS)? } else { chosen.clone() }));
    }
    if phases.is_empty() {
        phases.push((Placement::Different, chosen));
        let others: [(_, &[&str]); 4] = [
            (Placement::Shared, &ROUND_TRIPS),
            (Placement::Hogs, &ROUND_TRIPS),
            (Placement::PlainClient, &PLAIN_CLIENT),
            (Placement::Flood, &FLOODS),
        ];
        for (placement, tests) in others.into_iter().filter(|_| args.tests.is_empty()) {
            phases.push((placement, catalog.steps(tests[..if args.demo { 1 } else { tests.len() }].iter().copied())?));
        }
    }
    phases.iter().try_for_each(|(placement, _)| placement.check(cores))?;
    Ok(phases)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An excerpt of what x11perf 1.5 prints.
    const USAGE: &str = "\
usage: x11perf [-options ...]
where options include:
    -display <host:display>   the X server to contact
    -sync                     do the tests in synchronous mode
    -dot                       Dot
    -seg100c1                  100-pixel line segment (1 kid)
    -move                      Move window
    -umove                     Moved unmapped window
";
    const LABELS: &str =
        "Dot\n100-pixel line segment (1 kid)\nMove window (4 kids)\nMove window (16 kids)\nMoved unmapped window (4 kids)\n";

    #[test]
    fn every_label_gets_its_option() {
        let catalog = Catalog::parse(USAGE, LABELS).unwrap();
        let names: Vec<_> = catalog.0.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(names, ["dot", "seg100c1", "move", "move:16", "umove"]);
        assert_eq!(catalog.find("move").unwrap().kids, Some(4));
        assert_eq!(catalog.find("move:4").unwrap().name, "move");
        for missing in ["dot:4", "move:5", "-dot", ""] {
            assert!(catalog.find(missing).is_err(), "{missing}");
        }
        assert!(Catalog::parse(USAGE, "Dot\nSomething else\n").is_err() && Catalog::parse("", "").is_err());
    }
}
