//! Progress on standard error: a bar for a terminal, plain lines for anything else.

use super::measure::Outcome;
use super::placement::Placement;
use super::report::format;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};

/// Shows how far a run is.
pub struct Progress {
    bar: Option<ProgressBar>,
    done: usize,
    total: usize,
}

impl Progress {
    /// For a run of `total` steps that takes about `seconds`.
    pub fn new(total: usize, seconds: f64) -> Self {
        let about = match seconds {
            ..90.0 => format!("{seconds:.0} s"),
            _ => format!("{:.0} min", seconds / 60.0),
        };
        eprintln!("{total} measurements, about {about}");
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("[{bar:30}] {pos}/{len} {elapsed} {wide_msg}");
            ProgressBar::new(total as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self { bar, done: 0, total }
    }

    /// `test` is being measured.
    pub fn start(&self, placement: Placement, test: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{}: {test}", placement.name()));
        }
    }

    /// `test` is done.
    pub fn finish(&mut self, placement: Placement, test: &str, outcome: &Outcome) {
        self.done += 1;
        if let Some(bar) = &self.bar {
            bar.inc(1);
            return;
        }
        let result = match outcome {
            Outcome::Rows(rows) => rows
                .iter()
                .map(|row| {
                    let (socket, ours) = (format::rate(row.socket), format::rate(row.ours));
                    format!("{socket}/s -> {ours}/s, {}", format::ratio(row.ratio))
                })
                .collect::<Vec<_>>()
                .join("; "),
            Outcome::Skipped(reason) => format!("skipped: {reason}"),
            Outcome::Failed(reason) => format!("FAILED: {reason}"),
        };
        let (done, total) = (self.done, self.total);
        eprintln!("[{done}/{total}] {}: {test}: {result}", placement.name());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
