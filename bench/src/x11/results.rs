//! What a run of the bench found.

use super::hooks::Stage;
use super::placement::Placement;
use crate::machine::Machine;
use crate::stats::geometric_mean;
use serde::Serialize;

/// The unit of every rate.
pub const UNIT: &str = "operations/s";

/// One test at one placement with one stage.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The test's name; "pointer+noop": pointer while noop floods.
    pub test: String,
    /// x11perf's description of it.
    pub label: String,
    /// Where the processes ran.
    pub placement: Placement,
    /// The stage of the hooked side; null when both sides were plain.
    pub stage: Option<Stage>,
    /// Unit of `socket` and `ours`.
    pub unit: &'static str,
    /// Rate over the socket: the median of the repetitions.
    pub socket: f64,
    /// Rate over shared memory: likewise.
    pub ours: f64,
    /// `ours / socket`.
    pub ratio: f64,
    /// CPU microseconds an operation over the socket, server and client together; null where it
    /// can't be attributed to the test.
    pub cpu_us_socket: Option<f64>,
    /// Likewise over shared memory.
    pub cpu_us_ours: Option<f64>,
    /// Lowest and highest ratio of the interleaved pairs.
    pub ratio_range: [f64; 2],
}

/// A test that gave no row.
#[derive(Debug, Clone, Serialize)]
pub struct Missing {
    /// Its name.
    pub test: String,
    /// Where it was tried.
    pub placement: Placement,
    /// Why there is no row.
    pub reason: String,
}

/// How it was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Settings {
    /// The server's version, from x11perf.
    pub server: String,
    /// x11perf's version.
    pub x11perf: String,
    /// Which CPUs were used.
    pub cores: String,
    /// SLIPWAY_X11_SPIN, microseconds, as the hooked processes saw it.
    pub spin_us: String,
    /// Length that every timed run was made for, seconds.
    pub seconds: f64,
    /// Interleaved repetitions that the medians are of.
    pub repeat: u32,
    /// Both sides plain: the ratios show the noise.
    pub baseline: bool,
    /// The preload library; null for a baseline.
    pub preload: Option<String>,
}

/// A whole run.
#[derive(Debug, Clone)]
pub struct Results {
    /// Where.
    pub machine: Machine,
    /// What its memory allows.
    pub floor: Option<super::floor::Floor>,
    /// When, RFC 3339, UTC.
    pub date: String,
    /// How.
    pub settings: Settings,
    /// The stage that means and targets are of; others are columns beside it.
    pub stage: Option<Stage>,
    /// What, in the order of measuring.
    pub rows: Vec<Row>,
    /// Tests that x11perf can't do here, with or without Slipway.
    pub skipped: Vec<Missing>,
    /// Tests that failed on the hooked side only.
    pub failed: Vec<Missing>,
}

impl Results {
    /// The rows of the main stage.
    pub fn main_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.stage == self.stage)
    }

    /// The geometric mean of the ratios of the main stage over all tests of the first placement.
    pub fn overall_mean(&self) -> Option<f64> {
        let first = self.rows.first()?.placement;
        let rows = self.main_rows().filter(|row| row.placement == first);
        geometric_mean(rows.map(|row| row.ratio))
    }

    /// The placements that have rows, in the order of measuring.
    pub fn placements(&self) -> Vec<Placement> {
        let mut placements = Vec::new();
        for row in &self.rows {
            if !placements.contains(&row.placement) {
                placements.push(row.placement);
            }
        }
        placements
    }

    /// The stages beside the main one that have rows.
    pub fn other_stages(&self) -> Vec<Stage> {
        let mut stages = Vec::new();
        for stage in self.rows.iter().filter_map(|row| row.stage) {
            if Some(stage) != self.stage && !stages.contains(&stage) {
                stages.push(stage);
            }
        }
        stages
    }

    /// The row of the same test and placement in another stage.
    pub fn in_stage(&self, row: &Row, stage: Stage) -> Option<&Row> {
        self.rows.iter().find(|other| other.test == row.test && other.placement == row.placement && other.stage == Some(stage))
    }
}
