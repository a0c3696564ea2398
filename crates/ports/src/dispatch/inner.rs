//! What the lock guards, and waking the threads that wait for it to change.

use super::{served::Served, shortcuts::Shortcuts};
use crate::{
    lent::Lent,
    mapped::Mapped,
    routes::Routes,
    state::{LineId, PortId, Serial, SetId},
    waiting::{For, Waiting, receivers},
};
use std::ops::{Deref, DerefMut};

/// Everything that a process knows of Mach, its connections, and its waiting threads. One lock guards it; no thread sleeps with it held.
#[derive(Debug, Default)]
pub struct Inner {
    /// Ports, lines, and the routes between processes.
    pub routes: Routes,
    /// The threads that wait.
    pub waiting: Waiting,
    /// Memory that messages take along.
    pub lent: Lent,
    /// Memory that messages brought.
    pub mapped: Mapped,
    /// The library's own task.
    pub served: Served,
    /// Messages received by this process.
    pub received: u64,
    /// Where the last messages went and came from.
    pub shortcuts: Shortcuts,
    /// Whether upcalls are being made further up: what they leave is made there, one after the other, and not in a chain of calls.
    pub(super) upcalling: bool,
    /// A receiver has kept the lock for long, and there is more on a line.
    pub crowded: bool,
}

impl Deref for Inner {
    type Target = Routes;
    #[inline(always)]
    fn deref(&self) -> &Routes {
        &self.routes
    }
}

impl DerefMut for Inner {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Routes {
        &mut self.routes
    }
}

impl Inner {
    /// The serial of what messages are received from; None if nothing is there.
    pub(crate) fn serial_of(&self, what: For) -> Option<Serial> {
        match what {
            For::Port(port) => {
                self.state.ports.get(port.0 as usize).filter(|port| port.local().is_some()).map(|port| port.serial)
            }
            For::Set(set) => self.state.sets.get(set.0 as usize).map(|set| set.serial),
            For::NotFull(_) | For::Line(_) | For::Turn(_) => None,
        }
    }

    /// Picks what a thread waits for that gets messages of the port.
    fn receivers_of(&self, port: PortId) -> impl Fn(&For) -> bool + use<> {
        receivers(port, self.state.sets_of(port))
    }

    /// Wakes a thread that waits for messages at the port.
    pub(crate) fn wake_receiver(&mut self, port: PortId) {
        let of = self.receivers_of(port);
        self.waiting.wake_one(&self.routes.lines, of);
    }

    /// Wakes all threads that wait on the port in any way.
    pub(super) fn wake_all_of(&mut self, port: PortId) {
        let receives = self.receivers_of(port);
        self.wake_where(|what| *what == For::NotFull(port) || receives(what));
        let in_set = self.state.ports.get(port.0 as usize).is_some_and(|it| it.local().is_some_and(|local| local.set.is_some()));
        self.waiting.changes_set(For::Port(port), in_set);
        self.waiting.tell_pollers(receives);
        // What polls finds no receive right then, or another task's. Its number may become another port's.
        let serial = self.serial_of(For::Port(port));
        self.waiting.pollables.retain(|pollable| pollable.what != For::Port(port) || Some(pollable.since) == serial);
    }

    /// Wakes all threads that wait on the set, which is gone.
    pub(super) fn wake_all_of_set(&mut self, set: SetId) {
        self.wake_where(|what| *what == For::Set(set));
        self.waiting.tell_pollers(|what| *what == For::Set(set));
        self.waiting.pollables.retain(|pollable| pollable.what != For::Set(set));
    }

    /// Wakes senders that wait for room on the line.
    pub(super) fn wake_line_senders(&self, id: LineId) {
        self.wake_where(|what| *what == For::Line(id.index));
    }

    /// Wakes threads that wait for the end of a call in a turn.
    pub(crate) fn wake_turn(&self, key: u32) {
        self.wake_where(|what| *what == For::Turn(key));
    }

    pub(super) fn wake_where(&self, of: impl Fn(&For) -> bool) {
        self.waiting.wake_where(&self.routes.lines, of);
    }
}
