//! What a run found.

use super::cases::{self, Method, Test as _};
use super::exchange::Timing;
use super::pair::Bench;
use super::{Case, Placement};
use crate::cores::Cores;
use crate::machine::Machine;
use crate::stats::median;
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// What a value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Microseconds of a round trip.
    #[serde(rename = "us")]
    Microseconds,
    /// Instructions of both processes in a round trip, those of the kernel left out.
    #[serde(rename = "instructions")]
    Instructions,
    /// Nanoseconds of work.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bytes of memory that a port takes.
    #[serde(rename = "bytes")]
    Bytes,
}

/// One value.
#[derive(Debug, Clone, Serialize)]
pub struct Row<C> {
    /// What was measured.
    #[serde(skip)]
    pub case: C,
    /// What of it; None for all.
    #[serde(skip)]
    pub part: Option<String>,
    /// The test's name.
    pub test: String,
    /// How and where: "socket/one-core"; of a part with its name: "stubs-sleep/one-core/client-stub".
    pub variant: String,
    /// What the figures count.
    pub unit: Unit,
    /// The mean of a run; the median of the repetitions.
    pub value: f64,
    /// The median of single round trips, likewise; null for what isn't timed.
    pub p50: Option<f64>,
    /// The 99th percentile of single round trips, likewise.
    pub p99: Option<f64>,
    /// Lowest and highest `value` of the repetitions; of parts that are timed, of their middle half.
    pub range: [f64; 2],
}

impl<C: Case> Row<C> {
    /// The row of a case that was timed so often; None for no timings.
    pub fn timed(case: C, timings: &[Timing]) -> Option<Self> {
        let of = |figure: fn(&Timing) -> f64| -> Vec<f64> { timings.iter().map(figure).collect() };
        let means = of(|timing| timing.mean_us);
        Some(Self {
            case,
            part: None,
            test: case.test(),
            variant: case.variant(),
            unit: Unit::Microseconds,
            value: median(&means)?,
            p50: median(&of(|timing| timing.p50_us)),
            p99: median(&of(|timing| timing.p99_us)),
            range: [means.iter().copied().fold(f64::INFINITY, f64::min), means.iter().copied().fold(0.0, f64::max)],
        })
    }

    /// The row of a case in which something was counted, once.
    pub fn counted(case: C, unit: Unit, count: f64) -> Self {
        Self {
            case,
            part: None,
            test: case.test(),
            variant: case.variant(),
            unit,
            value: count,
            p50: None,
            p99: None,
            range: [count; 2],
        }
    }

    /// The row of one part of a case that was found several times, of which the middle half makes the range; None for
    /// no values.
    pub fn spread(case: C, part: &str, unit: Unit, values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let aside = sorted.len() / 4;
        let range = [*sorted.get(aside)?, *sorted.iter().rev().nth(aside)?];
        Some(Self { range, ..Self::part(case, part, unit, median(values)?) })
    }

    /// The row of one part of a case, in which something was counted, once.
    pub fn part(case: C, part: &str, unit: Unit, count: f64) -> Self {
        let variant = format!("{}/{part}", case.variant());
        Self { part: Some(part.to_owned()), variant, ..Self::counted(case, unit, count) }
    }
}

/// A case that gave no row.
#[derive(Debug, Clone, Serialize)]
pub struct Missing {
    /// The test's name.
    pub test: String,
    /// How and where.
    pub variant: String,
    /// Why there is no row.
    pub reason: String,
}

/// How it was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Settings {
    /// Which CPUs were used.
    pub cores: String,
    /// Length that every timed run was made for, seconds.
    pub seconds: f64,
    /// Interleaved repetitions that the medians are of.
    pub repeat: u32,
}

/// A whole run.
#[derive(Debug, Clone)]
pub struct Results<C> {
    /// Where.
    pub machine: Machine,
    /// When, RFC 3339, UTC.
    pub date: String,
    /// How.
    pub settings: Settings,
    /// What.
    pub rows: Vec<Row<C>>,
    /// What failed.
    pub failed: Vec<Missing>,
}

impl<C: Case> Results<C> {
    /// Those of a run that begins now.
    ///
    /// # Errors
    /// When the date can't be written.
    pub fn new(cores: &Cores, seconds: f64, repeat: u32) -> anyhow::Result<Self> {
        Ok(Self {
            machine: Machine::this(),
            date: OffsetDateTime::now_utc().replace_nanosecond(0)?.format(&Rfc3339)?,
            settings: Settings { cores: line(cores), seconds, repeat },
            rows: Vec::new(),
            failed: Vec::new(),
        })
    }

    /// Notes that `case` failed and goes on.
    ///
    /// # Errors
    /// After an interrupt.
    pub fn fail(&mut self, bench: &Bench<'_>, case: C, error: &anyhow::Error) -> anyhow::Result<()> {
        bench.interrupt.check()?;
        self.failed.push(Missing { test: case.test(), variant: case.variant(), reason: format!("{error:#}") });
        Ok(())
    }

    /// Notes that a measurement of no case failed.
    pub fn fail_part(&mut self, test: &str, variant: &str, reason: String) {
        self.failed.push(Missing { test: test.to_owned(), variant: variant.to_owned(), reason });
    }

    /// The row of that case in that unit.
    pub fn of(&self, case: C, unit: Unit) -> Option<&Row<C>> {
        self.rows.iter().find(|row| row.case == case && row.unit == unit && row.part.is_none())
    }

    /// The row of that part of a case in that unit.
    pub fn part(&self, case: C, part: &str, unit: Unit) -> Option<&Row<C>> {
        self.rows.iter().find(|row| row.case == case && row.unit == unit && row.part.as_deref() == Some(part))
    }

    /// Nothing if all went well.
    ///
    /// # Errors
    /// How many measurements failed.
    pub fn outcome(&self) -> anyhow::Result<()> {
        match self.failed.len() {
            0 => Ok(()),
            count => anyhow::bail!("{count} measurements failed"),
        }
    }
}

fn line(cores: &Cores) -> String {
    match cores.second {
        Some(second) => format!("server on CPU {}, client on CPU {second}; one core: both on CPU {}", cores.first, cores.first),
        None => format!("both on CPU {}, the only one allowed", cores.first),
    }
}

impl<M: Method> Results<cases::Case<M::Test, M>> {
    /// The microseconds of a test, done in that way there.
    pub fn us(&self, test: M::Test, method: M, placement: Placement) -> Option<f64> {
        self.of(cases::Case { test, method, placement }, Unit::Microseconds).map(|row| row.value)
    }

    /// The tests that have rows in that unit, in the order of the published tables.
    pub fn tests(&self, unit: Unit) -> Vec<M::Test> {
        let measured = |test: &M::Test| self.rows.iter().any(|row| row.case.test == *test && row.unit == unit);
        M::Test::ALL.iter().copied().filter(measured).collect()
    }
}
