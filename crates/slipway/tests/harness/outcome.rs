//! How a program ended.

use std::process::ExitStatus;

/// What a program printed and how it ended.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// Its exit code; fails if a signal ended it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("no exit code: {self:?}"))
    }

    /// The only line on standard error, which is one of Slipway's.
    pub fn error_line(&self) -> &str {
        let line = self.stderr.strip_suffix('\n').unwrap_or_else(|| panic!("{self:?}"));
        assert!(line.starts_with("slipway: ") && !line.contains('\n'), "{self:?}");
        line
    }
}
