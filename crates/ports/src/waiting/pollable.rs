//! Descriptors that tell event loops when there may be a message.

use super::{For, Pollable, Waiting, event::Event};
use crate::state::Serial;
use std::{cell::Cell, io, os::fd::OwnedFd};

impl Pollable {
    fn tell(&self) {
        if !self.told.get() {
            self.told.set(self.event.tell());
        }
    }

    fn drain(&self) {
        if self.told.replace(false) {
            self.event.drain();
        }
    }
}

impl Waiting {
    /// Tells those that poll that there may be a message at what `of` picks.
    pub(crate) fn tell_pollers(&self, of: impl Fn(&For) -> bool) {
        self.pollables.iter().filter(|pollable| pollable.hears() && of(&pollable.what)).for_each(Pollable::tell);
    }

    /// Nothing was there to be received: a program that polls has to wait.
    pub(crate) fn quiet(&mut self, what: For) {
        self.pollables.iter().filter(|pollable| pollable.hears() && pollable.what == what).for_each(Pollable::drain);
    }

    /// A port has come into a set, or is in none any more. What polls for it is told when it may receive from it again.
    pub(crate) fn changes_set(&mut self, what: For, in_set: bool) {
        for pollable in self.pollables.iter_mut().filter(|pollable| pollable.what == what) {
            pollable.in_set = in_set;
            if in_set {
                pollable.drain();
            }
        }
    }

    /// A descriptor that is readable while there may be a message to be received, from a port that is not `in_set`. No receiver looks at lines for it: they have to
    /// ring their bells.
    ///
    /// # Errors
    /// Those of socketpair(2) and fcntl(2).
    pub(crate) fn pollable(&mut self, what: For, since: Serial, in_set: bool) -> io::Result<OwnedFd> {
        let at = match self.pollables.iter().position(|pollable| pollable.what == what) {
            Some(at) => at,
            None => {
                let pollable = Pollable { what, since, event: Event::new()?, told: Cell::new(false), rests: false, in_set };
                if !in_set {
                    pollable.tell();
                }
                self.pollables.push(pollable);
                self.pollables.len() - 1
            }
        };
        self.pollables[at].event.copy()
    }

    /// Whether its descriptors are polled from here on; false if it has none.
    pub(crate) fn polls(&mut self, what: For, on: bool) -> bool {
        let pollable = self.pollables.iter_mut().find(|pollable| pollable.what == what);
        pollable.is_some_and(|pollable| {
            pollable.rests = !on;
            true
        })
    }
}
