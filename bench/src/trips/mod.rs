//! Round trips between two processes: how they are made, timed, counted and reported, whatever crosses.
//!
//! A bench has a [`Case`] for each thing that it measures, and an [`exchange::Exchange`] for each way to do it.

pub mod attribution;
pub mod callgrind;
pub mod cases;
pub mod chart;
pub mod cli;
pub mod exchange;
pub mod instructions;
pub mod job;
pub mod link;
pub mod meet;
pub mod pair;
pub mod report;
pub mod results;
pub mod run;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Where the two ends run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
        match self {
            Self::Different => "different",
            Self::OneCore => "one-core",
        }
    }

    /// The heading over its results.
    pub fn title(self) -> &'static str {
        match self {
            Self::Different => "two processes on different cores",
            Self::OneCore => "two processes on one core",
        }
    }
}

/// One thing to measure.
pub trait Case: Copy + PartialEq + Serialize + DeserializeOwned {
    /// The hidden subcommand of this program that is one of the two processes.
    const PEER: &str;

    /// Where its ends run.
    fn placement(&self) -> Placement;

    /// The name of what crosses, as the results have it.
    fn test(&self) -> String;

    /// The name of how, likewise.
    fn way(&self) -> String;

    /// Whether who waits sleeps at once.
    fn sleeps(&self) -> bool;

    /// Takes away what a measurement in `directory` may have left elsewhere.
    fn clean_up(&self, _directory: &Path) {}

    /// The results' name of how and where: "socket/one-core".
    fn variant(&self) -> String {
        format!("{}/{}", self.way(), self.placement().name())
    }

    /// For progress and errors: "null, socket/one-core".
    fn name(&self) -> String {
        format!("{}, {}", self.test(), self.variant())
    }
}
