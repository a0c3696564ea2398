//! The same act by the rules, and what a task can see of it.

use crate::{
    ops::{Act, Outcome},
    rules::{Check, Model, PortNo, same},
};
use slipway_ports::abi::{self, Code, call::Status, kind, right};
use std::collections::BTreeMap;

/// What a task can find out about its space.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Types and user references by name.
    pub names: BTreeMap<u32, (u32, [u32; 5])>,
    /// Of each receive right.
    pub status: BTreeMap<u32, Status>,
    /// Of each port set.
    pub members: BTreeMap<u32, Vec<u32>>,
}

/// Does what `act` says by the rules, and compares with what the subject did.
pub fn step(model: &mut Model, task: usize, act: &Act, outcome: &Outcome) -> Check {
    let code = |done: Result<(), Code>| done.err().unwrap_or(Code::SUCCESS);
    let by_rules = match act {
        Act::Allocate { right } => {
            if outcome.code == Code::SUCCESS && (outcome.name == abi::NULL || outcome.name == abi::DEAD) {
                return Err(format!("a new right got the name {:#x}", outcome.name));
            }
            code(model.allocate(task, *right, outcome.name, false))
        }
        Act::AllocateName { right, name } => code(model.allocate(task, *right, *name, true)),
        Act::Rename { old, new } => code(model.rename(task, *old, *new)),
        Act::Destroy { name } => code(model.destroy_all(task, *name)),
        Act::Deallocate { name } => code(model.deallocate(task, *name)),
        Act::ModRefs { name, right, delta } => code(model.mod_refs(task, *name, *right, *delta)),
        Act::SetQlimit { name, limit } => code(model.set_qlimit(task, *name, *limit)),
        Act::SetMscount { name, count } => set(model, task, *name, |port| port.mscount = *count),
        Act::SetSeqno { name, seqno } => set(model, task, *name, |port| port.seqno = *seqno),
        Act::SetPayload { name, payload } => set(model, task, *name, |port| port.payload = *payload),
        Act::MoveMember { member, after } => code(model.move_member(task, *member, *after)),
        Act::Request { name, id, sync, to } => {
            let to = model.take(task, to.0, to.1);
            // The routine of a task says so of a right that isn't there; the state leaves it to who calls it.
            let to = if model.apart { to.map_err(|_| Code::INVALID_CAPABILITY) } else { to };
            let done = to.and_then(|to| model.request(task, *name, *id, *sync, to));
            if let Ok(previous) = done {
                same("the code", outcome.code, Code::SUCCESS)?;
                return model.put(task, previous, outcome.name);
            }
            code(done.map(drop))
        }
        Act::Insert { into, at, right } => {
            code(model.take(task, right.0, right.1).and_then(|right| model.insert(*into, *at, right)))
        }
        Act::Extract { from, right } => {
            let done = model.extract(*from, right.0, right.1);
            if let Ok(right) = done {
                same("the code", outcome.code, Code::SUCCESS)?;
                return model.put(task, right, outcome.name);
            }
            code(done.map(drop))
        }
        Act::Send(send) => return model.send(task, send, outcome),
        Act::Receive { name } => return model.receive(task, *name, outcome),
        Act::Terminate => {
            model.terminate(task);
            Code::SUCCESS
        }
    };
    same("the code", outcome.code, by_rules)
}

fn set(model: &mut Model, task: usize, name: u32, change: impl FnOnce(&mut crate::rules::Port)) -> Code {
    match model.receive_right(task, name) {
        Ok(port) => {
            model.ports.get_mut(&port).map(change);
            Code::SUCCESS
        }
        Err(code) => code,
    }
}

/// What a task would find out about its space by the rules.
pub fn seen(model: &Model, census: &BTreeMap<PortNo, (usize, usize)>, task: usize) -> Seen {
    let mut seen = Seen::default();
    let names = &model.tasks[task].names;
    for (name, entry) in names {
        let refs = std::array::from_fn(|right| model.refs(task, *name, right as u32).unwrap_or(!0));
        seen.names.insert(*name, (entry.kind(), refs));
        if let Some(set) = entry.set {
            let of_set = |port: usize| model.ports[&port].set == Some(set);
            let members = names.iter().filter(|(_, it)| it.receive && it.port.is_some_and(of_set)).map(|(name, _)| *name);
            seen.members.insert(*name, members.collect());
        }
        let Some(number) = entry.port.filter(|_| entry.receive) else { continue };
        let port = &model.ports[&number];
        let (senders, onces) = census.get(&number).copied().unwrap_or_default();
        let status = Status {
            pset: port.set.and_then(|set| names.iter().find(|(_, it)| it.set == Some(set))).map_or(abi::NULL, |(name, _)| *name),
            seqno: port.seqno,
            mscount: port.mscount,
            qlimit: port.qlimit,
            msgcount: port.queue.len() as u32,
            sorights: onces as u32,
            srights: (senders > 0).into(),
            pdrequest: port.destroyed.is_some().into(),
            nsrequest: port.no_senders.is_some().into(),
        };
        seen.status.insert(*name, status);
    }
    seen
}

/// Compares what a task sees with what it would by the rules.
pub fn same_view(task: usize, subject: &Seen, by_rules: &Seen) -> Check {
    let names = subject.names.keys().chain(by_rules.names.keys());
    let all =
        |seen: &Seen, name| (seen.names.get(&name).copied(), seen.status.get(&name).cloned(), seen.members.get(&name).cloned());
    names
        .copied()
        .try_for_each(|name| same(&format!("what task {task} sees of {name:x}"), all(subject, name), all(by_rules, name)))
}

/// The rights that a name with these types may be asked the references of.
pub fn each_right() -> std::ops::Range<u32> {
    right::SEND..right::NUMBER
}

/// Whether the types say that there is a receive right, and a port set.
pub fn has_receive(types: u32) -> (bool, bool) {
    (types & kind::RECEIVE != 0, types & kind::PORT_SET != 0)
}
