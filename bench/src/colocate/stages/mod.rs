//! The stages of a call by message, and of one by trap: what was published for them, and which can be told apart here.

mod instructions;
pub mod probe;
mod stubs;
mod times;
mod work;

pub use instructions::count;
pub use probe::{BY_STUB, LOOP_TURN as TURN, STAMP};
pub use times::{ALL, BARE_LINE, CACHE_LINE, IN_NOISE, is_told, least_ns, time};

use super::cases::Method;
use super::seed::{MESSAGE_STAGES, TRAP_STAGES};
use crate::trips::job::Side;
use serde::Serialize;
use work::Work;

/// A stage whose instructions are counted.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Stage {
    /// Its name, unlike any other's of the way.
    pub name: &'static str,
    /// The numbers of the published stages that it stands for.
    pub published: &'static [usize],
    /// Whose work it is.
    #[serde(skip)]
    work: &'static [(Side, Work)],
}

/// Stages that are timed together.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Group {
    /// Its name, likewise.
    pub name: &'static str,
    /// In the order of the published ones.
    pub stages: &'static [Stage],
}

const fn stage(name: &'static str, published: &'static [usize], work: &'static [(Side, Work)]) -> Stage {
    Stage { name, published, work }
}

use Side::{Client, Server};

/// Of a call by message.
const MESSAGE: [Group; 11] = [
    Group { name: "client's stub, request", stages: &[stage("client's stub, request", &[1, 2], &[(Client, Work::StubBefore)])] },
    Group {
        name: "request sent",
        stages: &[
            stage("client's mach_msg: entry, lock", &[3, 4], &[(Client, Work::Enter)]),
            stage("request into the ring", &[5], &[(Client, Work::Write)]),
            stage("request's header, names, rights", &[6], &[(Client, Work::Send)]),
        ],
    },
    Group {
        name: "to the server's core",
        stages: &[stage("to the server's core", &[7], &[(Client, Work::Wake), (Server, Work::Wait)])],
    },
    Group {
        name: "request received",
        stages: &[
            stage("received: header, names, rights", &[8], &[(Server, Work::Receive)]),
            stage("request out of the ring", &[9], &[(Server, Work::Read)]),
        ],
    },
    Group { name: "server's stub, before", stages: &[stage("server's stub, before", &[10], &[(Server, Work::ServerBefore)])] },
    Group { name: "routine", stages: &[stage("routine", &[11], &[(Server, Work::Routine)])] },
    Group { name: "server's stub, after", stages: &[stage("server's stub, after", &[12], &[(Server, Work::ServerAfter)])] },
    Group {
        name: "reply sent",
        stages: &[
            stage("server's loop; mach_msg: entry, lock", &[13, 14], &[(Server, Work::Serve), (Server, Work::Enter)]),
            stage("reply into the ring", &[15], &[(Server, Work::Write)]),
            stage("reply's header, names, rights", &[16], &[(Server, Work::Send)]),
        ],
    },
    Group {
        name: "to the client's core",
        stages: &[stage("to the client's core", &[17], &[(Server, Work::Wake), (Client, Work::Wait)])],
    },
    Group {
        name: "reply received",
        stages: &[
            stage("answered: header, names, rights", &[18], &[(Client, Work::Receive)]),
            stage("reply out of the ring", &[19], &[(Client, Work::Read)]),
        ],
    },
    Group { name: "client's stub, reply", stages: &[stage("client's stub, reply", &[20, 21], &[(Client, Work::StubAfter)])] },
];

/// Of a call by trap.
const TRAP: [Group; 4] = [
    Group { name: "client's stub", stages: &[stage("client's stub", &[1, 12], &[(Client, Work::StubBefore)])] },
    Group {
        name: "mach_trap",
        stages: &[
            stage("mach_trap itself", &[2], &[(Client, Work::Trap)]),
            stage("port, table, routine looked up", &[3], &[(Client, Work::LookUp)]),
            stage("a place taken in the server's turn", &[4], &[(Client, Work::Take)]),
            stage("task changed, call counted", &[5], &[(Client, Work::Switch)]),
            stage("the server's function called", &[6, 10], &[(Client, Work::Catch)]),
            stage("task changed back, place given back", &[11], &[(Client, Work::Back)]),
        ],
    },
    Group {
        name: "server's trap function",
        stages: &[
            stage("server's trap function, before", &[7], &[(Client, Work::ServerBefore)]),
            stage("server's trap function, after", &[9], &[(Client, Work::ServerAfter)]),
        ],
    },
    Group { name: "routine", stages: &[stage("routine", &[8], &[(Client, Work::Routine)])] },
];

/// The stages of a way, in groups; None for one that has none.
pub fn groups(method: Method) -> Option<&'static [Group]> {
    match method {
        Method::Message | Method::MessageSleep | Method::OneProcess => Some(&MESSAGE),
        Method::Trap | Method::TrapConcurrent => Some(&TRAP),
        _ => None,
    }
}

/// What was published for stages of these numbers: cycles of a call to a server in its own task, and to one in the kernel.
pub fn cycles(method: Method, numbers: &[usize]) -> [Option<u32>; 2] {
    let sum = |of: fn(&(u32, u32)) -> u32| Some(numbers.iter().map(|number| of(&MESSAGE_STAGES[number - 1])).sum());
    match method {
        Method::Trap | Method::TrapConcurrent => [None, Some(numbers.iter().map(|number| TRAP_STAGES[number - 1]).sum())],
        _ => [sum(|both| both.0), sum(|both| both.1)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_stage_has_a_place() {
        for (method, all) in [(Method::Message, MESSAGE_STAGES.len()), (Method::Trap, TRAP_STAGES.len())] {
            let stages = || groups(method).unwrap().iter().flat_map(|group| group.stages);
            let mut numbers: Vec<usize> = stages().flat_map(|stage| stage.published).copied().collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (1..=all).collect::<Vec<_>>());
            let mut names: Vec<&str> = stages().map(|stage| stage.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), stages().count());
        }
        assert_eq!(cycles(Method::Message, &[3, 4]), [Some(368), Some(387)]);
        assert_eq!(cycles(Method::Trap, &[6, 10]), [None, Some(46)]);
    }
}
