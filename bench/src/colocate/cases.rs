//! What is measured: the calls of a published table, and the ways to make them.

use crate::trips::{self, Placement};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Calls that the server makes of its own in one of the client's: `OWN_CALLS` of `stubs/colocate_client.c`.
pub const OWN_CALLS: u32 = 100;

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// No parameter.
    Null,
    /// 64 bytes to the server.
    #[value(name = "64-in")]
    In64,
    /// 1024 bytes to the server.
    #[value(name = "1k-in")]
    In1k,
    /// The same, where the server only reads them.
    #[value(name = "1k-in-const")]
    Const1k,
    /// 1024 bytes from the server.
    #[value(name = "1k-out")]
    Out1k,
    /// 128 bytes to the server and back.
    #[value(name = "128-inout")]
    InOut128,
    /// A call that the server makes to the library, which does nothing.
    OwnLibrary,
    /// A call without a parameter that the server makes to another.
    OwnCall,
}

impl trips::cases::Test for Test {
    /// The numbers of `stubs/colocate_client.c`.
    const ALL: &[Self] =
        &[Self::Null, Self::In64, Self::In1k, Self::Const1k, Self::Out1k, Self::InOut128, Self::OwnLibrary, Self::OwnCall];

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn title(self) -> String {
        let title = match self {
            Self::Null => "null RPC",
            Self::In64 => "64 In",
            Self::In1k => "1K In",
            Self::Const1k => "1K In, const",
            Self::Out1k => "1K Out",
            Self::InOut128 => "128 InOut",
            Self::OwnLibrary => "a server's call to the library",
            Self::OwnCall => "a server's call to another",
        };
        title.to_owned()
    }
}

impl Test {
    /// The routine in `stubs/colocate.defs`.
    pub fn routine(self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::In64 => "in_small",
            Self::In1k => "in_block",
            Self::Const1k => "in_const",
            Self::Out1k => "out_block",
            Self::InOut128 => "words",
            Self::OwnLibrary | Self::OwnCall => "own_calls",
        }
    }

    /// Bytes there and back.
    pub fn bytes(self) -> (usize, usize) {
        match self {
            Self::In64 => (64, 0),
            Self::In1k | Self::Const1k => (1024, 0),
            Self::Out1k => (0, 1024),
            Self::InOut128 => (128, 128),
            Self::Null | Self::OwnLibrary | Self::OwnCall => (0, 0),
        }
    }

    /// Whether it is the server that calls.
    pub fn is_servers(self) -> bool {
        matches!(self, Self::OwnLibrary | Self::OwnCall)
    }
}

/// How the call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// By messages between two processes, with stubs that know no traps
    Message,
    /// The same with stubs that ask for a trap first
    MessageTrapStubs,
    /// By messages between two processes, where a waiter sleeps at once
    MessageSleep,
    /// By messages between two tasks in one process, a thread each
    OneProcess,
    /// By trap between two tasks in one process; one call at a time
    Trap,
    /// The same; any number of calls at a time
    TrapConcurrent,
    /// By trap with client and server in Rust; one call at a time
    TrapRust,
    /// A plain call of the routine
    Plain,
    /// A call of the routine through a table, as virtual functions are called
    Virtual,
    /// The crate capnp-rpc over AF_UNIX, between two processes
    Capnp,
}

impl trips::cases::Method for Method {
    type Test = Test;

    const PEER: &str = "colocate-peer";

    fn heading(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::MessageTrapStubs => "message\ntrap stubs",
            Self::MessageSleep => "message\nno spin",
            Self::OneProcess => "message\none proc.",
            Self::Trap => "trap",
            Self::TrapConcurrent => "trap\nconcurr.",
            Self::TrapRust => "trap\nRust",
            Self::Plain => "C call",
            Self::Virtual => "virtual",
            Self::Capnp => "Cap'n\nProto",
        }
    }

    fn sleeps(self) -> bool {
        self == Self::MessageSleep
    }

    fn does(self, test: Test, placement: Placement) -> bool {
        let calls = match self {
            Self::Plain | Self::Virtual | Self::Capnp => !test.is_servers() && test != Test::Const1k,
            Self::MessageSleep | Self::TrapConcurrent | Self::TrapRust => !test.is_servers(),
            _ => true,
        };
        calls && (placement == Placement::OneCore || !self.is_one_thread())
    }

    fn counts(self, test: Test, placement: Placement) -> bool {
        let polls = matches!(self, Self::Message | Self::MessageTrapStubs | Self::OneProcess | Self::Capnp);
        placement == Placement::OneCore && !polls && !test.is_servers()
    }
}

impl Method {
    /// The number of the way in `stubs/colocate_client.c`; None for one that is not of that program.
    pub fn number(self) -> Option<i32> {
        match self {
            Self::Message | Self::MessageSleep | Self::OneProcess => Some(0),
            Self::MessageTrapStubs | Self::Trap | Self::TrapConcurrent => Some(1),
            Self::Plain => Some(2),
            Self::Virtual => Some(3),
            Self::TrapRust | Self::Capnp => None,
        }
    }

    /// Whether both ends are one thread, so that it runs on one core.
    pub fn is_one_thread(self) -> bool {
        matches!(self, Self::Trap | Self::TrapConcurrent | Self::TrapRust | Self::Plain | Self::Virtual)
    }
}

/// One thing to measure.
pub type Case = trips::cases::Case<Test, Method>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::Cores;
    use crate::trips::cases::plan;
    use crate::trips::cli::tests::parse;

    const TWO: Cores = Cores { first: 0, second: Some(1) };

    #[test]
    fn everything_is_planned_once_and_only_where_it_can_be_done() {
        let cases = plan::<Method>(&parse("").unwrap(), &TWO).unwrap();
        for (index, case) in cases.iter().enumerate() {
            assert!(!cases[..index].contains(case), "{case:?}");
        }
        let has = |test, method, placement| cases.contains(&Case { test, method, placement });
        assert!(has(Test::Null, Method::Message, Placement::Different) && has(Test::Null, Method::Trap, Placement::OneCore));
        assert!(!has(Test::Null, Method::Trap, Placement::Different) && !has(Test::OwnCall, Method::Plain, Placement::OneCore));
        let alone = Cores { first: 3, second: None };
        assert!(plan::<Method>(&parse("").unwrap(), &alone).unwrap().iter().all(|case| case.placement == Placement::OneCore));
        let error = plan::<Method>(&parse("--only 17").unwrap(), &TWO).unwrap_err().to_string();
        assert!(error.contains("'17'") && error.contains("1k-in-const"), "{error}");
        assert!(plan::<Method>(&parse("--only own-call --variants plain").unwrap(), &TWO).is_err());
    }
}
