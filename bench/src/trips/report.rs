//! What the reports of round trips have in common.

use super::cases::Test;
use super::results::{Missing, Results, Row, Settings};
use crate::machine::Machine;
use crate::report::file::write_json;
use crate::targets::Judgement;
use serde::Serialize;
use std::path::Path;

/// The front of a report: where, when and how.
pub fn header<C>(title: &str, results: &Results<C>) -> String {
    let Results { machine, date, settings, .. } = results;
    format!(
        "{title}\n\
         machine    {}\n\
         date       {date}\n\
         placement  {}\n\
         method     medians of {} interleaved runs of {} s\n",
        machine.line(),
        settings.cores,
        settings.repeat,
        settings.seconds
    )
}

/// The end of a report: what failed, a line each.
pub fn failures<C>(results: &Results<C>) -> String {
    let line = |missing: &Missing| format!("FAILED: {}, {}: {}\n", missing.test, missing.variant, missing.reason);
    results.failed.iter().map(line).collect()
}

/// What was published for a test, for programs.
#[derive(Serialize)]
pub struct Published<P> {
    test: String,
    #[serde(flatten)]
    figures: P,
}

/// The tests for which something was published, in their order.
pub fn published<T: Test, P>(of: impl Fn(T) -> Option<P>) -> Vec<Published<P>> {
    T::ALL.iter().filter_map(|&test| Some(Published { test: test.name(), figures: of(test)? })).collect()
}

/// The results for programs.
#[derive(Serialize)]
#[serde(bound = "P: Serialize")]
pub struct Document<'a, C, P> {
    machine: &'a Machine,
    date: &'a str,
    settings: &'a Settings,
    rows: &'a [Row<C>],
    published: P,
    targets: &'a [Judgement],
    failed: &'a [Missing],
}

impl<'a, C, P: Serialize> Document<'a, C, P> {
    /// That of `results`, with what was published beside them.
    pub fn new(results: &'a Results<C>, published: P, targets: &'a [Judgement]) -> Self {
        let Results { machine, date, settings, rows, failed } = results;
        Self { machine, date, settings, rows, published, targets, failed }
    }

    /// Writes it to `file`.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn write(&self, file: &Path) -> anyhow::Result<()> {
        write_json(file, self)
    }
}

#[cfg(test)]
pub mod tests {
    /// Holds a report to having all of its `parts`.
    pub fn has_all(text: &str, parts: &[&str]) {
        for part in parts {
            assert!(text.contains(part), "'{part}' is not in\n{text}");
        }
    }
}
