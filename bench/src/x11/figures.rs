//! What was published for earlier shared-memory transports, and what is wanted: its part of `benches.toml`.

use crate::harness::figures::Bound;
use crate::harness::names;
use crate::harness::placement::Placement;
use serde::Deserialize;
use std::collections::HashMap;

/// The bench's part of `benches.toml`.
#[derive(Debug, Deserialize)]
pub struct Figures {
    pub source: String,
    pub means: String,
    pub systems: Vec<String>,
    pub marks: Vec<(usize, String)>,
    ratios: HashMap<String, Vec<f64>>,
    /// Kinds of tests that behave alike, with patterns of their names.
    pub groups: Vec<(String, Vec<String>)>,
    pub targets: Vec<Target>,
}

/// A bound of ratios; without a placement, of CPU time.
#[derive(Debug, Deserialize)]
pub struct Target {
    pub what: String,
    #[serde(flatten)]
    pub bound: Bound,
    pub placement: Option<Placement>,
    tests: Option<String>,
    #[serde(default)]
    pub mean: bool,
    #[serde(default)]
    pub whole: bool,
}

impl Figures {
    /// The published ratio of a test, in the column of that number.
    pub fn published(&self, test: &str, system: usize) -> Option<f64> {
        self.ratios.get(test)?.get(system).copied().filter(|ratio| !ratio.is_nan())
    }

    pub fn group(&self, test: &str) -> &str {
        let option = test.split([':', '+']).next().unwrap_or(test);
        self.groups.iter().find(|(_, tests)| names(tests, option)).map_or("other", |(name, _)| name)
    }

    pub fn is_of(&self, test: &str, target: &Target) -> bool {
        target.tests.as_deref().is_none_or(|tests| tests == test || tests == self.group(test))
    }

    /// The ratio that `test` should reach at `placement`; none where only the geometric mean counts.
    pub fn wanted(&self, test: &str, placement: Placement) -> Option<f64> {
        let mut targets = self.targets.iter().filter(|target| target.placement == Some(placement) && !target.whole);
        targets.find(|target| self.is_of(test, target)).and_then(|target| match target.bound {
            Bound::AtLeast(bound) => Some(bound),
            Bound::AtMost(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::figures::part;

    #[test]
    fn every_test_of_a_named_target_has_its_bound() {
        use Placement::{Different, Flood, Hogs, PlainClient, Shared};
        let figures: Figures = part("x11").unwrap();
        for (test, placement, bound) in [
            ("prop", Different, Some(40.0)),
            ("prop", Shared, Some(1.3)),
            ("getimage10", Hogs, Some(2.0)),
            ("getimage500", Different, Some(5.0)),
            ("getimage100", Different, None),
            ("gc", Different, Some(1.3)),
            ("move:16", Different, Some(0.98)),
            ("rect100", Different, None),
            ("dot", PlainClient, Some(0.98)),
            ("pointer+noop", Flood, Some(0.9)),
        ] {
            assert_eq!(figures.wanted(test, placement), bound, "{test}");
        }
        // Rates as the paper prints them: the ratios follow from them.
        for (test, system, without, with) in
            [("dot", 0, 2_390_000.0, 3_320_000.0), ("putimage500", 1, 41.5, 75.1), ("noop", 6, 2_150_000.0, 2_480_000.0)]
        {
            assert!((figures.published(test, system).unwrap() - with / without).abs() < 0.011, "{test}");
        }
        assert_eq!((figures.published("line1", 6), figures.published("wpcircle10", 0)), (None, None));
    }
}
