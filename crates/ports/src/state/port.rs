//! Ports and port sets.

use super::{
    call_entry::Traps,
    ids::{PortId, Serial, SetId, SpaceId},
    message::Message,
    right::Right,
};
use crate::abi::{self, types};
use slipway_fabric::turn::Turn;
use smallvec::SmallVec;
use std::{collections::VecDeque, sync::Arc};

/// Where a port's receive right is.
#[derive(Debug)]
pub enum Home {
    /// In this process: in a space, or in a message that waits here.
    Here(Local),
    /// In another process, or on the way to one.
    Remote,
    /// Nowhere: the port is dead.
    Dead,
}

/// A port as this process knows it.
#[derive(Debug)]
pub struct Port {
    /// Where its receive right is.
    pub home: Home,
    /// Send rights in this process: one for each name, whatever its user references, and one for
    /// each in a message.
    pub srights: u32,
    /// Send-once rights made here and not yet used, those given to other processes included.
    pub sorights: u32,
    /// Tells it from other ports with its number.
    pub serial: Serial,
    /// The names that spaces of this process have for it, of every right.
    pub names: SmallVec<[(SpaceId, u32); 1]>,
}

// A port and its name are to take no more than 200 bytes: see `docs/measurements/ipc.md`.
const _: () = assert!(size_of::<Port>() <= 168);

/// What only the process with the receive right knows.
#[derive(Debug)]
pub struct Local {
    /// The space and name that hold the receive right; None while it is in a message.
    pub receiver: Option<(SpaceId, u32)>,
    /// The port whose queue the receive right waits in, while it is in a message, or [`PortId::NONE`]: nobody else knows
    /// of a cycle of ports that wait in each other's queues.
    pub towards: PortId,
    /// Messages that wait here, in order of arrival. Those that lie in lines come after them.
    pub queue: VecDeque<Box<Message>>,
    /// How many messages may wait before senders do.
    pub qlimit: u32,
    /// The number of the next message to be received. Programs set it with [`Local::set_seqno`].
    pub seqno: u32,
    /// How far `seqno` is ahead of the messages received since the port is here (wraps).
    pub seqno_lead: u32,
    /// How many send rights were made since the count was last set.
    pub mscount: u32,
    /// Holders of send rights in other processes, as far as known: see [`State::set_abroad`](super::State::set_abroad).
    pub abroad: u32,
    /// The set it has belonged to for longest.
    pub set: Option<Membership>,
    /// Whether it belongs to further sets: see [`State::memberships`](super::State::memberships).
    pub several: bool,
    /// Gets the no-senders notification.
    pub nsrequest: Right,
    /// Gets the receive right when it would be destroyed.
    pub pdrequest: Right,
    /// Replaces the local port in received messages, if it `is_protected`: see [`Local::payload`].
    pub payload: u64,
    /// Whether there is a payload.
    pub is_protected: bool,
    /// A word of the program's, which is the guard while there is one.
    pub context: u64,
    /// Whether the context guards the receive right.
    pub guard: Guard,
    /// What the library itself answers for, if it does.
    pub kernel: Kernel,
    /// The routines that it has registered.
    pub traps: Option<Box<Traps>>,
}

/// That a port is in a set.
#[derive(Debug, Clone, Copy)]
pub struct Membership {
    /// The set.
    pub set: SetId,
    /// Whether the set's list of ready members has the port.
    pub listed: bool,
}

impl Membership {
    /// Notes that the list has the port: the set, if it had it not.
    pub fn list(&mut self) -> Option<SetId> {
        (!std::mem::replace(&mut self.listed, true)).then_some(self.set)
    }
}

/// Whether a port's context is needed to end its receive right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Guard {
    /// Anybody may.
    #[default]
    No,
    /// As long as the receive right stays: a message takes it away without its guard.
    Loose,
    /// The receive right can't be moved, either.
    Strict,
}

/// What a port that the library itself serves stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// An ordinary port.
    No,
    /// A task: calls on it work on its space.
    Task(SpaceId),
    /// A thread of this process, by its number in the system.
    Thread(u32),
    /// The host.
    Host,
    /// A semaphore of a task, by its place among them.
    Semaphore(u32),
}

/// A port set: receive from whichever member has a message.
#[derive(Debug)]
pub struct Set {
    /// The space and name that hold it.
    pub holder: (SpaceId, u32),
    /// Tells it from other sets with its number.
    pub serial: Serial,
    /// Its members.
    pub members: Vec<PortId>,
    /// Members with messages in their queues, each once; may name some that were emptied since.
    pub ready: VecDeque<PortId>,
    /// Where calls to its members take their turn, if they are made one at a time.
    pub turn: Option<Arc<Turn>>,
}

impl Default for Local {
    fn default() -> Self {
        Self {
            receiver: None,
            towards: PortId::NONE,
            queue: VecDeque::new(),
            qlimit: abi::QLIMIT_DEFAULT,
            seqno: 0,
            seqno_lead: 0,
            mscount: 0,
            abroad: 0,
            set: None,
            several: false,
            nsrequest: Right::Null,
            pdrequest: Right::Null,
            payload: 0,
            is_protected: false,
            context: 0,
            guard: Guard::No,
            kernel: Kernel::No,
            traps: None,
        }
    }
}

impl Local {
    /// Whether the port's end concerns nobody, as far as this tells: nothing waits for it or is asked for, and it is in no set, has no guard, and is not the
    /// library's own.
    pub fn is_bare(&self) -> bool {
        let asks = self.nsrequest != Right::Null || self.pdrequest != Right::Null;
        let called = self.kernel != Kernel::No || self.traps.is_some();
        self.queue.is_empty() && self.set.is_none() && !asks && !called && self.guard == Guard::No
    }

    /// What the header of a received message says of the port, and the type of that: its payload, or its name with the type of the right that the message was
    /// sent with.
    #[inline(always)]
    pub fn address(&self, dest_type: u32) -> (u64, u32) {
        match self.payload() {
            None => (self.receiver.map_or(0, |(_, name)| u64::from(name)), dest_type),
            Some(payload) => (payload, types::PROTECTED_PAYLOAD),
        }
    }

    /// What replaces the local port in received messages, if something does.
    #[inline(always)]
    pub fn payload(&self) -> Option<u64> {
        self.is_protected.then_some(self.payload)
    }

    /// Sets [`Local::payload`].
    pub fn set_payload(&mut self, payload: Option<u64>) {
        (self.payload, self.is_protected) = (payload.unwrap_or(0), payload.is_some());
    }

    /// Sets the number of the next message.
    pub fn set_seqno(&mut self, seqno: u32) {
        self.seqno_lead = seqno.wrapping_sub(self.received());
        self.seqno = seqno;
    }

    /// Messages received since the port is here (wraps).
    pub fn received(&self) -> u32 {
        self.seqno.wrapping_sub(self.seqno_lead)
    }
}

impl Port {
    /// The part that is here, if it is.
    pub fn local(&self) -> Option<&Local> {
        match &self.home {
            Home::Here(local) => Some(local),
            _ => None,
        }
    }

    /// As [`Port::local`].
    pub fn local_mut(&mut self) -> Option<&mut Local> {
        match &mut self.home {
            Home::Here(local) => Some(local),
            _ => None,
        }
    }

    /// Whether the port is dead.
    pub fn is_dead(&self) -> bool {
        matches!(self.home, Home::Dead)
    }
}
