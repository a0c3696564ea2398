//! The lines that receivers look at themselves: the *hot* ones. All others ring their bells, which the watcher hears.

use super::Inner;
use crate::{
    state::{LineId, SpaceId, port::Local},
    waiting::For,
};
use smallvec::SmallVec;
use std::{io, os::fd::OwnedFd};

/// How many lines are looked at in one go whose bells the watcher may not have heard.
pub(super) const MANY: usize = 64;

impl Inner {
    /// A descriptor that is readable while there may be a message to be received.
    ///
    /// # Errors
    /// `InvalidInput` if nothing is there; those of socketpair(2), fcntl(2) and pthread_create(3).
    pub(crate) fn pollable(&mut self, what: For) -> io::Result<OwnedFd> {
        // It finds out when the program has closed the library's descriptors.
        self.start_watcher()?;
        let in_set = matches!(what, For::Port(port) if self.state.port(port).local().is_some_and(|local| local.set.is_some()));
        let since = self.serial_of(what).ok_or(io::ErrorKind::InvalidInput)?;
        let descriptor = self.waiting.pollable(what, since, in_set)?;
        if !self.waiting.is_led() {
            self.cool_all();
        }
        Ok(descriptor)
    }

    /// Whether the descriptors of `what` are polled from here on; false if it has none.
    pub(crate) fn polls(&mut self, what: For, on: bool) -> bool {
        let polls = self.waiting.polls(what, on);
        if on && !self.waiting.is_led() {
            self.cool_all();
        }
        polls
    }

    /// Takes what lies in lines whose bells the watcher has not heard yet; of many lines some.
    pub(crate) fn catch_up(&mut self) {
        let readable = self.lines.iter().filter(|(_, line)| !line.blocked && line.segment.rx.readable(line.rx.head));
        let lines: SmallVec<[LineId; 16]> = readable.map(|(id, _)| id).take(MANY).collect();
        for number in lines {
            self.dispatch(number);
        }
    }

    /// Whether a thread waits for requests on behalf of a task, or polls for them: at a port set, or at a port that others have or were given
    /// send rights for, as a port for replies alone has none.
    pub(crate) fn waits_for_requests(&self, space: SpaceId) -> bool {
        let of_task = |what: For| match what {
            For::Set(set) => self.state.sets.get(set.0 as usize).is_some_and(|set| set.holder.0 == space),
            For::Port(port) => self.state.ports.get(port.0 as usize).is_some_and(|port| {
                let owned = |receiver: Option<(SpaceId, u32)>| receiver.is_some_and(|(receiver, _)| receiver == space);
                let sent_to = |local: &Local| port.srights > 0 || local.abroad > 0 || local.mscount > 0;
                port.local().is_some_and(|local| owned(local.receiver) && sent_to(local))
            }),
            For::NotFull(_) | For::Line(_) | For::Turn(_) => false,
        };
        self.waiting.awaited().any(of_task)
    }
}
