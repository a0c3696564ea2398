//! What a run found: rows, targets, tables, chart.

use super::{Catalog, Test, Way};
use crate::harness::chart::{Bar, Chart, LIBRARY, OURS, SYSTEM, Section};
use crate::harness::figures::{Bound, Judgement, judge_worst, printed};
use crate::harness::format::{distinct, microseconds, ratio};
use crate::harness::machine::{Cores, Machine};
use crate::harness::results::{Missing, Settings, now};
use crate::harness::table::{head, table, targets};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A test in a way.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub test: String,
    /// The way, and where it ran: on one core, or wherever the scheduler puts it.
    pub variant: String,
    pub unit: &'static str,
    /// The median of the repetitions.
    pub value: f64,
    pub p50: Option<f64>,
    pub p99: Option<f64>,
    /// Lowest and highest `value` of the repetitions.
    pub range: [f64; 2],
}

impl Row {
    pub fn new(test: &Test, variant: &str, value: f64, range: [f64; 2]) -> Self {
        Self { test: test.name.clone(), variant: variant.to_owned(), unit: "us", value, p50: None, p99: None, range }
    }
}

/// A bound on the time in `slipway unix` divided by that in another way: of the worst of these tests.
#[derive(Debug, Deserialize)]
pub struct Target {
    what: String,
    #[serde(flatten)]
    bound: Bound,
    tests: Vec<String>,
    /// The way of `slipway unix`.
    #[serde(default = "ours")]
    of: String,
    /// The other ways; none: the bound is microseconds more than on the host.
    #[serde(default)]
    to: Vec<String>,
}

/// The way that people use.
const OURS_WAY: &str = "library";

fn ours() -> String {
    OURS_WAY.to_owned()
}

/// A whole run, as the file of results has it.
#[derive(Serialize)]
pub struct Results {
    pub machine: Machine,
    /// RFC 3339, UTC.
    pub date: String,
    pub settings: Settings,
    pub rows: Vec<Row>,
    pub published: Value,
    pub targets: Vec<Judgement>,
    /// Programs that are not installed, or can't be used here.
    pub skipped: Vec<Missing>,
    pub failed: Vec<Missing>,
}

const PLACES: [(&str, &str); 2] = [("free", "wherever the scheduler puts them"), ("one-core", "command and server on one core")];

impl Results {
    pub fn new(cores: &Cores, seconds: f64, repeat: u32) -> anyhow::Result<Self> {
        let mut settings = Settings::new(cores, seconds, repeat);
        settings.cores = format!("free: not pinned; one core: all on CPU {}", cores.first);
        let (rows, targets, skipped, failed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Self { machine: Machine::this(), date: now()?, settings, rows, published: Value::Null, targets, skipped, failed })
    }

    pub fn skip(&mut self, test: &str, way: &str, error: &anyhow::Error) {
        self.skipped.push(Missing { test: test.to_owned(), variant: way.to_owned(), reason: format!("{error:#}") });
    }

    fn us(&self, test: &str, way: &str, place: &str) -> Option<f64> {
        let variant = format!("{way}/{place}");
        self.rows.iter().find(|row| row.test == test && row.variant == variant).map(|row| row.value)
    }

    /// Holds the rows against every target.
    pub fn judge(&mut self, catalog: &Catalog) {
        let judge = |target: &Target| {
            let mut found = Vec::new();
            for (test, (place, _)) in target.tests.iter().flat_map(|test| PLACES.iter().map(move |place| (test, place))) {
                let name =
                    |way: &str| if *place == "free" { format!("{test} to {way}") } else { format!("{test} to {way}, {place}") };
                let Some(ours) = self.us(test, &target.of, place) else { continue };
                for way in &target.to {
                    found.extend(self.us(test, way, place).map(|other| (name(way), printed(ours / other))));
                }
                if target.to.is_empty() {
                    found.extend(self.us(test, "host", place).map(|host| (name("host"), (ours - host).round())));
                }
            }
            judge_worst(&target.what, target.bound, false, &found)
        };
        self.targets = catalog.targets.iter().map(judge).collect();
        let rows = catalog.tests.iter().filter_map(|test| Some(json!({ "test": test.name, "us": test.published? })));
        self.published = json!({ "sources": catalog.sources, "rows": rows.collect::<Vec<_>>() });
    }

    pub fn table(&self, catalog: &Catalog) -> String {
        let mut out = head(
            "calls and commands on the host, in slipway unix, and under others that show another tree of files",
            [
                ("machine", self.machine.line()),
                ("date", self.date.clone()),
                ("placement", self.settings.cores.clone()),
                ("method", self.settings.method()),
            ],
        );
        for (place, title) in PLACES {
            for (is_call, what) in [(true, "calls, microseconds"), (false, "commands, milliseconds")] {
                let tests: Vec<&Test> = catalog.tests.iter().filter(|test| test.is_call() == is_call).collect();
                if let Some(table) = self.times(catalog, &tests, place) {
                    out += &format!("\n{what}; {title}\n{table}\n");
                }
            }
        }
        catalog.sources.iter().for_each(|source| out += &format!("\nPublished: {source}\n"));
        for missing in &self.skipped {
            out += &format!("\nnot measured: {} ({}): {}\n", missing.test, missing.variant, missing.reason);
        }
        out += &targets(&self.targets);
        for missing in &self.failed {
            out += &format!("FAILED: {} ({}): {}\n", missing.test, missing.variant, missing.reason);
        }
        out
    }

    /// The ways that there are rows of.
    fn ways<'a>(&self, catalog: &'a Catalog) -> Vec<&'a Way> {
        let names = distinct(self.rows.iter().map(|row| row.variant.split('/').next().unwrap_or_default()));
        catalog.ways.iter().filter(|way| names.contains(&&*way.name)).collect()
    }

    /// A column for each way, that of `slipway unix` with its ratio to the host, and one for what was published.
    fn times(&self, catalog: &Catalog, tests: &[&Test], place: &str) -> Option<comfy_table::Table> {
        let ways = self.ways(catalog);
        let mut heading = vec![String::new()];
        heading.extend(ways.iter().map(|way| way.heading.clone()));
        heading.push("slipway\n/ host".to_owned());
        let is_published = tests.iter().any(|test| test.published.is_some());
        heading.extend(is_published.then(|| "published\nmessages | in kernel | trap".to_owned()));
        let cells = |test: &&Test| {
            let said = |us: f64| microseconds(if test.is_call() { us } else { us / 1000.0 });
            let times: Vec<Option<f64>> = ways.iter().map(|way| self.us(&test.name, &way.name, place)).collect();
            times.iter().any(Option::is_some).then(|| {
                let mut cells = vec![test.title.clone()];
                cells.extend(times.into_iter().map(|us| us.map_or_else(|| "-".to_owned(), said)));
                cells.push(self.ratio(test, OURS_WAY, place).map_or_else(String::new, ratio));
                let published = test.published.map(|us| us.map(microseconds).join(" | "));
                cells.extend(is_published.then(|| published.unwrap_or_default()));
                cells
            })
        };
        let rows: Vec<Vec<String>> = tests.iter().filter_map(cells).collect();
        (!rows.is_empty()).then(|| table(heading, ways.len() + 2, rows))
    }

    fn ratio(&self, test: &Test, way: &str, place: &str) -> Option<f64> {
        Some(self.us(&test.name, way, place)? / self.us(&test.name, "host", place)?)
    }

    /// The chart: a bar for what a test takes in `slipway unix`, to the host; the other ways as marks.
    pub fn chart(&self, catalog: &Catalog) -> Chart {
        let others: Vec<&Way> = self.ways(catalog).into_iter().filter(|way| !matches!(&*way.name, "host" | OURS_WAY)).collect();
        let bar = |test: &Test, place: &str| {
            let ours = self.ratio(test, OURS_WAY, place)?;
            let colour = if ours <= 1.05 { OURS } else { LIBRARY };
            let times = ["host", OURS_WAY].map(|way| microseconds(self.us(&test.name, way, place).unwrap_or_default()));
            Some(Bar {
                label: test.title.clone(),
                value: Some(ours),
                colour: if (0.95..=1.05).contains(&ours) { SYSTEM } else { colour },
                text: format!("{}, {} \u{2192} {} \u{b5}s", ratio(ours).replace('x', "\u{d7}"), times[0], times[1]),
                marks: others
                    .iter()
                    .enumerate()
                    .filter_map(|(at, way)| Some((at, self.ratio(test, &way.name, place)?)))
                    .collect(),
            })
        };
        let section = |(place, title): &(&str, &str)| {
            let bars: Vec<Bar> = catalog.tests.iter().filter_map(|test| bar(test, place)).collect();
            (!bars.is_empty()).then(|| Section { title: (*title).to_owned(), bars })
        };
        Chart {
            title: "Calls and commands in slipway unix: time divided by that on the host".to_owned(),
            notes: vec![
                format!("{}, {}", self.machine.line(), self.date.split('T').next().unwrap_or_default()),
                format!("{}; logarithmic axis", self.settings.method()),
            ],
            keys: ["faster", "slower", "within 5 %"].map(str::to_owned).to_vec(),
            marks: others.iter().map(|way| way.heading.replace('\n', " ")).collect(),
            base: Some(1.0),
            sections: PLACES.iter().filter_map(section).collect(),
        }
    }
}
