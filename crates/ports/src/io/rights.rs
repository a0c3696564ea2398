//! Rights on their way out of this process and into it.
//!
//! A right to a port of this process goes over a line as a number on it (a slot, a token), with the port's sending
//! end the first time; everywhere else a send right is the sending end and a pipe that counts holders, and a
//! send-once right a socket of its own.

use super::{
    Exported, Far, Inner, Once, OnceEnd,
    account::Account,
    line::{HELD, OutFd, Stall},
    objects::{self, Arrived},
    wire::{Record, WireRight, form, kind},
};
use crate::{
    abi,
    state::{FarOnce, Home, PortId, Right},
};
use slipway_fabric::{Corrupt, descriptor::Reserved};
use smallvec::SmallVec;
use std::{io, os::fd::OwnedFd, sync::Arc};

/// What of a message goes beside its bytes.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// The items.
    pub items: Vec<u8>,
    /// Descriptors, in the order in which the reader meets them.
    pub fds: Vec<OutFd>,
    /// How many of the record's come before these.
    pub ahead: usize,
    /// How many bytes of the items come before these.
    pub before: usize,
}

/// The most descriptors of a record, which counts them in 16 bits, beside the file that body and items may go into.
const DESCRIPTORS: usize = u16::MAX as usize - 1;

impl Outgoing {
    /// Whether so many descriptors more can go with the record.
    pub(crate) fn has_room(&self, many: usize) -> bool {
        self.ahead + self.fds.len() + many <= DESCRIPTORS
    }

    /// Whether so many bytes of a message that waits at a port can go with the record. Some are left for what is said of
    /// the ports themselves.
    pub(crate) fn has_bytes(&self, many: usize) -> bool {
        self.before + self.items.len() + many <= abi::MESSAGE_MAX - (4 << 20)
    }
}

/// Descriptors that came with a record, and where it came from.
#[derive(Debug)]
pub struct Incoming {
    /// The line, unless it came from a socket.
    pub line: Option<u32>,
    /// The descriptors, in order.
    pub fds: std::vec::IntoIter<Arrived>,
    /// What is kept of it is charged here, unless it was this process's own.
    pub account: Option<Arc<Account>>,
    /// Whether this process itself wrote it, and takes it back: its numbers are then those of the other end's view.
    pub taken_back: bool,
}

pub(crate) fn wire(form: u32, value: u32) -> WireRight {
    WireRight { form, value }
}

/// The error for a right that no correct peer sends.
pub(crate) fn corrupt() -> Corrupt {
    Corrupt { what: "right" }
}

pub(crate) fn shared(fd: OwnedFd) -> io::Result<Arc<Reserved>> {
    Ok(Arc::new(Reserved::new(fd)?))
}

impl Inner {
    /// Turns a right into what travels over `line`, or anywhere if that is None. The right is gone from here.
    /// A right that can't travel for want of descriptors arrives dead.
    pub(crate) fn encode_right(&mut self, line: Option<u32>, right: Right, out: &mut Outgoing) -> WireRight {
        if !out.has_room(2) && !matches!(right, Right::Null | Right::Dead) {
            self.state.destroy_right(right);
            return wire(form::DEAD, 0);
        }
        let coded = match right {
            Right::Null => return WireRight::default(),
            Right::Dead => return wire(form::DEAD, 0),
            Right::Send(port) => self.encode_send(line, port, out),
            Right::SendOnce(port) => self.encode_send_once(line, port, out),
            Right::FarOnce(once) => self.encode_far_once(line, once, out),
            Right::Receive(port) => return self.encode_receive(line, port, out),
        };
        coded.unwrap_or_else(|_| wire(form::DEAD, 0))
    }

    fn encode_send(&mut self, line: Option<u32>, port: PortId, out: &mut Outgoing) -> io::Result<WireRight> {
        let coded = match self.state.port(port).home {
            Home::Dead => Ok(wire(form::DEAD, 0)),
            Home::Here(_) => self.encode_own(line, port, out),
            Home::Far => self.encode_foreign(line, port, out),
        };
        self.state.destroy_right(Right::Send(port));
        coded
    }

    fn encode_own(&mut self, line: Option<u32>, port: PortId, out: &mut Outgoing) -> io::Result<WireRight> {
        // Before it has a slot: one that nobody was told of can't be taken back.
        self.export(port)?;
        if let Some(number) = line
            && let Some(it) = self.io.lines.get_mut(number as usize)
            && let Some((slot, new)) = it.offer(port)
        {
            if let Some(entry) = it.in_slot(slot) {
                entry.given += 1;
            }
            if !new {
                if let Some(it) =
                    self.io.lines.get_mut(number as usize).and_then(|it| it.in_slot(slot)).filter(|it| it.given == 1)
                {
                    let _ = it;
                    self.count_abroad(port);
                }
                return Ok(wire(form::GIFT, slot));
            }
            if let Some(limit) = self.state.port(port).local().map(|local| local.qlimit)
                && let Some(it) = self.io.lines.get(number as usize)
            {
                it.ours.gate[slot as usize].store(limit + 1, slipway_fabric::sync::Ordering::Release);
            }
            if let Some(exported) = self.io.exported_mut(port) {
                exported.slots.push((number, slot));
                out.fds.push(OutFd(Arc::clone(&exported.s)));
            }
            self.count_abroad(port);
            return Ok(wire(form::FIRST_GIFT, slot));
        }
        let (s, t) = self.export_pair(port)?;
        out.fds.extend([OutFd(s), OutFd(t)]);
        Ok(wire(form::SEND, 0))
    }

    fn encode_foreign(&mut self, line: Option<u32>, port: PortId, out: &mut Outgoing) -> io::Result<WireRight> {
        let far = self.io.far(port).ok_or(io::ErrorKind::NotFound)?;
        if let Some(line) = line
            && let Some(route) = far.routes.iter().find(|route| route.line == line && route.is_open())
        {
            return Ok(wire(form::BACK, route.slot));
        }
        let s = far.s.clone().ok_or(io::ErrorKind::NotFound)?;
        let t = self.holder(port)?;
        out.fds.extend([OutFd(s), OutFd(t)]);
        Ok(wire(form::SEND, 0))
    }

    /// The write end of a pipe that counts the holders of a far port that got it from here.
    pub(crate) fn holder(&mut self, port: PortId) -> io::Result<Arc<Reserved>> {
        let far = self.io.far(port).ok_or(io::ErrorKind::NotFound)?;
        if let Some(t) = &far.t {
            return Ok(Arc::clone(t));
        }
        // It may have moved just now, and the pipe that counts us be on its way. A way that is in doubt will do: whoever
        // has forged it could as well have given a pipe that nobody counts.
        let known = far.way().or_else(|| far.routes.iter().find(|route| route.gifts > 0)).map(|route| (route.line, route.slot));
        let (number, slot) = known.map_or_else(|| self.attach(port), Ok)?;
        let (read, write) = objects::holder_pipe()?;
        let (read, write) = (shared(read)?, shared(write)?);
        let line = self.io.lines.get_mut(number as usize).ok_or(io::ErrorKind::NotFound)?;
        line.post(Record { kind: kind::WATCH, target: slot, fds: 1, ..Record::default() }, vec![OutFd(read)]);
        if let Some(far) = self.io.far_mut(port) {
            far.t = Some(Arc::clone(&write));
        }
        Ok(write)
    }

    fn encode_send_once(&mut self, line: Option<u32>, port: PortId, out: &mut Outgoing) -> io::Result<WireRight> {
        match self.state.port(port).home {
            Home::Dead | Home::Far => {
                self.state.drop_soright(port);
                Ok(wire(form::DEAD, 0))
            }
            Home::Here(_) => {
                if let Some(it) = line.and_then(|line| self.io.lines.get_mut(line as usize)) {
                    return Ok(wire(form::TOKEN, it.give_token(port)));
                }
                match self.once_socket(port) {
                    Ok(socket) => {
                        out.fds.push(OutFd(Arc::new(socket)));
                        Ok(wire(form::ONCE, 0))
                    }
                    Err(error) => {
                        self.state.destroy_right(Right::SendOnce(port));
                        Err(error)
                    }
                }
            }
        }
    }

    /// A socket that stands for one send-once right to a port here. It takes over the count.
    pub(crate) fn once_socket(&mut self, port: PortId) -> io::Result<Reserved> {
        let (sender, receiver) = objects::socket_pair()?;
        let (sender, receiver) = (Reserved::new(sender)?, Reserved::new(receiver)?);
        self.adopt_once_end(receiver, port)?;
        Ok(sender)
    }

    /// Listens to the receiving end of a send-once right to a port here.
    pub(crate) fn adopt_once_end(&mut self, socket: Reserved, port: PortId) -> io::Result<()> {
        // A port's own sending end would never hang up.
        let known = objects::identity(&socket)?;
        if !objects::is_socket(&socket) || self.io.identities.contains_key(&known) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        objects::name_senders(&socket)?;
        let entry = self.io.once_ends.vacant_entry();
        let id = entry.key() as u32;
        entry.insert(OnceEnd { socket, port, fds: Vec::new(), packets: 0, account: None });
        let listens = self.listen_once_end(id);
        if listens.is_err() {
            self.io.once_ends.remove(id as usize);
        }
        listens
    }

    fn encode_far_once(&mut self, line: Option<u32>, once: FarOnce, out: &mut Outgoing) -> io::Result<WireRight> {
        match self.io.onces.try_remove(once.0 as usize) {
            Some(Once::Token { line: owner, token }) => {
                if let Some(it) = self.io.lines.get_mut(owner as usize) {
                    it.held.remove(&token);
                    if line == Some(owner) {
                        self.io.stirred.push(owner);
                        return Ok(wire(form::TOKEN_BACK, token));
                    }
                }
                let socket = self.move_token(owner, token)?;
                out.fds.push(OutFd(Arc::new(socket)));
                Ok(wire(form::ONCE, 0))
            }
            Some(Once::Socket(socket)) => {
                // The next holder's copy would keep it in the watcher's set.
                self.unlisten(&socket);
                out.fds.push(OutFd(socket));
                Ok(wire(form::ONCE, 0))
            }
            Some(Once::Dead) | None => Ok(wire(form::DEAD, 0)),
        }
    }

    /// Turns a token into a socket, for others to send to: the owner listens to its other end.
    fn move_token(&mut self, line: u32, token: u32) -> io::Result<Reserved> {
        let (sender, receiver) = objects::socket_pair()?;
        let (sender, receiver) = (Reserved::new(sender)?, shared(receiver)?);
        let it = self.io.lines.get_mut(line as usize).ok_or(io::ErrorKind::NotFound)?;
        it.post(Record { kind: kind::TOKEN_MOVED, target: token, fds: 1, ..Record::default() }, vec![OutFd(receiver)]);
        self.io.stirred.push(line);
        Ok(sender)
    }

    /// The sending end of a port here, and a pipe's write end that counts who gets it.
    pub(crate) fn export_pair(&mut self, port: PortId) -> io::Result<(Arc<Reserved>, Arc<Reserved>)> {
        self.export(port)?;
        let wanted = self.state.port(port).local().is_some_and(|local| local.nsrequest != Right::Null);
        let exported = self.io.exported_mut(port).ok_or(io::ErrorKind::NotFound)?;
        let s = Arc::clone(&exported.s);
        if let Some(t) = &exported.t {
            return Ok((s, Arc::clone(t)));
        }
        let (read, write) = objects::holder_pipe()?;
        let (read, write) = (Reserved::new(read)?, shared(write)?);
        exported.watches.push(read);
        if wanted {
            // Nobody here may keep the pipe open, or its hang-up would never come.
            self.listen_watches(port);
        } else {
            exported.t = Some(Arc::clone(&write));
        }
        self.count_abroad(port);
        Ok((s, write))
    }

    /// Gives a port here the sockets that others send to it with.
    pub(crate) fn export(&mut self, port: PortId) -> io::Result<()> {
        if self.io.exported(port).is_some() {
            return Ok(());
        }
        let (s, r) = objects::socket_pair()?;
        let (s, r) = (shared(s)?, Reserved::new(r)?);
        let identity = objects::identity(&s)?;
        self.adopt_receiving_end(port, r, s, identity)
    }

    /// Makes a port here receive from the sockets.
    pub(crate) fn adopt_receiving_end(&mut self, port: PortId, r: Reserved, s: Arc<Reserved>, identity: u64) -> io::Result<()> {
        objects::name_senders(&r)?;
        self.io.identities.insert(identity, port);
        self.io.set_exported(
            port,
            Exported { r, s, identity, t: None, watches: Vec::new(), watching: false, slots: SmallVec::new(), early: Vec::new() },
        );
        let done = self.listen_receiving_end(port);
        if done.is_err() {
            self.io.take_exported(port);
            self.io.identities.remove(&identity);
        }
        done
    }

    /// Counts the holders of send rights elsewhere again.
    pub(crate) fn count_abroad(&mut self, port: PortId) {
        let Some(exported) = self.io.exported(port) else { return };
        let lines = exported.slots.iter().filter(|(line, slot)| {
            let slot = self.io.lines.get(*line as usize).and_then(|line| line.ins.get(*slot as usize)?.as_ref());
            slot.is_some_and(|slot| slot.given > 0)
        });
        let holders = lines.count() + exported.watches.len();
        self.state.set_abroad(port, holders as u32);
    }

    /// Turns what came over a line, or from a socket, into a right. Descriptors that lack make it dead.
    pub(crate) fn decode_right(&mut self, coded: WireRight, from: &mut Incoming, items: &mut &[u8]) -> Result<Right, Corrupt> {
        if from.taken_back {
            return Ok(self.reclaim_right(coded, from, items));
        }
        match coded.form {
            form::NULL => Ok(Right::Null),
            form::DEAD => Ok(Right::Dead),
            form::GIFT | form::FIRST_GIFT => self.decode_gift(coded, from),
            form::TOKEN => {
                let number = from.line.ok_or_else(corrupt)?;
                let line = self.io.lines.get(number as usize).ok_or_else(corrupt)?;
                if line.held.len() >= HELD {
                    self.drop_token(number, coded.value);
                    return Ok(Right::Dead);
                }
                // It would take the place of the one that somebody here holds.
                if line.held.contains_key(&coded.value) {
                    return Err(Corrupt { what: "token" });
                }
                let once = FarOnce(self.io.onces.insert(Once::Token { line: number, token: coded.value }) as u32);
                let line = self.io.lines.get_mut(number as usize).ok_or_else(corrupt)?;
                if line.held.insert(coded.value, once).is_some() {
                    return Err(Corrupt { what: "token" });
                }
                Ok(Right::FarOnce(once))
            }
            form::BACK => {
                let line = from.line.and_then(|line| self.io.lines.get_mut(line as usize)).ok_or_else(corrupt)?;
                // A closed slot's port may have moved on or died, which is no fault of the writer's.
                let slot = line.ins.get(coded.value as usize).and_then(Option::as_ref).ok_or_else(corrupt)?;
                if !slot.primary && !slot.closed && slot.given == 0 {
                    return Err(corrupt());
                }
                let number = from.line.unwrap_or(!0);
                let Some(port) = self.port_of_in(number, coded.value).filter(|port| !self.is_gone(*port)) else {
                    return Ok(Right::Dead);
                };
                self.state.port_mut(port).srights += 1;
                Ok(Right::Send(port))
            }
            form::TOKEN_BACK => from.line.and_then(|line| self.token_back(line, coded.value)).ok_or_else(corrupt),
            _ => self.decode_loose(coded, from, items),
        }
    }

    /// As [`Inner::decode_right`], for a right that is on no line: descriptors only.
    pub(crate) fn decode_loose(&mut self, coded: WireRight, from: &mut Incoming, items: &mut &[u8]) -> Result<Right, Corrupt> {
        match coded.form {
            form::SEND => {
                let (s, t) = from.fds.next().zip(from.fds.next()).ok_or_else(corrupt)?;
                s.zip(t).map_or(Ok(Right::Dead), |(s, t)| self.import_send(s, t))
            }
            form::ONCE => {
                let Some(socket) = from.fds.next().ok_or_else(corrupt)? else { return Ok(Right::Dead) };
                if !objects::is_socket(&socket) {
                    return Err(corrupt());
                }
                // An honest giver may not know: it is the holder of the other end that could have named it.
                if !objects::is_pair(&socket) {
                    return Ok(Right::Dead);
                }
                Ok(Right::FarOnce(FarOnce(self.io.onces.insert(Once::Socket(Arc::new(socket))) as u32)))
            }
            form::RECEIVE => self.decode_receive(coded, from, items),
            _ => Err(corrupt()),
        }
    }

    /// A send right that came as descriptors.
    pub(crate) fn import_send(&mut self, s: Reserved, t: Reserved) -> Result<Right, Corrupt> {
        let identity = objects::identity(&s).map_err(|_| corrupt())?;
        let port = match self.identified(identity, &s) {
            Some(port) => {
                self.also_given(port, None);
                port
            }
            None if !objects::is_socket(&s) => return Err(corrupt()),
            None if !objects::leads_to_a_port(&s) => return Ok(Right::Dead),
            None => {
                let port = self.state.new_far_port();
                self.io.set_far(port, Far { s: Some(Arc::new(s)), identity, ..Far::default() });
                self.io.identities.insert(identity, port);
                port
            }
        };
        if let Some(far) = self.io.far_mut(port)
            && far.t.is_none()
        {
            far.t = Some(Arc::new(t));
        }
        if self.state.port(port).is_dead() {
            return Ok(Right::Dead);
        }
        self.state.port_mut(port).srights += 1;
        Ok(Right::Send(port))
    }

    /// Tells the owner of a token that it was dropped unused.
    pub(crate) fn drop_token(&mut self, number: u32, token: u32) {
        if let Some(line) = self.io.lines.get_mut(number as usize) {
            line.held.remove(&token);
            line.post(Record { kind: kind::TOKEN_DROPPED, target: token, ..Record::default() }, Vec::new());
            self.io.stirred.push(number);
        }
    }

    /// Whether something could be sent: maps an error of a write to the caller's view.
    pub(crate) fn broken(&mut self, number: u32, stall: Stall) -> Stall {
        // Some of a record's descriptors may be on their way: nothing can follow them but the rest.
        self.end_line(number);
        stall
    }
}

/// A new send-once socket: the receiving end goes to `onces`.
pub(crate) fn once_pair(onces: &mut Vec<Arc<Reserved>>) -> io::Result<Reserved> {
    let (sender, receiver) = objects::socket_pair()?;
    onces.push(shared(receiver)?);
    Reserved::new(sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record can't count more of them.
    #[test]
    fn rights_without_room_for_their_descriptors_are_dead() {
        let mut inner = Inner::default();
        let space = inner.state.new_space();
        let name = inner.state.port_allocate(space, crate::abi::right::RECEIVE).expect("a port");
        let once = inner.state.copyin(space, name, crate::abi::types::MAKE_SEND_ONCE).expect("a right");
        let send = inner.state.copyin(space, name, crate::abi::types::MAKE_SEND).expect("a right");
        let receive = inner.state.copyin(space, name, crate::abi::types::MOVE_RECEIVE).expect("a right");
        let mut full = Outgoing { ahead: DESCRIPTORS - 1, ..Outgoing::default() };
        assert!(full.has_room(1) && !full.has_room(2));
        for right in [once, send, receive] {
            assert_eq!(inner.encode_right(None, right, &mut full), wire(form::DEAD, 0));
        }
        assert!(full.fds.is_empty());
    }
}
