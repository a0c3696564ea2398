//! The sockets and pipes of a port here, that others send to it with.

use super::{Deferred, Exported, OnceEnd, Routes, put_at};
use crate::{
    line::{Line, ends::Ends},
    objects,
    state::{Home, LineId, PortId, Right, port::Kernel},
};
use slipway_fabric::descriptor::Reserved;
use smallvec::SmallVec;
use std::{io, os::fd::OwnedFd, sync::Arc};

pub(super) fn shared(fd: OwnedFd) -> io::Result<Arc<Reserved>> {
    Ok(Arc::new(Reserved::new(fd)?))
}

/// A new send-once socket: the receiving end goes to `onces`.
pub(super) fn once_pair(onces: &mut Vec<Arc<Reserved>>) -> io::Result<Reserved> {
    let (sender, receiver) = objects::socket_pair()?;
    onces.push(shared(receiver)?);
    Reserved::new(sender)
}

/// A new pipe: the read end goes to `watches`.
pub(super) fn holder_pipe(watches: &mut Vec<Arc<Reserved>>) -> io::Result<Arc<Reserved>> {
    let (read, write) = objects::holder_pipe()?;
    watches.push(shared(read)?);
    shared(write)
}

impl Routes {
    /// Gives a port here the sockets that others send to it with. They are not [shared](Self::share) yet.
    ///
    /// # Errors
    /// Those of socketpair(2).
    pub(crate) fn export(&mut self, port: PortId) -> io::Result<()> {
        if self.exported(port).is_some() {
            return Ok(());
        }
        let (s, r) = objects::socket_pair()?;
        let (s, r) = (shared(s)?, shared(r)?);
        objects::name_senders(&r)?;
        let identity = objects::identity(&s)?;
        self.put_ends(port, Ends { r: Some(r), s, identity });
        Ok(())
    }

    /// A port here that has no sockets yet gets those that the slot keeps which a line offers next. False if there are none.
    pub(super) fn export_with_kept(&mut self, port: PortId, line: LineId) -> bool {
        if self.exported(port).is_some() {
            return false;
        }
        match self.lines.get_mut(line).and_then(Line::take_ends_to_offer) {
            Some(ends) if self.is_known(ends.identity) => {
                ends.hang_up();
                false
            }
            ends => ends.is_some_and(|ends| self.put_ends(port, ends)),
        }
    }

    /// Whether something is known of a port with the identity: a peer may have shown us ends that a slot keeps as those of another.
    pub(super) fn is_known(&self, identity: u64) -> bool {
        self.identities.contains_key(&identity) || self.bundles.claims.contains_key(&identity)
    }

    /// False if the receiving end is not among them.
    pub(super) fn put_ends(&mut self, port: PortId, Ends { r, s, identity }: Ends) -> bool {
        let Some(r) = r else { return false };
        let exported = Exported {
            r,
            s,
            identity,
            shared: false,
            t: None,
            watches: Vec::new(),
            watching: false,
            slots: SmallVec::new(),
            early: Vec::new(),
        };
        put_at(&mut self.exported, port, exported);
        self.identities.insert(identity, port);
        if !self.serves && self.state.port(port).local().is_some_and(|local| local.kernel != Kernel::No) {
            self.serves = true;
            // Lines may be hot already.
            self.retry_later(Deferred::Cool);
        }
        true
    }

    /// From here on more than the other end of one line may have the sending end of a port here: requests may come through it.
    pub(crate) fn share(&mut self, port: PortId) {
        if self.exported_mut(port).is_some_and(|exported| !std::mem::replace(&mut exported.shared, true))
            && self.listen_receiving_end(port).is_err()
        {
            self.retry_later(Deferred::Accept(port));
        }
    }

    /// What the other end of a line says of others is not read for now.
    pub(crate) fn share_all(&mut self, line: LineId) {
        let slots = self.lines.get(line).map_or(0, |line| line.ins.len() as u32);
        (0..slots).for_each(|slot| self.share_slot(line, slot));
    }

    /// The other end of a line says that others have the sending end of the port at a slot here, or shows it: so others may have given it that.
    pub(crate) fn share_slot(&mut self, line: LineId, slot: u32) {
        let Some(line) = self.lines.get_mut(line) else { return };
        let Some(Some(it)) = line.ins.get(slot as usize) else { return };
        if it.dead {
            line.in_ends.take(slot).into_iter().for_each(Ends::hang_up);
        }
        let port = line.in_slot(slot).map(|it| it.port);
        port.into_iter().for_each(|port| self.share(port));
    }

    /// The sending end of a port here, and a pipe's write end that counts the process that gets it.
    ///
    /// # Errors
    /// As for [`Routes::export`], and those of pipe2(2).
    pub(crate) fn export_pair(&mut self, port: PortId) -> io::Result<(Arc<Reserved>, Arc<Reserved>)> {
        self.export(port)?;
        self.share(port);
        let wanted = self.state.port(port).local().is_some_and(|local| local.nsrequest != Right::Null);
        let exported = self.exported_mut(port).ok_or(io::ErrorKind::NotFound)?;
        let s = Arc::clone(&exported.s);
        if let Some(t) = &exported.t {
            return Ok((s, Arc::clone(t)));
        }
        let (read, write) = objects::holder_pipe()?;
        let (read, write) = (Reserved::new(read)?, shared(write)?);
        exported.watches.push(read);
        if wanted {
            // As long as the pipe was open here, its hang-up would never come.
            self.listen_watches(port);
        } else {
            exported.t = Some(Arc::clone(&write));
        }
        self.count_abroad(port);
        Ok((s, write))
    }

    /// Makes a port here receive from the sockets.
    ///
    /// # Errors
    /// Those of setsockopt(2) and epoll_ctl(2). Nothing has changed then.
    pub(crate) fn adopt_receiving_end(&mut self, port: PortId, ends: Ends) -> io::Result<()> {
        let identity = ends.identity;
        ends.r.as_ref().map_or(Ok(()), objects::name_senders)?;
        let known = self.identities.get(&identity).copied();
        self.put_ends(port, ends);
        let listens = self.listen_receiving_end(port);
        match self.exported_mut(port).filter(|_| listens.is_ok()) {
            Some(exported) => exported.shared = true,
            None => {
                self.take_exported(port);
                match known {
                    Some(port) => self.identities.insert(identity, port),
                    None => self.identities.remove(&identity),
                };
            }
        }
        listens
    }

    /// Forgets the sockets of a port here. Whether it had any.
    pub(crate) fn unexport(&mut self, port: PortId) -> bool {
        let exported = self.take_exported(port);
        exported.is_some_and(|exported| self.identities.remove(&exported.identity).is_some())
    }

    /// Stops keeping anything of a port here.
    pub(crate) fn take_exported(&mut self, port: PortId) -> Option<Box<Exported>> {
        self.exported.get_mut(port.0 as usize)?.take()
    }

    /// A socket that stands for one send-once right to a port here. It takes over the count.
    ///
    /// # Errors
    /// As for [`Routes::adopt_once_end`], and those of socketpair(2).
    pub(crate) fn once_socket(&mut self, port: PortId) -> io::Result<Reserved> {
        let (sender, receiver) = objects::socket_pair()?;
        let (sender, receiver) = (Reserved::new(sender)?, Reserved::new(receiver)?);
        self.adopt_once_end(receiver, port)?;
        Ok(sender)
    }

    /// Listens to the receiving end of a send-once right to a port here.
    ///
    /// # Errors
    /// It is no such socket; those of setsockopt(2) and epoll_ctl(2).
    pub(crate) fn adopt_once_end(&mut self, socket: Reserved, port: PortId) -> io::Result<()> {
        // A port's own sending end would never hang up.
        let known = objects::identity(&socket)?;
        if !objects::is_socket(&socket) || self.identities.contains_key(&known) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        objects::name_senders(&socket)?;
        let id = self.once_ends.insert(OnceEnd { socket, port, fds: Vec::new(), packets: 0, account: None });
        let listens = self.listen_once_end(id as u32);
        if listens.is_err() {
            self.once_ends.remove(id);
        }
        listens
    }

    /// Listens to a send-once right's socket, or lets the right go.
    pub(crate) fn adopt_or_destroy(&mut self, socket: Reserved, port: PortId) {
        if self.adopt_once_end(socket, port).is_err() {
            self.state.destroy_right(Right::SendOnce(port));
        }
    }

    /// Takes the receiving ends of send-once rights to a port here.
    pub(super) fn take_once_ends(&mut self, port: PortId) -> Vec<OnceEnd> {
        if self.state.ports.get(port.0 as usize).is_none_or(|it| it.sorights == 0) {
            return Vec::new();
        }
        let ends: Vec<usize> = self.once_ends.iter().filter(|(_, end)| end.port == port).map(|(id, _)| id).collect();
        ends.into_iter().map(|id| self.once_ends.remove(id)).collect()
    }

    /// Counts the holders of send rights elsewhere again, if the port is here.
    pub(crate) fn count_abroad(&mut self, port: PortId) {
        if !self.state.ports.get(port.0 as usize).is_some_and(|it| matches!(it.home, Home::Here(_))) {
            return;
        }
        let Some(exported) = self.exported(port) else { return };
        let lines = exported.slots.iter().filter(|(line, slot)| {
            let slot = self.lines.get(*line).and_then(|line| line.ins.get(*slot as usize)?.as_ref());
            slot.is_some_and(|slot| slot.given > 0)
        });
        let holders = lines.count() + exported.watches.len();
        self.state.set_abroad(port, holders as u32);
    }

    /// One more pipe that counts holders of a port here, if it is still here.
    pub(crate) fn add_watch(&mut self, port: PortId, pipe: Reserved) {
        // Also while no task asks for the last sender: a pipe that has hung up is to be closed.
        self.listen_watch(port, &pipe);
        if let Some(exported) = self.exported_mut(port) {
            exported.watches.push(pipe);
            self.count_abroad(port);
        }
    }

    /// A task wants to know when a port here has no senders: this process keeps no pipe open any more, and the
    /// watcher listens to those of others.
    pub(crate) fn watch_senders(&mut self, port: PortId) {
        let Some(exported) = self.exported_mut(port) else { return };
        exported.t = None;
        exported.watching = true;
        self.let_go();
        self.count_abroad(port);
        // A pipe that has hung up is heard of at once, and then what its holder sent before comes first.
        self.listen_watches(port);
    }

    /// Tells senders elsewhere the new limit of a port's queue.
    pub(crate) fn announce_limit(&mut self, port: PortId, limit: u32) {
        let slots = self.exported(port).map(|exported| exported.slots.clone()).unwrap_or_default();
        for (id, slot) in slots {
            let Some(line) = self.lines.get_mut(id) else { continue };
            line.credit.open(slot, limit);
            if line.segment.rx.wake_writer() {
                line.ring_bell();
            }
        }
    }
}
