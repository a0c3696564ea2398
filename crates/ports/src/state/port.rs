//! Ports and port sets.

use super::{
    Effect, PortId, Right, SetId, SpaceId, State,
    message::{Item, Message},
    traps::Traps,
};
use crate::abi;
use slipway_fabric::turn::Turn;
use smallvec::SmallVec;
use std::{collections::VecDeque, sync::Arc};

/// Where a port's receive right is.
#[derive(Debug)]
pub enum Home {
    /// In this process: in a space, or in a message that waits here.
    Here(Local),
    /// In another process, or on the way to one.
    Far,
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
    /// The names that spaces of this process have for it, of every right.
    pub names: SmallVec<[(SpaceId, u32); 1]>,
}

/// What only the process with the receive right knows.
#[derive(Debug)]
pub struct Local {
    /// The space and name that hold the receive right; None while it is in a message.
    pub receiver: Option<(SpaceId, u32)>,
    /// The port whose queue the receive right waits in, while it is in a message: nobody else knows
    /// of a circle of ports that wait in each other's queues.
    pub towards: Option<PortId>,
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
    /// Holders of send rights in other processes, as far as known: see [`State::set_abroad`].
    pub abroad: u32,
    /// The set it belongs to.
    pub set: Option<SetId>,
    /// Whether the set's list of ready members has it.
    pub listed: bool,
    /// Gets the no-senders notification.
    pub nsrequest: Right,
    /// Gets the receive right when it would be destroyed.
    pub pdrequest: Right,
    /// Replaces the local port in received messages.
    pub payload: Option<u64>,
    /// What the library itself answers for, if it does.
    pub kernel: Kernel,
    /// The routines that it has registered.
    pub traps: Option<Box<Traps>>,
}

/// What a port that the library itself serves stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// An ordinary port.
    No,
    /// A task: calls on it work on its space.
    Task(SpaceId),
    /// A thread of this process.
    Thread,
    /// The host.
    Host,
}

/// A port set: receive from whichever member has a message.
#[derive(Debug)]
pub struct Set {
    /// The space and name that hold it.
    pub holder: (SpaceId, u32),
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
            towards: None,
            queue: VecDeque::new(),
            qlimit: abi::QLIMIT_DEFAULT,
            seqno: 0,
            seqno_lead: 0,
            mscount: 0,
            abroad: 0,
            set: None,
            listed: false,
            nsrequest: Right::Null,
            pdrequest: Right::Null,
            payload: None,
            kernel: Kernel::No,
            traps: None,
        }
    }
}

impl Local {
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

impl State {
    /// A new port here, whose receive right is nowhere yet.
    pub fn new_port(&mut self) -> PortId {
        self.insert_port(Home::Here(Local::default()))
    }

    /// A port that lives elsewhere, without any right to it yet.
    pub fn new_far_port(&mut self) -> PortId {
        self.insert_port(Home::Far)
    }

    fn insert_port(&mut self, home: Home) -> PortId {
        PortId(self.ports.insert(Port { home, srights: 0, sorights: 0, names: SmallVec::new() }) as u32)
    }

    /// Frees what is kept of a port that nobody here refers to any more: dead without rights, or far
    /// and [`Effect::Forgotten`]. The I/O layer calls it for far ports, when it has let go of them.
    pub fn free_port(&mut self, id: PortId) {
        debug_assert!(self.port(id).names.is_empty());
        self.ports.remove(id.0 as usize);
    }

    /// Puts a message into the queue of a port that is here.
    ///
    /// As in Mach, a message is destroyed at once that would wait, with the receive right to its own port or to
    /// one that it waits behind, where nobody could receive it.
    pub fn enqueue(&mut self, id: PortId, message: Box<Message>) {
        if self.port(id).local().is_none() || (!message.items.is_empty() && !self.set_towards(id, &message)) {
            return self.destroy_message(message);
        }
        let Some(local) = self.port_mut(id).local_mut() else { return };
        local.queue.push_back(message);
        if let Some(set) = local.set
            && !std::mem::replace(&mut local.listed, true)
        {
            self.set_mut(set).ready.push_back(id);
        }
        self.queue_changed(id);
        self.effect(Effect::Arrived(id));
    }

    /// Notes for the receive rights in a message which queue they wait in; false if that closes a circle.
    fn set_towards(&mut self, id: PortId, message: &Message) -> bool {
        for right in message.items.iter().flat_map(Item::rights) {
            if let Right::Receive(port) = right {
                if self.would_circle(*port, id) {
                    return false;
                }
                if let Some(local) = self.port_mut(*port).local_mut() {
                    local.towards = Some(id);
                }
            }
        }
        true
    }

    /// Takes the first message from the queue of a port that is here.
    pub fn dequeue(&mut self, id: PortId) -> Option<Box<Message>> {
        let local = self.port_mut(id).local_mut()?;
        let message = local.queue.pop_front()?;
        if (local.queue.len() as u32) < local.qlimit {
            self.effect(Effect::Room(id));
        }
        self.queue_changed(id);
        if let Some(origin) = message.origin {
            self.effect(Effect::Taken(origin));
        }
        Some(message)
    }

    /// The member of a set whose turn it is to be received from: it has a message in its queue.
    pub fn next_ready(&mut self, id: SetId) -> Option<PortId> {
        while let Some(port) = self.set_mut(id).ready.pop_front() {
            let Some(local) = self.port_mut(port).local_mut() else { continue };
            if local.set != Some(id) {
                continue;
            }
            match local.queue.len() {
                0 => local.listed = false,
                // One that keeps its place at the back lets the others have their turn.
                1 => {
                    local.listed = false;
                    return Some(port);
                }
                _ => {
                    self.set_mut(id).ready.push_back(port);
                    return Some(port);
                }
            }
        }
        None
    }

    /// Puts a member back to the front, whose message was looked at and left there.
    pub fn still_ready(&mut self, port: PortId) {
        if let Some(local) = self.port_mut(port).local_mut()
            && let Some(set) = local.set
        {
            let listed = std::mem::replace(&mut local.listed, true);
            let ready = &mut self.set_mut(set).ready;
            if listed {
                ready.retain(|member| *member != port);
            }
            ready.push_front(port);
        }
    }

    /// Takes a port out of its set, if it is in one.
    pub fn leave_set(&mut self, id: PortId) {
        let Some(local) = self.port_mut(id).local_mut() else { return };
        local.listed = false;
        if let Some(of) = local.set.take() {
            let set = self.set_mut(of);
            set.members.retain(|member| *member != id);
            set.ready.retain(|member| *member != id);
            self.effect(Effect::Changed(id));
            if self.turns.any() {
                self.rebind_set(of);
                self.rebind(id);
            }
        }
    }

    /// Puts a port that is in no set into one.
    pub fn join_set(&mut self, id: PortId, to: SetId) {
        let Some(local) = self.port_mut(id).local_mut() else { return };
        local.set = Some(to);
        local.listed = !local.queue.is_empty();
        let listed = local.listed;
        let set = self.set_mut(to);
        set.members.push(id);
        if listed {
            set.ready.push_back(id);
        }
        self.effect(Effect::Changed(id));
        if self.turns.any() {
            self.rebind_set(to);
        }
    }
}
