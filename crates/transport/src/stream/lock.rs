//! The locks of a connection's two halves, which the processes of a family share; and what becomes of a half whose
//! lock was held by a process that was killed.
//!
//! A cursor is kept before it is shown to the peer, by one store; so the next holder has to show it, and all is well. Everything
//! else that takes several steps is marked while it goes on ([`Change`](super::state::Change)), and ends the connection if it
//! is never finished. A connection that has no segment stays on its socket then.

use super::{Stream, mode, report};
use slipway_fabric::sync::{AtomicU32, Guard, Ordering::Relaxed};
use std::os::fd::BorrowedFd;

impl Stream {
    /// Takes the lock of the sending half. A holder that was killed with it may have left something undone.
    pub(super) fn lock_sending(&self, fd: Option<BorrowedFd<'_>>) -> Guard<'_> {
        let tx = &self.state.tx;
        let guard = tx.lock.lock();
        if guard.is_orphaned() || tx.unfinished.load(Relaxed) != 0 {
            self.inherit(fd, &tx.unfinished, || {
                if let Some(segment) = self.line().filter(|_| tx.mode.load(Relaxed) == mode::RING) {
                    segment.tx.publish(&tx.cursor());
                    self.wake_reader(segment);
                }
            });
        }
        guard
    }

    /// As [`Stream::lock_sending`], for the receiving half.
    pub(super) fn lock_receiving(&self, fd: Option<BorrowedFd<'_>>) -> Guard<'_> {
        let rx = &self.state.rx;
        let guard = rx.lock.lock();
        if guard.is_orphaned() || rx.unfinished.load(Relaxed) != 0 {
            self.inherit(fd, &rx.unfinished, || {
                if let Some(segment) = self.line().filter(|_| rx.mode.load(Relaxed) == mode::RING) {
                    let cursor = rx.cursor();
                    segment.rx.show(&cursor);
                    self.wake_writer(segment, &cursor);
                }
            });
        }
        guard
    }

    /// Does what a holder of a half's lock left to do that was killed; a change that it had begun ends the connection,
    /// once somebody comes that can.
    #[cold]
    fn inherit(&self, fd: Option<BorrowedFd<'_>>, unfinished: &AtomicU32, show: impl FnOnce()) {
        if unfinished.load(Relaxed) == 0 {
            show();
        } else if self.line().is_none() {
            // All is on the socket, where each call is one step: only how much went over it is not known any more.
            self.stay_plain();
            unfinished.store(0, Relaxed);
        } else if let Some(fd) = fd {
            report::warn(format_args!("a process that had this connection too was killed while it used it; it is closed"));
            let _ = self.end(fd);
            unfinished.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
