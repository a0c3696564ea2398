//! The programs that are measured and what is wanted of them: the bench's part of `programs.toml`.

use crate::harness::failure::Failure;
use crate::harness::figures::Bound;
use crate::harness::placement::Placement;
use crate::harness::process::find_in;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::env::{join_paths, split_paths, var_os};
use std::ffi::OsString;
use std::fs;
use std::process::Command;

/// The bench's part of `programs.toml`, where the words are explained.
#[derive(Debug, Deserialize)]
pub struct Catalog {
    pub programs: Vec<Program>,
    pub targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
pub struct Program {
    pub name: String,
    pub title: String,
    needs: Vec<(String, String)>,
    version: Option<String>,
    clients: Vec<u32>,
    #[serde(default)]
    pub unprivileged: bool,
    pub once: Option<String>,
    pub server: String,
    pub beside: Option<String>,
    pub first: Option<String>,
    pub client: String,
    rate: Option<String>,
    seconds: Option<String>,
    #[serde(default)]
    says: String,
    #[serde(default = "socket")]
    pub socket: String,
    unix: BTreeMap<String, String>,
    tcp: BTreeMap<String, String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

fn socket() -> String {
    "socket".to_owned()
}

/// A bound of ratios, or of CPU time; without a placement at all of them.
#[derive(Debug, Clone, Deserialize)]
pub struct Target {
    pub what: String,
    #[serde(flatten)]
    pub bound: Bound,
    pub placement: Option<Placement>,
    #[serde(default)]
    tests: Vec<String>,
    #[serde(default)]
    pub cpu: bool,
}

impl Target {
    pub fn is_about(&self, test: &str, placement: Placement) -> bool {
        let is_of = self.tests.is_empty() || self.tests.iter().any(|name| name == test);
        is_of && self.placement.is_none_or(|there| there == placement)
    }
}

/// How a client's connections are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// AF_UNIX, by programs without the hooks.
    Unix,
    /// TCP over the loopback interface.
    Tcp,
    /// AF_UNIX, by programs with the hooks.
    Slipway,
}

/// Places in a line of `programs.toml`, and what they stand for.
#[derive(Clone)]
pub struct Values(Vec<(&'static str, String)>);

impl Values {
    pub fn new<const N: usize>(values: [(&'static str, String); N]) -> Self {
        Self(values.to_vec())
    }

    pub fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }
}

/// The value of PATH with which these programs are found: some distributions have wrappers in it, and some servers elsewhere.
pub fn search_path() -> OsString {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut dirs: Vec<_> = versions.map(|version| version.path().join("bin")).collect();
    dirs.sort();
    dirs.reverse();
    dirs.extend(split_paths(&var_os("PATH").unwrap_or_default()));
    dirs.push("/usr/sbin".into());
    // Only a directory with a colon in its name could fail it, and none of PATH has one.
    join_paths(dirs).unwrap_or_default()
}

impl Program {
    /// Its version; without it, that something it needs is not installed.
    pub fn find(&self, path: &OsString) -> anyhow::Result<Option<String>> {
        self.needs.iter().try_for_each(|(program, package)| find_in(path, program, package).map(drop))?;
        let Some(line) = &self.version else { return Ok(None) };
        let words: Vec<&str> = line.split(' ').collect();
        let output = Command::new(find_in(path, words[0], "")?).args(&words[1..]).env_remove("LD_PRELOAD").output()?;
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let is_version = |word: &&str| word.trim_matches('.').contains('.');
        let mut words = said.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
        Ok(words.find(is_version).map(|version| format!("{} {version}", self.name)))
    }

    /// What its lines say for a kind of connection.
    pub fn lines(&self, peer: Peer) -> &BTreeMap<String, String> {
        if peer == Peer::Tcp { &self.tcp } else { &self.unix }
    }

    /// The seconds that a client took, by what it printed (0 if it can't tell so few), or else as long as it lived.
    pub fn seconds(&self, values: &Values, operations: u64, printed: &str, life: f64) -> anyhow::Result<f64> {
        let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        let missing = |what: &str| anyhow::anyhow!("it did not print '{what}' but '{printed}'");
        let says = values.fill(&self.says);
        if !printed.contains(&says) {
            return Err(missing(&says));
        }
        let Some(marker) = self.rate.as_ref().or(self.seconds.as_ref()) else { return Ok(life) };
        let marker = values.fill(marker);
        let after = printed.split_once(&marker).map(|(_, rest)| rest);
        let figure = after.and_then(|rest| rest.split(|letter: char| !letter.is_ascii_digit() && letter != '.').next());
        let figure: f64 = figure.ok_or_else(|| missing(&marker))?.parse().unwrap_or_default();
        let seconds = if self.rate.is_some() { operations as f64 / figure } else { figure };
        Ok(if seconds.is_finite() { seconds } else { 0.0 })
    }
}

impl Catalog {
    /// The tests of a line of options, as `redis` for all of a program or `redis:50` for one; all of them for none.
    pub fn plan(&self, only: &[String]) -> Result<Vec<(&Program, Vec<u32>)>, Failure> {
        let mut plan: Vec<(&Program, Vec<u32>)> = Vec::new();
        let all: Vec<String> = self.programs.iter().map(|program| program.name.clone()).collect();
        for test in if only.is_empty() { &all } else { only } {
            let (name, number) = test.trim().split_once(':').map_or((test.trim(), None), |(name, number)| (name, Some(number)));
            let program = self.programs.iter().find(|program| program.name == name);
            let numbers = program.and_then(|program| {
                let takes = |number: &u32| *number == 1 || program.clients.len() > 1 && (2..=10_000).contains(number);
                let possible = |number: &u32| program.clients.contains(number) || takes(number);
                match number {
                    None => Some(program.clients.clone()),
                    Some(number) => number.parse().ok().filter(possible).map(|number| vec![number]),
                }
            });
            let (Some(program), Some(numbers)) = (program, numbers) else {
                let why = format!(
                    "there is no test '{test}'; there are {}, each also with a number of clients as in redis:50 (D-Bus: 1)",
                    all.join(", ")
                );
                return Err(Failure::Usage(why));
            };
            match plan.iter_mut().find(|(known, _)| known.name == program.name) {
                Some((_, known)) => known.extend(numbers),
                None => plan.push((program, numbers)),
            }
        }
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::figures::part;

    fn program<'a>(catalog: &'a Catalog, name: &str) -> &'a Program {
        catalog.programs.iter().find(|program| program.name == name).unwrap()
    }

    #[test]
    fn what_clients_print_is_understood() {
        let catalog: Catalog = part("sockets").unwrap();
        let values = Values::new([("count", "2000".to_owned()), ("clients", "50".to_owned())]);
        let seconds = |name: &str, printed: &str| program(&catalog, name).seconds(&values, 2000, printed, 7.0);
        for (name, printed, expected) in [
            ("redis", "\"test\",\"rps\"\n\"GET\",\"40000.00\",\"0.021\"\n", 0.05),
            ("redis", "\"GET\",\"inf\",\"0.021\"\n", 0.0),
            (
                "postgresql",
                "number of transactions actually processed: 2000/2000\nlatency = 1 ms\ntps = 4000.0 (without initial)\n",
                0.5,
            ),
            ("memcached", "Time to start  50 threads:  0.001 seconds.\nTime to get   2000 keys by  50 threads:  0.102 s", 0.102),
            (
                "nginx",
                "Complete requests:      2000\nFailed requests:        0\nKeep-Alive requests: 2000\nRequests per second:    500.00 [#/sec]",
                4.0,
            ),
            ("dbus", "", 7.0),
        ] {
            assert_eq!(seconds(name, printed).unwrap(), expected, "{name}");
        }
        for (name, printed) in [
            ("redis", "Could not connect"),
            ("memcached", "Time to set 0 keys by 50 threads: 0.1 seconds"),
            ("postgresql", "number of transactions actually processed: 1999/2000\ntps = 4000.0"),
            ("nginx", "Complete requests: 2000\nFailed requests: 7\nRequests per second: 500"),
        ] {
            assert!(seconds(name, printed).is_err(), "{name}");
        }
    }

    #[test]
    fn tests_are_programs_with_numbers_of_clients() {
        let catalog: Catalog = part("sockets").unwrap();
        let plan = |only: &str| {
            let only: Vec<String> = only.split_whitespace().map(str::to_owned).collect();
            let plan = catalog.plan(&only)?;
            Ok::<_, Failure>(plan.into_iter().map(|(program, clients)| (program.name.clone(), clients)).collect::<Vec<_>>())
        };
        assert_eq!(plan("redis:7 dbus redis:1").unwrap(), [("redis".to_owned(), vec![7, 1]), ("dbus".to_owned(), vec![1])]);
        assert_eq!(plan("redis-large:50").unwrap(), plan("redis-large").unwrap());
        let all = plan("").unwrap();
        assert!(all.len() >= 6 && all.contains(&("redis".to_owned(), vec![1, 50, 1000])));
        for wrong in ["rediss", "redis:0", "redis:x", "dbus:2"] {
            assert!(plan(wrong).is_err(), "{wrong}");
        }
        // Each named test of a target is measured without options.
        for target in &catalog.targets {
            let known = |test: &String| {
                let (name, clients) = test.split_once(':').unwrap();
                all.contains(&(name.to_owned(), program(&catalog, name).clients.clone()))
                    && program(&catalog, name).clients.contains(&clients.parse().unwrap())
            };
            assert!(target.tests.iter().all(known), "{}", target.what);
        }
    }
}
