//! The instructions of a call by stages.

use super::groups;
use super::work::{self, Work};
use crate::colocate::cases::{Case, Method};
use crate::colocate::results::Row;
use crate::trips::attribution::{Anchor, Symbols, attribute};
use crate::trips::callgrind::{costs, total};
use crate::trips::instructions::{MORE, Profiles, each, profiles};
use crate::trips::job::Side;
use crate::trips::pair::Bench;
use crate::trips::results::Unit;
use anyhow::{Context, ensure};
use std::collections::HashMap;
use std::path::Path;

/// The name of the instructions that are not the call's.
const LOOP: &str = "the loop around it";

/// Counts the instructions of a call: of its stages, if it has any.
///
/// # Errors
/// When a run fails, or a function that does a stage's work is not in the profile.
pub fn count(bench: &Bench<'_>, valgrind: &Path, symbols: &mut Symbols, case: Case) -> anyhow::Result<Vec<Row>> {
    // Where calls are told from what else the processes do only by the number of them, there are many.
    let more = if case.method == Method::TrapRust { 100 * MORE } else { MORE };
    let (few, many) = profiles(bench, valgrind, case, more)?;
    let Some(groups) = groups(case.method).filter(|_| !case.test.is_servers()) else {
        return Ok(vec![Row::counted(case, Unit::Instructions, each(sum(&few)?, sum(&many)?, more))]);
    };
    let (before, after) = (works(case, &few, symbols)?, works(case, &many, symbols)?);
    let of = |works: &Works, place| works.get(&place).copied().unwrap_or_default();
    let value = |place| each(of(&before, place), of(&after, place), more);
    let mut rows = Vec::new();
    let mut all = 0.0;
    for stage in groups.iter().flat_map(|group| group.stages) {
        let count: f64 = stage.work.iter().map(|(side, work)| value((*side, Some(*work)))).sum();
        // Of what has no answer to look at there may be nothing to do.
        ensure!(count > 0.0 || (count == 0.0 && stage.name.ends_with("after")), "no instructions of: {}", stage.name);
        all += count;
        rows.push(Row::part(case, stage.name, Unit::Instructions, count));
    }
    let around = [Side::Client, Side::Server].map(|side| value((side, None))).iter().sum();
    rows.push(Row::part(case, LOOP, Unit::Instructions, around));
    rows.push(Row::counted(case, Unit::Instructions, all));
    Ok(rows)
}

fn sum(profiles: &Profiles) -> anyhow::Result<f64> {
    let of = |profile: &str| total(profile).context("callgrind wrote no total");
    Ok((of(&profiles.client)? + of(&profiles.server)?) as f64)
}

/// Instructions of both processes, by the work that they are.
type Works = HashMap<(Side, Option<Work>), f64>;

fn works(case: Case, profiles: &Profiles, symbols: &mut Symbols) -> anyhow::Result<Works> {
    let routine = case.test.routine();
    let sides: Vec<(Side, &str, Vec<Anchor<Work>>)> = match case.method {
        Method::Trap | Method::TrapConcurrent => vec![(Side::Client, &profiles.client, work::trap(routine))],
        _ => {
            vec![(Side::Client, &profiles.client, work::client(routine)), (Side::Server, &profiles.server, work::server(routine))]
        }
    };
    let mut works = Works::new();
    for (side, profile, anchors) in sides {
        let found = attribute(&costs(profile), symbols, &anchors).with_context(|| format!("{side:?}"))?;
        works.extend(found.into_iter().map(|(work, count)| ((side, work), count)));
    }
    Ok(works)
}
