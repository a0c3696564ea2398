//! Ports and their queues: made and freed, messages put in and taken out, and which member of a set comes next.

use super::{
    Effect, PortId, Right, SetId, State,
    message::{Item, Message},
    port::{Home, Local, Port},
};
use smallvec::SmallVec;

impl State {
    /// A new port here, whose receive right is nowhere yet.
    pub fn new_port(&mut self) -> PortId {
        self.insert_port(Home::Here(Local::default()))
    }

    /// A port that lives elsewhere, without any right to it yet.
    pub fn new_remote_port(&mut self) -> PortId {
        self.insert_port(Home::Remote)
    }

    fn insert_port(&mut self, home: Home) -> PortId {
        PortId(self.ports.insert(Port { home, srights: 0, sorights: 0, names: SmallVec::new() }) as u32)
    }

    /// Frees what is kept of a port to which nothing here refers any more: dead without rights, or remote
    /// and [`Effect::Forgotten`]. The I/O layer calls it for remote ports, when it has let go of them.
    pub fn free_port(&mut self, id: PortId) {
        debug_assert!(self.port(id).names.is_empty());
        self.ports.remove(id.0 as usize);
    }

    /// Puts a message into the queue of a port that is here.
    ///
    /// As in Mach, a message is destroyed at once that would wait, with the receive right to its own port or to
    /// one that it waits behind, where it could never be received.
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

    /// Notes for the receive rights in a message which queue they wait in; false if that closes a cycle.
    fn set_towards(&mut self, id: PortId, message: &Message) -> bool {
        for right in message.items.iter().flat_map(Item::rights) {
            if let Right::Receive(port) = right {
                if self.would_cycle(*port, id) {
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
            self.effect(Effect::NotFull(id));
        }
        self.queue_changed(id);
        if let Some(origin) = message.origin {
            self.effect(Effect::Taken(origin));
        }
        Some(message)
    }

    /// The member of a set to receive from next: it has a message in its queue.
    pub fn next_ready(&mut self, id: SetId) -> Option<PortId> {
        while let Some(port) = self.set_mut(id).ready.pop_front() {
            let Some(local) = self.port_mut(port).local_mut() else { continue };
            if local.set != Some(id) {
                continue;
            }
            match local.queue.len() {
                0 => local.listed = false,
                // It keeps its place at the back, so the others come first.
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

    /// Puts a member back to the front: its message was looked at and left in its queue.
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
