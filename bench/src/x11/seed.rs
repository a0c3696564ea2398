//! The table of "Using the Mach Communication Primitives in X11": its three programs over the socket, over Mach ports and over
//! shared memory.
//!
//! The parts of the muncher's time are found as there: what one request more costs is the client's and the server's work, and
//! what is left of an iteration is the transport's. Xterm's time is that from its start to its end, less that of a run without lines.

use super::Args;
use super::clients::{Found, Program};
use super::plan::Stage;
use super::server::{Server, Setup};
use crate::harness::chart::{Bar, Chart, LIBRARY, OURS, Section};
use crate::harness::failure::Failure;
use crate::harness::figures::{Bound, Judgement, judge_worst, part, printed};
use crate::harness::format::{distinct, median, microseconds, range, ratio};
use crate::harness::machine::{Cores, Machine};
use crate::harness::placement::{Placement, name_of};
use crate::harness::process::{Guarded, Interrupt, find_program};
use crate::harness::progress::Progress;
use crate::harness::results::{Settings, now};
use crate::harness::table::{head, table, targets};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use slipway_transport::status::Transport;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// What connections go over, in the order of the columns.
const SIDES: [(&str, Transport); 3] =
    [("AF_UNIX", Transport::Socket), ("ports", Transport::Ports), ("shared memory", Transport::Ring)];

/// Lines that xterm shows, and the length of each.
const LINES: usize = 15_000;
const LINE: &str = "The server waits on a port set beside its descriptors, and the stream goes as messages.";

/// A run that takes longer than this hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// Its part of `benches.toml`.
#[derive(Debug, Deserialize)]
struct Figures {
    seed: Seed,
}

#[derive(Debug, Deserialize)]
struct Seed {
    source: String,
    /// The systems that were measured there.
    systems: Vec<String>,
    rows: Vec<Published>,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Published {
    what: String,
    /// In milliseconds, by system.
    ms: Vec<f64>,
}

/// A bound of the least that one transport is faster than another by, of any program.
#[derive(Debug, Deserialize)]
struct Target {
    what: String,
    #[serde(flatten)]
    bound: Bound,
    /// The columns, counted from 0.
    of: usize,
    to: usize,
}

/// A line of the table.
#[derive(Debug, Serialize)]
struct Row {
    what: String,
    placement: Placement,
    /// Microseconds over the socket, over ports and over shared memory: medians of the repetitions.
    us: [f64; 3],
    /// Lowest and highest of the repetitions.
    ranges: [[f64; 2]; 3],
    /// A whole iteration or run, not a part of one.
    whole: bool,
}

#[derive(Serialize)]
struct Results {
    machine: Machine,
    /// RFC 3339, UTC.
    date: String,
    settings: Settings,
    rows: Vec<Row>,
    targets: Vec<Judgement>,
    #[serde(skip)]
    seed: Seed,
}

/// Times by what they are of, of one side.
type Times = BTreeMap<&'static str, Vec<f64>>;

/// What the rows are of, in their order, and whether each is a whole.
const ROWS: [(&str, bool); 6] = [
    ("muncher: client", false),
    ("muncher: IPC", false),
    ("muncher: server", false),
    ("muncher", true),
    ("xterm, 15,000 lines", true),
    ("maze", true),
];

/// Measures and reports.
pub fn run(args: &Args, setup: &Setup, cores: &Cores, interrupt: &Interrupt) -> anyhow::Result<()> {
    let xterm = find_program("xterm", "xterm")?;
    let seed = part::<Figures>("x11")?.seed;
    let placements = if args.placement.is_empty() { vec![Placement::Different] } else { args.placement.clone() };
    placements.iter().try_for_each(|placement| placement.check(cores))?;
    let mut text = NamedTempFile::new().context("temporary file")?;
    (0..LINES).try_for_each(|line| writeln!(text, "{line:5} {LINE}")).context("temporary file")?;

    let mut rows = Vec::new();
    let steps = placements.len() * args.repeat as usize;
    let progress = Progress::new(steps, steps as f64 * 3.0 * (2.0 * args.seconds + 3.0));
    for placement in placements {
        let [server, client] = placement.cpus(cores);
        let servers = [
            Server::start(setup, 0, server, None)?,
            Server::start_over_ports(setup, 1, server)?,
            Server::start(setup, 2, server, Some(Stage::Full))?,
        ];
        let mut times = [Times::new(), Times::new(), Times::new()];
        for turn in 1..=args.repeat {
            let title = format!("{}: turn {turn}", name_of(placement));
            progress.start(&title);
            for ((server, (_, wanted)), times) in servers.iter().zip(SIDES).zip(&mut times) {
                let side = Side { server, wanted, cpu: client, interrupt };
                let mut note = |what, us| times.entry(what).or_default().push(us);
                let muncher = side.client(Program::Muncher, args.seconds)?;
                let (total, twice, own) = (muncher.total, muncher.twice.unwrap_or(0.0), muncher.client.unwrap_or(0.0));
                let work = twice - total;
                for (what, us) in [
                    ("muncher", total),
                    ("muncher: client", own),
                    ("muncher: server", work - own),
                    ("muncher: IPC", total - work),
                ] {
                    note(what, us);
                }
                note("maze", side.client(Program::Maze, args.seconds)?.total);
                let path = text.path().to_str().context("the temporary file's name")?;
                let empty = side.xterm(&xterm, "/dev/null")?;
                note("xterm, 15,000 lines", side.xterm(&xterm, path)? - empty);
            }
            progress.finish(&title, "");
        }
        for (what, whole) in ROWS {
            let of = |at: usize| times[at].get(what).map_or(&[][..], |times| times);
            let us = [0, 1, 2].map(|at| median(of(at)).unwrap_or(f64::NAN));
            let ranges = [0, 1, 2].map(|at| range(of(at).iter().copied()));
            rows.push(Row { what: what.to_owned(), placement, us, ranges, whole });
        }
    }
    drop(progress);

    let judge = |target: &Target| {
        let whole = rows.iter().filter(|row| row.whole);
        let found: Vec<_> = whole
            .map(|row| (format!("{} ({})", row.what, name_of(row.placement)), printed(row.us[target.to] / row.us[target.of])))
            .collect();
        judge_worst(&target.what, target.bound, false, &found)
    };
    let targets = seed.targets.iter().map(judge).collect();
    let settings = Settings::new(cores, args.seconds, args.repeat);
    let results = Results { machine: Machine::this(), date: now()?, settings, rows, targets, seed };
    print!("{}", results.table());
    args.files.write(&results, &results.chart())
}

/// A server, and how it is used.
struct Side<'a> {
    server: &'a Server,
    wanted: Transport,
    cpu: Option<usize>,
    interrupt: &'a Interrupt,
}

impl Side<'_> {
    fn client(&self, program: Program, seconds: f64) -> anyhow::Result<Found> {
        let mut command = Command::new(std::env::current_exe().context("own path")?);
        command.args(["x11-client", &name_of(program), &seconds.to_string()]).stdin(Stdio::null());
        self.server.environment(&mut command, true);
        let (said, _) = Guarded::spawn(&mut command, self.cpu)?.finish(self.interrupt, LIMIT)?;
        let found: Found = serde_json::from_str(&said).with_context(|| format!("{}: {said}", name_of(program)))?;
        self.check(&name_of(program), found.transport == format!("{:?}", self.wanted))?;
        Ok(found)
    }

    /// Microseconds from the start of xterm to its end, in which it shows the file.
    fn xterm(&self, xterm: &std::path::Path, file: &str) -> anyhow::Result<f64> {
        let mut command = Command::new(xterm);
        command.args(["-j", "-geometry", "80x24", "-e", "cat", file]).stdin(Stdio::null());
        self.server.environment(&mut command, true);
        let start = Instant::now();
        let mut running = Guarded::spawn(&mut command, self.cpu)?;
        let mut seen = file == "/dev/null";
        while !seen && running.is_running() {
            seen = self.server.transport(running.id())? == Some(self.wanted);
            self.interrupt.wait(&[], Duration::from_millis(20))?;
        }
        running.finish(self.interrupt, LIMIT)?;
        let us = start.elapsed().as_secs_f64() * 1e6;
        self.check("xterm", seen)?;
        Ok(us)
    }

    fn check(&self, client: &str, right: bool) -> Result<(), Failure> {
        let display = self.server.display;
        let why = || Failure::NotHooked(format!("{client} was not served over {:?} on display :{display}", self.wanted));
        right.then_some(()).ok_or_else(why)
    }
}

impl Results {
    fn published(&self, row: &Row) -> Option<&Published> {
        self.seed.rows.iter().find(|published| published.what == row.what)
    }

    fn table(&self) -> String {
        let mut out = head(
            "X programs over the socket, over Mach ports and over shared memory",
            [
                ("machine", self.machine.line()),
                ("date", self.date.clone()),
                ("placement", self.settings.cores.clone()),
                ("method", format!("{}; xterm: whole runs, less those without lines", self.settings.method())),
            ],
        );
        let placements = distinct(self.rows.iter().map(|row| row.placement));
        for placement in placements {
            let systems = self.seed.systems.iter().map(|system| format!("{}\nms", system.replacen(' ', "\n", 2)));
            let mut heading: Vec<_> = std::iter::once(String::new()).chain(systems).collect();
            heading.extend(SIDES.iter().map(|(name, _)| format!("{}\nus", name.replacen(' ', "\n", 1))));
            heading.extend(["ports,\ntimes AF_UNIX", "shared memory,\ntimes AF_UNIX"].map(str::to_owned));
            let cells = |row: &Row| {
                let published = self.published(row).map_or(&[][..], |published| &published.ms);
                let mut cells = vec![row.what.clone()];
                cells.extend((0..self.seed.systems.len()).map(|at| published.get(at).map_or(String::new(), |ms| ms.to_string())));
                cells.extend(row.us.map(|us| if us > 0.0 { microseconds(us) } else { "in noise".to_owned() }));
                cells.extend([1, 2].map(|at| if row.whole { ratio(row.us[0] / row.us[at]) } else { String::new() }));
                cells
            };
            let rows = self.rows.iter().filter(|row| row.placement == placement).map(cells);
            let title = format!("{}: {}", name_of(placement), placement.title());
            out += &format!("\n{title}\n{}\n", table(heading, usize::MAX, rows));
        }
        out + &format!("\n{}\n", self.seed.source) + &targets(&self.targets)
    }

    /// A bar for each program and transport: how many times faster than the socket.
    fn chart(&self) -> Chart {
        let bars = |placement: Placement| {
            let whole = self.rows.iter().filter(move |row| row.whole && row.placement == placement);
            let bar = move |row: &Row, at: usize| {
                let times = row.us[0] / row.us[at];
                // The paper's first system is another kernel's socket.
                let paper = self.published(row).and_then(|it| Some(it.ms.get(1)? / it.ms.get(at + 1)?));
                Bar {
                    label: format!("{}, {}", row.what, SIDES[at].0),
                    value: Some(times),
                    colour: if at == 1 { LIBRARY } else { OURS },
                    text: format!("\u{d7}{times:.2}"),
                    marks: paper.map(|value| (0, value)).into_iter().collect(),
                }
            };
            whole.flat_map(|row| [bar(row, 1), bar(row, 2)]).collect()
        };
        let placements = distinct(self.rows.iter().map(|row| row.placement));
        Chart {
            title: "X programs: Mach ports and shared memory against the plain socket".to_owned(),
            notes: vec![
                format!("{}, {}", self.machine.line(), self.date.split('T').next().unwrap_or_default()),
                format!("time over the socket / time over the other, {}", self.settings.method()),
                format!("mark: the same on Mach 3.0 in {}", self.seed.source),
            ],
            keys: ["shared memory", "Mach ports"].map(str::to_owned).to_vec(),
            marks: vec!["Mach 3.0".to_owned()],
            base: Some(1.0),
            sections: placements
                .into_iter()
                .map(|placement| Section { title: placement.title(), bars: bars(placement) })
                .collect(),
        }
    }
}
