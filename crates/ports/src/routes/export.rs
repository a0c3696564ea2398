//! Messages and rights on their way out of this process.
//!
//! A right to a port of this process goes over a line as a number on it (a slot, a token), with the port's sending
//! end the first time; everywhere else a send right is the sending end and a pipe that counts holders, and a
//! send-once right a socket of its own.

use super::{Once, Routes, migrate::Departed, pass_on::Packed};
use crate::{
    abi,
    line::{INLINE, OutFd},
    state::{
        Effect, Home, LineId, PortId, RemoteSendOnce, Right,
        message::{Item, Memory, Message},
    },
    wire::{self, ItemHead, Luggage, RECORD, Record, WireRight, flag, form, item, kind, luggage, parse::NESTING, weight},
};
use std::{io, os::fd::OwnedFd, sync::Arc};
use zerocopy::IntoBytes;

/// The most bytes of body and items in a packet of a send-once right's socket.
pub(super) const PACKET: usize = INLINE / 2;

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
    /// How many receive rights are around what is encoded.
    depth: u32,
    /// Ports whose receive rights go with the record. Its rights to them go by descriptors: a number would be void before
    /// its reader has it.
    moving: Vec<PortId>,
    /// Those rights that go as one descriptor.
    bundle: Option<Packed>,
    /// Whether a receive right is the message's only right: none is counted before its reader has it.
    is_lone: bool,
    /// Whether the message can't get lost: its reader knows what became of each slot.
    is_sure: bool,
}

/// A message as it travels.
#[derive(Debug)]
pub(crate) struct Encoded {
    /// The record, without kind and target.
    pub record: Record,
    /// The body and the items.
    pub parts: (Vec<u8>, Vec<u8>),
    /// The descriptors: those that the record counts, those that go behind them, and those that the reader remembers.
    pub fds: Vec<OutFd>,
    /// The number of the last.
    pub remembered: usize,
}

/// The most descriptors of a record, which counts them in 16 bits, beside the file that body and items may go into.
const DESCRIPTORS: usize = u16::MAX as usize - 1;

impl Outgoing {
    /// Whether so many descriptors more can go with the record.
    pub(crate) fn fits(&self, many: usize) -> bool {
        self.ahead + self.fds.len() + many <= DESCRIPTORS
    }

    /// Whether so many bytes of a message that waits at a port can go with the record. Some are left for what is said of
    /// the ports themselves.
    fn has_bytes(&self, many: usize) -> bool {
        self.before + self.items.len() + many <= abi::MESSAGE_MAX - (4 << 20)
    }
}

fn wire_right(form: u32, value: u32) -> WireRight {
    WireRight { form, value }
}

impl Routes {
    /// Turns a message into a record. What is large goes into `file`.
    pub(crate) fn encode_message(&mut self, line: Option<LineId>, mut message: Message, file: Option<OwnedFd>) -> Encoded {
        let mut out = Outgoing { is_sure: file.is_none(), ..Outgoing::default() };
        if message.items.iter().flat_map(Item::rights).any(|right| matches!(right, Right::Receive(_))) {
            out.moving = self.free_onces_with(&mut message);
            out.is_lone = message.reply == Right::Null && message.items.iter().flat_map(Item::rights).count() == 1;
        }
        let reply = self.encode_right(line, std::mem::take(&mut message.reply), &mut out);
        out.bundle = line.and_then(|line| self.pack_bundle(line, &message, file.is_none() && out.moving.is_empty()));
        for item in message.items {
            self.encode_item(line, item, &mut out);
        }
        let (mut behind, mut remembered) = (Vec::new(), 0);
        if let Some(Packed { kind, words, mut fds, .. }) = out.bundle {
            out.items.extend_from_slice(ItemHead { kind, at: 0, count: words.len() as u64 }.as_bytes());
            out.items.extend_from_slice(words.as_bytes());
            match kind {
                item::QUEUED => behind = fds,
                item::REMEMBERED => (remembered, behind) = (fds.len(), fds),
                // A message with one to remember has too few bytes for so many that the record could not count these.
                _ => out.fds.append(&mut fds),
            }
        }
        let mut flags = if message.complex { flag::COMPLEX } else { 0 } | if message.short { flag::SHORT } else { 0 };
        let mut parts = (message.body, out.items);
        let most = if line.is_some() { INLINE } else { PACKET };
        if parts.0.len() + parts.1.len() > most
            && let Some(Ok(file)) = file.map(|file| wire::spill::write(file, &parts))
        {
            flags |= flag::SPILLED;
            parts = (Vec::new(), Vec::new());
            out.fds.insert(0, OutFd(Arc::new(file)));
        }
        let record = Record {
            body: parts.0.len() as u32,
            items: parts.1.len() as u32,
            kind: 0,
            flags,
            fds: out.fds.len() as u16,
            target: 0,
            id: message.id,
            count: 0,
            reply,
        };
        out.fds.append(&mut behind);
        Encoded { record, parts, fds: out.fds, remembered }
    }

    fn encode_item(&mut self, line: Option<LineId>, item: Item, out: &mut Outgoing) {
        let head = |kind, at, count: usize| ItemHead { kind, at, count: count as u64 };
        match item {
            Item::Ports { at, rights } => {
                out.items.extend_from_slice(head(item::PORTS, at, rights.len()).as_bytes());
                self.encode_rights(line, rights, out);
            }
            Item::PortArray { at, rights } => {
                out.items.extend_from_slice(head(item::PORT_ARRAY, at, rights.len()).as_bytes());
                self.encode_rights(line, rights, out);
            }
            Item::Memory { at, memory: Memory::Bytes(bytes) } => {
                out.items.extend_from_slice(head(item::BYTES, at, bytes.len()).as_bytes());
                wire::put_bytes(&mut out.items, &bytes);
            }
            Item::Memory { at, memory: Memory::Pages(file, len) } if out.fits(1) => {
                out.items.extend_from_slice(head(item::PAGES, at, len as usize).as_bytes());
                out.fds.push(OutFd(file));
            }
            Item::Memory { at, memory: Memory::Lost(len) | Memory::Pages(_, len) } => {
                out.items.extend_from_slice(head(item::LOST, at, len as usize).as_bytes());
            }
        }
    }

    /// The rights' codes, and after them what belongs to receive rights.
    fn encode_rights(
        &mut self,
        line: Option<LineId>,
        rights: impl IntoIterator<Item = Right, IntoIter: ExactSizeIterator>,
        out: &mut Outgoing,
    ) {
        let rights = rights.into_iter();
        let mut place = out.items.len();
        out.items.resize(place + rights.len() * size_of::<WireRight>(), 0);
        for right in rights {
            let coded = self.encode_right(line, right, out);
            out.items[place..place + size_of::<WireRight>()].copy_from_slice(coded.as_bytes());
            place += size_of::<WireRight>();
        }
    }

    /// Turns a right into what travels over `line`, or anywhere if that is None. The right is gone from here.
    /// A right that can't travel for want of descriptors arrives dead.
    fn encode_right(&mut self, line: Option<LineId>, right: Right, out: &mut Outgoing) -> WireRight {
        if !out.fits(2) && !matches!(right, Right::Null | Right::Dead) {
            self.state.destroy_right(right);
            return wire_right(form::DEAD, 0);
        }
        let coded = match right {
            Right::Null => return WireRight::default(),
            Right::Dead => return wire_right(form::DEAD, 0),
            Right::Send(port) => self.encode_send(line, port, out),
            Right::SendOnce(port) => self.encode_send_once(line, port, out),
            Right::RemoteSendOnce(once) => self.encode_remote_send_once(line, once, out),
            Right::Receive(port) => return self.encode_receive(line, port, out),
        };
        coded.unwrap_or_else(|_| wire_right(form::DEAD, 0))
    }

    fn encode_send(&mut self, line: Option<LineId>, port: PortId, out: &mut Outgoing) -> io::Result<WireRight> {
        self.open_bundle_of(port);
        let coded = match self.state.port(port).home {
            Home::Dead => Ok(wire_right(form::DEAD, 0)),
            Home::Here(_) => self.encode_own(line, port, out),
            Home::Remote => self.encode_foreign(line, port, out),
        };
        self.state.destroy_right(Right::Send(port));
        coded
    }

    fn encode_own(&mut self, line: Option<LineId>, port: PortId, out: &mut Outgoing) -> io::Result<WireRight> {
        if let Some(line) = line.filter(|_| !out.moving.contains(&port))
            && let Some(coded) = self.encode_line_right(line, port, out)?
        {
            return Ok(coded);
        }
        let (s, t) = self.export_pair(port)?;
        out.fds.extend([OutFd(s), OutFd(t)]);
        Ok(wire_right(form::SEND, 0))
    }

    /// A send right to a port here as a slot of the line; None if there are no more slots.
    fn encode_line_right(&mut self, number: LineId, port: PortId, out: &mut Outgoing) -> io::Result<Option<WireRight>> {
        let Some(line) = self.lines.get_mut(number) else { return Ok(None) };
        if let Some(slot) = line.slot_of.get(&port).copied() {
            let it = line.in_slot(slot);
            let given = it.map_or(0, |it| {
                it.given += 1;
                it.given
            });
            if given == 1 {
                self.count_abroad(port);
            }
            return Ok(Some(wire_right(form::LINE_RIGHT, slot)));
        }
        // Before it has a slot: one that nobody was told of can't be taken back.
        let kept = out.is_sure && self.export_with_kept(port, number);
        self.export(port)?;
        if self.exported(port).is_some_and(|exported| !exported.slots.is_empty()) {
            self.share(port);
        }
        let limit = self.state.port(port).local().map(|local| local.qlimit);
        let Some(line) = self.lines.get_mut(number) else { return Ok(None) };
        let Some(slot) = line.offer(port) else { return Ok(None) };
        if let Some(it) = line.in_slot(slot) {
            it.given = 1;
        }
        limit.into_iter().for_each(|limit| line.credit.open(slot, limit));
        if let Some(exported) = self.exported_mut(port) {
            exported.slots.push((number, slot));
            if !kept {
                out.fds.push(OutFd(Arc::clone(&exported.s)));
            }
        }
        self.count_abroad(port);
        Ok(Some(wire_right(if kept { form::KEPT_LINE_RIGHT } else { form::FIRST_LINE_RIGHT }, slot)))
    }

    fn encode_foreign(&mut self, line: Option<LineId>, port: PortId, out: &mut Outgoing) -> io::Result<WireRight> {
        if let Some(slot) = line.and_then(|line| self.back_slot(line, port)) {
            return Ok(wire_right(form::BACK, slot));
        }
        if let Some(number) = out.bundle.as_ref().and_then(|bundle| bundle.numbers.get(&port)) {
            return Ok(wire_right(form::BUNDLED, *number));
        }
        out.fds.extend(self.foreign_pair(port)?);
        Ok(wire_right(form::SEND, 0))
    }

    fn encode_send_once(&mut self, line: Option<LineId>, port: PortId, out: &mut Outgoing) -> io::Result<WireRight> {
        match self.state.port(port).home {
            Home::Dead | Home::Remote => {
                self.state.drop_soright(port);
                Ok(wire_right(form::DEAD, 0))
            }
            Home::Here(_) => {
                if let Some(it) = line.and_then(|line| self.lines.get_mut(line)) {
                    return Ok(wire_right(form::TOKEN, it.give_token(port)));
                }
                match self.once_socket(port) {
                    Ok(socket) => {
                        out.fds.push(OutFd(Arc::new(socket)));
                        Ok(wire_right(form::ONCE, 0))
                    }
                    Err(error) => {
                        self.state.destroy_right(Right::SendOnce(port));
                        Err(error)
                    }
                }
            }
        }
    }

    fn encode_remote_send_once(
        &mut self,
        line: Option<LineId>,
        once: RemoteSendOnce,
        out: &mut Outgoing,
    ) -> io::Result<WireRight> {
        match self.onces.try_remove(once.0 as usize) {
            Some(Once::Token { line: owner, token }) => {
                if let Some(it) = self.lines.get_mut(owner) {
                    it.held.remove(&token);
                    if line == Some(owner) {
                        self.stirred.push(owner);
                        return Ok(wire_right(form::TOKEN_BACK, token));
                    }
                }
                let socket = self.move_token(owner, token)?;
                out.fds.push(OutFd(Arc::new(socket)));
                Ok(wire_right(form::ONCE, 0))
            }
            Some(Once::Socket(socket)) => {
                // The next holder's copy would keep it in the watcher's set.
                slipway_fabric::descriptor::unregister(&socket);
                out.fds.push(OutFd(socket));
                Ok(wire_right(form::ONCE, 0))
            }
            Some(Once::Dead) | None => Ok(wire_right(form::DEAD, 0)),
        }
    }

    /// Turns a receive right into what travels. The port is remote from here on.
    fn encode_receive(&mut self, line: Option<LineId>, port: PortId, out: &mut Outgoing) -> WireRight {
        out.depth += 1;
        let packed = if out.depth > NESTING { Err(io::ErrorKind::OutOfMemory.into()) } else { self.pack(line, port, out) };
        out.depth -= 1;
        match packed {
            Ok(coded) => coded,
            Err(_) => {
                self.state.destroy_right(Right::Receive(port));
                wire_right(form::DEAD, 0)
            }
        }
    }

    /// Gives back the form, and the slot at which this process sends to the port from here on; 0 for none.
    fn pack(&mut self, line: Option<LineId>, port: PortId, out: &mut Outgoing) -> io::Result<WireRight> {
        let queue = self.state.port(port).local().map(|local| &local.queue);
        let is_plain = |message: &Message| message.items.is_empty() && message.reply == Right::Null;
        let plain = queue.is_some_and(|queue| queue.iter().all(|message| is_plain(message)));
        // The right that a message was sent with ends with the message.
        let spent = queue.map_or(0, |queue| queue.iter().filter(|message| message.dest == Right::Send(port)).count());
        let is_held = self.state.port(port).srights as usize > spent;
        let slot = line.filter(|_| is_held).and_then(|number| Some((number, self.lines.get_mut(number)?.promise(port)?)));
        let counted = slot.is_some() && out.is_lone && out.is_sure && plain && self.is_unheard_of(port);
        let kept = slot.filter(|_| counted).and_then(|slot| self.depart_with_kept(port, slot));
        let form = if kept.is_some() { form::KEPT_RECEIVE } else { form::RECEIVE };
        let departed = kept.map_or_else(|| self.depart(port, counted, |many| out.fits(many)), Ok);
        if let Some((number, slot)) = slot
            && let Some(line) = self.lines.get_mut(number)
        {
            // The port has ends of its own.
            drop(line.out_ends.take(slot));
            if departed.is_err() {
                line.withdraw(slot);
            }
        }
        let Departed { local, ends, watches, onces } = departed?;
        out.fds.extend(ends.into_iter().flat_map(|(r, s)| [OutFd(r), OutFd(s)]));
        out.fds.extend(watches.iter().cloned().map(OutFd));
        out.fds.extend(onces.iter().cloned().map(OutFd));
        let place = out.items.len();
        let mut head = Luggage {
            qlimit: local.qlimit,
            seqno: local.seqno,
            mscount: local.mscount,
            onces: onces.len() as u32,
            watches: watches.len() as u32,
            flags: if local.is_protected { luggage::PROTECTED } else { 0 } | if counted { luggage::COUNTED } else { 0 },
            payload: local.payload,
            messages: 0,
            nsrequest: WireRight::default(),
            pdrequest: WireRight::default(),
        };
        out.items.extend_from_slice(head.as_bytes());
        head.nsrequest = self.encode_right(line, local.nsrequest, out);
        head.pdrequest = self.encode_right(line, local.pdrequest, out);
        for message in local.queue {
            head.messages += u64::from(self.pack_message(line, *message, out));
        }
        out.items[place..place + size_of::<Luggage>()].copy_from_slice(head.as_bytes());
        if self.state.port(port).srights == 0 {
            self.state.effect(Effect::Forgotten(port));
        }
        slot.into_iter().for_each(|slot| self.follow(port, slot, counted));
        Ok(wire_right(form, slot.map_or(0, |(_, slot)| slot)))
    }

    /// A message that waits at a port which moves. False, and it is destroyed, if it is more than can travel at once.
    fn pack_message(&mut self, line: Option<LineId>, mut message: Message, out: &mut Outgoing) -> bool {
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
        let items = message.items.iter().map(|item| weight(item).0).sum::<usize>();
        if !out.has_bytes(RECORD + message.body.len() + items) {
            self.state.destroy_message(Box::new(message));
            return false;
        }
        let before = out.before + out.items.len() + RECORD + message.body.len();
        let moving = std::mem::take(&mut out.moving);
        let mut own = Outgoing { ahead: out.ahead + out.fds.len(), before, depth: out.depth, moving, ..Outgoing::default() };
        let reply = self.encode_right(line, std::mem::take(&mut message.reply), &mut own);
        for item in std::mem::take(&mut message.items) {
            self.encode_item(line, item, &mut own);
        }
        let record = Record {
            body: message.body.len() as u32,
            items: own.items.len() as u32,
            kind: if once { kind::ONCE } else { kind::MESSAGE },
            flags: if message.complex { flag::COMPLEX } else { 0 },
            fds: own.fds.len() as u16,
            id: message.id,
            reply,
            ..Record::default()
        };
        out.items.extend_from_slice(record.as_bytes());
        out.items.extend_from_slice(&message.body);
        out.items.extend_from_slice(&own.items);
        out.fds.append(&mut own.fds);
        out.moving = own.moving;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record can't count more of them.
    #[test]
    fn rights_without_room_for_their_descriptors_are_dead() {
        let mut inner = Routes::default();
        let space = inner.state.new_space();
        let name = inner.state.port_allocate(space, crate::abi::right::RECEIVE).expect("a port");
        let once = inner.state.copyin(space, name, crate::abi::types::MAKE_SEND_ONCE).expect("a right");
        let send = inner.state.copyin(space, name, crate::abi::types::MAKE_SEND).expect("a right");
        let receive = inner.state.copyin(space, name, crate::abi::types::MOVE_RECEIVE).expect("a right");
        let mut full = Outgoing { ahead: DESCRIPTORS - 1, ..Outgoing::default() };
        assert!(full.fits(1) && !full.fits(2));
        for right in [once, send, receive] {
            assert_eq!(inner.encode_right(None, right, &mut full), wire_right(form::DEAD, 0));
        }
        assert!(full.fds.is_empty());
    }
}
