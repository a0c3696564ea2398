//! What a process knows of Mach: its spaces, and the ports that they hold rights to.
//!
//! Everything here is bookkeeping under one lock. It does no I/O and never waits: what must happen
//! outside is left as an [`Effect`] for the caller, in order. A port whose receive right is in another process
//! is a [`Home::Remote`]; the same rules hold for its names, and messages to it become effects.
//!
//! What it consists of: [`ids`], [`space`]s (a task's names), [`port`]s and port sets, [`right`]s, [`message`]s and what
//! their bodies say, [call entries](call_entry) of ports that are called. What is done with it: `rights` are taken out of a space, put into
//! one, destroyed; `queue`s of ports; `death` of ports; [`notify`]: notifications, and `acceptance` of messages;
//! [`routines`]: the `mach_port_*` calls; [`traps`]: ports that are called; [`kernel`]: ports of tasks, threads and the host; [`exceptions`]: where
//! exceptions are told.

mod acceptance;
pub mod call_entry;
mod death;
pub mod exception_ports;
mod exceptions;
pub mod ids;
pub mod kernel;
pub mod message;
pub mod notify;
pub mod port;
mod queue;
pub mod right;
mod rights;
pub mod routines;
pub mod space;
pub mod traps;

use crate::semaphore::Semaphore;
pub use ids::{LineId, PortId, RemoteSendOnce, Serial, SetId, SpaceId};
use message::{Message, Origin};
pub use port::Home;
use port::{Membership, Port, Set};
pub use right::Right;
use rustc_hash::FxHashMap;
use slab::Slab;
use space::Space;
use std::{collections::VecDeque, sync::Arc};

/// Something that must happen outside of the state. Effects are carried out in order, under the
/// same lock, before it is released.
#[derive(Debug)]
pub enum Effect {
    /// A message waits at the port, which is here: wake a receiver.
    Arrived(PortId),
    /// The port's queue is not full: wake a sender.
    NotFull(PortId),
    /// A message made here (a notification) for a right to another process. Never waits.
    Transmit(Box<Message>),
    /// No right to the remote port is left in this process: no name, and none in a message.
    Forgotten(PortId),
    /// A remote send-once right was dropped unused: its port gets a send-once notification.
    OnceDropped(RemoteSendOnce),
    /// The port, which was here, is dead: its senders elsewhere must learn of it.
    Died(PortId),
    /// Receivers on the port must look again: it died, moved away, or joined or left a set.
    Changed(PortId),
    /// Receivers on the set must look again: it is gone.
    SetGone(SetId),
    /// Somebody wants to know when the port has no senders: watch those in other processes.
    WatchSenders(PortId),
    /// Somebody wants to know when the remote port dies: the first dead-name request for a name of it.
    WatchDeath(PortId),
    /// As [`Effect::WatchDeath`], for the port of a remote send-once right.
    WatchOnce(RemoteSendOnce),
    /// A message that came over a line left the port's queue.
    Taken(Origin),
    /// The port's receive right came here from another process: its senders' requests can be taken.
    Adopted(PortId),
}

/// A request for a notification when a message is received.
#[derive(Debug)]
struct Acceptance {
    /// The space and its name for the message's port, while it has one.
    pub(super) name: Option<(SpaceId, u32)>,
    /// Gets the notification.
    pub(super) to: Right,
}

/// All that a process knows of Mach.
#[derive(Debug, Default)]
pub struct State {
    /// Ports, by [`PortId`].
    pub ports: Slab<Port>,
    /// Port sets, by [`SetId`].
    pub sets: Slab<Set>,
    /// How many ports and sets were made (wraps).
    made: u32,
    /// The sets of ports in several sets, but for the one that the port itself tells.
    further_sets: FxHashMap<PortId, Vec<Membership>>,
    /// Spaces, by [`SpaceId`].
    pub spaces: Slab<Space>,
    /// Which name a remote send-once right has, by [`RemoteSendOnce`]. May tell of one that it had before.
    once_names: Vec<(SpaceId, u32)>,
    /// Requests to be told when a message is received.
    acceptances: Slab<Acceptance>,
    /// The ports of this process's threads, by the threads' numbers in the system, and when the threads started.
    pub(crate) threads: FxHashMap<u32, (PortId, u64)>,
    /// Where the exceptions of threads are told, for those that something is set for.
    thread_exceptions: FxHashMap<u32, exception_ports::Exceptions>,
    /// The semaphores of this process's tasks, each with the task that made it and its port.
    pub(crate) semaphores: Slab<(SpaceId, PortId, Arc<Semaphore>)>,
    /// Calls to ports of this process.
    pub turns: call_entry::Turns,
    /// What the caller still has to do.
    pub effects: VecDeque<Effect>,
    /// Messages whose senders wait for room.
    parked: Slab<Box<Message>>,
    /// Messages to be destroyed after the one that is being destroyed.
    doomed: VecDeque<Box<Message>>,
    /// Whether [`State::destroy_message`] is at work further up.
    destroying: bool,
}

impl State {
    /// A new, empty space.
    pub fn new_space(&mut self) -> SpaceId {
        SpaceId(self.spaces.insert(Space::default()) as u32)
    }

    /// The serial of a new port or set.
    #[inline]
    fn next_serial(&mut self) -> Serial {
        self.made = self.made.wrapping_add(1);
        Serial { made: self.made, left: 0 }
    }

    /// The port, which the caller got from an entry or a right, so it is there.
    pub fn port(&self, id: PortId) -> &Port {
        &self.ports[id.0 as usize]
    }

    /// As [`State::port`].
    pub fn port_mut(&mut self, id: PortId) -> &mut Port {
        &mut self.ports[id.0 as usize]
    }

    /// The set, which the caller got from an entry or a member, so it is there.
    pub fn set(&self, id: SetId) -> &Set {
        &self.sets[id.0 as usize]
    }

    /// As [`State::set`].
    pub fn set_mut(&mut self, id: SetId) -> &mut Set {
        &mut self.sets[id.0 as usize]
    }

    /// The space, which the caller made.
    pub fn space(&self, id: SpaceId) -> &Space {
        &self.spaces[id.0 as usize]
    }

    /// As [`State::space`].
    pub fn space_mut(&mut self, id: SpaceId) -> &mut Space {
        &mut self.spaces[id.0 as usize]
    }

    /// Notes the name of a remote send-once right.
    #[inline]
    fn note_once(&mut self, once: RemoteSendOnce, space: SpaceId, name: u32) {
        let index = once.0 as usize;
        if self.once_names.len() <= index {
            self.once_names.resize(index + 1, (space, name));
        }
        self.once_names[index] = (space, name);
    }

    /// The name of a remote send-once right, if it has one.
    fn name_of_once(&self, once: RemoteSendOnce) -> Option<(SpaceId, u32)> {
        let (space, name) = *self.once_names.get(once.0 as usize)?;
        let entry = self.spaces.get(space.0 as usize)?.get(name)?;
        (entry.object == space::Object::Once(once)).then_some((space, name))
    }

    /// Whether the task asked for notice of the death of the port of a remote send-once right.
    pub(crate) fn is_once_watched(&self, once: RemoteSendOnce) -> bool {
        self.name_of_once(once).is_some_and(|(space, name)| self.space(space).get(name).is_some_and(|it| it.request != 0))
    }

    /// Keeps a message whose sender waits: the rights in it follow their ports meanwhile. Its number, to take it back with.
    pub fn park(&mut self, message: Box<Message>) -> usize {
        self.parked.insert(message)
    }

    /// Takes a parked message back.
    pub fn unpark(&mut self, number: usize) -> Box<Message> {
        self.parked.remove(number)
    }

    /// Leaves something to do outside.
    pub(crate) fn effect(&mut self, effect: Effect) {
        self.effects.push_back(effect);
    }
}
