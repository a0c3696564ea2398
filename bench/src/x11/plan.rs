//! Which tests are measured where.

use super::catalog::{Catalog, Job};
use super::cli::Args;
use super::placement::Placement;
use crate::cores::Cores;
use crate::failure::Failure;

const QUICK: [&str; 23] = [
    "pointer",
    "prop",
    "getimage10",
    "getimage100",
    "getimage500",
    "putimage10",
    "putimage100",
    "putimage500",
    "noop",
    "dot",
    "line1",
    "line10",
    "seg1",
    "rect1",
    "rect10",
    "rect100",
    "rect500",
    "circle1",
    "gc",
    "move",
    "resize",
    "map",
    "ftext",
];
const DEMO: [&str; 14] = [
    "pointer",
    "prop",
    "getimage10",
    "getimage500",
    "putimage10",
    "putimage100",
    "putimage500",
    "noop",
    "dot",
    "line1",
    "rect1",
    "gc",
    "move",
    "ftext",
];
const ROUND_TRIPS: [&str; 3] = ["pointer", "prop", "getimage10"];
const PLAIN_CLIENT: [&str; 5] = ["pointer", "getimage10", "noop", "rect10", "putimage100"];
/// What floods, and the test that is measured meanwhile.
const FLOODS: [&str; 2] = ["noop", "rect10"];
const FLOODED: &str = "pointer";

/// One test to measure.
#[derive(Debug, Clone)]
pub struct Step {
    /// The test.
    pub job: Job,
    /// What another client does all the while.
    pub flood: Option<Job>,
}

impl Step {
    /// The test's name in tables.
    pub fn name(&self) -> String {
        match &self.flood {
            Some(flood) => format!("{}+{}", self.job.name, flood.name),
            None => self.job.name.clone(),
        }
    }

    /// The test's description.
    pub fn label(&self) -> String {
        match &self.flood {
            Some(flood) => {
                format!("{} while another client floods: {}", self.job.label, flood.label)
            }
            None => self.job.label.clone(),
        }
    }
}

/// The tests of one placement; the servers are started afresh for each.
#[derive(Debug)]
pub struct Phase {
    /// Where.
    pub placement: Placement,
    /// What.
    pub steps: Vec<Step>,
}

/// What `args` ask for.
///
/// # Errors
/// [`Failure::Usage`] for a test that x11perf hasn't, or a placement that this machine can't do.
pub fn phases(args: &Args, catalog: &Catalog, cores: &Cores) -> anyhow::Result<Vec<Phase>> {
    let chosen: Vec<Step> = match args {
        Args { all: true, .. } => catalog.all().iter().cloned().map(plain).collect(),
        Args { demo: true, .. } => steps(catalog, &DEMO)?,
        Args { tests, .. } if !tests.is_empty() => {
            let names: Vec<&str> = tests.iter().map(|name| name.trim()).collect();
            steps(catalog, &names)?
        }
        _ => steps(catalog, &QUICK)?,
    };
    let mut phases = Vec::new();
    let mut add = |placement, steps| phases.push(Phase { placement, steps });
    if !args.placement.is_empty() {
        for &placement in &args.placement {
            cores.allow(placement)?;
            match placement {
                Placement::Flood => add(placement, floods(catalog, &FLOODS)?),
                _ => add(placement, chosen.clone()),
            }
        }
        return Ok(phases);
    }
    add(Placement::Different, chosen);
    if args.tests.is_empty() {
        let (round_trips, plain_client, flooding) = match args.demo {
            true => (&ROUND_TRIPS[..1], &PLAIN_CLIENT[..1], &FLOODS[..1]),
            false => (&ROUND_TRIPS[..], &PLAIN_CLIENT[..], &FLOODS[..]),
        };
        add(Placement::Shared, steps(catalog, round_trips)?);
        add(Placement::Hogs, steps(catalog, round_trips)?);
        add(Placement::PlainClient, steps(catalog, plain_client)?);
        add(Placement::Flood, floods(catalog, flooding)?);
    }
    for phase in &phases {
        cores.allow(phase.placement)?;
    }
    Ok(phases)
}

fn plain(job: Job) -> Step {
    Step { job, flood: None }
}

fn steps(catalog: &Catalog, names: &[&str]) -> Result<Vec<Step>, Failure> {
    names.iter().map(|name| Ok(plain(catalog.find(name)?.clone()))).collect()
}

fn floods(catalog: &Catalog, names: &[&str]) -> Result<Vec<Step>, Failure> {
    let job = catalog.find(FLOODED)?;
    let step = |name: &&str| Ok(Step { job: job.clone(), flood: Some(catalog.find(name)?.clone()) });
    names.iter().map(step).collect()
}
