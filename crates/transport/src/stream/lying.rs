//! Threads that sleep until a stream's bell rings.

use super::{Stream, locked};
use rustix::event::PollFlags;
use slipway_fabric::sync::Ordering::Relaxed;

/// A thread that sleeps until the bell rings, or is about to. Dropped, as in a thread that is cancelled, it has got up without having heard it.
#[derive(Debug)]
pub struct Lying<'a> {
    stream: &'a Stream,
    rang: bool,
}

impl Lying<'_> {
    /// The last to get up drains the bell, so that no sleeper is left behind with
    /// a bell that somebody else heard; until then the others are awake and on their way out.
    pub fn get_up(mut self, rang: bool) {
        self.rang = rang;
    }
}

impl Drop for Lying<'_> {
    fn drop(&mut self) {
        self.stream.get_up(self.rang);
    }
}

impl Stream {
    /// Enters the state of one that sleeps until the bell rings: from here on nobody else drains
    /// the bell. Arms the flags.
    pub fn lie_down(&self, want: PollFlags) -> Lying<'_> {
        self.state.common.sleepers.enter();
        let lying = Lying { stream: self, rang: false };
        self.arm(want);
        lying
    }

    /// Leaves that state.
    fn get_up(&self, rang: bool) {
        let left = self.state.common.sleepers.leave(|| {
            if rang {
                self.attend_to(Some(1));
            }
            // An epoll set may rest on the same flag. It is told below when the bell rang; if not, or if it is another process's, it
            // still counts on it.
            let sets = locked(&self.sets);
            if (rang || sets.is_empty())
                && self.state.common.forked.load(Relaxed) == 0
                && let Some(segment) = self.line()
            {
                segment.rx.disarm_reader();
            }
        });
        if rang {
            self.alert_sets();
            if left > 0 {
                rustix::thread::sched_yield();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{pair::ends, ready::INPUT};

    fn nobody_lies(stream: &Stream) -> bool {
        stream.state.common.sleepers.if_none(|| {})
    }

    #[test]
    fn a_cancelled_thread_gets_up() {
        let ends = ends();
        let lying = ends.server.0.lie_down(INPUT);
        assert!(!nobody_lies(&ends.server.0));
        drop(lying);
        assert!(nobody_lies(&ends.server.0));
    }
}
