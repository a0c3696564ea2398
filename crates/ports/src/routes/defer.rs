//! Work that is deferred to the watcher: what would keep the lock for too long, and what lacked resources that may be there
//! again in a moment.
//!
//! What a peer can have this process do with the lock held is bounded: no more of a ring than lay in it, and a few requests or
//! bells. If there is more the watcher lets others have the lock first.

use super::{Deferred, Routes, watch::PAUSE};
use slipway_fabric::spin::now;

impl Routes {
    /// Has the watcher go on with it once others had the lock.
    pub(crate) fn defer(&mut self, what: Deferred) {
        if !self.deferred.ready.contains(&what) {
            self.deferred.ready.push_back(what);
            self.watch.nudge();
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
            self.watch.nudge();
        }
    }
}
