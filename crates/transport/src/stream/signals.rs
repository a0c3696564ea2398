//! Signals for what comes (O_ASYNC): the line's socket raises them as the connection's own would, and its bell rings for
//! each write. What sets it up is the caller's: the flags and the owner of the two sockets.

use super::Stream;
use slipway_fabric::sync::Ordering::Relaxed;

impl Stream {
    /// Whether the program gets signals for what comes.
    pub fn signals(&self) -> bool {
        self.state.common.signals.load(Relaxed) != 0
    }

    /// From now on the program gets signals, or doesn't.
    pub fn set_signals(&self, on: bool) {
        self.state.common.signals.store(on.into(), Relaxed);
        if let Some(segment) = self.line() {
            segment.rx.hear_all(on);
        }
    }

    /// Takes the bells that rang for signals off their queue, which would be full some time and raise no more. Called without the
    /// receiving lock.
    pub(super) fn drain_signals(&self) {
        if self.signals() && self.state.common.sleepers.if_none(|| self.attend()) {
            self.alert_sets();
        }
    }
}
