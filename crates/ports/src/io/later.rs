//! Work that is put off, for the watcher to go on with: what would keep the lock for too long, and what lacked
//! resources that may be there again in a moment.
//!
//! What a peer can have us do with the lock held is bounded: no more of a ring than lay in it, and a few requests or
//! bells. If there is more the watcher lets others have the lock first.

use super::{Inner, wait::now};
use crate::state::PortId;
use rustix::event::Timespec;
use std::collections::VecDeque;

/// Something to go on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Later {
    /// Take what lies in a line.
    Stir(u32),
    /// Hear the requests for lines to a port here.
    Accept(PortId),
    /// Count the holders of a port here.
    Holders(PortId),
    /// Send what was taken back from a line to a far port.
    Resend(PortId),
}

/// What was put off.
#[derive(Debug, Default)]
pub struct PutOff {
    /// To be done when others had the lock.
    now: VecDeque<Later>,
    /// To be tried again, and when.
    short: Vec<Later>,
    due: u64,
}

/// The time between two tries of what lacks resources, in nanoseconds.
pub const PAUSE: u64 = 20_000_000;

impl PutOff {
    /// How long the watcher may sleep.
    pub(crate) fn rest(&self) -> Option<Timespec> {
        let ns = match (self.now.is_empty(), self.short.is_empty()) {
            (true, true) => return None,
            (true, false) => self.due.saturating_sub(now()).next_multiple_of(1_000_000),
            (false, _) => 0,
        };
        Some(Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 })
    }
}

impl Inner {
    /// Has the watcher go on with it once others had the lock.
    pub(crate) fn put_off(&mut self, what: Later) {
        if !self.io.put_off.now.contains(&what) {
            self.io.put_off.now.push_back(what);
            self.nudge_watcher();
        }
    }

    /// Has the watcher try it again in a moment.
    pub(crate) fn try_later(&mut self, what: Later) {
        let put_off = &mut self.io.put_off;
        if put_off.short.is_empty() {
            put_off.due = now() + PAUSE;
        }
        if !put_off.short.contains(&what) {
            put_off.short.push(what);
            self.nudge_watcher();
        }
    }

    /// Does one thing that was put off.
    pub(crate) fn go_on(&mut self) {
        let put_off = &mut self.io.put_off;
        if !put_off.short.is_empty() && now() >= put_off.due {
            put_off.now.extend(std::mem::take(&mut put_off.short));
        }
        match put_off.now.pop_front() {
            Some(Later::Stir(number)) => self.line_stirs(number),
            Some(Later::Accept(port)) => {
                self.hear(port);
                self.accept_lines(port);
            }
            Some(Later::Holders(port)) => self.refresh_holders(port),
            Some(Later::Resend(port)) => self.resend_stranded(port),
            None => {}
        }
    }
}
