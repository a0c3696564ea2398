//! What the last names led to, remembered between messages, with what was checked on the way.

use crate::{
    state::{LineId, PortId, Serial, SpaceId},
    waiting::For,
};

/// Where the last message went, and what the last was received from: the names' meaning, looked up, and what was found out about it.
///
/// It is good as long as nothing but plain messages comes and goes. So every other access to what the lock guards
/// [forgets](Self::forget) it: see [`Guard`](crate::lock::Guard). What has only quiet access changes no names, rights, routes, slots, queues,
/// sets, turns, limits, pollables or hot lines. It may change counts, tokens, the leader and the list of threads that wait: those are not here.
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
    /// The serial of that.
    since: Serial,
    /// As `received_from`, if the receiver is [calm](Self::is_calm), too.
    calm: u64,
    /// What a calm receiver receives from.
    calm_what: For,
    /// The line that it looks at.
    line: LineId,
    /// The slot of that line that the last message for a calm receiver came to, or [`NOTHING`].
    slot: u64,
    /// The port of that slot.
    port: PortId,
    /// Its [address](crate::state::port::Local::address).
    address: (u64, u32),
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
        Self {
            sent_to: NOTHING,
            route: (LineId::NONE, 0),
            received_from: NOTHING,
            what: None,
            since: Serial::default(),
            calm: NOTHING,
            calm_what: For::Port(PortId(0)),
            line: LineId::NONE,
            slot: NOTHING,
            port: PortId(0),
            address: (0, 0),
        }
    }
}

impl Shortcuts {
    /// Forgets all: anything may change from here on.
    #[inline(always)]
    pub fn forget(&mut self) {
        (self.sent_to, self.received_from, self.calm) = (NOTHING, NOTHING, NOTHING);
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

    /// The serial of that.
    #[inline(always)]
    pub(crate) fn since(&self) -> Serial {
        self.since
    }

    /// Remembers what a name to receive from stands for, with its serial, and the line that its receiver looks at, if it is [calm](Self::is_calm).
    pub(crate) fn note_receiver(&mut self, space: SpaceId, name: u32, what: Option<(For, Serial)>, calm: Option<LineId>) {
        (self.received_from, self.what, self.calm, self.slot) = (key(space, name), what.map(|(what, _)| what), NOTHING, NOTHING);
        self.since = what.map_or(Serial::default(), |(_, since)| since);
        if let (Some((what, _)), Some(line)) = (what, calm) {
            (self.calm, self.calm_what, self.line) = (self.received_from, what, line);
        }
    }

    /// Whether the name was the last that was received from, and its receiver is calm: it has nothing to look at but one line. No message is
    /// queued for it, no other line is hot, no call may take the place of a message, nobody polls, others have no port that the library serves, and the
    /// lock was not kept for long.
    #[inline(always)]
    pub(crate) fn is_calm(&self, space: SpaceId, name: u32) -> bool {
        self.calm == key(space, name)
    }

    /// Whether a receiver of what has that serial is calm, after a wait: the name may be another's by then.
    #[inline(always)]
    pub(crate) fn is_calm_since(&self, since: Serial) -> bool {
        self.calm != NOTHING && self.since == since
    }

    /// What the calm receiver receives from.
    #[inline(always)]
    pub(crate) fn calm_what(&self) -> For {
        self.calm_what
    }

    /// The line that the calm receiver looks at.
    #[inline(always)]
    pub(crate) fn line(&self) -> LineId {
        self.line
    }

    /// Whether the last message for the calm receiver came to that slot of its line: then a message there is one for it, and for the same
    /// [port](Self::port), as long as its receiver stays calm.
    #[inline(always)]
    pub(crate) fn knows_slot(&self, slot: u32) -> bool {
        self.slot == u64::from(slot)
    }

    /// The port of that slot.
    #[inline(always)]
    pub(crate) fn port(&self) -> PortId {
        self.port
    }

    /// The port's [address](crate::state::port::Local::address).
    #[inline(always)]
    pub(crate) fn address(&self) -> (u64, u32) {
        self.address
    }

    /// Remembers what a slot of the calm receiver's line stands for.
    pub(crate) fn note_slot(&mut self, slot: u32, port: PortId, address: (u64, u32)) {
        (self.slot, self.port, self.address) = (slot.into(), port, address);
    }
}
