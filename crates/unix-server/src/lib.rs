//! The Unix server: files of a copy-on-write view, process structures and signals, for programs that reach it by Mach messages, or by
//! trap where they share its process.
//!
//! The model is the single server of OSF/1 on Mach 3.0, which ran as a task or in the kernel: one binary, and an emulation library in each
//! program, which answers what needs no server. * [`System`]: the server: its processes and the loops that serve them. * [`Process`]: the
//! emulation library's side. `<servers/unix.defs>` is what goes between the two.

mod files;
mod process;
mod program;
mod routines;
mod system;

pub use program::{Error, Process};
pub use system::System;

/// What mig made of `<servers/unix.defs>`.
#[allow(missing_docs, clippy::all, clippy::missing_errors_doc, reason = "made by mig")]
pub mod stubs {
    include!(concat!(env!("OUT_DIR"), "/unix.rs"));
}

/// What mig made of `<servers/unix_signal.defs>`.
#[allow(missing_docs, clippy::all, clippy::missing_errors_doc, reason = "made by mig")]
pub mod signal_stubs {
    include!(concat!(env!("OUT_DIR"), "/unix_signal.rs"));
}

/// The name that the server registers by default: `UNIX_SERVICE` of `<servers/unix_types.h>`.
pub const SERVICE: &str = "slipway.unix";

/// The most bytes that one call carries: `UNIX_DATA_MAX`.
pub const DATA_MAX: u32 = 8192;

/// Mach's system of errors that are Unix's, as `UNIX_ERROR` has it.
const UNIX_SYSTEM: i32 = 3 << 26;
