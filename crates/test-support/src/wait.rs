//! Waiting under a watchdog.

use std::{
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    time::{Duration, Instant},
};

/// A wait this long is one that nothing will end.
pub const WATCHDOG: Duration = Duration::from_secs(120);

/// Ends the process if it is not dropped in time: a thread that hangs can't be joined.
#[derive(Debug)]
pub struct Watchdog(#[allow(dead_code, reason = "its drop is the news")] Sender<()>);

/// Watches over what follows. `what` is named if it hangs.
pub fn watchdog(what: &str, limit: Duration) -> Watchdog {
    let (tell, told) = channel();
    let what = what.to_owned();
    std::thread::spawn(move || {
        if told.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{what}: hangs (process {})", std::process::id());
            for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
                let call = std::fs::read_to_string(task.path().join("syscall")).unwrap_or_default();
                eprintln!("  thread {:?} in {}", task.file_name(), call.trim());
            }
            std::process::abort();
        }
    });
    Watchdog(tell)
}

/// Looks until something has come about, which others are about to bring.
///
/// # Panics
/// If it does not within [`WATCHDOG`].
pub fn until(what: &str, mut come: impl FnMut() -> bool) {
    let start = Instant::now();
    while !come() {
        assert!(start.elapsed() < WATCHDOG, "{what}: not in {WATCHDOG:?}");
        std::thread::yield_now();
    }
}
