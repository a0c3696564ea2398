//! Progress on standard error: a bar for a terminal, plain lines for anything else.

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

    /// `step` is being measured.
    pub fn start(&self, step: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(step.to_owned());
        }
    }

    /// `step` is done, with that result.
    pub fn finish(&mut self, step: &str, result: impl FnOnce() -> String) {
        self.done += 1;
        if let Some(bar) = &self.bar {
            bar.inc(1);
            return;
        }
        let (done, total) = (self.done, self.total);
        eprintln!("[{done}/{total}] {step}: {}", result());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
