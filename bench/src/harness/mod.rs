//! What all benches share: processes, timing, counting, results, tables and charts.
//!
//! A bench of round trips is its part of `benches.toml`, and some [`Code`]. The rest is here.

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
pub mod placement;
pub mod process;
pub mod progress;
pub mod results;
pub mod run;
pub mod table;

use exchange::Exchange;
use job::Job;
use link::Link;
use serde::{Deserialize, Serialize};

/// The code of a bench of round trips.
#[derive(Clone, Copy)]
pub struct Code {
    /// Its subcommand, and its part of `benches.toml`.
    pub name: &'static str,
    /// Makes one side of a job ready; the other does the same at the other end of the link.
    pub prepare: fn(&mut Link, &Job) -> anyhow::Result<Box<dyn Exchange>>,
    /// What a process does whose work is [`job::Work::Special`].
    pub special: fn(&mut Link, &Job) -> anyhow::Result<()>,
}

/// A bench of round trips.
pub struct Bench {
    pub code: Code,
    pub tests: Vec<Test>,
    pub methods: Vec<Method>,
    pub figures: figures::Figures,
}

/// What crosses, or is called; see `benches.toml`.
#[derive(Debug, Deserialize)]
pub struct Test {
    pub name: String,
    pub title: String,
    #[serde(default)]
    pub bytes: (usize, usize),
    #[serde(default)]
    pub ports: u32,
    #[serde(default = "one")]
    pub each: u32,
    #[serde(default)]
    pub weighed: bool,
    pub share: Option<Share>,
    #[serde(default = "both")]
    places: Vec<Placement>,
}

/// What a part of a test takes, above another test.
#[derive(Debug, Deserialize)]
pub struct Share {
    pub of: String,
    pub above: String,
    pub parts: f64,
}

/// How it crosses, or is called; see `benches.toml`.
#[derive(Debug, Deserialize)]
pub struct Method {
    pub name: String,
    pub help: String,
    #[serde(default)]
    pub heading: String,
    #[serde(default)]
    pub colour: usize,
    #[serde(default = "both")]
    places: Vec<Placement>,
    #[serde(default = "all")]
    tests: Vec<String>,
    #[serde(default)]
    counts: u64,
    #[serde(default = "all")]
    counted: Vec<String>,
    #[serde(default)]
    pub sleeps: bool,
    pub ratio: Option<(String, String)>,
}

fn one() -> u32 {
    1
}

fn both() -> Vec<Placement> {
    Placement::ALL.to_vec()
}

fn all() -> Vec<String> {
    vec!["*".to_owned()]
}

/// Whether one of `patterns` is `name`, where a star stands for anything.
pub fn names(patterns: &[String], name: &str) -> bool {
    let is = |pattern: &String| match pattern.split_once('*') {
        Some((start, end)) => name.starts_with(start) && name.ends_with(end),
        None => pattern == name,
    };
    patterns.iter().any(is)
}

/// Where the two ends run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    Different,
    OneCore,
}

impl Placement {
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

impl Method {
    /// Its name in a heading, if it has no column of its own.
    pub fn label(&self) -> &str {
        if self.heading.is_empty() { &self.name } else { &self.heading }
    }

    /// Whether it can do `test` with its ends at `placement`.
    pub fn does(&self, test: &Test, placement: Placement) -> bool {
        let does = names(&self.tests, &test.name) && test.share.is_none();
        does && self.places.contains(&placement) && test.places.contains(&placement)
    }
}

/// One thing to measure; on a command line by its names.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(into = "Names", try_from = "Names")]
pub struct Case {
    pub bench: &'static Bench,
    pub test: &'static Test,
    pub method: &'static Method,
    pub placement: Placement,
}

/// Bench, test, method and placement.
#[derive(Serialize, Deserialize)]
struct Names(String, String, String, Placement);

impl From<Case> for Names {
    fn from(Case { bench, test, method, placement }: Case) -> Self {
        Self(bench.code.name.to_owned(), test.name.clone(), method.name.clone(), placement)
    }
}

impl TryFrom<Names> for Case {
    type Error = &'static str;

    fn try_from(Names(bench, test, method, placement): Names) -> Result<Self, Self::Error> {
        let bench = crate::BENCHES.iter().find(|known| known.code.name == bench).ok_or("no such bench")?;
        let test = bench.test(&test).ok_or("no such test")?;
        Ok(Self { bench, test, method: bench.method(&method).ok_or("no such method")?, placement })
    }
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
        let counted = self.placement == Placement::OneCore && names(&self.method.counted, &self.test.name);
        if counted { self.method.counts } else { 0 }
    }
}

impl Bench {
    pub fn load(code: Code) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct Part {
            tests: Vec<Test>,
            methods: Vec<Method>,
            #[serde(flatten)]
            figures: figures::Figures,
        }
        let Part { tests, methods, figures } = figures::part(code.name)?;
        Ok(Self { code, tests, methods, figures })
    }

    pub fn test(&self, name: &str) -> Option<&Test> {
        self.tests.iter().find(|test| test.name == name)
    }

    pub fn method(&self, name: &str) -> Option<&Method> {
        self.methods.iter().find(|method| method.name == name)
    }

    /// A test's place among all of them: the number that C programs use.
    pub fn number(&self, test: &Test) -> i32 {
        self.tests.iter().position(|other| other.name == test.name).map_or(i32::MAX, |place| place as i32)
    }
}
