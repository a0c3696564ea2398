//! Messages to standard error, for the program's user: few, and off a hot path.
//!
//! One write(2) a line, so that lines of several processes don't mix. Nothing here allocates
//! more than a line or takes a lock: a hook may run anywhere.

use slipway_fabric::sync::{AtomicU8, Ordering};
use std::{
    fmt::{Arguments, Write as _},
    os::fd::AsFd,
};

/// What `SLIPWAY_LOG` lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Nothing.
    Off = 1,
    /// What went wrong.
    Error,
    /// What works otherwise than asked for.
    Warn,
    /// Connections that come and go.
    Info,
    /// Everything.
    Debug,
}

static LEVEL: AtomicU8 = AtomicU8::new(0);

fn enabled(level: Level) -> bool {
    let mut known = LEVEL.load(Ordering::Relaxed);
    if known == 0 {
        known = match std::env::var("SLIPWAY_LOG").as_deref() {
            Ok("off") => Level::Off,
            Ok("error") => Level::Error,
            Ok("info") => Level::Info,
            Ok("debug") => Level::Debug,
            _ => Level::Warn,
        } as u8;
        LEVEL.store(known, Ordering::Relaxed);
    }
    level as u8 <= known
}

fn write(level: Level, label: &str, message: Arguments<'_>) {
    if enabled(level) {
        let mut line = String::with_capacity(160);
        let _ = writeln!(line, "slipway: {label}{message}");
        // Not through std's writer, whose lock another thread may hold.
        let _ = rustix::io::write(std::io::stderr().as_fd(), line.as_bytes());
    }
}

/// Something works otherwise than asked for.
pub fn warn(message: Arguments<'_>) {
    write(Level::Warn, "warning: ", message);
}

/// A connection came, went, or changed its transport.
pub fn info(message: Arguments<'_>) {
    write(Level::Info, "", message);
}

/// Details, for looking for a fault.
pub fn debug(message: Arguments<'_>) {
    write(Level::Debug, "", message);
}
