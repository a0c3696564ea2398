//! Rights outside of spaces: taken out of one, put into one, destroyed; and messages destroyed with the rights in them.

use super::{
    Effect, Home, PortId, Right, SpaceId, State,
    message::{Item, Message},
    space::{Entry, Object},
};
use crate::abi::{self, Code, kind, types};
use smallvec::SmallVec;

impl State {
    /// Takes a right out of a space, or makes one, as `disposition` says.
    ///
    /// A null or dead name gives a null or dead right. On error nothing has changed:
    /// `INVALID_NAME` if the name denotes nothing, `INVALID_RIGHT` if it lacks the right.
    #[inline]
    pub fn copyin(&mut self, space: SpaceId, name: u32, disposition: u32) -> Result<Right, Code> {
        match name {
            abi::NULL => return Ok(Right::Null),
            abi::DEAD => return Ok(Right::Dead),
            _ => {}
        }
        let entry = *self.space(space).get(name).ok_or(Code::INVALID_NAME)?;
        match disposition {
            types::MAKE_SEND | types::MAKE_SEND_ONCE => self.make(&entry, disposition),
            types::COPY_SEND => match (entry.kind, entry.port()) {
                (kind::DEAD_NAME, _) => Ok(Right::Dead),
                (_, Some(port)) if entry.has(kind::SEND) => {
                    self.port_mut(port).srights += 1;
                    Ok(Right::Send(port))
                }
                _ => Err(Code::INVALID_RIGHT),
            },
            types::MOVE_SEND => match (entry.kind, entry.port()) {
                (kind::DEAD_NAME, _) => {
                    self.drop_urefs(space, name, 1);
                    Ok(Right::Dead)
                }
                (_, Some(port)) if entry.has(kind::SEND) => {
                    self.port_mut(port).srights += 1;
                    self.drop_urefs(space, name, 1);
                    Ok(Right::Send(port))
                }
                _ => Err(Code::INVALID_RIGHT),
            },
            types::MOVE_SEND_ONCE => match (entry.kind, entry.object) {
                (kind::DEAD_NAME, _) => {
                    self.drop_urefs(space, name, 1);
                    Ok(Right::Dead)
                }
                (kind::SEND_ONCE, Object::Port(port)) => {
                    self.delete_name(space, name, Some(port));
                    Ok(Right::SendOnce(port))
                }
                (kind::SEND_ONCE, Object::Once(once)) => {
                    self.delete_name(space, name, None);
                    Ok(Right::RemoteSendOnce(once))
                }
                _ => Err(Code::INVALID_RIGHT),
            },
            types::MOVE_RECEIVE => match entry.port() {
                Some(port) if entry.has(kind::RECEIVE) => {
                    self.end_guard(port);
                    let request = self.detach_receive(space, name, port);
                    self.notify_port_deleted(request, name);
                    Ok(Right::Receive(port))
                }
                _ => Err(Code::INVALID_RIGHT),
            },
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// Whether [`State::copyin`] would succeed, changing nothing.
    pub fn can_copyin(&self, space: SpaceId, name: u32, disposition: u32) -> bool {
        if name == abi::NULL || name == abi::DEAD {
            return true;
        }
        let Some(entry) = self.space(space).get(name) else { return false };
        match disposition {
            types::MAKE_SEND | types::MAKE_SEND_ONCE | types::MOVE_RECEIVE => entry.has(kind::RECEIVE),
            types::COPY_SEND | types::MOVE_SEND => entry.has(kind::SEND) || entry.kind == kind::DEAD_NAME,
            types::MOVE_SEND_ONCE => matches!(entry.kind, kind::SEND_ONCE | kind::DEAD_NAME),
            _ => false,
        }
    }

    fn make(&mut self, entry: &Entry, disposition: u32) -> Result<Right, Code> {
        let port = entry.port().filter(|_| entry.has(kind::RECEIVE)).ok_or(Code::INVALID_RIGHT)?;
        if disposition == types::MAKE_SEND { self.make_send(port) } else { self.make_send_once(port) }.ok_or(Code::INVALID_RIGHT)
    }

    /// Makes a send right to a port that is here; None if it is not.
    pub fn make_send(&mut self, port: PortId) -> Option<Right> {
        let it = self.port_mut(port);
        let local = it.local_mut()?;
        local.mscount = local.mscount.wrapping_add(1);
        it.srights += 1;
        Some(Right::Send(port))
    }

    /// Makes a send-once right to a port that is here; None if it is not.
    pub fn make_send_once(&mut self, port: PortId) -> Option<Right> {
        let it = self.port_mut(port);
        it.local_mut()?;
        it.sorights += 1;
        Some(Right::SendOnce(port))
    }

    /// Puts a right into a space: its name there, or DEAD if the port is dead.
    ///
    /// `NO_SPACE`, with the right given back, if the space has no names left.
    #[inline]
    pub fn copyout(&mut self, space: SpaceId, right: Right) -> Result<u32, Right> {
        match right {
            Right::Null => Ok(abi::NULL),
            Right::Dead => Ok(abi::DEAD),
            Right::Send(port) if self.port(port).is_dead() => {
                self.destroy_right(right);
                Ok(abi::DEAD)
            }
            Right::Send(port) => match self.name_of(space, port) {
                Some(name) => {
                    let Some(entry) = self.space_mut(space).get_mut(name) else {
                        unreachable!("a port lists only names that exist");
                    };
                    if entry.has(kind::SEND) {
                        // At the limit the count stays there, as in Mach: one below what a dead name may have,
                        // which gets one more when it tells of its death.
                        entry.urefs = (entry.urefs + 1).min(abi::UREFS_MAX - 1);
                        self.drop_sright(port);
                    } else {
                        entry.kind |= kind::SEND;
                        entry.urefs = 1;
                        self.name_changed(port);
                    }
                    Ok(name)
                }
                None => self.name_new(space, Entry::new(kind::SEND, 1, Object::Port(port)), right),
            },
            Right::SendOnce(port) if self.port(port).is_dead() => {
                self.destroy_right(right);
                Ok(abi::DEAD)
            }
            Right::SendOnce(port) => self.name_new(space, Entry::new(kind::SEND_ONCE, 1, Object::Port(port)), right),
            Right::RemoteSendOnce(once) => self.name_new(space, Entry::new(kind::SEND_ONCE, 1, Object::Once(once)), right),
            Right::Receive(port) => {
                let name = match self.name_of(space, port) {
                    Some(name) => {
                        if let Some(entry) = self.space_mut(space).get_mut(name) {
                            entry.kind |= kind::RECEIVE;
                        }
                        name
                    }
                    None => self.name_new(space, Entry::new(kind::RECEIVE, 0, Object::Port(port)), right)?,
                };
                if let Some(local) = self.port_mut(port).local_mut() {
                    local.receiver = Some((space, name));
                    local.towards = PortId::NONE;
                }
                Ok(name)
            }
        }
    }

    /// Gives a right a name of its own; the right itself comes back if there is no name left.
    fn name_new(&mut self, space: SpaceId, entry: Entry, right: Right) -> Result<u32, Right> {
        let Some(name) = self.space_mut(space).insert(entry) else { return Err(right) };
        match entry.object {
            Object::Port(port) => {
                self.port_mut(port).names.push((space, name));
                self.name_changed(port);
            }
            Object::Once(once) => self.note_once(once, space, name),
            Object::None | Object::Set(_) => {}
        }
        Ok(name)
    }

    /// The name that a space has for a port's send or receive right.
    #[inline]
    pub fn name_of(&self, space: SpaceId, port: PortId) -> Option<u32> {
        let mut names = self.port(port).names.iter();
        names
            .find(|(owner, name)| {
                *owner == space && self.space(space).get(*name).is_some_and(|e| e.kind & kind::SEND_RECEIVE != 0)
            })
            .map(|(_, name)| *name)
    }

    /// Takes the receive right out of an entry: it is now the caller's, and the port in no set.
    ///
    /// If the name is gone with it, so is a dead-name request: the right that was to get the notification
    /// comes back, for [`State::notify_port_deleted`].
    pub(crate) fn detach_receive(&mut self, space: SpaceId, name: u32, port: PortId) -> Right {
        self.lose_traps(port);
        self.leave_sets(port);
        let it = self.port_mut(port);
        it.serial.left = it.serial.left.wrapping_add(1);
        if let Some(local) = it.local_mut() {
            local.receiver = None;
            local.mscount = 0;
            local.set_seqno(0);
            local.set_payload(None);
        }
        self.effect(Effect::Changed(port));
        match self.space_mut(space).get_mut(name) {
            Some(entry) if entry.has(kind::SEND) => {
                entry.kind &= !kind::RECEIVE;
                Right::Null
            }
            _ => self.remove_name(space, name, Some(port)),
        }
    }

    /// Removes a name, of `port` if it is that of a port. If there was a dead-name request, the
    /// right that was to get the notification comes back.
    pub(crate) fn remove_name(&mut self, space: SpaceId, name: u32, port: Option<PortId>) -> Right {
        let Some(entry) = self.space_mut(space).remove(name) else { return Right::Null };
        self.rename_acceptance(space, name, None);
        if let Some(port) = port {
            self.forget_name(port, space, name);
        }
        if entry.request == 0 { Right::Null } else { self.space_mut(space).requests.remove(entry.request as usize - 1) }
    }

    /// As [`State::remove_name`]; the task that asked for the name's death gets a port-deleted notification.
    pub(crate) fn delete_name(&mut self, space: SpaceId, name: u32, port: Option<PortId>) {
        let request = self.remove_name(space, name, port);
        self.notify_port_deleted(request, name);
    }

    /// Removes a name from the port's list of its names.
    pub(crate) fn forget_name(&mut self, port: PortId, space: SpaceId, name: u32) {
        let names = &mut self.port_mut(port).names;
        if let Some(at) = names.iter().position(|pair| *pair == (space, name)) {
            names.swap_remove(at);
        }
        self.name_changed(port);
    }

    /// Takes `n` user references off a send right or a dead name, which has at least so many.
    pub(crate) fn drop_urefs(&mut self, space: SpaceId, name: u32, n: u32) {
        let Some(entry) = self.space_mut(space).get_mut(name) else { return };
        if entry.urefs > n {
            entry.urefs -= n;
            return;
        }
        let entry = *entry;
        match entry.port() {
            Some(port) if entry.has(kind::SEND_RECEIVE) => {
                if let Some(entry) = self.space_mut(space).get_mut(name) {
                    entry.kind &= !kind::SEND;
                    entry.urefs = 0;
                }
                self.name_changed(port);
                self.drop_sright(port);
            }
            Some(port) => {
                let request = self.remove_name(space, name, Some(port));
                self.drop_sright(port);
                self.notify_port_deleted(request, name);
            }
            None => self.delete_name(space, name, None),
        }
    }

    /// One send right less in this process.
    pub(crate) fn drop_sright(&mut self, port: PortId) {
        let it = self.port_mut(port);
        debug_assert!(it.srights > 0);
        it.srights = it.srights.saturating_sub(1);
        if it.srights > 0 {
            return;
        }
        match it.home {
            Home::Here(_) => self.check_senders(port),
            Home::Remote | Home::Dead => self.forget_unused(port),
        }
    }

    /// Sends the no-senders notification if it is asked for and due.
    pub(crate) fn check_senders(&mut self, port: PortId) {
        let (to, made) = self.take_no_senders(port);
        if to != Right::Null {
            self.notify_no_senders(to, made);
        }
    }

    /// The right that gets the no-senders notification, if it is due, and the make-send count to tell.
    pub(crate) fn take_no_senders(&mut self, port: PortId) -> (Right, u32) {
        let it = self.port_mut(port);
        let none = it.srights == 0;
        match it.local_mut() {
            Some(local) if none && local.abroad == 0 => (std::mem::take(&mut local.nsrequest), local.mscount),
            _ => (Right::Null, 0),
        }
    }

    /// Says how many holders of send rights there are in other processes.
    pub fn set_abroad(&mut self, port: PortId, holders: u32) {
        if let Some(local) = self.port_mut(port).local_mut() {
            let before = std::mem::replace(&mut local.abroad, holders);
            // A request may well wait while there is no sender: for one that comes and goes.
            if before > 0 && holders == 0 {
                self.check_senders(port);
            }
        }
    }

    /// Destroys a message: every right in it, the one it was sent with included. As in Mach, messages in the
    /// queues of ports that die with it come after it, one by one: a chain of them is no chain of calls.
    pub fn destroy_message(&mut self, message: Box<Message>) {
        self.doomed.push_back(message);
        if !std::mem::replace(&mut self.destroying, true) {
            while let Some(message) = self.doomed.pop_front() {
                self.clean_message(*message);
            }
            self.destroying = false;
        }
    }

    fn clean_message(&mut self, message: Message) {
        if let Some(origin) = message.origin {
            self.effect(Effect::Taken(origin));
        }
        let Message { dest, reply, items, .. } = message;
        self.destroy_right(dest);
        self.destroy_right(reply);
        self.destroy_items(items);
    }

    /// Destroys the rights among `items`.
    pub fn destroy_items(&mut self, items: SmallVec<[Item; 1]>) {
        for item in items {
            match item {
                Item::Ports { rights, .. } => rights.into_iter().for_each(|right| self.destroy_right(right)),
                Item::PortArray { rights, .. } => rights.into_iter().for_each(|right| self.destroy_right(right)),
                Item::Memory { .. } => {}
            }
        }
    }
}
