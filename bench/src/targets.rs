//! Targets and verdicts, as every bench gives them.

use crate::report::format::microseconds;
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

/// Which side of the bound is good.
#[derive(Debug, Clone, Copy)]
pub enum Bound {
    /// Less is better.
    AtMost(f64),
    /// More is better.
    AtLeast(f64),
}

/// Holds what was reached, if it was measured, against a bound.
pub fn judgement(what: &str, bound: Bound, reached: Option<f64>, detail: String) -> Judgement {
    let (wanted, good) = match bound {
        Bound::AtMost(bound) => (format!("<= {bound}"), reached.is_some_and(|value| value <= bound)),
        Bound::AtLeast(bound) => (format!(">= {bound}"), reached.is_some_and(|value| value >= bound)),
    };
    let verdict = match (reached, good) {
        (None, _) => Verdict::NotMeasured,
        (Some(_), true) => Verdict::Met,
        (Some(_), false) => Verdict::Missed,
    };
    let detail = if reached.is_some() { detail } else { String::new() };
    Judgement { what: what.to_owned(), wanted, reached, verdict, detail }
}

/// How `part` relates to `whole`, both in microseconds.
pub fn ratio(what: &str, bound: Bound, part: Option<f64>, whole: Option<f64>) -> Judgement {
    let detail = || Some(format!("{} us to {} us", microseconds(part?), microseconds(whole?)));
    let reached = part.zip(whole).map(|(part, whole)| part / whole);
    judgement(what, bound, reached, detail().unwrap_or_default())
}

#[cfg(test)]
pub mod tests {
    use super::Judgement;

    /// The target whose name begins so.
    pub fn find(judged: Vec<Judgement>, what: &str) -> Judgement {
        judged.into_iter().find(|judgement| judgement.what.starts_with(what)).unwrap_or_else(|| panic!("no target '{what}'"))
    }
}
