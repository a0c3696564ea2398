//! What all benches share: processes, timing, counting, results, tables and charts.
//!
//! A bench of round trips is a [`Bench`]: its tests, its methods, and its part of the report. The rest is here.

pub mod chart;
pub mod exchange;
pub mod failure;
pub mod figures;
pub mod format;
pub mod job;
pub mod link;
pub mod machine;
pub mod options;
pub mod pair;
pub mod process;
pub mod progress;
pub mod results;
pub mod run;
pub mod table;

use exchange::Exchange;
use job::Job;
use link::Link;
use pair::Lab;
use results::Results;
use serde::{Deserialize, Serialize};

/// A bench of round trips.
pub struct Bench {
    /// Its subcommand, and its part of the published figures.
    pub name: &'static str,
    /// In the order of the tables.
    pub tests: &'static [Test],
    /// In the order of the columns.
    pub methods: &'static [Method],
    /// Adds rows that are no round trips, or follow from others.
    pub more: fn(&Lab<'_>, &[Case], &mut Results) -> anyhow::Result<()>,
    /// What a process does whose work is [`job::Work::Special`].
    pub special: fn(&mut Link, &Job) -> anyhow::Result<()>,
    /// The tables of times.
    pub report: fn(&Results) -> String,
}

/// What crosses, or is called.
#[derive(Debug)]
pub struct Test {
    /// The name that the options and the results use.
    pub name: &'static str,
    /// As the published tables call it.
    pub title: &'static str,
    /// Bytes of data there and back.
    pub bytes: (usize, usize),
    /// Rights that cross, or ports that are called.
    pub ports: u32,
    /// How many are done in one round trip.
    pub each: u32,
}

impl Test {
    /// A test without data and rights.
    pub const fn new(name: &'static str, title: &'static str) -> Self {
        Self { name, title, bytes: (0, 0), ports: 0, each: 1 }
    }

    /// The same with so many bytes there and back.
    pub const fn bytes(self, there: usize, back: usize) -> Self {
        Self { bytes: (there, back), ..self }
    }

    /// The same with so many rights or ports.
    pub const fn ports(self, ports: u32) -> Self {
        Self { ports, ..self }
    }
}

/// Where the two ends run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// On two cores.
    Different,
    /// On one core.
    OneCore,
}

impl Placement {
    /// In the order of the report.
    pub const ALL: [Self; 2] = [Self::Different, Self::OneCore];

    /// The name that the results use.
    pub fn name(self) -> &'static str {
        ["different", "one-core"][self as usize]
    }

    /// The heading over its results.
    pub fn title(self) -> &'static str {
        ["two processes on different cores", "two processes on one core"][self as usize]
    }
}

/// How it crosses, or is called.
pub struct Method {
    /// The name that the options and the results use.
    pub name: &'static str,
    /// For the list of methods.
    pub help: &'static str,
    /// For a narrow heading; none: it has no column.
    pub heading: &'static str,
    /// Which of the chart's colours it has.
    pub colour: usize,
    /// The placements that it can do.
    pub places: &'static [Placement],
    /// The tests that it can do.
    pub does: fn(&Test, Placement) -> bool,
    /// Round trips by which two runs differ whose instructions are counted, on one core; 0 for what polls: it has another
    /// number of instructions in every run.
    pub counts: fn(&Test) -> u64,
    /// Whether a waiter sleeps at once.
    pub sleeps: bool,
    /// A column beside it: its heading, and the method that this one's times are divided by.
    pub ratio: Option<(&'static str, &'static str)>,
    /// Makes one side ready; the other does the same at the other end of the link.
    pub prepare: fn(&mut Link, &Job) -> anyhow::Result<Box<dyn Exchange>>,
}

/// What a method is unless it says otherwise.
pub const METHOD: Method = Method {
    name: "",
    help: "",
    heading: "",
    colour: chart::OURS,
    places: &Placement::ALL,
    does: |_, _| true,
    counts: |_| 0,
    sleeps: false,
    ratio: None,
    prepare: |_, _| anyhow::bail!("no way to do it"),
};

/// One thing to measure.
#[derive(Clone, Copy)]
pub struct Case {
    /// Whose.
    pub bench: &'static Bench,
    /// What.
    pub test: &'static Test,
    /// How.
    pub method: &'static Method,
    /// Where.
    pub placement: Placement,
}

impl Case {
    /// The results' name of how and where: "socket/one-core".
    pub fn variant(&self) -> String {
        format!("{}/{}", self.method.name, self.placement.name())
    }

    /// For progress and errors: "null, socket/one-core".
    pub fn name(&self) -> String {
        format!("{}, {}", self.test.name, self.variant())
    }

    /// Round trips by which two runs differ whose instructions are counted; 0: none are.
    pub fn counts(&self) -> u64 {
        if self.placement == Placement::OneCore { (self.method.counts)(self.test) } else { 0 }
    }
}

impl Bench {
    /// The test of that name.
    pub fn test(&self, name: &str) -> Option<&'static Test> {
        self.tests.iter().find(|test| test.name == name)
    }

    /// The method of that name.
    pub fn method(&self, name: &str) -> Option<&'static Method> {
        self.methods.iter().find(|method| method.name == name)
    }
}
