//! What is measured: the calls of two published tables, and the ways to make them.

use crate::trips::{self, Placement};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Bytes of a message's header, and of the type before its data.
const HEADER: u32 = 32;
const TYPE: u32 = 8;

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Test {
    /// An integer that is passed back.
    Null,
    /// An array of so many longwords (of 4 bytes) that is passed back.
    Longwords(u32),
    /// Four integers each way.
    FourInts,
    /// No parameter.
    Nothing,
    /// So many bytes to the server.
    In(u32),
    /// So many bytes from the server.
    Out(u32),
    /// So many bytes to the server and back.
    InOut(u32),
}

impl trips::cases::Test for Test {
    /// The numbers of `stubs/client.c`.
    const ALL: &[Self] = &[
        Self::Null,
        Self::Longwords(16),
        Self::Longwords(256),
        Self::Longwords(4095),
        Self::FourInts,
        Self::Nothing,
        Self::In(64),
        Self::In(1024),
        Self::Out(1024),
        Self::InOut(128),
    ];

    fn name(self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Longwords(count) => format!("{count}-longwords"),
            Self::FourInts => "four-ints".to_owned(),
            Self::Nothing => "nothing".to_owned(),
            Self::In(bytes) => format!("{bytes}-in"),
            Self::Out(bytes) => format!("{bytes}-out"),
            Self::InOut(bytes) => format!("{bytes}-inout"),
        }
    }

    fn title(self) -> String {
        match self {
            Self::Null => "null RPC (an integer)".to_owned(),
            Self::Longwords(count) => format!("RPC, {count} longwords"),
            Self::FourInts => "four integers each way".to_owned(),
            Self::Nothing => "null RPC (no parameter)".to_owned(),
            Self::In(bytes) => format!("{bytes} bytes In"),
            Self::Out(bytes) => format!("{bytes} bytes Out"),
            Self::InOut(bytes) => format!("{bytes} bytes InOut"),
        }
    }
}

impl Test {
    /// Its place among all tests.
    pub fn number(self) -> usize {
        <Self as trips::cases::Test>::ALL.iter().position(|test| *test == self).unwrap_or(usize::MAX)
    }

    /// The routine in `stubs/rpc.defs`.
    pub fn routine(self) -> &'static str {
        match self {
            Self::Null => "integer",
            Self::Longwords(16) => "few",
            Self::Longwords(256) => "many",
            Self::Longwords(_) => "most",
            Self::FourInts => "four",
            Self::Nothing => "nothing",
            Self::In(64) => "in_small",
            Self::In(_) => "in_block",
            Self::Out(_) => "out_block",
            Self::InOut(_) => "words",
        }
    }

    /// Bytes of the bare messages there and back: as long as a message with the data and nothing else. A null call's is
    /// a header.
    pub fn bytes(self) -> (u32, u32) {
        let data = |bytes: u32| (HEADER + TYPE + bytes).next_multiple_of(8);
        match self {
            Self::Null | Self::Nothing => (HEADER, HEADER),
            Self::Longwords(count) => (data(4 * count), data(4 * count)),
            Self::FourInts => (HEADER + 4 * (TYPE + 8), HEADER + 4 * (TYPE + 8)),
            Self::In(bytes) => (data(bytes), HEADER),
            Self::Out(bytes) => (HEADER, data(bytes)),
            Self::InOut(bytes) => (data(bytes), data(bytes)),
        }
    }
}

/// How the call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Calls by mig's stubs between two processes
    Stubs,
    /// The same, where a waiter sleeps at once
    StubsSleep,
    /// Calls between two tasks in one process, a thread each
    StubsOneProcess,
    /// Bare messages with as much data, between two processes
    Bare,
    /// The same, where a waiter sleeps at once
    BareSleep,
    /// Bare messages between two tasks in one process
    BareOneProcess,
    /// Bare messages between two processes, answered by send-once rights
    Once,
    /// A thousand times the client's stub, whose mach_msg takes a reply that lies ready
    ClientStub,
    /// A thousand times the server's stub, for a request that lies ready
    ServerStub,
    /// A thousand times what that mach_msg itself does
    Ready,
}

impl trips::cases::Method for Method {
    type Test = Test;

    const PEER: &str = "rpc-peer";

    fn heading(self) -> &'static str {
        match self {
            Self::Stubs => "stubs",
            Self::StubsSleep => "stubs\nno spin",
            Self::StubsOneProcess => "stubs\none proc.",
            Self::Bare => "bare",
            Self::BareSleep => "bare\nno spin",
            Self::BareOneProcess => "bare\none proc.",
            Self::Once => "bare\nsend-once",
            Self::ClientStub => "client's\nstub",
            Self::ServerStub => "server's\nstub",
            Self::Ready => "ready",
        }
    }

    fn sleeps(self) -> bool {
        matches!(self, Self::StubsSleep | Self::BareSleep)
    }

    fn does(self, _: Test, placement: Placement) -> bool {
        self.crosses() || placement == Placement::OneCore
    }

    fn counts(self, _: Test, placement: Placement) -> bool {
        placement == Placement::OneCore && self.sleeps()
    }
}

impl Method {
    /// The bare messages that calls in this way stand beside; None for what is no call.
    pub fn bare(self) -> Option<Self> {
        match self {
            Self::Stubs => Some(Self::Bare),
            Self::StubsSleep => Some(Self::BareSleep),
            Self::StubsOneProcess => Some(Self::BareOneProcess),
            _ => None,
        }
    }

    /// Whether a message crosses.
    pub fn crosses(self) -> bool {
        !matches!(self, Self::ClientStub | Self::ServerStub | Self::Ready)
    }
}

/// One thing to measure.
pub type Case = trips::cases::Case<Test, Method>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::Cores;
    use crate::trips::cases::{Test as _, find, plan};
    use crate::trips::cli::tests::parse;

    const TWO: Cores = Cores { first: 0, second: Some(1) };

    #[test]
    fn bare_messages_are_as_long_as_mach_makes_them() {
        let bytes: Vec<(u32, u32)> = Test::ALL.iter().map(|test| test.bytes()).collect();
        let same = [32, 104, 1064, 16_424, 96, 32].map(|size| (size, size));
        assert_eq!(bytes[..6], same);
        assert_eq!(bytes[6..], [(104, 32), (1064, 32), (32, 1064), (168, 168)]);
    }

    #[test]
    fn every_test_is_found_by_its_name_and_has_a_routine_of_its_own() {
        for (index, &test) in Test::ALL.iter().enumerate() {
            assert_eq!(find::<Test>(&test.name()).unwrap(), test);
            assert_eq!(test.number(), index);
            assert!(Test::ALL[..index].iter().all(|other| other.routine() != test.routine()), "{test:?}");
        }
        assert_eq!(find::<Test>("4095").unwrap(), Test::Longwords(4095));
        let error = find::<Test>("17").unwrap_err().to_string();
        assert!(error.contains("'17'") && error.contains("128-inout"), "{error}");
    }

    #[test]
    fn everything_is_planned_once_and_only_where_it_can_be_done() {
        let cases = plan::<Method>(&parse("").unwrap(), &TWO).unwrap();
        for (index, case) in cases.iter().enumerate() {
            assert!(!cases[..index].contains(case), "{case:?}");
        }
        let has = |method, placement| cases.contains(&Case { test: Test::FourInts, method, placement });
        assert!(has(Method::Stubs, Placement::Different) && has(Method::ServerStub, Placement::OneCore));
        assert!(!has(Method::ServerStub, Placement::Different));
        assert_eq!(cases.iter().filter(|case| case.counts()).count(), 20);
        let alone = Cores { first: 3, second: None };
        assert!(plan::<Method>(&parse("").unwrap(), &alone).unwrap().iter().all(|case| case.placement == Placement::OneCore));
        assert!(plan::<Method>(&parse("--only 17").unwrap(), &TWO).is_err());
    }
}
