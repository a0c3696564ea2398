//! What a run found.

use super::cases::{Case, Method, Placement, Test};
use super::exchange::Timing;
use crate::machine::Machine;
use crate::stats::median;
use serde::Serialize;

/// What a value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Microseconds of a round trip.
    #[serde(rename = "us")]
    Microseconds,
    /// Instructions of both processes in a round trip, those of the kernel left out.
    #[serde(rename = "instructions")]
    Instructions,
    /// Bytes of memory that a port takes.
    #[serde(rename = "bytes")]
    Bytes,
}

/// One value.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// What was measured.
    #[serde(skip)]
    pub case: Case,
    /// The test's name.
    pub test: String,
    /// How and where: "socket/one-core".
    pub variant: String,
    /// What the figures count.
    pub unit: Unit,
    /// The mean of a run; the median of the repetitions.
    pub value: f64,
    /// The median of single round trips, likewise; null for what isn't timed.
    pub p50: Option<f64>,
    /// The 99th percentile of single round trips, likewise.
    pub p99: Option<f64>,
    /// Lowest and highest `value` of the repetitions.
    pub range: [f64; 2],
}

impl Row {
    /// The row of a case that was timed so often; None for no timings.
    pub fn timed(case: Case, timings: &[Timing]) -> Option<Self> {
        let of = |figure: fn(&Timing) -> f64| -> Vec<f64> { timings.iter().map(figure).collect() };
        let means = of(|timing| timing.mean_us);
        Some(Self {
            case,
            test: case.test.name(),
            variant: case.variant(),
            unit: Unit::Microseconds,
            value: median(&means)?,
            p50: median(&of(|timing| timing.p50_us)),
            p99: median(&of(|timing| timing.p99_us)),
            range: [means.iter().copied().fold(f64::INFINITY, f64::min), means.iter().copied().fold(0.0, f64::max)],
        })
    }

    /// The row of a case in which something was counted, once.
    pub fn counted(case: Case, unit: Unit, count: f64) -> Self {
        Self {
            case,
            test: case.test.name(),
            variant: case.variant(),
            unit,
            value: count,
            p50: None,
            p99: None,
            range: [count; 2],
        }
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
pub struct Results {
    /// Where.
    pub machine: Machine,
    /// When, RFC 3339, UTC.
    pub date: String,
    /// How.
    pub settings: Settings,
    /// What.
    pub rows: Vec<Row>,
    /// What failed.
    pub failed: Vec<Missing>,
}

impl Results {
    /// The row of that case in that unit.
    pub fn row(&self, test: Test, method: Method, placement: Placement, unit: Unit) -> Option<&Row> {
        let case = Case { test, method, placement };
        self.rows.iter().find(|row| row.case == case && row.unit == unit)
    }

    /// The microseconds of that case.
    pub fn us(&self, test: Test, method: Method, placement: Placement) -> Option<f64> {
        self.row(test, method, placement, Unit::Microseconds).map(|row| row.value)
    }

    /// Microseconds of one right, there and deallocated, among as many as `test` sends: half of what the
    /// round trip takes above a null message. None for tests without rights, or when one was not measured.
    pub fn right_us(&self, test: Test, method: Method, placement: Placement) -> Option<f64> {
        let (Test::Ports(count) | Test::PassedOn(count)) = test else { return None };
        let null = self.us(Test::Longwords(0), method, placement)?;
        Some((self.us(test, method, placement)? - null) / 2.0 / f64::from(count))
    }

    /// The tests that have rows in that unit, in the order of the published table.
    pub fn tests(&self, unit: Unit) -> Vec<Test> {
        let measured = |test: &Test| self.rows.iter().any(|row| row.case.test == *test && row.unit == unit);
        Test::ALL.into_iter().filter(measured).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ipc::report::sample::results;

    #[test]
    fn a_row_is_the_median_of_its_repetitions() {
        let case = Case { test: Test::Longwords(0), method: Method::Pipe, placement: Placement::Different };
        let timing = |mean_us| Timing { mean_us, p50_us: mean_us / 2.0, p99_us: mean_us * 2.0 };
        let row = Row::timed(case, &[timing(3.0), timing(1.0), timing(8.0)]).unwrap();
        assert_eq!((row.value, row.p50, row.p99, row.range), (3.0, Some(1.5), Some(6.0), [1.0, 8.0]));
        assert!(Row::timed(case, &[]).is_none());
    }

    #[test]
    fn a_right_costs_half_of_what_the_round_trip_takes_above_a_null_message() {
        let results = results();
        let us = |test| results.us(test, Method::Socket, Placement::OneCore).unwrap();
        let expected = (us(Test::Ports(256)) - us(Test::Longwords(0))) / 512.0;
        assert_eq!(results.right_us(Test::Ports(256), Method::Socket, Placement::OneCore), Some(expected));
        assert_eq!(results.right_us(Test::Longwords(16), Method::Socket, Placement::OneCore), None);
        assert_eq!(results.right_us(Test::Ports(256), Method::Fabric, Placement::OneCore), None);
    }
}
