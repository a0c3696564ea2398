//! Work that is deferred to the watcher: what would keep the lock for too long, and what lacked resources that may be there
//! again in a moment.
//!
//! What a peer can have this process do with the lock held is bounded: no more of a ring than lay in it, and a few requests or
//! bells. If there is more the watcher lets others have the lock first.

use super::{Deferred, Routes};
use rustix::event::Timespec;
use slipway_fabric::spin::now;
use std::collections::VecDeque;

/// What was deferred.
#[derive(Debug, Default)]
pub struct DeferredWork {
    /// To be done when others had the lock.
    ready: VecDeque<Deferred>,
    /// To be tried again, and when.
    short: Vec<Deferred>,
    due: u64,
}

/// The time between two tries of what lacks resources, in nanoseconds.
pub const PAUSE: u64 = 20_000_000;

impl DeferredWork {
    /// How long the watcher may sleep.
    pub fn rest(&self) -> Option<Timespec> {
        let ns = match (self.ready.is_empty(), self.short.is_empty()) {
            (true, true) => return None,
            (true, false) => self.due.saturating_sub(now()).next_multiple_of(1_000_000),
            (false, _) => 0,
        };
        Some(Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 })
    }

    /// The next piece of work that can be done now.
    pub fn next(&mut self) -> Option<Deferred> {
        if !self.short.is_empty() && now() >= self.due {
            self.ready.extend(std::mem::take(&mut self.short));
        }
        self.ready.pop_front()
    }
}

impl Routes {
    /// Has the watcher go on with it once others had the lock.
    pub(crate) fn defer(&mut self, what: Deferred) {
        if !self.deferred.ready.contains(&what) {
            self.deferred.ready.push_back(what);
            self.nudge_watcher();
        }
    }

    /// Has the watcher try it again in a moment.
    pub(crate) fn retry_later(&mut self, what: Deferred) {
        let deferred = &mut self.deferred;
        if deferred.short.is_empty() {
            deferred.due = now() + PAUSE;
        }
        if !deferred.short.contains(&what) {
            deferred.short.push(what);
            self.nudge_watcher();
        }
    }
}
