//! What is measured: the tests of the published table, the ways to do them, and where they run.

use super::methods::iceoryx;
use crate::trips::{self, Placement};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Bytes of a Mach message's header, which is all of a null message.
const HEADER: usize = 32;
/// Bytes of the descriptor before a message's data.
const DESCRIPTOR: usize = 8;

/// What crosses, there and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Test {
    /// Nothing in particular: what the machine itself takes.
    Floor,
    /// A message with so many longwords (of 4 bytes) of data; 0: the header alone.
    Longwords(u32),
    /// A message with so many rights to ports of the sender, which the receiver deallocates.
    Ports(u32),
    /// A request with a send-once right, to which the answer goes.
    Rpc,
    /// Requests to so many ports of the server's in turn, each with a send-once right, to which the answer goes.
    RpcOwned(u32),
    /// The same, where the client made the ports and moved their receive rights to the server.
    RpcMoved(u32),
    /// A message with so many rights to ports of a third process, which the receiver deallocates.
    PassedOn(u32),
    /// A port that is made and destroyed, and never leaves its task.
    MakePort,
}

impl trips::cases::Test for Test {
    /// The floor first, what the published table doesn't have last.
    const ALL: &[Self] = &[
        Self::Floor,
        Self::Longwords(0),
        Self::Longwords(16),
        Self::Longwords(256),
        Self::Longwords(4095),
        Self::Ports(1),
        Self::Ports(16),
        Self::Ports(256),
        Self::Rpc,
        Self::RpcOwned(100),
        Self::RpcMoved(100),
        Self::PassedOn(1),
        Self::PassedOn(256),
        Self::MakePort,
    ];

    fn name(self) -> String {
        match self {
            Self::Floor => "floor".to_owned(),
            Self::Longwords(0) => "null".to_owned(),
            Self::Longwords(count) => format!("{count}-longwords"),
            Self::Ports(1) => "1-port".to_owned(),
            Self::Ports(count) => format!("{count}-ports"),
            Self::Rpc => "rpc".to_owned(),
            Self::RpcOwned(count) => format!("rpc-{count}-owned"),
            Self::RpcMoved(count) => format!("rpc-{count}-moved"),
            Self::PassedOn(count) => format!("{count}-passed-on"),
            Self::MakePort => "make-port".to_owned(),
        }
    }

    fn title(self) -> String {
        match self {
            Self::Floor => "floor".to_owned(),
            Self::Longwords(0) => "null message".to_owned(),
            Self::Longwords(count) => format!("{count} longwords"),
            Self::Ports(1) => "1 port".to_owned(),
            Self::Ports(count) => format!("{count} ports"),
            Self::Rpc => "RPC".to_owned(),
            Self::RpcOwned(count) => format!("RPC, {count} ports"),
            Self::RpcMoved(count) => format!("RPC, {count} moved ports"),
            Self::PassedOn(1) => "1 port passed on".to_owned(),
            Self::PassedOn(count) => format!("{count} ports passed on"),
            Self::MakePort => "make a port".to_owned(),
        }
    }
}

impl Test {
    /// Bytes of the Mach message that carries the test's data: every way carries as many.
    pub fn bytes(self) -> usize {
        match self {
            Self::Floor | Self::Longwords(0) | Self::Rpc | Self::RpcOwned(_) | Self::RpcMoved(_) | Self::MakePort => HEADER,
            Self::Longwords(count) => (HEADER + DESCRIPTOR + 4 * count as usize).next_multiple_of(8),
            Self::Ports(count) | Self::PassedOn(count) => HEADER + DESCRIPTOR + 8 * count as usize,
        }
    }
}

/// How it crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// A word in shared memory that both ends watch without a pause
    CacheLine,
    /// Two futexes
    Futex,
    /// A word in shared memory, and sched_yield until it changes
    Yield,
    /// Copying 16 KB within a core, once
    Copy,
    /// Reading the clock, twice in each timed round trip
    Clock,
    /// Two pipes
    Pipe,
    /// AF_UNIX, SOCK_SEQPACKET; rights are descriptors
    Socket,
    /// A bare line of the fabric: two rings in a shared segment, nothing of Mach
    Fabric,
    /// The crate ipc-channel; data by its byte channels, rights by its channels of senders
    IpcChannel,
    /// The crate iceoryx2, publish and subscribe, busy polling; received data is read where it lies
    Iceoryx2,
    /// Mach messages between two tasks, a process each
    Mach,
    /// The same, where a waiter sleeps at once
    MachSleep,
    /// Mach messages between two tasks in one process, a thread each
    MachOneProcess,
}

impl trips::cases::Method for Method {
    type Test = Test;

    const PEER: &str = "ipc-peer";

    fn heading(self) -> &'static str {
        match self {
            Self::CacheLine => "cache line",
            Self::Futex => "futex",
            Self::Yield => "yield",
            Self::Copy => "copy 16 KB",
            Self::Clock => "clock",
            Self::Pipe => "pipe",
            Self::Socket => "AF_UNIX",
            Self::Fabric => "bare line",
            Self::IpcChannel => "ipc-channel",
            Self::Iceoryx2 => "iceoryx2",
            Self::Mach => "Mach",
            Self::MachSleep => "Mach\nno spin",
            Self::MachOneProcess => "Mach\none proc.",
        }
    }

    fn sleeps(self) -> bool {
        self == Self::MachSleep
    }

    fn does(self, test: Test, placement: Placement) -> bool {
        let local = test == Test::MakePort && placement == Placement::Different;
        self.carries(test) && self.runs(placement) && !local
    }

    fn counts(self, test: Test, placement: Placement) -> bool {
        use Method::{CacheLine, Clock, Copy, Iceoryx2, Mach, MachOneProcess, Yield};
        let counts = match test {
            Test::MakePort => true,
            // Who waits for two lines sleeps by futex_waitv; a valgrind that lacks it has him poll instead.
            Test::PassedOn(_) => false,
            _ => !matches!(self, CacheLine | Iceoryx2 | Yield | Clock | Copy | Mach | MachOneProcess),
        };
        counts && placement == Placement::OneCore
    }

    fn clean_up(self, directory: &Path) {
        if self == Self::Iceoryx2 {
            iceoryx::clean_up(directory);
        }
    }
}

impl Method {
    /// Whether this way can do `test`.
    fn carries(self, test: Test) -> bool {
        use Method::{
            CacheLine, Clock, Copy, Fabric, Futex, Iceoryx2, IpcChannel, Mach, MachOneProcess, MachSleep, Pipe, Socket, Yield,
        };
        let mach = matches!(self, Mach | MachSleep | MachOneProcess);
        match test {
            Test::Floor => matches!(self, CacheLine | Futex | Yield | Copy | Clock),
            Test::Longwords(_) => mach || matches!(self, Pipe | Socket | Fabric | IpcChannel | Iceoryx2),
            Test::Ports(_) => mach || matches!(self, Socket | IpcChannel),
            Test::Rpc => mach,
            Test::RpcOwned(_) | Test::RpcMoved(_) | Test::PassedOn(_) => matches!(self, Mach | MachSleep),
            Test::MakePort => self == Mach,
        }
    }

    /// Whether this way can be used with both ends at `placement`.
    fn runs(self, placement: Placement) -> bool {
        match self {
            // Ends that never sleep would each use up their turns on a shared core.
            Self::CacheLine | Self::Iceoryx2 => placement == Placement::Different,
            Self::Copy | Self::Clock | Self::Yield => placement == Placement::OneCore,
            _ => true,
        }
    }
}

/// One thing to measure.
pub type Case = trips::cases::Case<Test, Method>;

impl Case {
    /// A cache line that goes to another core and comes back.
    pub const CACHE_LINE: Self = Self { test: Test::Floor, method: Method::CacheLine, placement: Placement::Different };

    /// The clock that single round trips are timed with, read once.
    pub const CLOCK: Self = Self { test: Test::Floor, method: Method::Clock, placement: Placement::OneCore };

    /// A bare line between cores that carries messages with so many bytes of data.
    pub fn bare_line(bytes: u32) -> Self {
        Self { test: Test::Longwords(bytes / 4), method: Method::Fabric, placement: Placement::Different }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::Cores;
    use crate::trips::cases::{Test as _, find, plan};
    use crate::trips::cli::tests::parse;

    const TWO: Cores = Cores { first: 0, second: Some(1) };

    #[test]
    fn messages_are_as_long_as_mach_makes_them() {
        let bytes: Vec<usize> = Test::ALL.iter().map(|test| test.bytes()).collect();
        assert_eq!(bytes, [32, 32, 104, 1064, 16_424, 48, 168, 2088, 32, 32, 32, 48, 2088, 32]);
    }

    #[test]
    fn every_test_is_found_by_its_name() {
        for &test in Test::ALL {
            assert_eq!(find::<Test>(&test.name()).unwrap(), test);
        }
        assert_eq!(find::<Test>("256").unwrap(), Test::Longwords(256));
        let error = find::<Test>("17").unwrap_err().to_string();
        assert!(error.contains("'17'") && error.contains("16-ports"), "{error}");
    }

    #[test]
    fn everything_is_planned_once_and_only_where_it_can_be_done() {
        let cases = plan::<Method>(&parse("").unwrap(), &TWO).unwrap();
        for (index, case) in cases.iter().enumerate() {
            assert!(!cases[..index].contains(case), "{case:?}");
        }
        let has = |test, method, placement| cases.contains(&Case { test, method, placement });
        assert!(has(Test::Longwords(4095), Method::Pipe, Placement::OneCore));
        assert!(has(Test::Ports(256), Method::Socket, Placement::Different));
        assert!(!has(Test::Ports(1), Method::Pipe, Placement::Different));
        assert!(!has(Test::Longwords(0), Method::Iceoryx2, Placement::OneCore));
        assert!(!has(Test::Longwords(0), Method::Futex, Placement::OneCore));
        assert!(has(Test::Longwords(16), Method::MachSleep, Placement::Different));
        assert!(has(Test::PassedOn(256), Method::Mach, Placement::Different));
        assert!(!has(Test::PassedOn(256), Method::MachOneProcess, Placement::Different));
        assert!(has(Test::MakePort, Method::Mach, Placement::OneCore));
        assert!(!has(Test::MakePort, Method::Mach, Placement::Different));
        // What spins has no number of instructions.
        let counted = |method| cases.iter().filter(|case| case.method == method && case.counts()).count();
        assert_eq!((counted(Method::Mach), counted(Method::MachOneProcess), counted(Method::MachSleep)), (1, 0, 10));
    }

    #[test]
    fn one_core_is_enough_for_half_of_it() {
        let alone = Cores { first: 3, second: None };
        let cases = plan::<Method>(&parse("--only null,floor").unwrap(), &alone).unwrap();
        assert!(cases.iter().all(|case| case.placement == Placement::OneCore));
        assert!(cases.iter().any(|case| case.method == Method::Socket));
    }

    #[test]
    fn a_plan_without_a_case_is_refused() {
        assert!(plan::<Method>(&parse("--only 1-port --variants pipe").unwrap(), &TWO).is_err());
        assert!(plan::<Method>(&parse("--only nonsense").unwrap(), &TWO).is_err());
    }
}
