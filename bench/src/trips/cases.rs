//! The cases of a bench that does several tests in several ways.

use super::Placement;
use super::cli::Options;
use crate::cores::Cores;
use crate::failure::Failure;
use clap::ValueEnum;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::hash::Hash;
use std::path::Path;

/// What crosses.
pub trait Test: Copy + Debug + Eq + Hash + Serialize + DeserializeOwned + 'static {
    /// In the order of the published tables.
    const ALL: &'static [Self];

    /// The name that the options and the results use.
    fn name(self) -> String;

    /// As the published tables call it.
    fn title(self) -> String;
}

/// How it crosses.
pub trait Method: ValueEnum + Copy + Debug + Eq + Hash + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// What is done in these ways.
    type Test: Test;

    /// The hidden subcommand of this program that is one of the two processes.
    const PEER: &str;

    /// For a narrow heading.
    fn heading(self) -> &'static str;

    /// Whether who waits sleeps at once.
    fn sleeps(self) -> bool;

    /// Whether this way can do `test`, with its ends at `placement`.
    fn does(self, test: Self::Test, placement: Placement) -> bool;

    /// Whether that has the same number of instructions in every run: nothing is polled in vain.
    fn counts(self, test: Self::Test, placement: Placement) -> bool;

    /// Takes away what a measurement in `directory` may have left elsewhere.
    fn clean_up(self, _directory: &Path) {}

    /// The name that the options and the results use.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// One thing to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Case<T, M> {
    /// What crosses.
    pub test: T,
    /// How.
    pub method: M,
    /// Where.
    pub placement: Placement,
}

impl<M: Method> Case<M::Test, M> {
    /// Whether its instructions can be counted.
    pub fn counts(&self) -> bool {
        self.method.counts(self.test, self.placement)
    }
}

impl<M: Method> super::Case for Case<M::Test, M> {
    const PEER: &str = M::PEER;

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
        self.method.sleeps()
    }

    fn clean_up(&self, directory: &Path) {
        self.method.clean_up(directory);
    }
}

/// The test called `name`, as "null", "256-longwords", or "256" for that.
///
/// # Errors
/// [`Failure::Usage`] when there is none.
pub fn find<T: Test>(name: &str) -> Result<T, Failure> {
    let known = T::ALL.iter().find(|test| test.name() == name || format!("{name}-longwords") == test.name());
    known.copied().ok_or_else(|| {
        let names: Vec<String> = T::ALL.iter().map(|test| test.name()).collect();
        Failure::Usage(format!("there is no test '{name}'; there are {}", names.join(", ")))
    })
}

/// What `options` ask for, as far as `cores` allow it.
///
/// # Errors
/// [`Failure::Usage`] for a test that there isn't, or when nothing is left to measure.
pub fn plan<M: Method>(options: &Options<M>, cores: &Cores) -> Result<Vec<Case<M::Test, M>>, Failure> {
    let tests: Vec<M::Test> = match options.only.is_empty() {
        true => M::Test::ALL.to_vec(),
        false => options.only.iter().map(|name| find(name.trim())).collect::<Result<_, _>>()?,
    };
    let methods = if options.variants.is_empty() { M::value_variants() } else { &options.variants[..] };
    let mut cases = Vec::new();
    for &test in &tests {
        for &method in methods {
            for placement in Placement::ALL {
                let room = placement == Placement::OneCore || cores.second.is_some();
                if room && method.does(test, placement) {
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
