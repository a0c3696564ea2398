//! The end of rights and ports.

use super::{Effect, Home, PortId, RemoteSendOnce, Right, SpaceId, State, port::Local, space::Object};
use crate::abi::{self, kind};

impl State {
    /// Destroys a right: its port is told, as Mach would.
    pub fn destroy_right(&mut self, right: Right) {
        match right {
            Right::Null | Right::Dead => {}
            Right::Send(port) => self.drop_sright(port),
            // Nor is one told whose receive right has left: a right to it is another by now.
            Right::SendOnce(port) if self.port(port).local().is_none() => self.drop_soright(port),
            Right::SendOnce(_) => self.notify_send_once(right),
            Right::RemoteSendOnce(once) => self.effect(Effect::OnceDropped(once)),
            Right::Receive(port) => self.destroy_receive(port),
        }
    }

    /// The port of a name that is all there is of it in this process, and that has a right of this `kind` alone: send or receive. No request is to be
    /// told of its end. What other processes and waiting threads have is not known here.
    pub(crate) fn lone(&self, space: SpaceId, name: u32, kind: u32) -> Option<PortId> {
        let entry = self.space(space).get(name).filter(|entry| entry.kind == kind && entry.urefs <= 1 && entry.request == 0)?;
        let port = entry.port()?;
        let it = self.port(port);
        let held = match &it.home {
            Home::Here(local) => kind == kind::RECEIVE && it.srights == 0 && local.is_bare() && self.turns.is_still(),
            Home::Remote => it.srights == 1,
            Home::Dead => false,
        };
        (held && it.names.len() == 1 && it.sorights == 0 && self.acceptances.is_empty()).then_some(port)
    }

    /// Takes a [lone](Self::lone) name away, and with it the port, if that is here.
    pub(crate) fn remove_lone(&mut self, space: SpaceId, name: u32, port: PortId) {
        self.space_mut(space).remove(name);
        let it = self.port_mut(port);
        it.names.clear();
        it.srights = 0;
        if matches!(it.home, Home::Here(_)) {
            self.free_port(port);
        }
    }

    /// One send-once right of this process less: it was used, or its port is dead.
    pub fn drop_soright(&mut self, port: PortId) {
        let it = self.port_mut(port);
        it.sorights = it.sorights.saturating_sub(1);
        if !matches!(it.home, Home::Here(_)) {
            self.forget_unused(port);
        }
    }

    /// Reports a remote or dead port that no right here refers to any more.
    pub(crate) fn forget_unused(&mut self, port: PortId) {
        let it = self.port(port);
        if it.names.is_empty() && it.srights == 0 && it.sorights == 0 {
            self.effect(Effect::Forgotten(port));
        }
    }

    /// Destroys a receive right that is in no space: the port dies, unless a port-destroyed request wants it.
    fn destroy_receive(&mut self, port: PortId) {
        let Some(local) = self.port_mut(port).local_mut() else { return };
        local.receiver = None;
        let to = std::mem::take(&mut local.pdrequest);
        match to {
            Right::Null => self.kill(port),
            Right::SendOnce(backup) if self.would_cycle(port, backup) => {
                self.drop_soright(backup);
                self.kill(port);
            }
            to => self.notify_port_destroyed(to, port),
        }
    }

    /// Whether a message to `dest` that carries the receive right of `port` would wait in a queue
    /// that nobody can ever receive from: its own, or one that itself waits there.
    pub fn would_cycle(&self, port: PortId, dest: PortId) -> bool {
        let mut at = dest;
        while at != port {
            match self.port(at).local() {
                Some(Local { receiver: None, towards, .. }) if *towards != PortId::NONE => at = *towards,
                _ => return false,
            }
        }
        true
    }

    /// The port dies: its queue is destroyed, and the names that are left denote nothing any more.
    fn kill(&mut self, port: PortId) {
        self.lose_traps(port);
        self.leave_sets(port);
        let it = self.port_mut(port);
        let Home::Here(local) = std::mem::replace(&mut it.home, Home::Dead) else { return };
        // What is destroyed here may be the last that refers to the port, which is needed to the end.
        it.srights += 1;
        self.effect(Effect::Changed(port));
        self.effect(Effect::Died(port));
        self.destroy_right(local.nsrequest);
        for message in local.queue {
            self.destroy_message(message);
        }
        self.bury(port);
        self.drop_sright(port);
    }

    /// Turns all names of a dead port into dead names, in the order of spaces and names. Also called by the
    /// I/O layer, when a remote port has died (its home is then [`Home::Dead`] already).
    pub fn bury(&mut self, port: PortId) {
        let it = self.port_mut(port);
        it.srights += 1;
        let mut names = std::mem::take(&mut it.names);
        names.sort_unstable();
        for (space, name) in names {
            let Some(entry) = self.space_mut(space).get_mut(name) else { continue };
            let was = entry.kind;
            let it = self.port_mut(port);
            if was & kind::SEND != 0 {
                it.srights = it.srights.saturating_sub(1);
            } else if was == kind::SEND_ONCE {
                it.sorights = it.sorights.saturating_sub(1);
            }
            self.entomb(space, name);
        }
        self.drop_sright(port);
    }

    /// Turns one name into a dead name, and tells the task that asked for it.
    pub(crate) fn entomb(&mut self, space: SpaceId, name: u32) {
        let Some(entry) = self.space_mut(space).get_mut(name) else { return };
        entry.kind = kind::DEAD_NAME;
        entry.object = Object::None;
        let request = std::mem::take(&mut entry.request);
        self.rename_acceptance(space, name, None);
        let Some(entry) = self.space_mut(space).get_mut(name) else { return };
        if request != 0 {
            // The notification carries a reference of its own.
            entry.urefs = (entry.urefs + 1).min(abi::UREFS_MAX);
            let to = self.space_mut(space).requests.remove(request as usize - 1);
            self.notify_dead_name(to, name);
        }
    }

    /// A remote port turned out to be dead.
    pub fn remote_port_died(&mut self, port: PortId) {
        if matches!(self.port(port).home, Home::Remote) {
            self.port_mut(port).home = Home::Dead;
            self.bury(port);
        }
    }

    /// The port of a remote send-once right turned out to be dead: a name that
    /// denotes the right becomes a dead name. False if it has no name, being in a message.
    pub fn remote_send_once_died(&mut self, once: RemoteSendOnce) -> bool {
        let found = self.name_of_once(once);
        if let Some((space, name)) = found {
            self.entomb(space, name);
        }
        found.is_some()
    }
}

impl State {
    /// Shows every send-once right to `port` in this process, in spaces and in messages. The caller
    /// may put another right in its place; names follow.
    pub fn each_send_once(&mut self, port: PortId, see: &mut dyn FnMut(&mut Right)) {
        let names: Vec<(SpaceId, u32)> = self.port(port).names.to_vec();
        for (space, name) in names {
            let Some(entry) = self.space_mut(space).get_mut(name).filter(|entry| entry.kind == kind::SEND_ONCE) else { continue };
            let mut right = Right::SendOnce(port);
            see(&mut right);
            if let Right::RemoteSendOnce(once) = right {
                entry.object = Object::Once(once);
                let watched = entry.request != 0;
                self.note_once(once, space, name);
                self.forget_name(port, space, name);
                if watched {
                    self.effect(Effect::WatchOnce(once));
                }
            }
        }
        // What its own queue was sent with goes with the queue.
        self.each_waiting(Some(port), &mut |right| {
            if *right == Right::SendOnce(port) {
                see(right);
            }
        });
    }

    /// Shows every right that waits in a request or a message of this process. The rights that messages in the
    /// queue of `except` were sent with are left out.
    pub fn each_waiting(&mut self, except: Option<PortId>, see: &mut dyn FnMut(&mut Right)) {
        for (_, space) in &mut self.spaces {
            space.requests.iter_mut().for_each(|(_, right)| see(right));
        }
        self.acceptances.iter_mut().for_each(|(_, it)| see(&mut it.to));
        for (id, it) in &mut self.ports {
            let Home::Here(local) = &mut it.home else { continue };
            see(&mut local.nsrequest);
            see(&mut local.pdrequest);
            for message in &mut local.queue {
                if except != Some(PortId(id as u32)) {
                    see(&mut message.dest);
                }
                message.each_right(see);
            }
        }
        let transmitted = self.effects.iter_mut().filter_map(|effect| match effect {
            Effect::Transmit(message) => Some(message),
            _ => None,
        });
        for message in self.parked.iter_mut().map(|(_, message)| message).chain(transmitted) {
            see(&mut message.dest);
            message.each_right(see);
        }
    }
}
