//! Published figures and wanted ones, of `benches.toml` and `programs.toml`, and what a run makes of them.

use super::format::{distinct, geometric_mean, microseconds};
use super::results::{Results, Unit};
use super::{Share, Test};
use anyhow::Context;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

const FILES: [&str; 2] = [include_str!("../../benches.toml"), include_str!("../../programs.toml")];

pub fn part<T: DeserializeOwned>(bench: &str) -> anyhow::Result<T> {
    let parts = FILES.into_iter().map(toml::from_str::<HashMap<String, toml::Value>>);
    let all: Vec<_> = parts.collect::<Result<_, _>>().context("the bench's figures")?;
    let part = all.into_iter().find_map(|mut parts| parts.remove(bench)).with_context(|| format!("no figures of {bench}"))?;
    part.try_into().with_context(|| format!("figures of {bench}"))
}

/// Those of a bench of round trips.
#[derive(Debug, Deserialize)]
pub struct Figures {
    pub title: String,
    pub chart: String,
    /// What the chart's colours stand for; none: it has none of that colour.
    pub keys: Vec<String>,
    /// Where the published figures are from.
    pub sources: Vec<String>,
    /// What stands before a source.
    pub cited: String,
    pub what: String,
    /// The title of the one table of all placements; none: each has its own.
    pub one_table: Option<String>,
    /// What the machine itself takes: names, and sums of microseconds.
    #[serde(default)]
    floors: Vec<(String, String)>,
    /// Rows of each test that follow from others.
    #[serde(default)]
    pub derived: Vec<Derived>,
    #[serde(default)]
    pub published: Vec<Column>,
    targets: Vec<Target>,
}

/// A row that follows from others; see `benches.toml`.
#[derive(Debug, Deserialize)]
pub struct Derived {
    pub variant: String,
    pub unit: Unit,
    pub value: String,
    /// What stands before the figures of all tests.
    note: String,
}

/// A published table's figures in one of our columns.
#[derive(Debug, Deserialize)]
pub struct Column {
    pub heading: String,
    /// The chart's names of the figures in it.
    pub marks: Vec<String>,
    /// Microseconds in their unit.
    us: f64,
    #[serde(default)]
    suffix: String,
    /// Whether they are printed in microseconds.
    #[serde(default)]
    in_us: bool,
    /// The heading of a column that has the first figure divided by the last.
    pub ratio: Option<String>,
    rows: HashMap<String, Vec<f64>>,
}

impl Column {
    /// The figures of a test, in the order of the marks, as they were published; nan for what was not.
    pub fn row(&self, test: &str) -> Option<&[f64]> {
        self.rows.get(test).map(|row| &row[..])
    }

    /// What the table says of a test, or of its share of another.
    pub fn cell(&self, test: &Test) -> Option<String> {
        if let Some(Share { of, above, parts }) = &test.share {
            return Some(format!("{:.3}", (self.row(of)?[0] - self.row(above)?[0]) / parts));
        }
        let figure = |value: &f64| match self.in_us {
            _ if value.is_nan() => "-".to_owned(),
            true => format!("{:.1}", value * self.us),
            false => value.to_string(),
        };
        let figures: Vec<String> = self.row(&test.name)?.iter().map(figure).collect();
        Some(figures.join(" | ") + &self.suffix)
    }
}

impl Figures {
    /// What the machine itself takes, in one line.
    pub fn floors(&self, results: &Results) -> String {
        let floor = |(what, value): &(String, String)| {
            let us = sum(value, results).ok().flatten()?;
            Some(format!("{what} {} us", microseconds(us)))
        };
        self.floors.iter().filter_map(floor).collect::<Vec<_>>().join(", ")
    }

    /// A line of each kind of rows that follow from others or are no times.
    pub fn notes(&self, results: &Results) -> String {
        let mut out = String::new();
        for Derived { variant, unit, note, .. } in &self.derived {
            let value =
                |test: &Test| Some(format!("{} {:.1} {}", test.name, results.value(&test.name, variant, *unit)?, unit.name()));
            let figures: Vec<String> = results.bench.tests.iter().filter_map(value).collect();
            if !figures.is_empty() {
                out += &format!("\n{note}: {}\n", figures.join(", "));
            }
        }
        for row in results.rows.iter().filter(|row| row.unit == Unit::Bytes) {
            out += &format!("\na port that never leaves its task: {:.0} bytes of memory\n", row.value);
        }
        out
    }

    /// The names of all published figures.
    pub fn marks(&self) -> Vec<&str> {
        distinct(self.published.iter().flat_map(|column| &column.marks).map(String::as_str))
    }

    /// The published figures of a test: the mark's number, and microseconds.
    pub fn published_us(&self, test: &str) -> Vec<(usize, f64)> {
        let marks = self.marks();
        let of_column = |column: &Column| {
            let row = column.row(test).unwrap_or_default().iter().zip(&column.marks);
            let place = |mark: &String| marks.iter().position(|other| other == mark);
            row.filter_map(|(value, mark)| Some((place(mark)?, value * column.us))).collect::<Vec<_>>()
        };
        self.published.iter().flat_map(of_column).filter(|(_, us)| !us.is_nan()).collect()
    }
}

/// A bound, and what is held against it; see `benches.toml`.
#[derive(Debug, Deserialize)]
struct Target {
    what: String,
    #[serde(flatten)]
    bound: Bound,
    value: String,
    to: Option<String>,
    #[serde(default)]
    detail: String,
}

/// Which side of a bound is good.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Bound {
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(bound) => value <= bound,
            Self::AtLeast(bound) => value >= bound,
        }
    }
}

/// A target and what came of it.
#[derive(Debug, Clone, Serialize)]
pub struct Judgement {
    pub what: String,
    /// The bound, as people write it.
    pub wanted: String,
    /// The figure that was held against it.
    pub reached: Option<f64>,
    /// Of no test in this run: "not-measured".
    pub verdict: &'static str,
    pub detail: String,
}

impl Judgement {
    /// Holds what was reached, if it was measured, against a bound.
    pub fn new(what: &str, bound: Bound, reached: Option<f64>, detail: String) -> Self {
        let wanted = match bound {
            Bound::AtMost(bound) => format!("<= {bound}"),
            Bound::AtLeast(bound) => format!(">= {bound}"),
        };
        let verdict = match reached {
            None => "not-measured",
            Some(value) if bound.holds(value) => "met",
            Some(_) => "missed",
        };
        let detail = if reached.is_some() { detail } else { String::new() };
        Self { what: what.to_owned(), wanted, reached, verdict, detail }
    }
}

/// A ratio as it is printed, with two decimals: what is held against a bound.
pub fn printed(ratio: f64) -> f64 {
    (ratio * 100.0).round() / 100.0
}

/// Holds the worst of what was found, by name, against a bound; or the geometric mean, if that counts.
pub fn judge_worst(what: &str, bound: Bound, mean: bool, found: &[(String, f64)]) -> Judgement {
    let order = |a: &&(String, f64), b: &&(String, f64)| a.1.total_cmp(&b.1);
    let (worst, end) = match bound {
        Bound::AtLeast(_) => (found.iter().min_by(order), "lowest"),
        Bound::AtMost(_) => (found.iter().max_by(order), "highest"),
    };
    let mut detail = worst.map_or(String::new(), |(name, value)| {
        let beyond = found.iter().filter(|(_, value)| !bound.holds(*value)).count();
        format!("{end}: {name} {value:.2}; beyond the bound in {beyond} of {}", found.len())
    });
    let mut reached = worst.map(|(_, value)| *value);
    if mean {
        detail = format!("geometric mean; {detail}");
        reached = geometric_mean(found.iter().map(|(_, value)| *value)).map(printed);
    }
    Judgement::new(what, bound, reached, detail)
}

/// Holds `results` against every target.
pub fn judge(results: &Results) -> anyhow::Result<Vec<Judgement>> {
    let judge = |target: &Target| {
        let mut reached = sum(&target.value, results)?;
        let mut detail = String::new();
        if let Some(to) = &target.to {
            let whole = sum(to, results)?;
            detail = reached
                .zip(whole)
                .map_or(detail, |(part, whole)| format!("{} us to {} us", microseconds(part), microseconds(whole)));
            reached = reached.zip(whole).map(|(part, whole)| part / whole);
        }
        detail += &target.detail;
        Ok(Judgement::new(&target.what, target.bound, reached, detail))
    };
    results.bench.figures.targets.iter().map(judge).collect()
}

/// What `text` comes to, from left to right; None if one of its figures was not measured.
pub fn sum(text: &str, results: &Results) -> anyhow::Result<Option<f64>> {
    let mut words = text.split(' ');
    let operand = |word: Option<&str>| figure(word.unwrap_or_default(), results).with_context(|| format!("benches.toml: {text}"));
    let mut total = operand(words.next())?;
    while let Some(operator) = words.next() {
        let both = total.zip(operand(words.next())?);
        total = match operator {
            "+" => both.map(|(a, b)| a + b),
            "-" => both.map(|(a, b)| a - b),
            "*" => both.map(|(a, b)| a * b),
            "/" => both.map(|(a, b)| a / b),
            _ => anyhow::bail!("benches.toml: no sum: {text}"),
        };
    }
    Ok(total)
}

/// A number, or a figure of the run.
fn figure(word: &str, results: &Results) -> anyhow::Result<Option<f64>> {
    if let Ok(number) = word.parse() {
        return Ok(Some(number));
    }
    let (name, unit) = word.split_once('#').unwrap_or((word, "us"));
    let (test, variant) = name.split_once(':').with_context(|| format!("neither a number nor TEST:METHOD: '{word}'"))?;
    let method = variant.split('/').next().unwrap_or_default();
    results.bench.test(test).with_context(|| format!("no test '{test}'"))?;
    results.bench.method(method).with_context(|| format!("no method '{method}'"))?;
    let unit = Unit::ALL.into_iter().find(|known| known.name() == unit).with_context(|| format!("no unit '{unit}'"))?;
    Ok(results.value(test, variant, unit))
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::sample;
    use super::*;
    use crate::bench;

    #[test]
    fn what_the_file_names_is_there() {
        for bench in crate::BENCHES.iter() {
            let judged = judge(&sample(bench, &[])).unwrap();
            assert!(judged.iter().all(|judgement| judgement.verdict == "not-measured" && judgement.detail.is_empty()));
            for column in &bench.figures.published {
                assert!(column.rows.iter().all(|(test, row)| bench.test(test).is_some() && row.len() <= column.marks.len()));
            }
        }
    }

    #[test]
    fn bounds_hold_on_their_good_side() {
        let timed = [
            ("null", "mach/different", 0.5),
            ("floor", "cache-line/different", 0.1),
            ("floor", "copy/one-core", 0.3),
            ("null", "socket/different", 40.0),
            ("4095-longwords", "mach/different", 1.5),
        ];
        let results = sample(bench("ipc"), &timed);
        let judged = judge(&results).unwrap();
        let find = |what: &str| judged.iter().find(|judgement| judgement.what.starts_with(what)).unwrap();
        let line = find("null message / cache-line");
        assert_eq!((line.reached, line.verdict, &*line.detail), (Some(5.0), "missed", "0.50 us to 0.10 us"));
        assert_eq!((find("AF_UNIX").reached, find("AF_UNIX").verdict), (Some(80.0), "met"));
        assert_eq!(find("4095").detail, "1.50 us to 1.70 us");
        assert!(sum("null:mach/different % 2", &results).is_err() && sum("null:doves/different", &results).is_err());
    }

    /// The text around the published tables says what they come to: what a right costs alone and among many, and how much
    /// less traps take than messages.
    #[test]
    fn the_tables_agree_with_their_discussions() {
        let us = |name: &str, test: &str, mark: usize| bench(name).figures.published_us(test)[mark].1;
        let right = |test: &str, count: f64, mark| (us("ipc", test, mark) - us("ipc", "null", mark)) / 2.0 / count;
        for (value, said) in [
            (right("1-port", 1.0, 0), 113.0),
            (right("256-ports", 256.0, 0), 57.0),
            (right("16-ports", 16.0, 1), 115.0),
            (right("256-ports", 256.0, 1), 140.0),
            (us("ipc", "null", 0) / us("ipc", "null", 2), 10.3),
            (us("rpc", "nothing", 0), 34.5),
            (us("colocate", "own-call", 0) / us("colocate", "own-call", 1), 1.13),
        ] {
            assert!((value / said - 1.0).abs() < 0.05, "{value}, {said}");
        }
        for test in ["null", "64-in", "1k-in", "1k-out", "128-inout"] {
            assert!((2.95..3.6).contains(&(us("colocate", test, 0) / us("colocate", test, 2))), "{test}");
        }
    }
}
