//! The tests that the installed x11perf has, taken from x11perf itself.

use crate::failure::Failure;
use anyhow::{Context, bail};
use std::path::Path;
use std::process::Command;

/// One thing to measure: a test, with its number of sub-windows where the test has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What this program calls it: x11perf's option, ":K" appended for all but the first number
    /// of sub-windows that x11perf tries ("move", "move:16").
    pub name: String,
    /// x11perf's option, without the dash.
    pub option: String,
    /// Sub-windows, for the tests on windows.
    pub kids: Option<u32>,
    /// x11perf's description.
    pub label: String,
}

/// Every test of one x11perf, in its order.
#[derive(Debug)]
pub struct Catalog(Vec<Job>);

impl Catalog {
    /// Asks `x11perf` for its tests.
    ///
    /// # Errors
    /// When it can't be run or its two lists don't fit each other.
    pub fn read(x11perf: &Path) -> anyhow::Result<Self> {
        let ask = |args: &[&str]| -> anyhow::Result<String> {
            let output = Command::new(x11perf)
                .args(args)
                .env_remove("LD_PRELOAD")
                .output()
                .with_context(|| format!("can't run {}", x11perf.display()))?;
            // The usage goes to standard error, the labels to standard output.
            let text = [output.stdout, output.stderr].concat();
            Ok(String::from_utf8_lossy(&text).into_owned())
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
                let kids = label
                    .strip_prefix(text)
                    .and_then(|rest| rest.strip_prefix(" ("))
                    .and_then(|rest| rest.strip_suffix(" kids)"))
                    .and_then(|kids| kids.parse().ok());
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

    /// All tests.
    pub fn all(&self) -> &[Job] {
        &self.0
    }

    /// The test called `name`: "dot", "move", "move:16".
    ///
    /// # Errors
    /// [`Failure::Usage`] when there is none.
    pub fn find(&self, name: &str) -> Result<&Job, Failure> {
        let same = |job: &&Job| {
            job.name == name
                || matches!((name.split_once(':'), job.kids),
                    (Some((option, kids)), Some(count)) if option == job.option && kids == count.to_string())
        };
        self.0.iter().find(same).ok_or_else(|| {
            Failure::Usage(format!("x11perf has no test '{name}'; x11perf -help lists them (without the dash here)"))
        })
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// An excerpt of what x11perf 1.5 prints.
    const USAGE: &str = "\
usage: x11perf [-options ...]
where options include:
    -display <host:display>   the X server to contact
    -sync                     do the tests in synchronous mode
    -dot                       Dot
    -seg100                    100-pixel line segment
    -seg100c1                  100-pixel line segment (1 kid)
    -move                      Move window
    -umove                     Moved unmapped window
";
    const LABELS: &str = "\
Dot
100-pixel line segment
100-pixel line segment (1 kid)
Move window (4 kids)
Move window (16 kids)
Moved unmapped window (4 kids)
";

    #[test]
    fn every_label_gets_its_option() {
        let catalog = Catalog::parse(USAGE, LABELS).unwrap();
        let names: Vec<_> = catalog.all().iter().map(|job| job.name.as_str()).collect();
        assert_eq!(names, ["dot", "seg100", "seg100c1", "move", "move:16", "umove"]);
        assert_eq!(catalog.find("move").unwrap().kids, Some(4));
        assert_eq!(catalog.find("move:4").unwrap().name, "move");
        assert_eq!(catalog.find("move:16").unwrap().label, "Move window (16 kids)");
        assert_eq!(catalog.find("dot").unwrap().kids, None);
        for missing in ["dot:4", "move:5", "-dot", ""] {
            assert!(catalog.find(missing).is_err(), "{missing}");
        }
    }

    #[test]
    fn lists_that_do_not_fit_are_an_error() {
        assert!(Catalog::parse(USAGE, "Dot\nSomething else\n").is_err());
        assert!(Catalog::parse("", "").is_err());
    }
}
