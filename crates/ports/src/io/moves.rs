//! Receive rights that move to another process, with their queue and their senders.
//!
//! The old owner closes the port's slots on its lines and hands over the receiving end, the waiting messages and
//! the pipes that count holders. What senders had written and the old owner not accepted stays theirs: they
//! take it back (`reclaim`).

use super::{
    Far, Inner, Once,
    deliver::weight,
    line::{GATE_MOVED, OutFd},
    objects::{self, Arrived, Request},
    rights::{Incoming, Outgoing, corrupt, once_pair, shared, wire},
    wire::{self, Luggage, Record, WireRight, flag, form, kind},
};
use crate::state::{
    FarOnce, Home, PortId, Right,
    message::{Item, Message},
    port::Local,
};
use slipway_fabric::{Corrupt, descriptor::Reserved, sync::Ordering};
use std::{io, os::fd::AsFd, sync::Arc};
use zerocopy::IntoBytes;

/// How deep receive rights can travel in the queues of others that travel, which the stack pays for. What is
/// deeper arrives dead.
pub(super) const NESTING: u32 = 32;

/// Stands for no port, in a slot that is closed.
pub(crate) const GONE: PortId = PortId(!0);

impl Inner {
    /// The port at a slot of this end, wherever it is by now.
    pub(crate) fn port_of_in(&self, number: u32, slot: u32) -> Option<PortId> {
        let it = self.io.lines.get(number as usize)?.ins.get(slot as usize)?.as_ref()?;
        if it.closed { self.io.identities.get(&it.identity).copied() } else { Some(it.port) }
    }

    /// The port at a slot of the other end, wherever it is by now.
    pub(crate) fn port_of_out(&self, number: u32, slot: u32) -> Option<PortId> {
        let it = self.io.lines.get(number as usize)?.outs.get(slot as usize)?.as_ref()?;
        if it.closed { self.io.identities.get(&it.identity).copied() } else { Some(it.port) }
    }

    /// Closes the slots of a port here on all lines: their senders find out at once.
    pub(crate) fn close_slots(&mut self, port: PortId, gate: u32) {
        let Some(exported) = self.io.exported(port) else { return };
        let identity = if gate == GATE_MOVED { exported.identity } else { 0 };
        for (number, slot) in exported.slots.clone() {
            let Some(line) = self.io.lines.get_mut(number as usize) else { continue };
            let Some(it) = line.in_slot(slot) else { continue };
            it.closed = true;
            it.identity = identity;
            it.port = GONE;
            it.primary = false;
            let accepted = it.accepted;
            line.slot_of.remove(&port);
            line.ours.accepted[slot as usize].store(accepted, Ordering::Release);
            line.ours.gate[slot as usize].store(gate, Ordering::Release);
            line.segment.rx.wake_writer();
            line.ring_bell();
        }
    }

    /// Turns a receive right into what travels. The port is far from here on.
    pub(crate) fn encode_receive(&mut self, line: Option<u32>, port: PortId, out: &mut Outgoing) -> WireRight {
        self.io.nesting += 1;
        let packed = if self.io.nesting > NESTING { Err(io::ErrorKind::OutOfMemory.into()) } else { self.pack(line, port, out) };
        self.io.nesting -= 1;
        match packed {
            Ok(()) => wire(form::RECEIVE, 0),
            Err(_) => {
                self.state.destroy_right(Right::Receive(port));
                wire(form::DEAD, 0)
            }
        }
    }

    fn pack(&mut self, line: Option<u32>, port: PortId, out: &mut Outgoing) -> io::Result<()> {
        self.export(port)?;
        let known = self.io.exported(port).map_or(0, |exported| exported.watches.len() + exported.slots.len());
        if !out.has_room(3 + known + self.state.port(port).sorights as usize) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let mut watches = Vec::new();
        let mut onces = Vec::new();
        self.part_from_senders(port, &mut watches, &mut onces)?;
        let own = if self.state.port(port).srights > 0 { Some(pipe(&mut watches)?) } else { None };
        self.close_slots(port, GATE_MOVED);
        let exported = self.io.take_exported(port).ok_or(io::ErrorKind::NotFound)?;
        let ends: Vec<usize> = self.io.once_ends.iter().filter(|(_, end)| end.port == port).map(|(id, _)| id).collect();
        // The new owner's copies would keep these in the watcher's set.
        self.unlisten(&exported.r);
        exported.watches.iter().for_each(|pipe| self.unlisten(pipe));
        ends.iter().for_each(|id| self.unlisten(&self.io.once_ends[*id].socket));
        onces.extend(ends.into_iter().map(|id| Arc::new(self.io.once_ends.remove(id).socket)));
        watches.extend(exported.watches.into_iter().map(Arc::new));
        let it = self.state.port_mut(port);
        it.sorights = 0;
        let Home::Here(local) = std::mem::replace(&mut it.home, Home::Far) else { return Err(io::ErrorKind::NotFound.into()) };
        let s = exported.s;
        let spare = if own.is_some() { self.spare_of(&local, &exported.r) } else { None };
        let far = Far { s: Some(Arc::clone(&s)), identity: exported.identity, t: own, spare, ..Far::default() };
        self.io.set_far(port, far);
        self.listen_holder(port);
        out.fds.extend([OutFd(Arc::new(exported.r)), OutFd(s)]);
        out.fds.extend(watches.iter().cloned().map(OutFd));
        out.fds.extend(onces.iter().cloned().map(OutFd));
        let place = out.items.len();
        let mut luggage = Luggage {
            qlimit: local.qlimit,
            seqno: local.seqno,
            mscount: local.mscount,
            onces: onces.len() as u32,
            watches: watches.len() as u32,
            protected: u32::from(local.payload.is_some()),
            payload: local.payload.unwrap_or(0),
            messages: 0,
            nsrequest: WireRight::default(),
            pdrequest: WireRight::default(),
        };
        out.items.extend_from_slice(luggage.as_bytes());
        luggage.nsrequest = self.encode_right(line, local.nsrequest, out);
        luggage.pdrequest = self.encode_right(line, local.pdrequest, out);
        for message in local.queue {
            luggage.messages += u64::from(self.pack_message(line, *message, out));
        }
        out.items[place..place + size_of::<Luggage>()].copy_from_slice(luggage.as_bytes());
        if self.state.port(port).srights == 0 {
            self.state.effects.push_back(crate::state::Effect::Forgotten(port));
        }
        Ok(())
    }

    /// A message that waits at a port which moves. False, and it is destroyed, if it is more than can travel at once.
    fn pack_message(&mut self, line: Option<u32>, mut message: Message, out: &mut Outgoing) -> bool {
        if let Some(origin) = message.origin.take() {
            self.give_credit(origin);
        }
        let once = message.is_once();
        match std::mem::take(&mut message.dest) {
            Right::Send(port) => {
                let it = self.state.port_mut(port);
                it.srights = it.srights.saturating_sub(1);
            }
            other => drop(other),
        }
        let len = size_of::<Record>() + message.body.len() + message.items.iter().map(|item| weight(item).0).sum::<usize>();
        if !out.has_bytes(len) {
            self.state.destroy_message(Box::new(message));
            return false;
        }
        let before = out.before + out.items.len() + size_of::<Record>() + message.body.len();
        let mut inner = Outgoing { ahead: out.ahead + out.fds.len(), before, ..Outgoing::default() };
        let reply = self.encode_right(line, std::mem::take(&mut message.reply), &mut inner);
        for item in std::mem::take(&mut message.items) {
            self.encode_item(line, item, &mut inner);
        }
        let record = Record {
            body: message.body.len() as u32,
            items: inner.items.len() as u32,
            kind: if once { kind::ONCE } else { kind::MESSAGE },
            flags: if message.complex { flag::COMPLEX } else { 0 },
            fds: inner.fds.len() as u16,
            id: message.id,
            reply,
            ..Record::default()
        };
        out.items.extend_from_slice(record.as_bytes());
        out.items.extend_from_slice(&message.body);
        out.items.extend_from_slice(&inner.items);
        out.fds.append(&mut inner.fds);
        true
    }

    /// Sees to it that holders of rights that are only counted on lines, or here, are counted by the kernel.
    fn part_from_senders(
        &mut self,
        port: PortId,
        watches: &mut Vec<Arc<Reserved>>,
        onces: &mut Vec<Arc<Reserved>>,
    ) -> io::Result<()> {
        let slots = self.io.exported(port).map(|exported| exported.slots.clone()).unwrap_or_default();
        for (number, slot) in slots {
            let Some(line) = self.io.lines.get_mut(number as usize) else { continue };
            if line.in_slot(slot).is_none_or(|it| it.given == 0) {
                continue;
            }
            let write = pipe(watches)?;
            line.post(Record { kind: kind::MOVED, target: slot, fds: 1, ..Record::default() }, vec![OutFd(write)]);
            line.ring_bell();
        }
        self.reroute_tokens(port, onces)?;
        self.free_local_onces(port, onces)
    }

    /// Turns the send-once rights that this process itself holds to a port here into sockets.
    fn free_local_onces(&mut self, port: PortId, onces: &mut Vec<Arc<Reserved>>) -> io::Result<()> {
        let mut held = 0;
        self.state.each_send_once(port, &mut |_| held += 1);
        let mut sockets = Vec::new();
        for _ in 0..held {
            sockets.push(FarOnce(self.io.onces.insert(Once::Socket(Arc::new(once_pair(onces)?))) as u32));
        }
        self.state.each_send_once(port, &mut |right| {
            if let Some(once) = sockets.pop() {
                *right = Right::FarOnce(once);
            }
        });
        Ok(())
    }

    /// Makes sockets of the send-once rights to each port whose receive right goes with the message, or with one that
    /// waits at such a port. As tokens those in the message would be rerouted before the other end has them.
    pub(crate) fn free_onces_with(&mut self, message: &mut Message) {
        let moving = self.moving_with(message);
        for port in &moving {
            let mut ends = Vec::new();
            let _ = self.free_local_onces(*port, &mut ends);
            for end in ends.into_iter().filter_map(Arc::into_inner) {
                let _ = self.adopt_once_end(end, *port);
            }
        }
        for right in message.items.iter_mut().flat_map(Item::rights_mut).chain([&mut message.reply]) {
            if let Right::SendOnce(port) = right
                && moving.contains(port)
                && let Ok(socket) = self.once_socket(*port)
            {
                *right = Right::FarOnce(FarOnce(self.io.onces.insert(Once::Socket(Arc::new(socket))) as u32));
            }
        }
    }

    /// A receive right that arrived: the port is here from now on.
    pub(crate) fn decode_receive(&mut self, _: WireRight, from: &mut Incoming, items: &mut &[u8]) -> Result<Right, Corrupt> {
        self.io.nesting += 1;
        let decoded = if self.io.nesting > NESTING { Err(corrupt()) } else { self.unpack(from, items) };
        self.io.nesting -= 1;
        decoded
    }

    fn unpack(&mut self, from: &mut Incoming, items: &mut &[u8]) -> Result<Right, Corrupt> {
        let luggage: Luggage = wire::take(items).ok_or_else(corrupt)?;
        let (r, s) = from.fds.next().zip(from.fds.next()).ok_or_else(corrupt)?;
        let mut watches = Vec::new();
        for _ in 0..luggage.watches {
            let pipe = from.fds.next().ok_or_else(corrupt)?;
            if pipe.as_ref().is_some_and(|pipe| !objects::is_holder_pipe(pipe)) {
                return Err(corrupt());
            }
            watches.extend(pipe);
        }
        let mut onces = Vec::new();
        for _ in 0..luggage.onces {
            onces.push(from.fds.next().ok_or_else(corrupt)?);
        }
        let Some((r, s)) = r.zip(s) else { return self.unpack_lost(&luggage, from, items) };
        let early = belong_together(&r, &s).ok_or(Corrupt { what: "receive right" })?;
        let identity = objects::identity(&s).map_err(|_| corrupt())?;
        let port = self.settle_in(identity, &luggage)?;
        let routes = self.io.take_far(port).map(|far| (far.routes, far.stranded)).unwrap_or_default();
        self.adopt_receiving_end(port, r, Arc::new(s), identity).map_err(|_| corrupt())?;
        self.state.port_mut(port).sorights += onces.len() as u32;
        for socket in onces {
            match socket {
                Some(socket) => self.adopt_or_destroy(socket, port),
                None => self.state.destroy_right(Right::SendOnce(port)),
            }
        }
        if let Some(exported) = self.io.exported_mut(port) {
            exported.watches = watches;
            exported.early = early;
        }
        let unpacked =
            self.unpack_requests(&luggage, port, from, items).and_then(|()| self.unpack_queue(&luggage, port, from, items));
        // What this process itself had sent, and the old owner not accepted, comes after what was accepted.
        for route in routes.0 {
            self.gate_closed(route.line, route.slot, false);
        }
        self.put_back(port, routes.1);
        self.count_abroad(port);
        // Not now: new lines stir the others, also the one whose record this is a part of.
        self.state.effects.push_back(crate::state::Effect::Adopted(port));
        if unpacked.is_err() {
            self.state.destroy_right(Right::Receive(port));
            return Err(corrupt());
        }
        Ok(Right::Receive(port))
    }

    /// A receive right of which the ends did not arrive: the port is dead, and with it what waited there.
    fn unpack_lost(&mut self, luggage: &Luggage, from: &mut Incoming, items: &mut &[u8]) -> Result<Right, Corrupt> {
        let port = self.state.new_port();
        self.state.port_mut(port).home = Home::Here(local_of(luggage));
        let unpacked =
            self.unpack_requests(luggage, port, from, items).and_then(|()| self.unpack_queue(luggage, port, from, items));
        self.state.destroy_right(Right::Receive(port));
        unpacked.map(|()| Right::Dead)
    }

    fn settle_in(&mut self, identity: u64, luggage: &Luggage) -> Result<PortId, Corrupt> {
        let local = local_of(luggage);
        match self.io.identities.get(&identity) {
            Some(port) if !matches!(self.state.port(*port).home, Home::Far) => Err(corrupt()),
            Some(port) => {
                self.state.port_mut(*port).home = Home::Here(local);
                Ok(*port)
            }
            None => {
                let port = self.state.new_port();
                self.state.port_mut(port).home = Home::Here(local);
                Ok(port)
            }
        }
    }

    fn unpack_requests(
        &mut self,
        luggage: &Luggage,
        port: PortId,
        from: &mut Incoming,
        items: &mut &[u8],
    ) -> Result<(), Corrupt> {
        let nsrequest = self.decode_right(luggage.nsrequest, from, items)?;
        let pdrequest = self.decode_right(luggage.pdrequest, from, items)?;
        if let Some(local) = self.state.port_mut(port).local_mut() {
            (local.nsrequest, local.pdrequest) = (nsrequest, pdrequest);
        }
        if self.state.port(port).local().is_some_and(|local| local.nsrequest != Right::Null) {
            self.watch_senders(port);
        }
        Ok(())
    }

    fn unpack_queue(&mut self, luggage: &Luggage, port: PortId, from: &mut Incoming, items: &mut &[u8]) -> Result<(), Corrupt> {
        for _ in 0..luggage.messages {
            let record: Record = wire::take(items).ok_or_else(corrupt)?;
            let body = wire::take_bytes(items, record.body as usize).ok_or_else(corrupt)?.to_vec();
            let inner = wire::take_bytes(items, record.items as usize).ok_or_else(corrupt)?.to_vec();
            let fds: Vec<Arrived> = from.fds.by_ref().take(record.fds as usize).collect();
            let record = Record { flags: record.flags & !flag::SPILLED, ..record };
            let own =
                Incoming { line: from.line, fds: fds.into_iter(), account: from.account.clone(), taken_back: from.taken_back };
            let Some(mut message) = self.decode_message(own, &record, body, inner)? else { continue };
            if record.kind == kind::ONCE {
                self.state.port_mut(port).sorights += 1;
                message.dest = Right::SendOnce(port);
            } else {
                self.state.port_mut(port).srights += 1;
                message.dest = Right::Send(port);
            }
            self.state.enqueue(port, message);
        }
        Ok(())
    }

    /// The port behind the other end's slot moved; the pipe counts this process as a holder of it.
    pub(crate) fn port_moved(&mut self, number: u32, slot: u32, pipe: Option<Reserved>) {
        let Some(port) = self.port_of_out(number, slot) else { return };
        if let Some(far) = self.io.far_mut(port) {
            for route in far.routes.iter_mut().filter(|route| route.line == number && route.slot == slot) {
                route.gifts = 0;
            }
        }
        // First, as what is taken back counts as holding the port too.
        self.look_at_gate(number, slot);
        let held = self.state.ports.get(port.0 as usize).is_some_and(|it| it.srights > 0);
        if let Some(far) = self.io.far_mut(port).filter(|far| held && far.t.is_none()) {
            far.t = pipe.map(Arc::new);
        }
        self.release_unused(port);
    }

    fn release_unused(&mut self, port: PortId) {
        if self.state.ports.get(port.0 as usize).is_some_and(|it| it.srights == 0 && it.names.is_empty()) {
            self.state.effects.push_back(crate::state::Effect::Forgotten(port));
        }
    }

    /// One more pipe that counts holders of a port here, if it is still here.
    pub(crate) fn add_watch(&mut self, port: PortId, pipe: Reserved) {
        // Also while nobody asks for the last sender: a pipe that has hung up is to be closed.
        self.listen_watch(port, &pipe);
        if let Some(exported) = self.io.exported_mut(port) {
            exported.watches.push(pipe);
            self.count_abroad(port);
        }
    }
}

/// What a receive right's luggage says of its port.
fn local_of(luggage: &Luggage) -> Local {
    Local {
        qlimit: luggage.qlimit.clamp(0, crate::abi::QLIMIT_MAX),
        seqno: luggage.seqno,
        seqno_lead: luggage.seqno,
        mscount: luggage.mscount,
        payload: (luggage.protected != 0).then_some(luggage.payload),
        ..Local::default()
    }
}

/// A new pipe: the read end goes to `watches`.
fn pipe(watches: &mut Vec<Arc<Reserved>>) -> io::Result<Arc<Reserved>> {
    let (read, write) = objects::holder_pipe()?;
    watches.push(shared(read)?);
    shared(write)
}

/// Whether what is sent into `s` comes out of `r`: a peer may claim anything of two sockets. Gives back the
/// packets that were waiting.
fn belong_together(r: &Reserved, s: &Reserved) -> Option<Vec<Request>> {
    if !objects::is_socket(r) || !objects::is_socket(s) {
        return None;
    }
    let mut nonce = [0; 16];
    rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::empty()).ok()?;
    let mut early = Vec::new();
    let mut sent = false;
    // Other holders may be sending at the same time, but not for ever in this moment.
    for _ in 0..4096 {
        match objects::receive_request(r.as_fd()) {
            Ok(packet) if packet.bytes == nonce => return Some(early),
            Ok(packet) if packet.bytes.is_empty() => return None,
            Ok(packet) => early.push(packet),
            Err(rustix::io::Errno::WOULDBLOCK) if sent => return None,
            Err(rustix::io::Errno::WOULDBLOCK) => {
                objects::send(s.as_fd(), &[&nonce], &[]).ok()?;
                sent = true;
            }
            Err(_) => return None,
        }
    }
    None
}
