//! Taking note of what there is, with the lock held: bounded, and without a change to anything.

use super::model::{Held, Here, Holder, Home, Line, Member, Name, Port, Role, Route, Serves, Snapshot, Task};
use crate::{
    abi::kind,
    dispatch::Inner,
    line::Token,
    objects,
    routes::{Exported, Once, Remote},
    state::{
        self, LineId, PortId, Right,
        port::{Kernel, Local},
        space::{Entry, Object},
    },
};
use rustc_hash::FxHashSet;

/// Names that are listed, of all tasks together.
pub(super) const NAMES: usize = 4096;
/// Lines that are listed.
pub(super) const LINES: usize = 1024;
/// Parts that are listed of ports, sets and lines together: members, holders, routes.
const PARTS: usize = 8192;
/// Ports that are looked at for those that only messages refer to.
const SCANNED: usize = 8192;

/// Characters of a task's name.
const LABEL: usize = 32;

/// What may still be listed.
struct Budget {
    names: usize,
    parts: usize,
    cut: bool,
}

impl Budget {
    /// As many of `some` parts as may still be listed.
    fn parts<T>(&mut self, some: impl Iterator<Item = T>) -> Vec<T> {
        let mut some = some;
        let listed: Vec<T> = some.by_ref().take(self.parts).collect();
        self.parts -= listed.len();
        self.cut |= some.next().is_some();
        listed
    }
}

impl Inner {
    /// What there is now. Messages that lie in lines unseen are put into their queues first, as a bell would.
    pub(crate) fn snapshot(&mut self) -> Snapshot {
        self.catch_up();
        self.settle();
        let mut budget = Budget { names: NAMES, parts: PARTS, cut: false };
        let tasks: Vec<Task> = self
            .state
            .spaces
            .iter()
            .filter(|(_, space)| !space.dead)
            .map(|(id, _)| self.task(state::SpaceId(id as u32), &mut budget))
            .collect();
        let mut seen = FxHashSet::default();
        let named = tasks.iter().flat_map(|task| &task.names).filter_map(|name| name.port);
        let mut listed: Vec<u32> = named.filter(|port| seen.insert(*port)).collect();
        let nameless = self.state.ports.iter().take(SCANNED).filter(|(_, port)| port.names.is_empty());
        listed.extend(nameless.map(|(id, _)| id as u32).take(NAMES));
        budget.cut |= self.state.ports.len() > SCANNED;
        let ports = listed.into_iter().filter_map(|port| self.port_of(PortId(port), &mut budget)).collect();
        let lines = self.lines.iter().take(LINES).map(|(number, line)| self.line_of(number, line)).collect();
        Snapshot {
            sent: self.sent,
            received: self.received,
            watcher: self.watch.is_running(),
            tasks,
            ports,
            ports_total: self.state.ports.len() as u64,
            lines,
            lines_total: self.lines.len() as u64,
            truncated: budget.cut || self.lines.len() > LINES,
            ..Snapshot::default()
        }
    }

    fn task(&self, id: state::SpaceId, budget: &mut Budget) -> Task {
        let space = self.state.space(id);
        let some: Vec<(u32, Entry)> = space.iter().take(budget.names).map(|(name, entry)| (name, *entry)).collect();
        budget.names -= some.len();
        budget.cut |= some.len() < space.len();
        let mut names: Vec<Name> = some.into_iter().map(|(name, entry)| self.name_of(name, &entry, budget)).collect();
        names.sort_unstable_by_key(|name| name.name);
        let label = space.label.chars().take(LABEL).collect();
        Task { task: id.0, label, names_total: space.len() as u64, names }
    }

    fn name_of(&self, name: u32, entry: &Entry, budget: &mut Budget) -> Name {
        let rights = [
            (kind::RECEIVE, Held::Receive),
            (kind::SEND, Held::Send),
            (kind::SEND_ONCE, Held::SendOnce),
            (kind::PORT_SET, Held::PortSet),
            (kind::DEAD_NAME, Held::DeadName),
        ];
        let rights = rights.into_iter().filter(|(bit, _)| entry.has(*bit)).map(|(_, right)| right).collect();
        let mut members = Vec::new();
        if let Object::Set(set) = entry.object {
            let of = |port: &PortId| self.state.port(*port).local().and_then(|local| local.receiver).map_or(0, |(_, name)| name);
            members = budget.parts(self.state.set(set).members.iter().map(of));
            members.sort_unstable();
        }
        let line = match entry.object {
            Object::Once(once) => match self.onces.get(once.0 as usize) {
                Some(Once::Token { line, .. }) => Some(line.index),
                _ => None,
            },
            _ => None,
        };
        let dead_name_request = entry.shown_kind() & kind::DNREQUEST != 0;
        Name { name, rights, urefs: entry.urefs, port: entry.port().map(|port| port.0), line, members, dead_name_request }
    }

    fn port_of(&self, id: PortId, budget: &mut Budget) -> Option<Port> {
        let it = self.state.ports.get(id.0 as usize)?;
        let exported = self.exported(id);
        let remote = self.remote(id);
        let (home, here) = match &it.home {
            state::Home::Here(local) => (Home::Here, Some(self.here(local, id, exported, budget))),
            // Without a line nobody here has been told of its death.
            state::Home::Remote if remote.is_some_and(is_orphaned) => (Home::Dead, None),
            state::Home::Remote => (Home::Remote, None),
            state::Home::Dead => (Home::Dead, None),
        };
        Some(Port {
            port: id.0,
            home,
            identity: exported.map(|exported| exported.identity).or(remote.map(|remote| remote.identity)),
            send_rights: it.srights,
            send_once_rights: it.sorights,
            names: budget.parts(it.names.iter().map(|(task, name)| Member { task: task.0, name: *name })),
            here,
            routes: remote.map_or_else(Vec::new, |remote| budget.parts(remote.routes.iter().map(|route| self.route(route)))),
        })
    }

    fn here(&self, local: &Local, id: PortId, exported: Option<&Exported>, budget: &mut Budget) -> Here {
        Here {
            in_transit: local.receiver.is_none() && local.kernel == Kernel::No,
            queued: local.queue.len() as u32,
            qlimit: local.qlimit,
            seqno: local.seqno,
            make_sends: local.mscount,
            received: local.received(),
            senders_elsewhere: local.abroad,
            set: local.set.map(|it| self.state.set(it.set).holder.1),
            no_senders_request: local.nsrequest != Right::Null,
            port_destroyed_request: local.pdrequest != Right::Null,
            trap_calls: local.traps.as_ref().map(|traps| traps.tally.sum()),
            serves: match local.kernel {
                Kernel::No => None,
                Kernel::Task(_) => Some(Serves::Task),
                Kernel::Thread(_) => Some(Serves::Thread),
                Kernel::Host => Some(Serves::Host),
                Kernel::Semaphore(_) => Some(Serves::Semaphore),
            },
            holders: exported.map_or_else(Vec::new, |exported| budget.parts(self.holders(id, exported))),
        }
    }

    /// The processes that can send to a port here over a line.
    fn holders<'a>(&'a self, id: PortId, exported: &'a Exported) -> impl Iterator<Item = Holder> + 'a {
        exported.slots.iter().filter_map(move |(line, slot)| {
            let slot = self.lines.get(*line)?.ins.get(*slot as usize)?.as_ref().filter(|slot| slot.port == id)?;
            Some(Holder { line: line.index, attached: slot.primary, given: slot.given })
        })
    }

    fn route(&self, route: &crate::routes::Route) -> Route {
        let line = self.lines.get(route.line);
        let count = line.and_then(|line| line.outs.get(route.slot as usize)?.as_ref()).map(|out| out.count).unwrap_or_default();
        let sent = count.sent();
        // The other end may write anything there.
        let waiting = line.map(|line| line.credit.untaken(route.slot, &count)).filter(|waiting| *waiting <= sent).unwrap_or(0);
        Route { line: route.line.index, slot: route.slot, line_rights: route.line_rights, sent, waiting }
    }

    fn line_of(&self, number: LineId, line: &crate::line::Line) -> Line {
        let ring = line.segment.tx.size() as u64;
        Line {
            line: number.index,
            role: if line.maker { Role::Maker } else { Role::Client },
            peer: u32::try_from(line.peer.pid).ok().filter(|pid| *pid != 0),
            bell: objects::identity(&line.bell).unwrap_or(0),
            peer_bell: Some(line.peer.bell).filter(|bell| *bell != 0),
            slots_in: line.ins.iter().flatten().filter(|slot| !slot.closed && (slot.primary || slot.given > 0)).count() as u32,
            slots_out: line.outs.iter().flatten().filter(|slot| !slot.closed).count() as u32,
            tokens_given: line.tokens.iter().filter(|(_, token)| matches!(token, Token::Port(_))).count() as u32,
            tokens_held: line.held.len() as u32,
            hot: self.waiting.hot.contains(&number),
            ended: line.ended,
            bytes_in: line.segment.rx.tail_mark().wrapping_sub(line.rx.head).min(ring),
            bytes_out: line.tx.tail.wrapping_sub(line.segment.tx.head_mark()).min(ring),
            ring,
        }
    }
}

/// Whether a remote port has died, and no line told of it.
fn is_orphaned(remote: &Remote) -> bool {
    remote.routes.is_empty() && remote.s.as_ref().is_some_and(|s| objects::hung_up(&**s))
}
