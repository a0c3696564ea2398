//! Progress on standard error: a bar for a terminal, plain lines for anything else.

use indicatif::{ProgressBar, ProgressStyle};

/// Shows how far a run is.
pub struct Progress(ProgressBar);

impl Progress {
    /// For a run of `total` steps that takes about `seconds`.
    pub fn new(total: usize, seconds: f64) -> Self {
        let about = match seconds {
            ..90.0 => format!("{seconds:.0} s"),
            _ => format!("{:.0} min", seconds / 60.0),
        };
        eprintln!("{total} measurements, about {about}");
        let style = ProgressStyle::with_template("[{bar:30}] {pos}/{len} {elapsed} {wide_msg}");
        // It hides itself where there is no terminal.
        Self(ProgressBar::new(total as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    /// `step` is being measured.
    pub fn start(&self, step: &str) {
        self.0.set_message(step.to_owned());
    }

    /// `step` is done, with that result.
    pub fn finish(&self, step: &str, result: &str) {
        self.0.inc(1);
        if self.0.is_hidden() {
            eprintln!("[{}/{}] {step}: {result}", self.0.position(), self.0.length().unwrap_or_default());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
