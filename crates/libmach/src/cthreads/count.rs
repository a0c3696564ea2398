//! How many threads were forked and have not ended.

use libc::c_int;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

struct Counts {
    /// The process that the number is of: a child made by fork has none of its parent's threads.
    process: u32,
    forked: c_int,
    limit: c_int,
}

static COUNTS: Mutex<Counts> = Mutex::new(Counts { process: 0, forked: 0, limit: 0 });
static FEWER: Condvar = Condvar::new();

fn counts() -> MutexGuard<'static, Counts> {
    let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if counts.process != process {
        counts.process = process;
        counts.forked = 0;
    }
    counts
}

/// One more.
pub(super) fn add() {
    counts().forked += 1;
}

/// One less. A thread that survived fork was counted in the parent only.
pub(super) fn remove() {
    let mut counts = counts();
    counts.forked = (counts.forked - 1).max(0);
    if counts.forked == 0 {
        FEWER.notify_all();
    }
}

/// How many there are.
pub(super) fn forked() -> c_int {
    counts().forked
}

/// Waits until there are none.
pub(super) fn wait_for_none() {
    let mut counts = counts();
    while counts.forked > 0 {
        counts = FEWER.wait(counts).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Keeps the program's wish.
pub(super) fn set_limit(limit: c_int) {
    counts().limit = limit;
}

/// The program's wish.
pub(super) fn limit() -> c_int {
    counts().limit
}
