//! What a run of round trips found.

use super::exchange::Timing;
use super::figures::{Judgement, sum};
use super::format::{median, range};
use super::machine::{Cores, Machine};
use super::pair::Lab;
use super::{Bench, Case, Method, Placement, Share, Test};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// What a value counts: of a round trip its microseconds, or the instructions of both processes without the kernel's; of work
/// nanoseconds; of a port the bytes of memory that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    Us,
    Instructions,
    Ns,
    Bytes,
}

impl Unit {
    pub const ALL: [Self; 4] = [Self::Us, Self::Instructions, Self::Ns, Self::Bytes];

    /// As the files have it.
    pub fn name(self) -> &'static str {
        ["us", "instructions", "ns", "bytes"][self as usize]
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub test: &'static str,
    /// How and where: "socket/one-core"; of a part with its name: "stubs/one-core/stub-work".
    pub variant: String,
    pub unit: Unit,
    /// The mean of a run; the median of the repetitions.
    pub value: f64,
    /// The median and the 99th percentile of single round trips, likewise; null for what isn't timed.
    pub p50: Option<f64>,
    pub p99: Option<f64>,
    /// Lowest and highest `value` of the repetitions.
    pub range: [f64; 2],
}

impl Row {
    /// The row of a case that was timed so often; None for no timings.
    pub fn timed(case: Case, timings: &[Timing]) -> Option<Self> {
        let of = |figure: fn(&Timing) -> f64| -> Vec<f64> {
            timings.iter().map(|timing| figure(timing) / f64::from(case.test.each)).collect()
        };
        let means = of(|timing| timing.mean_us);
        let (p50, p99) = (median(&of(|timing| timing.p50_us)), median(&of(|timing| timing.p99_us)));
        let range = range(means.iter().copied());
        let value = median(&means)?;
        Some(Self { test: &case.test.name, variant: case.variant(), unit: Unit::Us, value, p50, p99, range })
    }

    /// A row for what was counted once.
    pub fn counted(test: &'static Test, variant: String, unit: Unit, value: f64) -> Self {
        Self { test: &test.name, variant, unit, value, p50: None, p99: None, range: [value; 2] }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Missing {
    pub test: String,
    pub variant: String,
    pub reason: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Settings {
    pub cores: String,
    pub seconds: f64,
    /// Interleaved repetitions that the medians are of.
    pub repeat: u32,
}

impl Settings {
    pub fn new(cores: &Cores, seconds: f64, repeat: u32) -> Self {
        let Cores { first, second } = cores;
        let cores = match second {
            Some(second) => format!("server on CPU {first}, client on CPU {second}; one core: both on CPU {first}"),
            None => format!("everything on CPU {first}, the only one allowed"),
        };
        Self { cores, seconds, repeat }
    }

    /// For people, one line.
    pub fn method(&self) -> String {
        format!("medians of {} interleaved runs of {} s", self.repeat, self.seconds)
    }
}

/// A whole run, as the file of results has it.
#[derive(Serialize)]
pub struct Results {
    #[serde(skip)]
    pub bench: &'static Bench,
    pub machine: Machine,
    /// RFC 3339, UTC.
    pub date: String,
    pub settings: Settings,
    pub rows: Vec<Row>,
    pub published: serde_json::Value,
    pub targets: Vec<Judgement>,
    pub failed: Vec<Missing>,
}

/// The time of a run that begins now, RFC 3339, UTC.
pub fn now() -> anyhow::Result<String> {
    Ok(OffsetDateTime::now_utc().replace_nanosecond(0)?.format(&Rfc3339)?)
}

impl Results {
    pub fn new(bench: &'static Bench, cores: &Cores, seconds: f64, repeat: u32) -> anyhow::Result<Self> {
        let published = |test: &Test| {
            let marks = bench.figures.marks();
            let us = bench.figures.published_us(&test.name).into_iter().map(|(mark, us)| (marks[mark], us));
            let us: BTreeMap<&str, f64> = us.collect();
            (!us.is_empty()).then(|| json!({ "test": test.name, "us": us }))
        };
        let published: Vec<_> = bench.tests.iter().filter_map(published).collect();
        Ok(Self {
            bench,
            published: json!({ "sources": bench.figures.sources, "rows": published }),
            machine: Machine::this(),
            date: now()?,
            settings: Settings::new(cores, seconds, repeat),
            rows: Vec::new(),
            targets: Vec::new(),
            failed: Vec::new(),
        })
    }

    /// Notes that `case` failed and goes on, but not after an interrupt.
    pub fn fail(&mut self, lab: &Lab<'_>, case: Case, error: &anyhow::Error) -> anyhow::Result<()> {
        lab.interrupt.check()?;
        self.failed.push(Missing { test: case.test.name.clone(), variant: case.variant(), reason: format!("{error:#}") });
        Ok(())
    }

    /// The value in that unit of a test done in that way: "mach/different", or "mach" for different cores or else one.
    pub fn value(&self, test: &str, variant: &str, unit: Unit) -> Option<f64> {
        let of = |variant: &str| {
            let mut rows = self.rows.iter();
            rows.find(|row| row.test == test && row.variant == variant && row.unit == unit).map(|row| row.value)
        };
        match variant.contains('/') {
            true => of(variant),
            false => Placement::ALL.iter().find_map(|place| of(&format!("{variant}/{}", place.name()))),
        }
    }

    /// Adds the rows that follow from others.
    pub fn derive(&mut self) -> anyhow::Result<()> {
        for derived in &self.bench.figures.derived {
            for test in &self.bench.tests {
                let value = sum(&derived.value.replace("{}", &test.name), self)?;
                self.rows.extend(value.map(|value| Row::counted(test, derived.variant.clone(), derived.unit, value)));
            }
        }
        Ok(())
    }

    /// The microseconds of a test, or of its share of another, done in that way there, or where [`Results::value`] finds them.
    pub fn us(&self, test: &Test, method: &Method, place: Option<Placement>) -> Option<f64> {
        if let Some(Share { of, above, parts }) = &test.share {
            let us = |name: &str| self.us(self.bench.test(name)?, method, place);
            return Some((us(of)? - us(above)?) / parts);
        }
        let variant = place.map_or_else(|| method.name.clone(), |place| format!("{}/{}", method.name, place.name()));
        self.value(&test.name, &variant, Unit::Us)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Results made up for the tests of the reports: microseconds of round trips.
    pub fn sample(bench: &'static Bench, timed: &[(&str, &str, f64)]) -> Results {
        let mut results = Results::new(bench, &Cores { first: 0, second: Some(1) }, 0.1, 5).unwrap();
        results.machine = Machine { cpu: "A & B <CPU>".to_owned(), cores: 2, kernel: "6.1.0".to_owned(), hypervisor: Some(true) };
        for (test, variant, value) in timed {
            let test = bench.test(test).unwrap();
            results.rows.push(Row::counted(test, (*variant).to_owned(), Unit::Us, *value));
        }
        results
    }

    #[test]
    fn a_row_is_the_median_of_its_repetitions() {
        let bench = crate::bench("ipc");
        let (test, method) = (bench.test("null").unwrap(), bench.method("pipe").unwrap());
        let case = Case { bench, test, method, placement: Placement::Different };
        let timing = |mean_us| Timing { mean_us, p50_us: mean_us / 2.0, p99_us: mean_us * 2.0 };
        let row = Row::timed(case, &[timing(3.0), timing(1.0), timing(8.0)]).unwrap();
        assert_eq!((row.value, row.p50, row.p99, row.range), (3.0, Some(1.5), Some(6.0), [1.0, 8.0]));
        assert!(Row::timed(case, &[]).is_none());
    }
}
