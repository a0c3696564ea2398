//! What tasks do, at random.
//!
//! An [`Op`] is random numbers; what they mean is found when it is done, from the names that the task then
//! has. So most of what is tried can be done, whatever was left out before it, and one in eight is wild.

use crate::rules::{Entry, Model};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use slipway_ports::abi::{self, Code, notify, right, types};

/// Something that a task will do.
#[derive(Debug, Clone)]
pub struct Op {
    /// Which task.
    pub task: u8,
    what: What,
    picks: [u16; 12],
}

#[derive(Debug, Clone, Copy)]
enum What {
    Allocate,
    AllocateName,
    Rename,
    Destroy,
    DestroyAwaited,
    Deallocate,
    ModRefs,
    Settings,
    MoveMember,
    Request,
    Insert,
    Extract,
    Send,
    Receive,
    Terminate,
}

/// A name and what to do with it.
pub type Taken = (u32, u32);

/// A message to send.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Send {
    pub id: i32,
    pub word: u32,
    pub dest: Taken,
    pub reply: Taken,
    pub rights: Vec<Taken>,
}

/// What a task does, with names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Act {
    Allocate { right: u32 },
    AllocateName { right: u32, name: u32 },
    Rename { old: u32, new: u32 },
    Destroy { name: u32 },
    Deallocate { name: u32 },
    ModRefs { name: u32, right: u32, delta: i32 },
    SetQlimit { name: u32, limit: u32 },
    SetMscount { name: u32, count: u32 },
    SetSeqno { name: u32, seqno: u32 },
    SetPayload { name: u32, payload: Option<u64> },
    MoveMember { member: u32, after: u32 },
    Request { name: u32, id: i32, sync: u32, to: Taken },
    Insert { into: usize, at: u32, right: Taken },
    Extract { from: usize, right: Taken },
    Send(Send),
    Receive { name: u32 },
    Terminate,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub code: Code,
    /// The name of a right that the task got.
    pub name: u32,
    pub got: Option<Got>,
}

/// A received message, or one that was not sent and came back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Got {
    /// The name of the port that it came from; the destination's, if it came back.
    pub from: u32,
    /// What came in place of that name, if the port has a payload.
    pub payload: Option<u64>,
    pub id: i32,
    pub seqno: u32,
    pub word: Option<u32>,
    pub reply: u32,
    /// Names and types.
    pub rights: Vec<(u32, u32)>,
}

impl Act {
    /// What kind of act it is, in one word.
    pub fn kind(&self) -> String {
        format!("{self:?}").split([' ', '(']).next().unwrap_or_default().to_owned()
    }
}

impl Outcome {
    pub fn of(done: Result<(), Code>) -> Self {
        Self { code: done.err().unwrap_or(Code::SUCCESS), name: abi::NULL, got: None }
    }

    pub fn named(done: Result<u32, Code>) -> Self {
        Self { name: done.unwrap_or(abi::NULL), ..Self::of(done.map(drop)) }
    }
}

/// One random thing to do.
pub fn op() -> impl Strategy<Value = Op> {
    let what = prop_oneof![
        4 => Just(What::Allocate),
        2 => Just(What::AllocateName),
        2 => Just(What::Rename),
        2 => Just(What::Destroy),
        2 => Just(What::DestroyAwaited),
        5 => Just(What::Deallocate),
        5 => Just(What::ModRefs),
        3 => Just(What::Settings),
        4 => Just(What::MoveMember),
        14 => Just(What::Request),
        6 => Just(What::Insert),
        6 => Just(What::Extract),
        36 => Just(What::Send),
        30 => Just(What::Receive),
        // Rare: what was built up is gone.
        1 => prop_oneof![4 => Just(What::Send), 1 => Just(What::Terminate)],
    ];
    (any::<u8>(), what, any::<[u16; 12]>()).prop_map(|(task, what, picks)| Op { task, what, picks })
}

/// Receive rights of a task, before it makes no more for want of something better: few ports meet more often.
const ENOUGH: usize = 4;
/// One in so many things is tried whether it fits or not.
const WILD: usize = 12;
/// Names that no space has, and those that the program chooses.
const CHOSEN: [u32; 8] = [abi::NULL, abi::DEAD, 5, 6, 0x101, 0x201, 0x202, 0x1_0000];
/// What is done with rights in messages, the likely more often than the rare.
const TAKING: [u32; 14] = [
    types::MOVE_RECEIVE,
    types::MOVE_SEND,
    types::MOVE_SEND,
    types::MOVE_SEND_ONCE,
    types::COPY_SEND,
    types::COPY_SEND,
    types::COPY_SEND,
    types::MAKE_SEND,
    types::MAKE_SEND,
    types::MAKE_SEND,
    types::MAKE_SEND,
    types::MAKE_SEND_ONCE,
    types::MAKE_SEND_ONCE,
    types::MAKE_SEND_ONCE,
];
const SENDING: [u32; 5] = [types::MOVE_SEND, types::MOVE_SEND_ONCE, types::COPY_SEND, types::MAKE_SEND, types::MAKE_SEND_ONCE];

/// The random numbers of an op, one after the other.
struct Picks<'a> {
    model: &'a Model,
    task: usize,
    left: std::slice::Iter<'a, u16>,
}

impl Picks<'_> {
    fn next(&mut self) -> usize {
        self.left.next().copied().unwrap_or(1).into()
    }

    fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.next() % from.len()]
    }

    fn once_in(&mut self, n: usize) -> bool {
        self.next().is_multiple_of(n)
    }

    /// A name that the program chooses.
    fn chosen(&mut self) -> u32 {
        self.of(&CHOSEN)
    }

    /// A name that fits, or any, once in a while.
    fn name(&mut self, fits: impl Fn(&Entry) -> bool) -> Option<u32> {
        let pick = self.next();
        let wild = pick.is_multiple_of(WILD);
        let names = &self.model.tasks[self.task].names;
        let fitting: Vec<u32> = names.iter().filter(|(_, entry)| wild || fits(entry)).map(|(name, _)| *name).collect();
        match fitting.len() {
            n if wild && (n == 0 || pick.is_multiple_of(8 * WILD)) => Some(self.chosen()),
            0 => None,
            n => Some(fitting[pick / WILD % n]),
        }
    }

    /// A name and a disposition of `dispositions` that fit together, or not, once in a while.
    fn taken(&mut self, dispositions: &[u32]) -> Option<Taken> {
        let pick = self.next();
        if pick.is_multiple_of(WILD) {
            return Some((self.name(|_| true)?, self.of(dispositions)));
        }
        let names = &self.model.tasks[self.task].names;
        let pairs = names.iter().flat_map(|(name, entry)| dispositions.iter().map(move |it| (*name, entry, *it)));
        let fitting: Vec<Taken> =
            pairs.filter(|(_, entry, it)| self.model.can_take(entry, *it)).map(|(name, _, it)| (name, it)).collect();
        // Half the time the first are taken most often, so that much meets at some ports.
        let (pick, skew) = (pick / WILD / 2, (pick / WILD).is_multiple_of(2));
        let at = if skew { (pick % 32).pow(2) * fitting.len() / 32_usize.pow(2) } else { pick % fitting.len().max(1) };
        fitting.get(at).copied()
    }

    /// A message: the reply right is not one that the destination uses up.
    fn send(&mut self, id: i32) -> Option<Send> {
        let mut dest = self.taken(&SENDING)?;
        if self.model.tasks[self.task].names.get(&dest.0).is_some_and(|entry| entry.dead > 0) {
            // Mostly to ports that live.
            dest = self.taken(&SENDING)?;
        }
        let mut reply = if self.once_in(2) { (abi::NULL, types::COPY_SEND) } else { self.taken(&SENDING)? };
        if reply.0 == dest.0 {
            reply = (abi::NULL, types::MAKE_SEND);
        }
        let number = (self.next() % 6).saturating_sub(2);
        let rights = (0..number).map(|_| self.taken(&TAKING)).collect::<Option<_>>()?;
        Some(Send { id, word: self.next() as u32, dest, reply, rights })
    }
}

impl Op {
    /// What the numbers mean as things are. If there is nothing to do it with: a new port, or the next message if the
    /// task has ports enough. `step` makes messages differ.
    pub fn resolve(&self, model: &Model, step: usize) -> Act {
        let act = self.find(model, step);
        let names = &model.tasks[usize::from(self.task) % model.tasks.len()].names;
        let ports: Vec<u32> = names.iter().filter(|(_, entry)| entry.receive).map(|(name, _)| *name).collect();
        match act {
            None | Some(Act::Allocate { right: right::RECEIVE }) if ports.len() >= ENOUGH => {
                Act::Receive { name: ports[usize::from(self.picks[0]) % ports.len()] }
            }
            None => Act::Allocate { right: right::RECEIVE },
            Some(act) => act,
        }
    }

    fn find(&self, model: &Model, step: usize) -> Option<Act> {
        let tasks = model.tasks.len();
        let mut p = Picks { model, task: usize::from(self.task) % tasks, left: self.picks.iter() };
        let received = |entry: &Entry| entry.receive;
        Some(match self.what {
            What::Allocate => Act::Allocate {
                right: p.of(&[right::RECEIVE, right::RECEIVE, right::RECEIVE, right::PORT_SET, right::DEAD_NAME, right::SEND]),
            },
            What::AllocateName => Act::AllocateName {
                right: p.of(&[right::RECEIVE, right::PORT_SET, right::DEAD_NAME, right::SEND_ONCE]),
                name: p.chosen(),
            },
            What::Rename => Act::Rename { old: p.name(|_| true)?, new: p.chosen() },
            What::Destroy => Act::Destroy { name: p.name(|_| true)? },
            What::DestroyAwaited => {
                // The end of a port that several wait for.
                let awaited = |port: usize| {
                    model
                        .tasks
                        .iter()
                        .flat_map(|it| it.names.values())
                        .filter(|it| it.port == Some(port) && it.request.is_some())
                        .count()
                };
                let name = p.name(|entry| entry.receive && entry.port.is_some_and(|port| awaited(port) > 1))?;
                if p.once_in(2) { Act::Destroy { name } } else { Act::ModRefs { name, right: right::RECEIVE, delta: -1 } }
            }
            What::Deallocate => Act::Deallocate { name: p.name(|entry| !entry.receive && entry.set.is_none())? },
            What::ModRefs => {
                let name = p.name(|_| true)?;
                let kind = model.tasks[p.task].names.get(&name).map_or(0, Entry::kind);
                let held: Vec<u32> = (0..right::NUMBER).filter(|it| kind & 1 << (it + 16) != 0).collect();
                let right = if held.is_empty() || p.once_in(8) { p.next() as u32 % 6 } else { p.of(&held) };
                Act::ModRefs { name, right, delta: p.of(&[-1, -1, -1, 1, 2, 0, -2, 65532, 65533, 65534, i32::MIN, i32::MAX]) }
            }
            What::Settings => match p.next() % 4 {
                0 => Act::SetQlimit { name: p.name(received)?, limit: p.of(&[0, 1, 2, 5, 16, 1025]) },
                1 => Act::SetMscount { name: p.name(received)?, count: p.of(&[0, 1, 3]) },
                2 => Act::SetSeqno { name: p.name(received)?, seqno: p.of(&[0, 7, 100]) },
                _ => Act::SetPayload { name: p.name(received)?, payload: p.of(&[None, Some(8)]) },
            },
            What::MoveMember => {
                let member = p.name(received)?;
                let after = if p.once_in(4) { abi::NULL } else { p.name(|entry| entry.set.is_some())? };
                Act::MoveMember { member, after }
            }
            What::Request => {
                let id = p.of(&[
                    notify::DEAD_NAME,
                    notify::DEAD_NAME,
                    notify::DEAD_NAME,
                    notify::NO_SENDERS,
                    notify::NO_SENDERS,
                    notify::PORT_DESTROYED,
                    notify::SEND_ONCE,
                ]);
                let name = match id {
                    // Names of other tasks' ports, for most of the time.
                    notify::DEAD_NAME if p.once_in(4) => p.name(|entry| entry.set.is_none())?,
                    notify::DEAD_NAME => p.name(|entry| entry.set.is_none() && !entry.receive && entry.request.is_none())?,
                    _ => p.name(received)?,
                };
                let sync = if id == notify::PORT_DESTROYED { p.of(&[0, 0, 0, 1]) } else { p.of(&[0, 1, 2, 3]) };
                let to = if p.once_in(8) {
                    (abi::NULL, types::MAKE_SEND_ONCE)
                } else {
                    p.taken(&[types::MAKE_SEND_ONCE, types::MOVE_SEND_ONCE])?
                };
                Act::Request { name, id, sync, to }
            }
            What::Insert => {
                let right = p.taken(&TAKING)?;
                let into = p.next() % tasks;
                let known = model.tasks[into].names.keys().copied().collect::<Vec<u32>>();
                let at = if p.once_in(2) || known.is_empty() { p.chosen() } else { p.of(&known) };
                Act::Insert { into, at, right }
            }
            What::Extract => {
                let from = p.next() % tasks;
                p.task = from;
                let right = if p.once_in(16) { (p.name(|_| true)?, types::PORT_NAME) } else { p.taken(&TAKING)? };
                Act::Extract { from, right }
            }
            What::Send => Act::Send(p.send(step as i32 + 1000)?),
            What::Receive => {
                let waiting =
                    |entry: &Entry| entry.receive && entry.port.is_some_and(|port| !model.ports[&port].queue.is_empty());
                Act::Receive { name: p.name(|entry| entry.set.is_some() || waiting(entry))? }
            }
            What::Terminate => Act::Terminate,
        })
    }
}
