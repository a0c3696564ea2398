//! What a run found: rows, targets, tables, chart.

use super::programs::Target;
use crate::harness::chart::{Bar, Chart, LIBRARY, OURS, SYSTEM, Section};
use crate::harness::figures::{Bound, Judgement, judge_worst, printed};
use crate::harness::format::{distinct, geometric_mean, microseconds, rate, ratio};
use crate::harness::machine::{Cores, Machine};
use crate::harness::placement::{Placement, name_of};
use crate::harness::results::{self, Missing, now};
use crate::harness::table::{head, table, targets};
use serde::Serialize;

/// One test at one placement.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The program and the number of clients: "redis:50".
    pub test: String,
    pub label: String,
    pub placement: Placement,
    /// Unit of `socket`, `tcp` and `ours`, rates over AF_UNIX, TCP and shared memory: medians of the repetitions.
    pub unit: &'static str,
    pub socket: f64,
    pub tcp: f64,
    pub ours: f64,
    /// `ours / socket`.
    pub ratio: f64,
    /// Lowest and highest ratio of the interleaved pairs.
    pub ratio_range: [f64; 2],
    /// CPU microseconds an operation, server and clients together; null without schedstat.
    pub cpu_us_socket: Option<f64>,
    pub cpu_us_tcp: Option<f64>,
    pub cpu_us_ours: Option<f64>,
    /// Whether the connections of `ours` were seen on shared memory, not on their sockets; null for a baseline.
    pub on_ring: Option<bool>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Settings {
    /// The programs that were measured, with their versions.
    pub programs: Vec<String>,
    /// No hooks anywhere: the ratios show the noise.
    pub baseline: bool,
    #[serde(flatten)]
    common: results::Settings,
}

/// A whole run, as the file of results has it.
#[derive(Serialize)]
pub struct Results {
    #[serde(skip)]
    wanted: Vec<Target>,
    pub machine: Machine,
    /// RFC 3339, UTC.
    pub date: String,
    pub settings: Settings,
    /// In the order of measuring.
    pub rows: Vec<Row>,
    pub targets: Vec<Judgement>,
    /// Programs that are not installed.
    pub skipped: Vec<Missing>,
    pub failed: Vec<Missing>,
}

/// Below it a row is no faster: closer to 1 is no more than noise.
const FASTER: f64 = 1.05;

impl Results {
    pub fn new(baseline: bool, wanted: Vec<Target>, cores: &Cores, seconds: f64, repeat: u32) -> anyhow::Result<Self> {
        let settings = Settings { programs: Vec::new(), baseline, common: results::Settings::new(cores, seconds, repeat) };
        let (rows, targets, skipped, failed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Self { wanted, machine: Machine::this(), date: now()?, settings, rows, targets, skipped, failed })
    }

    /// Holds the rows against every target.
    pub fn judge(&mut self) {
        let judge = |target: &Target| {
            let value = |row: &Row| match target.cpu {
                true => (row.ratio < FASTER).then_some(row.cpu_us_ours? / row.cpu_us_socket?),
                false => Some(row.ratio),
            };
            let rows = self.rows.iter().filter(|row| target.is_about(&row.test, row.placement));
            let name = |row: &Row| format!("{} ({})", row.test, name_of(row.placement));
            let found: Vec<_> = rows.filter_map(|row| Some((name(row), printed(value(row)?)))).collect();
            judge_worst(&target.what, target.bound, false, &found)
        };
        self.targets = self.wanted.iter().map(judge).collect();
    }

    /// The ratio that a row should reach, of the first target that is about it.
    fn wanted(&self, row: &Row) -> Option<f64> {
        let mut targets = self.wanted.iter().filter(|target| !target.cpu && target.is_about(&row.test, row.placement));
        let bound = targets.next().filter(|_| !self.settings.baseline)?.bound;
        if let Bound::AtLeast(bound) = bound { Some(bound) } else { None }
    }

    fn placements(&self) -> Vec<Placement> {
        distinct(self.rows.iter().map(|row| row.placement))
    }

    fn rows_at(&self, placement: Placement) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.placement == placement)
    }

    pub fn table(&self) -> String {
        let settings = &self.settings;
        let what = match settings.baseline {
            true => "no hooks anywhere: ratios show the noise of this machine",
            false => "AF_UNIX and TCP against shared memory",
        };
        let mut out = head(
            &format!("real servers and their clients, {what}"),
            [
                ("machine", self.machine.line()),
                ("date", self.date.clone()),
                ("programs", settings.programs.join(", ")),
                ("placement", settings.common.cores.clone()),
                ("method", format!("{}; CPU: server and clients together", settings.common.method())),
            ],
        );
        for placement in self.placements() {
            let mean = geometric_mean(self.rows_at(placement).map(|row| row.ratio)).map_or(String::new(), ratio);
            let table = self.placement_table(placement);
            out += &format!("\n{}: {}\n{table}\ngeometric mean: {mean}\n", name_of(placement), placement.title());
        }
        if self.rows.is_empty() {
            out += &self
                .skipped
                .iter()
                .map(|missing| format!("\nnot measured: {}: {}\n", missing.test, missing.reason))
                .collect::<String>();
        }
        if !settings.baseline {
            out += &targets(&self.targets);
        }
        for missing in &self.failed {
            out += &format!("FAILED: {} ({}): {}\n", missing.test, missing.variant, missing.reason);
        }
        out
    }

    fn placement_table(&self, placement: Placement) -> comfy_table::Table {
        let ours = if self.settings.baseline { "again" } else { "ours" };
        let cpu = |of: &str| format!("CPU us\n{of}");
        let mut heading = ["test", "AF_UNIX\n/s", "TCP\n/s", &format!("{ours}\n/s"), "ratio"].map(str::to_owned).to_vec();
        heading.extend(["lowest\nhighest".to_owned(), cpu("AF_UNIX"), cpu("TCP"), cpu(ours), String::new()]);
        let cells = |row: &Row| {
            let cpu = |us: Option<f64>| us.map_or("-".to_owned(), microseconds);
            let target = self.wanted(row).map(|wanted| {
                let verdict = if printed(row.ratio) >= wanted { "met" } else { "MISSED" };
                format!("{wanted} {verdict}")
            });
            let plain = row.on_ring.filter(|on_ring| !on_ring).map(|_| "stayed on the socket".to_owned());
            let range = row.ratio_range.map(|ratio| format!("{ratio:.2}")).join(" ");
            let [socket, tcp, ours] = [row.cpu_us_socket, row.cpu_us_tcp, row.cpu_us_ours].map(cpu);
            let note = target.into_iter().chain(plain).collect::<Vec<_>>().join(", ");
            vec![
                row.test.clone(),
                rate(row.socket),
                rate(row.tcp),
                rate(row.ours),
                ratio(row.ratio),
                range,
                socket,
                tcp,
                ours,
                note,
            ]
        };
        let missing = |missing: &Missing| {
            let mut cells = vec![String::new(); 10];
            (cells[0], cells[9]) = (missing.test.clone(), missing.reason.clone());
            cells
        };
        table(heading, 8, self.rows_at(placement).map(cells).chain(self.skipped.iter().map(missing)))
    }

    /// The chart: a bar for each ratio; TCP's and the wanted one as marks.
    pub fn chart(&self) -> Chart {
        let bar = |row: &Row| {
            let colour = match row.ratio {
                FASTER.. => OURS,
                0.95.. => SYSTEM,
                _ => LIBRARY,
            };
            let figure = ratio(row.ratio).replace('x', "\u{d7}");
            // The bound of all rows would be a mark at each.
            let wanted = self.wanted(row).filter(|wanted| *wanted > 1.0);
            Bar {
                label: row.label.clone(),
                value: Some(row.ratio),
                colour,
                text: format!("{figure}, {} \u{2192} {} /s", rate(row.socket), rate(row.ours)),
                marks: [(0, row.tcp / row.socket)].into_iter().chain(wanted.map(|wanted| (1, wanted))).collect(),
            }
        };
        let section =
            |placement: Placement| Section { title: placement.title(), bars: self.rows_at(placement).map(bar).collect() };
        let heading = match self.settings.baseline {
            true => "Real servers: AF_UNIX against itself (noise)",
            false => "Real servers and their clients: shared memory against AF_UNIX",
        };
        Chart {
            title: heading.to_owned(),
            notes: vec![
                format!("{}, {}", self.machine.line(), self.date.split('T').next().unwrap_or_default()),
                self.settings.programs.join(", "),
                format!("rate over shared memory / rate over AF_UNIX, {}; logarithmic axis", self.settings.common.method()),
            ],
            keys: ["faster", "slower", "within 5 %"].map(str::to_owned).to_vec(),
            marks: ["TCP".to_owned(), "target".to_owned()].to_vec(),
            base: Some(1.0),
            sections: self.placements().into_iter().map(section).collect(),
        }
    }
}
