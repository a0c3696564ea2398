//! The one error type of the command line: a message for a person, an exit code for a script.

use std::fmt::Display;

/// No server or process to ask.
pub const NO_SERVER: u8 = 1;
/// A wrong option or value (as clap's own errors).
pub const USAGE: u8 = 2;
/// The process has no Mach ports that others know.
pub const NOT_MACH: u8 = 3;
/// The process belongs to another user.
pub const NOT_PERMITTED: u8 = 4;
/// The process does not answer, or nothing that makes sense.
pub const NO_ANSWER: u8 = 5;
/// Slipway itself could not do its part (a server that does not start, no temporary directory).
pub const OWN: u8 = 125;
/// The program was found and could not be executed (as shells do).
pub const NOT_EXECUTABLE: u8 = 126;
/// The program was not found (as shells do).
pub const NOT_FOUND: u8 = 127;

/// Why `slipway` ends without having run the program.
#[derive(Debug)]
pub struct Failure {
    /// The exit code of `slipway`.
    pub code: u8,
    /// What failed, on what, and what to do, without the `slipway: ` in front.
    pub message: String,
}

impl Failure {
    /// A failure with an exit code of its own.
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A wrong option, value or environment variable.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    /// Slipway could not do its part: `what` failed with `error`.
    pub fn own(what: impl Display, error: impl Display) -> Self {
        Self::new(OWN, format!("{what}: {error}"))
    }
}
