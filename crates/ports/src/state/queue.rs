//! Ports and their queues: made and freed, messages put in and taken out, and which member of a set comes next.

use super::{
    Effect, PortId, Right, SetId, SpaceId, State,
    message::{Item, Message},
    port::{Home, Local, Membership, Port},
};
use smallvec::{SmallVec, smallvec};

impl State {
    /// A new port here, whose receive right is nowhere yet.
    pub fn new_port(&mut self) -> PortId {
        self.insert_port(Home::Here(Local::default()), SmallVec::new())
    }

    /// A new port here, whose receive right has a name.
    #[inline]
    pub(crate) fn new_named_port(&mut self, space: SpaceId, name: u32) -> PortId {
        let local = Local { receiver: Some((space, name)), ..Local::default() };
        self.insert_port(Home::Here(local), smallvec![(space, name)])
    }

    /// A port that lives elsewhere, without any right to it yet.
    pub fn new_remote_port(&mut self) -> PortId {
        self.insert_port(Home::Remote, SmallVec::new())
    }

    #[inline]
    fn insert_port(&mut self, home: Home, names: SmallVec<[(SpaceId, u32); 1]>) -> PortId {
        let serial = self.next_serial();
        PortId(self.ports.insert(Port { home, srights: 0, sorights: 0, serial, names }) as u32)
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
        let (unlisted, several) = (local.set.as_mut().and_then(Membership::list), local.several);
        if let Some(set) = unlisted {
            self.set_mut(set).ready.push_back(id);
        }
        if several {
            self.list_further(id);
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
                    local.towards = id;
                }
            }
        }
        true
    }

    /// Takes the first message from the queue of a port that is here.
    pub fn dequeue(&mut self, id: PortId) -> Option<Box<Message>> {
        let local = self.port_mut(id).local_mut()?;
        let mut message = local.queue.pop_front()?;
        if (local.queue.len() as u32) < local.qlimit {
            self.effect(Effect::NotFull(id));
        }
        self.queue_changed(id);
        // Told once: it may yet be destroyed.
        if let Some(origin) = message.origin.take() {
            self.effect(Effect::Taken(origin));
        }
        Some(message)
    }

    /// The member of a set to receive from next: it has a message in its queue.
    pub fn next_ready(&mut self, id: SetId) -> Option<PortId> {
        while let Some(port) = self.set_mut(id).ready.pop_front() {
            let Some(waiting) = self.port(port).local().map(|local| local.queue.len()) else { continue };
            let Some(member) = self.membership_mut(port, id) else { continue };
            match waiting {
                // Perhaps it was received through another set.
                0 => member.listed = false,
                // It keeps its place at the back, so the others come first.
                1 => {
                    member.listed = false;
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

    /// Puts a member of a set back to the front: its message was looked at and left in its queue.
    pub fn still_ready(&mut self, id: SetId, port: PortId) {
        if let Some(member) = self.membership_mut(port, id) {
            let listed = member.list().is_none();
            let ready = &mut self.set_mut(id).ready;
            if listed {
                ready.retain(|member| *member != port);
            }
            ready.push_front(port);
        }
    }
}

/// The sets that a port is in.
impl State {
    /// That it is in each of them.
    pub fn memberships(&self, port: PortId) -> impl Iterator<Item = &Membership> {
        let local = self.ports.get(port.0 as usize).and_then(Port::local);
        let further = local.filter(|local| local.several).and_then(|_| self.further_sets.get(&port));
        local.and_then(|local| local.set.as_ref()).into_iter().chain(further.into_iter().flatten())
    }

    /// The sets.
    #[inline]
    pub fn sets_of(&self, port: PortId) -> SmallVec<[SetId; 1]> {
        let local = self.ports.get(port.0 as usize).and_then(Port::local);
        if local.is_none_or(|local| local.set.is_none()) { SmallVec::new() } else { self.some_sets_of(port) }
    }

    fn some_sets_of(&self, port: PortId) -> SmallVec<[SetId; 1]> {
        self.memberships(port).map(|it| it.set).collect()
    }

    /// Whether the port is in the set.
    pub fn is_in(&self, port: PortId, set: SetId) -> bool {
        self.memberships(port).any(|it| it.set == set)
    }

    /// Whether the port is in several sets, and in this one.
    #[inline(always)]
    pub fn is_in_further(&self, port: PortId, set: SetId) -> bool {
        !self.further_sets.is_empty() && self.is_in(port, set)
    }

    fn membership_mut(&mut self, port: PortId, set: SetId) -> Option<&mut Membership> {
        let local = self.ports.get_mut(port.0 as usize)?.local_mut()?;
        let further = self.further_sets.get_mut(&port).filter(|_| local.several);
        local.set.as_mut().into_iter().chain(further.into_iter().flatten()).find(|it| it.set == set)
    }

    /// A message waits at a port of several sets.
    #[cold]
    fn list_further(&mut self, port: PortId) {
        let further = self.further_sets.get_mut(&port).into_iter().flatten();
        let sets: SmallVec<[SetId; 1]> = further.filter_map(Membership::list).collect();
        sets.into_iter().for_each(|set| self.set_mut(set).ready.push_back(port));
    }

    /// Takes a port out of its sets.
    pub fn leave_sets(&mut self, id: PortId) {
        self.sets_of(id).into_iter().for_each(|set| self.leave_set(id, set));
    }

    /// Takes a port out of a set, if it is in that.
    pub fn leave_set(&mut self, id: PortId, of: SetId) {
        let mut sets: Vec<Membership> = self.memberships(id).copied().collect();
        let before = sets.len();
        sets.retain(|it| it.set != of);
        if sets.len() == before {
            return;
        }
        self.put_memberships(id, sets);
        let set = self.set_mut(of);
        set.members.retain(|member| *member != id);
        set.ready.retain(|member| *member != id);
        self.effect(Effect::Changed(id));
        if self.turns.any() {
            self.rebind_set(of);
            self.rebind(id);
        }
    }

    /// Puts a port into a set that it is not in.
    pub fn join_set(&mut self, id: PortId, to: SetId) {
        let Some(local) = self.port(id).local() else { return };
        let listed = !local.queue.is_empty();
        let sets = self.memberships(id).copied().chain([Membership { set: to, listed }]).collect();
        self.put_memberships(id, sets);
        let set = self.set_mut(to);
        set.members.push(id);
        if listed {
            set.ready.push_back(id);
        }
        self.effect(Effect::Changed(id));
        if self.turns.any() {
            self.rebind(id);
        }
    }

    fn put_memberships(&mut self, port: PortId, mut sets: Vec<Membership>) {
        let Some(local) = self.port_mut(port).local_mut() else { return };
        local.set = if sets.is_empty() { None } else { Some(sets.remove(0)) };
        let was = std::mem::replace(&mut local.several, !sets.is_empty());
        if !sets.is_empty() {
            self.further_sets.insert(port, sets);
        } else if was {
            self.further_sets.remove(&port);
        }
    }
}
