//! What a run found: rows, targets, tables, chart.

use super::Args;
use super::cost::{Cost, shown};
use super::figures::{Figures, Target};
use super::floor::{self, Floor};
use super::plan::Stage;
use crate::harness::chart::{Bar, Chart, LIBRARY, OURS, SYSTEM, Section};
use crate::harness::figures::{Judgement, judge_worst, part, printed};
use crate::harness::format::{distinct, geometric_mean, microseconds, rate, ratio};
use crate::harness::machine::{Cores, Machine};
use crate::harness::placement::{Placement, name_of};
use crate::harness::results::{self, Missing, now};
use crate::harness::table::{head, table, targets};
use serde::Serialize;

/// One test at one placement with one stage.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The test's name; "pointer+noop": pointer while noop floods.
    pub test: String,
    /// x11perf's description of it.
    pub label: String,
    pub placement: Placement,
    /// The stage of the hooked side; null when both sides were plain.
    pub stage: Option<Stage>,
    /// Unit of `socket` and `ours`, rates over the socket and over shared memory: medians of the repetitions.
    pub unit: &'static str,
    pub socket: f64,
    pub ours: f64,
    /// `ours / socket`.
    pub ratio: f64,
    /// CPU microseconds an operation, server and client together; null where it can't be attributed to the test.
    pub cpu_us_socket: Option<f64>,
    pub cpu_us_ours: Option<f64>,
    /// Lowest and highest ratio of the interleaved pairs.
    pub ratio_range: [f64; 2],
}

#[derive(Debug, Clone, Serialize)]
pub struct Settings {
    /// Versions of the server and of x11perf.
    pub server: String,
    pub x11perf: String,
    /// SLIPWAY_X11_SPIN, microseconds, as the hooked processes saw it.
    pub spin_us: String,
    /// Both sides plain: the ratios show the noise.
    pub baseline: bool,
    /// The preload library; null for a baseline.
    pub preload: Option<String>,
    #[serde(flatten)]
    common: results::Settings,
}

/// A whole run, as the file of results has it.
#[derive(Serialize)]
pub struct Results {
    /// What was published, and what is wanted.
    #[serde(skip)]
    pub figures: Figures,
    pub machine: Machine,
    pub floor: Option<Floor>,
    /// RFC 3339, UTC.
    pub date: String,
    pub settings: Settings,
    /// The stage that means and targets are of; others are columns beside it.
    #[serde(skip)]
    pub stage: Option<Stage>,
    /// In the order of measuring.
    pub rows: Vec<Row>,
    /// What it costs to be there; none with `--tests` and for a baseline.
    pub costs: Vec<Cost>,
    pub targets: Vec<Judgement>,
    /// Tests that x11perf can't do here, with or without Slipway.
    pub skipped: Vec<Missing>,
    /// Tests that failed on the hooked side only.
    pub failed: Vec<Missing>,
}

impl Results {
    pub fn new(args: &Args, cores: &Cores, stages: &[Option<Stage>]) -> anyhow::Result<Self> {
        let spin = std::env::var("SLIPWAY_X11_SPIN").unwrap_or_else(|_| "50 (default)".to_owned());
        let settings = Settings {
            server: String::new(),
            x11perf: String::new(),
            spin_us: if args.baseline { "-".to_owned() } else { spin },
            baseline: args.baseline,
            preload: None,
            common: results::Settings::new(cores, args.seconds, args.repeat),
        };
        Ok(Self {
            figures: part("x11")?,
            machine: Machine::this(),
            floor: floor::measure(cores),
            date: now()?,
            settings,
            // The full one where it's measured, else the last that was asked for.
            stage: *stages.iter().find(|stage| **stage == Some(Stage::Full)).or(stages.last()).unwrap_or(&None),
            rows: Vec::new(),
            costs: Vec::new(),
            targets: Vec::new(),
            skipped: Vec::new(),
            failed: Vec::new(),
        })
    }

    fn main_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.stage == self.stage)
    }

    fn rows_at(&self, placement: Placement) -> Vec<&Row> {
        self.main_rows().filter(|row| row.placement == placement).collect()
    }

    /// The placements that have rows, in the order of measuring.
    fn placements(&self) -> Vec<Placement> {
        distinct(self.rows.iter().map(|row| row.placement))
    }

    /// The stages beside the main one that have rows.
    fn other_stages(&self) -> Vec<Stage> {
        distinct(self.rows.iter().filter(|row| row.stage != self.stage).filter_map(|row| row.stage))
    }

    /// The ratio of the same test and placement in another stage.
    fn in_stage(&self, row: &Row, stage: Stage) -> Option<f64> {
        let same = |other: &&Row| other.test == row.test && other.placement == row.placement && other.stage == Some(stage);
        self.rows.iter().find(same).map(|other| other.ratio)
    }

    fn wanted(&self, row: &Row) -> Option<f64> {
        self.figures.wanted(&row.test, row.placement).filter(|_| !self.settings.baseline)
    }

    /// The geometric mean of the ratios at a placement, of one group of tests or of all.
    fn mean(&self, placement: Placement, group: Option<&str>) -> Option<f64> {
        let rows = self.rows_at(placement);
        let of_group = rows.iter().filter(|row| group.is_none_or(|group| self.figures.group(&row.test) == group));
        geometric_mean(of_group.map(|row| row.ratio))
    }

    /// Holds the rows against every target. `whole` says that the whole list of x11perf was run.
    pub fn judge(&mut self, whole: bool) {
        let judge = |target: &Target| {
            let value = |row: &Row| match target.placement {
                None if row.placement.hooks_client() => Some(row.cpu_us_ours? / row.cpu_us_socket?),
                None => None,
                Some(placement) => {
                    let is_of = self.figures.is_of(&row.test, target) && (whole || !target.whole);
                    (is_of && row.placement == placement).then_some(row.ratio)
                }
            };
            let name = |row: &Row| format!("{} ({})", row.test, name_of(row.placement));
            let found: Vec<_> = self.main_rows().filter_map(|row| Some((name(row), printed(value(row)?)))).collect();
            judge_worst(&target.what, target.bound, target.mean, &found)
        };
        self.targets = self.figures.targets.iter().map(judge).collect();
    }

    pub fn table(&self) -> String {
        let mut out = self.header();
        for placement in self.placements() {
            out += &format!("\n{}: {}\n{}", name_of(placement), placement.title(), self.placement_table(placement));
            let mean = |group| self.mean(placement, group).map(ratio);
            out += &format!("\ngeometric mean: all {}", mean(None).unwrap_or("-".to_owned()));
            for (group, _) in &self.figures.groups {
                out += &mean(Some(group)).map_or(String::new(), |mean| format!(", {group} {mean}"));
            }
            out += "\n";
        }
        let Figures { source, means, .. } = &self.figures;
        if !self.rows.is_empty() {
            out += &format!("\nHP, SGI, XF86 (stages 1 to 2d): ratios in {source}; its means: {means}\n");
        }
        if !self.costs.is_empty() {
            out += &shown(&self.costs);
        }
        if !self.settings.baseline && !self.rows.is_empty() {
            out += &targets(&self.targets);
        }
        for (what, list) in [("skipped", &self.skipped), ("FAILED", &self.failed)] {
            for missing in list {
                out += &format!("{what}: {} ({}): {}\n", missing.test, missing.variant, missing.reason);
            }
        }
        out
    }

    fn header(&self) -> String {
        let settings = &self.settings;
        let what = match settings.baseline {
            true => "both sides plain: ratios show the noise of this machine",
            false => "plain socket against shared memory",
        };
        let memory = |floor: &Floor| {
            let Floor { within_us, across_us } = floor;
            format!("1 MiB copied in {within_us:.0} us within a core, in {across_us:.0} us from core to core through a bare ring")
        };
        head(
            &format!("x11perf, {what}"),
            [
                ("machine", self.machine.line()),
                ("memory", self.floor.as_ref().map_or("not measured".to_owned(), memory)),
                ("date", self.date.clone()),
                ("programs", format!("X server {}, x11perf {}", settings.server, settings.x11perf)),
                ("placement", settings.common.cores.clone()),
                ("waiting", format!("stage {}, spin up to {} us", self.stage.map_or("-".to_owned(), name_of), settings.spin_us)),
                ("method", format!("{}; CPU: server and client together", settings.common.method())),
            ],
        )
    }

    fn placement_table(&self, placement: Placement) -> comfy_table::Table {
        let (rows, stages, figures) = (self.rows_at(placement), self.other_stages(), &self.figures);
        // Columns of which no row has a figure would only make the table wide.
        let published = |row: &Row, system| figures.published(&row.test, system).filter(|_| placement.hooks_client());
        let has = |system: &usize| rows.iter().any(|row| published(row, *system).is_some());
        let systems: Vec<usize> = (0..figures.systems.len()).filter(has).collect();
        let ours = if self.settings.baseline { "again" } else { "ours" };
        let mut heading = ["test", "socket\n/s", &format!("{ours}\n/s"), "ratio", "CPU us\nsocket", &format!("CPU us\n{ours}")]
            .map(str::to_owned)
            .to_vec();
        heading.extend(stages.iter().map(|stage| format!("ratio\nstage {}", name_of(*stage))));
        heading.push("target".to_owned());
        heading.extend(systems.iter().map(|system| figures.systems[*system].replacen(' ', "\n", 1)));
        let cells = |row: &&Row| {
            let cpu = |us: Option<f64>| us.map_or("-".to_owned(), microseconds);
            let mut cells = vec![row.test.clone(), rate(row.socket), rate(row.ours), ratio(row.ratio)];
            cells.extend([cpu(row.cpu_us_socket), cpu(row.cpu_us_ours)]);
            cells.extend(stages.iter().map(|stage| self.in_stage(row, *stage).map_or(String::new(), ratio)));
            cells.push(self.wanted(row).map_or(String::new(), |wanted| {
                format!("{wanted} {}", if printed(row.ratio) >= wanted { "met" } else { "missed" })
            }));
            cells.extend(
                systems.iter().map(|system| published(row, *system).map_or(String::new(), |value| format!("{value:.2}"))),
            );
            cells
        };
        table(heading, usize::MAX, rows.iter().map(cells))
    }

    /// The chart: a bar for each ratio, published and wanted ones as marks.
    pub fn chart(&self) -> Chart {
        let (settings, figures) = (&self.settings, &self.figures);
        let heading = match settings.baseline {
            true => "x11perf: the plain socket against itself (noise)",
            false => "x11perf: shared memory against the plain socket",
        };
        let first = self.placements().first().and_then(|first| self.mean(*first, None));
        let mean = first.map_or(String::new(), |mean| format!(", geometric mean {}", ratio(mean)));
        let stages = self.other_stages();
        let mut marks: Vec<String> = figures.marks.iter().map(|(_, name)| name.clone()).collect();
        marks.extend(stages.iter().map(|stage| format!("ours, stage {}", name_of(*stage))));
        marks.push("target".to_owned());
        let bar = |row: &&Row| {
            // The published figures stand beside the placement that is nearest to theirs.
            let near = matches!(row.placement, Placement::Different | Placement::Free);
            let published = figures.marks.iter().map(|(system, _)| figures.published(&row.test, *system).filter(|_| near));
            let others = stages.iter().map(|stage| self.in_stage(row, *stage));
            let values = published.chain(others).chain([self.wanted(row)]);
            // Less than 5 % from 1 is no more than noise.
            let colour = match row.ratio {
                1.05.. => OURS,
                0.95.. => SYSTEM,
                _ => LIBRARY,
            };
            let figure = ratio(row.ratio).replace('x', "\u{d7}");
            Bar {
                label: row.test.clone(),
                value: Some(row.ratio),
                colour,
                text: format!("{figure}, {} \u{2192} {} /s", rate(row.socket), rate(row.ours)),
                marks: values.enumerate().filter_map(|(mark, value)| Some((mark, value?))).collect(),
            }
        };
        let section =
            |placement: Placement| Section { title: placement.title(), bars: self.rows_at(placement).iter().map(bar).collect() };
        Chart {
            title: format!("{heading}{mean}"),
            notes: vec![
                format!("{}, {}", self.machine.line(), self.date.split('T').next().unwrap_or_default()),
                format!(
                    "X server {}, x11perf {}; rate over shared memory / rate over the socket, {}",
                    settings.server,
                    settings.x11perf,
                    settings.common.method()
                ),
                format!("published: {}", figures.source),
            ],
            keys: ["faster", "slower", "within 5 %"].map(str::to_owned).to_vec(),
            marks,
            base: Some(1.0),
            sections: self.placements().into_iter().map(section).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    /// Rows at three placements, two stages, a skipped test.
    fn results() -> Results {
        use Placement::{Different, Flood, Hogs};
        let row = |test: &str, placement, stage, socket: f64, ratio: f64| Row {
            test: test.to_owned(),
            label: test.to_owned(),
            placement,
            stage: Some(stage),
            unit: "operations/s",
            socket,
            ours: socket * ratio,
            ratio,
            cpu_us_socket: Some(28.5),
            cpu_us_ours: (placement != Flood).then_some(1.88),
            ratio_range: [ratio * 0.95, ratio * 1.05],
        };
        let full = Stage::Full;
        let cores = Cores { first: 0, second: None };
        let args = Line::parse_from(["x11"]).args;
        let mut results = Results::new(&args, &cores, &[Some(Stage::One), Some(full)]).unwrap();
        results.rows = vec![
            row("pointer", Different, full, 18_000.0, 50.0),
            row("pointer", Different, Stage::One, 18_000.0, 0.9),
            row("putimage500", Different, full, 4500.0, 6.9),
            row("dot", Different, full, 246e6, 1.31),
            row("move", Different, full, 1e6, 0.97),
            row("pointer", Hogs, full, 9000.0, 1.5),
            row("pointer+noop", Flood, full, 9000.0, 0.95),
        ];
        results.skipped =
            vec![Missing { test: "shmput10".to_owned(), variant: "different".to_owned(), reason: "no result".to_owned() }];
        results.judge(false);
        results
    }

    #[test]
    fn everything_is_in_the_report() {
        let mut results = results();
        let text = results.table();
        for part in [
            "stage full, spin up to 50 (default) us",
            "different: server and client on different cores",
            "18.0k",
            "x50.0",
            "stage 1",
            "40 met",
            "0.98 missed",
            "geometric mean: all x4.58, round trips x50.0",
            "2.72",
            "skipped: shmput10 (different)",
        ] {
            assert!(text.contains(part), "'{part}' is not in\n{text}");
        }
        let value = serde_json::to_value(&results).unwrap();
        let row = &value["rows"][1];
        assert_eq!((row["stage"].as_str(), row["placement"].as_str()), (Some("1"), Some("different")));
        results.settings.baseline = true;
        assert!(!results.table().contains("40 met") && !results.table().contains("MISSED"));
    }

    #[test]
    fn the_worst_row_of_the_main_stage_decides_and_is_named() {
        let mut results = results();
        let find = |results: &Results, what: &str| results.targets.iter().find(|target| target.what == what).unwrap().clone();
        let hogs = find(&results, "round trips, a hog on each core");
        assert_eq!(
            (hogs.reached, hogs.verdict, &*hogs.detail),
            (Some(1.5), "missed", "lowest: pointer (hogs) 1.50; beyond the bound in 1 of 1")
        );
        assert_eq!(find(&results, "round trips, different cores").reached, Some(50.0));
        assert_eq!(find(&results, "putimage100").verdict, "not-measured");
        assert_eq!(find(&results, "CPU time an operation").verdict, "met");
        let each = "x11perf's whole list, each";
        assert_eq!(find(&results, each).verdict, "not-measured");
        results.rows[2].cpu_us_ours = Some(29.0);
        results.judge(true);
        assert_eq!(find(&results, each).reached, Some(0.97));
        assert_eq!(find(&results, "CPU time an operation").verdict, "missed");
    }

    #[test]
    fn bars_start_at_one() {
        let chart = results().chart();
        assert_eq!(chart.sections.iter().map(|section| section.bars.len()).sum::<usize>(), 6);
        let pointer = &chart.sections[0].bars[0];
        // Stage 1, and the target.
        assert_eq!((pointer.colour, &pointer.marks[..]), (OURS, &[(4, 0.9), (5, 40.0)][..]));
        assert_eq!(chart.base, Some(1.0));
    }
}
