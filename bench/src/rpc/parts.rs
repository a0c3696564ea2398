//! The instructions of a call by stubs: the client's stub, the server's, and mach_msg.

use super::cases::{Case, Test};
use super::results::Row;
use crate::trips::callgrind::{Function, functions, total};
use crate::trips::instructions::{MORE, Profiles, each, profiles};
use crate::trips::pair::Bench;
use crate::trips::results::Unit;
use anyhow::{Context, ensure};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The part of a row that has the client's stub.
pub const CLIENT: &str = "client-stub";
/// The server's, with its demultiplexer.
pub const SERVER: &str = "server-stub";
/// The client's mach_msg.
pub const MESSAGE: &str = "client-mach_msg";

/// The instructions of each part of one call.
#[derive(Debug, Default, PartialEq)]
struct Parts {
    /// The client's, by function.
    client: BTreeMap<String, u64>,
    /// The server's, by function.
    server: BTreeMap<String, u64>,
    /// In the client's mach_msg.
    message: u64,
    /// All of both processes.
    all: u64,
}

/// Counts the parts of a call.
///
/// # Errors
/// When a run fails, or a function is not in the profile.
pub fn count(bench: &Bench<'_>, valgrind: &Path, case: Case) -> anyhow::Result<Vec<Row>> {
    let (few, many) = profiles(bench, valgrind, case, MORE)?;
    rows(case, &Parts::of(&few, case.test)?, &Parts::of(&many, case.test)?)
}

fn rows(case: Case, few: &Parts, many: &Parts) -> anyhow::Result<Vec<Row>> {
    ensure!(many.all > few.all, "more calls took no more instructions");
    let counted =
        |part: &str, few: u64, many: u64| Row::part(case, part, Unit::Instructions, each(few as f64, many as f64, MORE));
    let mut rows = vec![Row::counted(case, Unit::Instructions, each(few.all as f64, many.all as f64, MORE))];
    for (name, before, after) in [(CLIENT, &few.client, &many.client), (SERVER, &few.server, &many.server)] {
        rows.push(counted(name, before.values().sum(), after.values().sum()));
        rows.extend(after.iter().map(|(function, &after)| {
            counted(&format!("{name}/{function}"), before.get(function).copied().unwrap_or_default(), after)
        }));
    }
    rows.push(counted(MESSAGE, few.message, many.message));
    Ok(rows)
}

impl Parts {
    fn of(profiles: &Profiles, test: Test) -> anyhow::Result<Self> {
        let (client, server) = (functions(&profiles.client), functions(&profiles.server));
        let mut parts = Self::default();
        let stub = format!("call_{}", test.routine());
        let of_client = find(&client, &stub)?;
        parts.message = of_client.calls.get("mach_msg").copied().context("no mach_msg in the client's stub")?;
        add(&mut parts.client, &stub, of_client, |called| called == "mach_msg");
        let (demux, stub, routine) = ("rpc_server", format!("_X{}", test.routine()), format!("serve_{}", test.routine()));
        add(&mut parts.server, demux, find(&server, demux)?, |called| called == stub);
        add(&mut parts.server, &stub, find(&server, &stub)?, |called| called == routine);
        parts.all = total(&profiles.client).context("callgrind wrote no total of the client")?
            + total(&profiles.server).context("callgrind wrote no total of the server")?;
        Ok(parts)
    }
}

fn find<'a>(functions: &'a HashMap<String, Function>, name: &str) -> anyhow::Result<&'a Function> {
    functions.get(name).with_context(|| format!("callgrind saw no function {name}"))
}

/// A function's own instructions, and those of what it calls, except for what is no work of stubs.
fn add(parts: &mut BTreeMap<String, u64>, name: &str, function: &Function, is_other: impl Fn(&str) -> bool) {
    *parts.entry(name.to_owned()).or_default() += function.own;
    for (called, cost) in function.calls.iter().filter(|(called, _)| !is_other(called)) {
        *parts.entry(called.clone()).or_default() += cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::cases::Method;
    use crate::trips::Placement;

    fn profiles(calls: u64) -> Profiles {
        let client = format!(
            "fn=(1) call_four\n1 {}\ncfn=(2) mach_msg\ncalls={calls} 1\n1 {}\ncfn=(3) mig_get_reply_port\ncalls={calls} 1\n1 {}\n\
             fn=(4) main\n1 77\ntotals: {}\n",
            60 * calls,
            900 * calls,
            20 * calls,
            77 + 980 * calls
        );
        let server = format!(
            "fn=(1) rpc_server\n1 {}\ncfn=(2) _Xfour\ncalls={calls} 1\n1 {}\nfn=(2)\n1 {}\ncfn=(5) serve_four\ncalls={calls} 1\n1 {}\n\
             totals: {}\n",
            15 * calls,
            49 * calls,
            40 * calls,
            9 * calls,
            64 * calls
        );
        Profiles { client, server }
    }

    #[test]
    fn stubs_are_told_from_messages_and_routines() {
        let case = Case { test: Test::FourInts, method: Method::StubsSleep, placement: Placement::OneCore };
        let of = |calls| Parts::of(&profiles(calls), case.test).unwrap();
        let rows = rows(case, &of(300), &of(1300)).unwrap();
        let value = |variant: &str| rows.iter().find(|row| row.variant == variant).unwrap_or_else(|| panic!("{variant}")).value;
        assert_eq!(value("stubs-sleep/one-core"), 1044.0);
        assert_eq!(value("stubs-sleep/one-core/client-stub"), 80.0);
        assert_eq!(value("stubs-sleep/one-core/client-stub/mig_get_reply_port"), 20.0);
        assert_eq!(value("stubs-sleep/one-core/server-stub"), 55.0);
        assert_eq!(value("stubs-sleep/one-core/server-stub/_Xfour"), 40.0);
        assert_eq!(value("stubs-sleep/one-core/client-mach_msg"), 900.0);
        assert_eq!(rows.len(), 8);
        assert!(Parts::of(&profiles(1), Test::Null).is_err());
    }
}
