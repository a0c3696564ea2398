//! The `mach_port_*` calls, each on a name in a space.
//!
//! A task that is gone is `INVALID_TASK`, a name that denotes nothing `INVALID_NAME`, one that lacks
//! the right `INVALID_RIGHT`; where several things are wrong, the code is the one that Mach gives.
//!
//! * here: names and user references. * `receive`: what a receive right or a port set has.
//!   * `guard`: receive rights that only their guard's owner ends. * `requests`: notifications. * `transfer`: rights put into and taken out of a space by name.

mod guard;
mod receive;
mod requests;
mod transfer;

#[cfg(test)]
mod tests;

use super::{
    Effect, PortId, Right, SetId, SpaceId, State,
    port::Set,
    space::{Entry, Object, Space},
};
use crate::abi::{self, Code, kind, right};

/// Whether a name is one that can denote a right.
fn valid(name: u32) -> bool {
    name != abi::NULL && name != abi::DEAD
}

/// The type bit of a right number, which is less than [`right::NUMBER`].
fn kind_of(right: u32) -> u32 {
    1 << (right + 16)
}

impl State {
    /// The entry of a name: `INVALID_TASK` or `INVALID_NAME` if there is none.
    #[inline]
    fn entry_of(&self, space: SpaceId, name: u32) -> Result<Entry, Code> {
        self.live(space)?;
        self.space(space).get(name).copied().ok_or(Code::INVALID_NAME)
    }

    /// The port whose receive right the name denotes.
    pub(crate) fn receive_of(&self, space: SpaceId, name: u32) -> Result<PortId, Code> {
        let entry = self.entry_of(space, name)?;
        entry.port().filter(|_| entry.has(kind::RECEIVE)).ok_or(Code::INVALID_RIGHT)
    }

    fn live(&self, space: SpaceId) -> Result<(), Code> {
        if self.space(space).dead { Err(Code::INVALID_TASK) } else { Ok(()) }
    }

    /// `mach_port_names`: all names with their types, in no order.
    pub fn port_names(&self, space: SpaceId) -> Result<Vec<(u32, u32)>, Code> {
        self.live(space)?;
        let space = self.space(space);
        Ok(space.iter().map(|(name, entry)| (name, entry.shown_kind())).collect())
    }

    /// `mach_port_type`: the type of a name, with DNREQUEST if that is asked for.
    pub fn port_type(&self, space: SpaceId, name: u32) -> Result<u32, Code> {
        self.entry_of(space, name).map(|entry| entry.shown_kind())
    }

    /// `mach_port_rename`: what `old` denotes is denoted by `new`.
    ///
    /// `INVALID_VALUE` if `new` can't be a name, `NAME_EXISTS` if it denotes something.
    pub fn port_rename(&mut self, space: SpaceId, old: u32, new: u32) -> Result<(), Code> {
        if !valid(new) {
            return Err(Code::INVALID_VALUE);
        }
        self.live(space)?;
        if self.space(space).get(new).is_some() {
            return Err(Code::NAME_EXISTS);
        }
        let entry = self.space_mut(space).remove(old).ok_or(Code::INVALID_NAME)?;
        self.rename_acceptance(space, old, Some(new));
        let placed = self.space_mut(space).insert_at(new, entry);
        debug_assert!(placed, "the name is valid and free");
        match entry.object {
            Object::Port(port) => {
                let it = self.port_mut(port);
                it.names.iter_mut().filter(|pair| **pair == (space, old)).for_each(|pair| pair.1 = new);
                if entry.has(kind::RECEIVE)
                    && let Some(local) = it.local_mut()
                {
                    local.receiver = Some((space, new));
                    if local.traps.is_some() {
                        self.rebind(port);
                    }
                }
                self.name_changed(port);
            }
            Object::Set(set) => self.set_mut(set).holder = (space, new),
            Object::Once(once) => self.note_once(once, space, new),
            Object::None => {}
        }
        Ok(())
    }

    /// `mach_port_allocate`: a new receive right, port set or dead name, under a name of the space's choice.
    ///
    /// `INVALID_VALUE` if `right` is none of these, `NO_SPACE` if there are no names left.
    #[inline]
    pub fn port_allocate(&mut self, space: SpaceId, right: u32) -> Result<u32, Code> {
        self.check_allocatable(space, right)?;
        self.allocate(space, right, Space::insert).ok_or(Code::NO_SPACE)
    }

    /// `mach_port_allocate_name`: as [`State::port_allocate`], under the name that the program chose.
    ///
    /// `INVALID_VALUE` if that can't be a name, `NAME_EXISTS` if it denotes something.
    pub fn port_allocate_name(&mut self, space: SpaceId, right: u32, name: u32) -> Result<(), Code> {
        if !valid(name) {
            return Err(Code::INVALID_VALUE);
        }
        self.check_allocatable(space, right)?;
        let place = |space: &mut Space, entry| space.insert_at(name, entry).then_some(name);
        self.allocate(space, right, place).map(drop).ok_or(Code::NAME_EXISTS)
    }

    /// `mach_reply_port`: a new receive right.
    #[inline]
    pub fn reply_port(&mut self, space: SpaceId) -> Result<u32, Code> {
        self.port_allocate(space, right::RECEIVE)
    }

    fn check_allocatable(&self, space: SpaceId, right: u32) -> Result<(), Code> {
        if !matches!(right, right::RECEIVE | right::PORT_SET | right::DEAD_NAME) {
            return Err(Code::INVALID_VALUE);
        }
        self.live(space)
    }

    /// Something new, under the name that `place` gives its entry; None if that gives none.
    #[inline]
    fn allocate(&mut self, space: SpaceId, right: u32, place: impl FnOnce(&mut Space, Entry) -> Option<u32>) -> Option<u32> {
        let (kind, urefs, object) = match right {
            right::RECEIVE => (kind::RECEIVE, 0, Object::Port(PortId(self.ports.vacant_key() as u32))),
            right::PORT_SET => (kind::PORT_SET, 0, Object::Set(SetId(self.sets.vacant_key() as u32))),
            _ => (kind::DEAD_NAME, 1, Object::None),
        };
        let name = place(self.space_mut(space), Entry::new(kind, urefs, object))?;
        match object {
            Object::Port(_) => drop(self.new_named_port(space, name)),
            Object::Set(_) => {
                let serial = self.next_serial();
                let set = Set { holder: (space, name), serial, members: Vec::new(), ready: Default::default(), turn: None };
                self.sets.insert(set);
            }
            Object::Once(_) | Object::None => {}
        }
        Some(name)
    }

    /// `mach_port_destroy`: every right that the name denotes is destroyed.
    pub fn port_destroy(&mut self, space: SpaceId, name: u32) -> Result<(), Code> {
        let entry = self.entry_of(space, name)?;
        self.check_unguarded(&entry)?;
        self.destroy_entry(space, name, &entry);
        Ok(())
    }

    fn destroy_entry(&mut self, space: SpaceId, name: u32, entry: &Entry) {
        match entry.object {
            Object::None => drop(self.space_mut(space).remove(name)),
            Object::Set(set) => self.destroy_set(space, name, set),
            Object::Once(once) => self.drop_once(space, name, None, Right::RemoteSendOnce(once)),
            Object::Port(port) if entry.has(kind::SEND_ONCE) => self.drop_once(space, name, Some(port), Right::SendOnce(port)),
            Object::Port(port) => self.destroy_send_receive(space, name, port, entry),
        }
    }

    /// Destroys a name's send right, receive right, or both: the send right goes first, and what
    /// it leads to is told last.
    fn destroy_send_receive(&mut self, space: SpaceId, name: u32, port: PortId, entry: &Entry) {
        let request = self.remove_name(space, name, Some(port));
        if !entry.has(kind::RECEIVE) {
            self.drop_sright(port);
            return self.notify_port_deleted(request, name);
        }
        let mut senders = (Right::Null, 0);
        if entry.has(kind::SEND) {
            let it = self.port_mut(port);
            it.srights = it.srights.saturating_sub(1);
            senders = self.take_no_senders(port);
        }
        let none = self.detach_receive(space, name, port);
        debug_assert!(none == Right::Null, "the name and its request are gone already");
        self.destroy_right(Right::Receive(port));
        self.notify_no_senders(senders.0, senders.1);
        self.notify_port_deleted(request, name);
    }

    /// Destroys a send-once right and its name.
    fn drop_once(&mut self, space: SpaceId, name: u32, port: Option<PortId>, right: Right) {
        let request = self.remove_name(space, name, port);
        self.destroy_right(right);
        self.notify_port_deleted(request, name);
    }

    /// Destroys a port set: its members are in none then.
    fn destroy_set(&mut self, space: SpaceId, name: u32, set: SetId) {
        self.space_mut(space).remove(name);
        for port in std::mem::take(&mut self.set_mut(set).members) {
            self.leave_set(port, set);
        }
        self.sets.remove(set.0 as usize);
        self.effect(Effect::SetGone(set));
    }

    /// `mach_port_deallocate`: one user reference less of a send, send-once or dead-name right.
    #[inline]
    pub fn port_deallocate(&mut self, space: SpaceId, name: u32) -> Result<(), Code> {
        let entry = self.entry_of(space, name)?;
        match (entry.kind & (kind::SEND | kind::SEND_ONCE | kind::DEAD_NAME), entry.object) {
            (kind::SEND_ONCE, Object::Port(port)) => self.drop_once(space, name, Some(port), Right::SendOnce(port)),
            (kind::SEND_ONCE, Object::Once(once)) => self.drop_once(space, name, None, Right::RemoteSendOnce(once)),
            (kind::NONE, _) => return Err(Code::INVALID_RIGHT),
            _ => self.drop_urefs(space, name, 1),
        }
        Ok(())
    }

    /// `mach_port_get_refs`: the user references of one of the rights that the name denotes; 0 if it isn't among them.
    ///
    /// `INVALID_VALUE` if `right` is no right.
    pub fn port_get_refs(&self, space: SpaceId, name: u32, right: u32) -> Result<u32, Code> {
        if right >= right::NUMBER {
            return Err(Code::INVALID_VALUE);
        }
        let entry = self.entry_of(space, name)?;
        Ok(match right {
            _ if !entry.has(kind_of(right)) => 0,
            right::SEND | right::DEAD_NAME => entry.urefs,
            _ => 1,
        })
    }

    /// `mach_port_mod_refs`: adds `delta` user references to one of the rights that the name denotes. A
    /// right without references is destroyed.
    ///
    /// `INVALID_VALUE` if `right` is no right or can't have so many references, `UREFS_OVERFLOW` if they are
    /// more than Mach counts.
    pub fn port_mod_refs(&mut self, space: SpaceId, name: u32, right: u32, delta: i32) -> Result<(), Code> {
        if right >= right::NUMBER {
            return Err(Code::INVALID_VALUE);
        }
        let entry = self.entry_of(space, name)?;
        if !entry.has(kind_of(right)) {
            return Err(Code::INVALID_RIGHT);
        }
        match (right, entry.object) {
            (right::SEND | right::DEAD_NAME, _) => {
                // A send right leaves room for one more, when it becomes a dead name and tells so.
                let limit = if right == right::SEND { abi::UREFS_MAX - 1 } else { abi::UREFS_MAX };
                let urefs = i64::from(entry.urefs) + i64::from(delta);
                if urefs < 0 {
                    return Err(Code::INVALID_VALUE);
                }
                if delta > 0 && urefs > i64::from(limit) {
                    return Err(Code::UREFS_OVERFLOW);
                }
                if delta < 0 {
                    self.drop_urefs(space, name, delta.unsigned_abs());
                } else if let Some(entry) = self.space_mut(space).get_mut(name) {
                    entry.urefs = urefs as u32;
                }
            }
            (_, _) if delta == 0 => {}
            (_, _) if delta != -1 => return Err(Code::INVALID_VALUE),
            (right::RECEIVE, Object::Port(port)) => {
                self.check_unguarded(&entry)?;
                // A send right under the same name stays: if the port dies, it becomes a dead name.
                let request = self.detach_receive(space, name, port);
                self.destroy_right(Right::Receive(port));
                self.notify_port_deleted(request, name);
            }
            _ => self.destroy_entry(space, name, &entry),
        }
        Ok(())
    }

    /// Ends a task: all its rights are destroyed as by [`State::port_destroy`], in the order of their names, and its own port dies. The space
    /// is dead from then on, and takes no right any more.
    pub fn terminate(&mut self, space: SpaceId) {
        let mut names: Vec<u32> = self.space(space).iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        self.space_mut(space).dead = true;
        for name in names {
            // The death of one may have changed what another denotes.
            if let Some(entry) = self.space(space).get(name).copied() {
                self.destroy_entry(space, name, &entry);
            }
        }
        let ended = std::mem::take(self.space_mut(space));
        self.space_mut(space).dead = true;
        if let Some(port) = ended.task_port {
            self.end_served(port);
        }
    }
}
