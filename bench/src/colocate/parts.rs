//! The instructions of a call by stages: the stubs, what is between them, and the routine.

use super::cases::{Case, Method};
use super::results::Row;
use super::seed::{MESSAGE_STAGES, Stage, TRAP_STAGES};
use crate::trips::callgrind::{Function, functions, total};
use crate::trips::instructions::{Profiles, each, profiles};
use crate::trips::pair::Bench;
use crate::trips::results::Unit;
use anyhow::{Context, ensure};
use std::collections::HashMap;
use std::path::Path;

/// The stages of a way; None for one that has none.
pub fn stages(method: Method) -> Option<&'static [Stage; 5]> {
    match method {
        Method::MessageSleep => Some(&MESSAGE_STAGES),
        Method::Trap | Method::TrapConcurrent => Some(&TRAP_STAGES),
        _ => None,
    }
}

/// Counts the stages of a call.
///
/// # Errors
/// When a run fails, or a function is not in the profile.
pub fn count(bench: &Bench<'_>, valgrind: &Path, case: Case) -> anyhow::Result<Vec<Row>> {
    let (few, many) = profiles(bench, valgrind, case)?;
    rows(case, &few, &many)
}

fn rows(case: Case, few: &Profiles, many: &Profiles) -> anyhow::Result<Vec<Row>> {
    let Some(names) = stages(case.method) else {
        let all = |profiles: &Profiles| Ok::<_, anyhow::Error>(sum(&profiles.client)? + sum(&profiles.server)?);
        return Ok(vec![Row::counted(case, Unit::Instructions, each(all(few)?, all(many)?))]);
    };
    let (before, after) = (split(case, few)?, split(case, many)?);
    let mut rows = Vec::new();
    for (at, (name, _)) in names.iter().enumerate() {
        ensure!(after[at] >= before[at], "more calls took no more instructions in: {name}");
        let value = each(before[at], after[at]);
        rows.push(match at {
            4 => Row::counted(case, Unit::Instructions, value),
            _ => Row::part(case, name, Unit::Instructions, value),
        });
    }
    Ok(rows)
}

fn sum(profile: &str) -> anyhow::Result<u64> {
    total(profile).context("callgrind wrote no total")
}

fn find<'a>(functions: &'a HashMap<String, Function>, name: &str) -> anyhow::Result<&'a Function> {
    functions.get(name).with_context(|| format!("callgrind saw no function {name}"))
}

impl Function {
    /// With all that it calls.
    fn whole(&self) -> u64 {
        self.own + self.calls.values().sum::<u64>()
    }

    fn call(&self, name: &str) -> u64 {
        self.calls.get(name).copied().unwrap_or_default()
    }
}

/// The instructions of each stage, in the order of [`stages`], the whole call last. What the loop around the calls
/// takes is in none.
fn split(case: Case, profiles: &Profiles) -> anyhow::Result<[u64; 5]> {
    let routine = case.test.routine();
    let near = format!("near_{routine}");
    let client = functions(&profiles.client);
    if case.method == Method::MessageSleep {
        let server = functions(&profiles.server);
        let stub = find(&client, &format!("send_{routine}"))?;
        let demux = find(&server, "colocate_server")?;
        let served = demux.whole();
        let work = find(&server, &format!("_X{routine}"))?.call(&near);
        // The server's process does nothing but serve.
        let loop_ = find(&server, "mach_msg_server")?.whole();
        let message = stub.call("mach_msg") + loop_.saturating_sub(served);
        let stub = stub.whole() - stub.call("mach_msg");
        return Ok([stub, message, served - work, work, stub + message + served]);
    }
    let stub = find(&client, &format!("trap_{routine}"))?;
    let trap = find(&client, &format!("_T{routine}"))?;
    let library = stub.call("mach_trap").checked_sub(trap.whole()).context("no mach_trap around the trap function")?;
    let work = trap.call(&near);
    let own = stub.whole() - stub.call("mach_trap");
    Ok([own, library, trap.whole() - work, work, stub.whole()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colocate::cases::Test;
    use crate::trips::Placement;

    fn profiles(calls: u64) -> Profiles {
        let client = format!(
            "fn=(1) trap_words\n1 {}\ncfn=(2) mach_trap\ncalls={calls} 1\n1 {}\nfn=(3) _Twords\n1 {}\ncfn=(4) near_words\n\
             calls={calls} 1\n1 {}\ncfn=(5) memcpy\ncalls={calls} 1\n1 {}\ntotals: {}\n",
            12 * calls,
            150 * calls,
            20 * calls,
            2 * calls,
            18 * calls,
            162 * calls
        );
        Profiles { client, server: "totals: 5\n".to_owned() }
    }

    #[test]
    fn a_trap_has_four_stages() {
        let case = Case { test: Test::InOut128, method: Method::Trap, placement: Placement::OneCore };
        let rows = rows(case, &profiles(300), &profiles(1300)).unwrap();
        let values: Vec<f64> = rows.iter().map(|row| row.value).collect();
        assert_eq!(values, [12.0, 110.0, 38.0, 2.0, 162.0]);
        assert_eq!(rows[1].variant, "trap/one-core/mach_trap, in and out");
        assert!(rows[4].part.is_none());
        let other = Case { test: Test::Null, ..case };
        assert!(super::rows(other, &profiles(300), &profiles(1300)).is_err());
    }

    #[test]
    fn what_has_no_stages_is_counted_as_a_whole() {
        let case = Case { test: Test::Null, method: Method::Plain, placement: Placement::OneCore };
        let rows = rows(case, &profiles(300), &profiles(1300)).unwrap();
        assert_eq!((rows.len(), rows[0].value), (1, 162.0));
    }
}
