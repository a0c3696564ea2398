//! What the last names led to, remembered between messages.

use crate::{
    state::{LineId, SpaceId},
    waiting::For,
};

/// Where the last message went, and what the last was received from: the names' meaning, looked up.
///
/// It is good as long as nothing but plain messages comes and goes. So every other access to what the lock guards
/// [forgets](Self::forget) it: see [`Guard`](crate::lock::Guard).
#[derive(Debug)]
pub struct Shortcuts {
    /// The task and the name that was sent to, or [`NOTHING`].
    sent_to: u64,
    /// The line and the slot that it led to.
    route: (LineId, u32),
    /// The task and the name that was received from, or [`NOTHING`].
    received_from: u64,
    /// What it stands for; None if nothing can be received from it.
    what: Option<For>,
}

/// No name in any task.
const NOTHING: u64 = !0;

/// A name in a task.
#[inline(always)]
fn key(space: SpaceId, name: u32) -> u64 {
    u64::from(space.0) << 32 | u64::from(name)
}

impl Default for Shortcuts {
    fn default() -> Self {
        Self { sent_to: NOTHING, route: (LineId::NONE, 0), received_from: NOTHING, what: None }
    }
}

impl Shortcuts {
    /// Forgets both: anything may change from here on.
    #[inline(always)]
    pub fn forget(&mut self) {
        (self.sent_to, self.received_from) = (NOTHING, NOTHING);
    }

    /// Whether the name was the last that was sent to, by the [`route`](Self::route).
    #[inline(always)]
    pub(crate) fn knows_route(&self, space: SpaceId, name: u32) -> bool {
        self.sent_to == key(space, name)
    }

    /// Line and slot to which a message for the last name goes that was sent to.
    #[inline(always)]
    pub(crate) fn route(&self) -> (LineId, u32) {
        self.route
    }

    /// Remembers line and slot of a name.
    pub(crate) fn note_route(&mut self, space: SpaceId, name: u32, route: (LineId, u32)) {
        (self.sent_to, self.route) = (key(space, name), route);
    }

    /// Whether the name was the last that was received from, which is [`what`](Self::what).
    #[inline(always)]
    pub(crate) fn knows_receiver(&self, space: SpaceId, name: u32) -> bool {
        self.received_from == key(space, name)
    }

    /// What the last name that was received from stands for.
    #[inline(always)]
    pub(crate) fn what(&self) -> Option<For> {
        self.what
    }

    /// Remembers what a name to receive from stands for.
    pub(crate) fn note_receiver(&mut self, space: SpaceId, name: u32, what: Option<For>) {
        (self.received_from, self.what) = (key(space, name), what);
    }
}
