//! What a line consists of: its slots, its tokens, and its records on their way out.

use crate::{
    account::Charge,
    state::{PortId, message::Sender},
};
use slipway_fabric::{
    Corrupt,
    credit::{RxCount, TxCount},
    descriptor::Reserved,
};
use std::{
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
};

/// A port of this end that the other may send to.
#[derive(Debug)]
pub struct InSlot {
    /// The port.
    pub port: PortId,
    /// Rights that the other end was given over this line and still has.
    pub given: u32,
    /// The other end attached to the port through its sending end.
    pub primary: bool,
    /// Messages that came for it.
    pub count: RxCount,
    /// No message for it is taken any more.
    pub closed: bool,
    /// It is closed as its port died: it stands for another once the other end is done with it.
    pub dead: bool,
    /// Of a closed slot whose port moved: the port's identity. Its number may be another port's by now.
    pub identity: u64,
}

impl InSlot {
    /// A slot that nothing is known of yet but its port.
    pub fn of(port: PortId) -> Self {
        Self { port, given: 0, primary: false, count: RxCount::default(), closed: false, dead: false, identity: 0 }
    }

    /// Whether messages for it are taken: it is open, and the other end may send there.
    #[inline(always)]
    pub fn takes(&self) -> bool {
        !self.closed && (self.primary || self.given > 0)
    }
}

/// The first slot that an owner gives out.
pub(super) const FIRST_OFFERED: u32 = 1;
/// The first slot that the other end names.
pub(super) const FIRST_PROMISED: u32 = 2;

/// Whether a slot is one that the other end of its owner names.
pub fn is_promised(slot: u32) -> bool {
    slot >= FIRST_PROMISED && slot.is_multiple_of(2)
}

/// A port of the other end that this end may send to.
#[derive(Debug, Clone, Copy)]
pub struct OutSlot {
    /// The port.
    pub port: PortId,
    /// Messages sent.
    pub count: TxCount,
    /// Whether it is known that the gate is closed.
    pub closed: bool,
    /// The owner was told that this end is done with the slot, whose port died.
    pub done: bool,
    /// As [`InSlot::identity`].
    pub identity: u64,
    /// The port's sending end found no place here: nothing is known of the port.
    pub lost: bool,
}

/// Stands for no port, in a slot that is closed.
pub const GONE: PortId = PortId(!0);

/// Stands for no slot: a record that is never taken back.
pub const NO_SLOT: u32 = !0;

/// A descriptor on its way out.
#[derive(Debug, Clone)]
pub struct OutFd(pub Arc<Reserved>);

impl AsFd for OutFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Why a record could not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stall {
    /// There is no room in the ring, or none for descriptors on the socket.
    Ring,
    /// The port's queue is full.
    Queue,
    /// The other end broke the rules, or is gone.
    Broken,
    /// The kernel takes no more descriptors.
    Short,
}

impl From<Corrupt> for Stall {
    fn from(_: Corrupt) -> Self {
        Self::Broken
    }
}

/// The process at the other end, as the kernel tells.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// Its process number; 0 if unknown.
    pub pid: i32,
    /// The user and the group that it ran as when it made the line; !0 if unknown.
    pub uid: u32,
    /// As `uid`.
    pub gid: u32,
    /// The identity of its bell, if this end made it; 0 else.
    pub bell: u64,
}

impl Default for Peer {
    fn default() -> Self {
        Self { pid: 0, uid: !0, gid: !0, bell: 0 }
    }
}

impl Peer {
    /// The process as the sender of a message.
    pub fn sender(&self) -> Sender {
        Sender::Other { pid: self.pid, uid: self.uid, gid: self.gid }
    }
}

/// The descriptors of a record that was written and may have to be taken back.
#[derive(Debug)]
pub struct Kept {
    /// The position after the record's last byte.
    pub end: u64,
    /// The descriptors that went with it, and those that the other end remembers.
    pub fds: Vec<OutFd>,
    /// Of the line's [account](super::Line::out).
    pub charge: Option<Charge>,
}

/// A packet of descriptors of rights that is left in the line's socket until one of them is used.
#[derive(Debug)]
pub struct Unread {
    /// The [bundle](crate::routes) that it belongs to; None if it was given up.
    pub bundle: Option<u32>,
    /// How many descriptors it has.
    pub fds: usize,
}

/// A record that found no room.
#[derive(Debug)]
pub struct Pending {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its descriptors.
    pub fds: Vec<OutFd>,
    /// How many of the descriptors its reader takes with it, and how many go with it: the others of these in a packet of their own, for
    /// later. Those beyond the other end remembers.
    pub going: [usize; 2],
    /// How many of the descriptors are on the socket already.
    pub sent: usize,
    /// The slot of a message that may have to be taken back, or [`NO_SLOT`].
    pub slot: u32,
    /// As [`Kept::charge`].
    pub charge: Option<Charge>,
}

/// What a number that was given out stands for.
#[derive(Debug, Clone)]
pub enum Token {
    /// A port here.
    Port(PortId),
    /// A port that moved away: the right is this socket by now.
    Moved(Arc<Reserved>),
    /// A port that died.
    Dead,
    /// Nothing: it was used after its port had moved or died, and the holder has yet to hear of that.
    Spent,
}

/// A message over the limit of a slot.
#[derive(Debug, Clone, Copy)]
pub struct Awaited {
    /// The slot.
    pub slot: u32,
    /// How many messages the slot has had with this one (wraps).
    pub ordinal: u32,
    /// The request for its acceptance.
    pub request: u32,
}
