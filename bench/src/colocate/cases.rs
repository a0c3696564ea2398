//! What is measured: the calls of a published table, and the ways to make them.

use super::cli::Args;
use crate::cores::Cores;
use crate::failure::Failure;
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

impl Test {
    /// In the order of the published tables; the numbers of `stubs/colocate_client.c`.
    pub const ALL: [Self; 8] =
        [Self::Null, Self::In64, Self::In1k, Self::Const1k, Self::Out1k, Self::InOut128, Self::OwnLibrary, Self::OwnCall];

    /// The name that the options and the results use.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// As the published tables call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Null => "null RPC",
            Self::In64 => "64 In",
            Self::In1k => "1K In",
            Self::Const1k => "1K In, const",
            Self::Out1k => "1K Out",
            Self::InOut128 => "128 InOut",
            Self::OwnLibrary => "a server's call to the library",
            Self::OwnCall => "a server's call to another",
        }
    }

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
    /// A plain call of the routine
    Plain,
    /// A call of the routine through a table, as virtual functions are called
    Virtual,
    /// The crate capnp-rpc over AF_UNIX, between two processes
    Capnp,
}

impl Method {
    /// For a narrow heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::MessageTrapStubs => "message\ntrap stubs",
            Self::MessageSleep => "message\nno spin",
            Self::OneProcess => "message\none proc.",
            Self::Trap => "trap",
            Self::TrapConcurrent => "trap\nconcurr.",
            Self::Plain => "C call",
            Self::Virtual => "virtual",
            Self::Capnp => "Cap'n\nProto",
        }
    }

    /// The name that the options and the results use.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The number of the way in `stubs/colocate_client.c`; None for another program's.
    pub fn number(self) -> Option<i32> {
        match self {
            Self::Message | Self::MessageSleep | Self::OneProcess => Some(0),
            Self::MessageTrapStubs | Self::Trap | Self::TrapConcurrent => Some(1),
            Self::Plain => Some(2),
            Self::Virtual => Some(3),
            Self::Capnp => None,
        }
    }

    /// Whether both ends are one thread, so that it runs on one core.
    pub fn is_one_thread(self) -> bool {
        matches!(self, Self::Trap | Self::TrapConcurrent | Self::Plain | Self::Virtual)
    }

    fn does(self, test: Test) -> bool {
        match self {
            Self::Plain | Self::Virtual | Self::Capnp => !test.is_servers() && test != Test::Const1k,
            Self::MessageSleep | Self::TrapConcurrent => !test.is_servers(),
            _ => true,
        }
    }
}

/// One thing to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Case {
    /// The call.
    pub test: Test,
    /// How it is made.
    pub method: Method,
    /// Where.
    pub placement: Placement,
}

impl Case {
    /// Whether its instructions are the same in every run: nothing is polled in vain.
    pub fn counts(&self) -> bool {
        let polls = matches!(self.method, Method::Message | Method::MessageTrapStubs | Method::OneProcess | Method::Capnp);
        self.placement == Placement::OneCore && !polls && !self.test.is_servers()
    }
}

impl trips::Case for Case {
    const PEER: &str = "colocate-peer";

    fn placement(&self) -> Placement {
        self.placement
    }

    fn test(&self) -> String {
        self.test.name()
    }

    fn way(&self) -> String {
        self.method.name()
    }

    fn sleeps(&self) -> bool {
        self.method == Method::MessageSleep
    }
}

/// What `args` ask for, as far as `cores` allow it.
///
/// # Errors
/// [`Failure::Usage`] for a test that there isn't, or when nothing is left to measure.
pub fn plan(args: &Args, cores: &Cores) -> Result<Vec<Case>, Failure> {
    let find = |name: &String| {
        Test::from_str(name.trim(), true).map_err(|_| {
            let names = Test::ALL.map(Test::name).join(", ");
            Failure::Usage(format!("there is no test '{name}'; there are {names}"))
        })
    };
    let tests = match args.trips.only.is_empty() {
        true => Test::ALL.to_vec(),
        false => args.trips.only.iter().map(find).collect::<Result<_, _>>()?,
    };
    let methods = if args.variants.is_empty() { Method::value_variants() } else { &args.variants[..] };
    let mut cases = Vec::new();
    for &test in &tests {
        for &method in methods.iter().filter(|method| method.does(test)) {
            for placement in Placement::ALL {
                let room = placement == Placement::OneCore || (cores.second.is_some() && !method.is_one_thread());
                if room {
                    cases.push(Case { test, method, placement });
                }
            }
        }
    }
    match cases.is_empty() {
        true => Err(Failure::Usage("none of the tests asked for can be done in any of those ways here".to_owned())),
        false => Ok(cases),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colocate::cli::tests::parse;

    const TWO: Cores = Cores { first: 0, second: Some(1) };

    #[test]
    fn everything_is_planned_once_and_only_where_it_can_be_done() {
        let cases = plan(&parse("").unwrap(), &TWO).unwrap();
        for (index, case) in cases.iter().enumerate() {
            assert!(!cases[..index].contains(case), "{case:?}");
        }
        let has = |test, method, placement| cases.contains(&Case { test, method, placement });
        assert!(has(Test::Null, Method::Message, Placement::Different) && has(Test::Null, Method::Trap, Placement::OneCore));
        assert!(!has(Test::Null, Method::Trap, Placement::Different) && !has(Test::OwnCall, Method::Plain, Placement::OneCore));
        let alone = Cores { first: 3, second: None };
        assert!(plan(&parse("").unwrap(), &alone).unwrap().iter().all(|case| case.placement == Placement::OneCore));
        let error = plan(&parse("--only 17").unwrap(), &TWO).unwrap_err().to_string();
        assert!(error.contains("'17'") && error.contains("1k-in-const"), "{error}");
        assert!(plan(&parse("--only own-call --variants plain").unwrap(), &TWO).is_err());
    }
}
