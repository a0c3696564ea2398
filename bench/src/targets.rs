//! Targets and verdicts, as every bench gives them.

use serde::Serialize;

/// Whether `value` is at least `bound`, as it's printed: with two decimals.
pub fn reaches(value: f64, bound: f64) -> bool {
    (value * 100.0).round() / 100.0 >= bound
}

/// How a target was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Reached.
    Met,
    /// Not reached.
    Missed,
    /// No test of it was in this run.
    NotMeasured,
}

/// A target and what came of it.
#[derive(Debug, Clone, Serialize)]
pub struct Judgement {
    /// What it is about.
    pub what: String,
    /// The bound, as people write it.
    pub wanted: String,
    /// The figure that was held against it.
    pub reached: Option<f64>,
    /// Whether it was reached.
    pub verdict: Verdict,
    /// Which test the figure is of.
    pub detail: String,
}
