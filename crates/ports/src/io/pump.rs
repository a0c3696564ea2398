//! Records on their way in: from a line's ring to a receiver, a queue, or the line's own tables.

use super::{
    Inner, OnceEnd, account,
    line::{Line, RING, TURN},
    objects,
    rights::{Incoming, corrupt},
    tokens::Token,
    wire::{self, ItemHead, Record, WireRight, flag, item, kind},
};
use crate::{
    abi,
    msg::{direct::Direct, typed},
    state::{
        Home, PortId, Right,
        message::{Charge, Item, Memory, Message, Origin},
    },
};
use rustix::io::Errno;
use slipway_fabric::{Corrupt, descriptor::Reserved, sync::Ordering};
use smallvec::SmallVec;
use std::{os::fd::AsFd, sync::Arc};
use zerocopy::FromBytes;

/// Packets that may go before the message of a send-once right's socket. Each has descriptors, as many as a packet takes,
/// or is a look at where the right leads.
const PACKETS: u32 = 320;

/// What pumping a line came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pumped {
    /// The receiver has its message.
    Delivered,
    /// There is nothing more in the ring that can be taken now.
    Dry,
    /// As much was taken as the ring holds, and there is more.
    More,
}

impl Inner {
    /// Takes records out of a line until the receiver has its message or nothing is left. Messages for others go
    /// to their ports' queues. Everything that was there at the call is taken, and not much more.
    #[inline]
    pub(crate) fn pump(&mut self, number: u32, mut direct: Option<&mut Direct<'_>>) -> Pumped {
        let Some(line) = self.io.lines.get_mut(number as usize) else { return Pumped::Dry };
        let end = line.rx.head + RING as u64;
        line.spent = 0;
        loop {
            let front = match self.io.lines.get_mut(number as usize) {
                // A line that ends has no other turn.
                Some(line) if line.rx.head < end && (line.spent < TURN || line.ended) => line.front(),
                Some(_) => return Pumped::More,
                None => return Pumped::Dry,
            };
            let done = match front {
                Ok(None) => return Pumped::Dry,
                Ok(Some(record)) => match direct.as_deref_mut() {
                    Some(direct) if direct.wants(self, number, &record) => {
                        direct.deliver(self, number, &record);
                        return Pumped::Delivered;
                    }
                    _ => self.take_record(number, &record),
                },
                Err(corrupt) => Err(corrupt),
            };
            match done {
                Ok(true) => {}
                Ok(false) => return Pumped::Dry,
                Err(_) => {
                    self.end_line(number);
                    return Pumped::Dry;
                }
            }
        }
    }

    fn line(&mut self, number: u32) -> Result<&mut Line, Corrupt> {
        self.io.lines.get_mut(number as usize).ok_or(Corrupt { what: "line" })
    }

    /// Takes the front record. False if it has to stay for now.
    fn take_record(&mut self, number: u32, record: &Record) -> Result<bool, Corrupt> {
        match record.kind {
            kind::MESSAGE => return self.take_message(number, record),
            kind::ONCE => return self.take_once(number, record),
            _ => {}
        }
        let line = self.line(number)?;
        let Some(fds) = line.take_fds(record.fds as usize) else { return Self::missing(line) };
        line.consume(record);
        let mut fds = fds.into_iter();
        let target = record.target;
        match record.kind {
            kind::RELEASE => {
                let slot = line.ins.get_mut(target as usize).and_then(Option::as_mut).ok_or_else(corrupt)?;
                slot.given = slot.given.checked_sub(record.count).ok_or_else(corrupt)?;
                let (port, gone) = (slot.port, slot.given == 0);
                if record.flags & flag::LOST != 0 && line.slot_of.get(&port) == Some(&target) {
                    line.slot_of.remove(&port);
                }
                if gone {
                    self.count_abroad_if_here(port);
                    super::stir(&mut self.io.stirred, number);
                }
            }
            kind::TOKEN_DROPPED => self.token_dropped(number, target),
            kind::TOKEN_MOVED => match fds.next().ok_or_else(corrupt)? {
                Some(socket) => self.token_moved(number, target, socket),
                None => self.token_dropped(number, target),
            },
            kind::WATCH => {
                let slot = line.ins.get_mut(target as usize).and_then(Option::as_mut).ok_or_else(corrupt)?;
                let pipe = fds.next().ok_or_else(corrupt)?;
                if !(slot.primary || slot.given > 0) || pipe.as_ref().is_some_and(|pipe| !objects::is_holder_pipe(pipe)) {
                    return Err(corrupt());
                }
                let port = slot.port;
                match pipe {
                    Some(pipe) => self.add_watch(port, pipe),
                    // Whoever has the right is counted as long as this line lasts.
                    None => {
                        slot.given = slot.given.saturating_add(1);
                        self.count_abroad_if_here(port);
                    }
                }
            }
            kind::MOVED => {
                let pipe = fds.next().ok_or_else(corrupt)?;
                self.port_moved(number, target, pipe);
            }
            kind::TOKEN_REROUTED => {
                let socket = fds.next().ok_or_else(corrupt)?;
                if socket.as_ref().is_some_and(|socket| !objects::is_socket(socket)) {
                    return Err(corrupt());
                }
                self.held_changed(number, target, socket.filter(|socket| objects::is_pair(socket)));
            }
            kind::TOKEN_DEAD => self.held_changed(number, target, None),
            kind::TOKEN_SEEN => self.token_seen(number, target)?,
            kind::LOOK => {
                self.look_at_gate(number, target);
            }
            kind::ATTACH => {
                let s = fds.next().ok_or_else(corrupt)?;
                self.attached(number, target, s.as_ref())?;
            }
            kind::DETACH => {
                if let Some(slot) = line.ins.get_mut(target as usize).and_then(Option::as_mut) {
                    slot.primary = false;
                }
            }
            kind::BYE => self.heard_bye(number),
            _ => return Err(Corrupt { what: "record kind" }),
        }
        Ok(true)
    }

    /// Descriptors that are not there: they never come if the other end is gone.
    fn missing(line: &Line) -> Result<bool, Corrupt> {
        let _ = line;
        Err(Corrupt { what: "descriptors" })
    }

    /// Whether the port is here, and its holders elsewhere are counted again.
    pub(crate) fn count_abroad_if_here(&mut self, port: PortId) {
        if self.state.ports.get(port.0 as usize).is_some_and(|it| matches!(it.home, Home::Here(_))) {
            self.count_abroad(port);
        }
    }

    fn take_message(&mut self, number: u32, record: &Record) -> Result<bool, Corrupt> {
        let line = self.line(number)?;
        let slot = line.ins.get(record.target as usize).and_then(Option::as_ref).ok_or(Corrupt { what: "slot" })?;
        if slot.closed {
            if line.theirs.seen[record.target as usize % super::line::SLOTS].load(Ordering::Acquire) == 0 {
                // The sender takes it back, and rings; nothing behind it is looked at before.
                line.blocked = true;
                return Ok(false);
            }
            return self.discard(number, record);
        }
        // Nobody sends to what was not given.
        if (!slot.primary && slot.given == 0) || slot.accepted.wrapping_sub(slot.taken) > abi::QLIMIT_MAX {
            return Err(Corrupt { what: "slot" });
        }
        let port = slot.port;
        let message = self.take_out(number, record)?;
        let line = self.line(number)?;
        if let Some(slot) = line.in_slot(record.target) {
            slot.accepted = slot.accepted.wrapping_add(1);
            let accepted = slot.accepted;
            line.ours.accepted[record.target as usize].store(accepted, Ordering::Release);
        }
        line.consume(record);
        let origin = Origin::Line { line: number, slot: record.target, serial: line.serial };
        let Some(mut message) = message else {
            self.give_credit(origin);
            return Ok(true);
        };
        message.dest = Right::Send(port);
        message.origin = Some(origin);
        self.state.port_mut(port).srights += 1;
        self.state.enqueue(port, message);
        Ok(true)
    }

    fn take_once(&mut self, number: u32, record: &Record) -> Result<bool, Corrupt> {
        let unknown = || Corrupt { what: "token" };
        if matches!(self.line(number)?.tokens.get(record.target as usize), None | Some(Token::Spent)) {
            return Err(unknown());
        }
        let message = self.take_out(number, record)?;
        let line = self.line(number)?;
        let token = line.take_token(record.target).ok_or_else(unknown)?;
        line.consume(record);
        self.io.stirred.push(number);
        match (token, message) {
            (Token::Port(port), Some(mut message)) => {
                message.dest = Right::SendOnce(port);
                self.state.enqueue(port, message);
            }
            // As if it had never been used.
            (Token::Port(port), None) => self.state.destroy_right(Right::SendOnce(port)),
            (token, Some(message)) => self.forward_once(token, message),
            (_, None) => {}
        }
        Ok(true)
    }

    /// Copies a message out of the ring, with its rights; the record stays.
    fn take_out(&mut self, number: u32, record: &Record) -> Result<Option<Box<Message>>, Corrupt> {
        let line = self.line(number)?;
        let fds = line.take_fds(record.fds as usize).ok_or(Corrupt { what: "descriptors" })?;
        let mut body = vec![0; record.body as usize];
        line.copy_out(0, &mut body);
        let mut items = vec![0; record.items as usize];
        line.copy_out(body.len(), &mut items);
        let account = Some(Arc::clone(&line.account));
        let from = Incoming { line: Some(number), fds: fds.into_iter(), account, taken_back: false };
        self.decode_message(from, record, body, items)
    }

    /// Puts a message together again, or as much of it as there were descriptors for; none if there was none for what
    /// is in it. Its `dest` is left to the caller.
    pub(crate) fn decode_message(
        &mut self,
        mut from: Incoming,
        record: &Record,
        mut body: Vec<u8>,
        mut items: Vec<u8>,
    ) -> Result<Option<Box<Message>>, Corrupt> {
        let mut lost = false;
        let account = from.account.clone();
        let charge = |bytes| match &account {
            Some(account) if bytes > 0 => account.take(0, bytes).map(Charge::new),
            _ => Some(Charge::default()),
        };
        let mut charged = None;
        if record.flags & flag::SPILLED != 0 {
            let wrong = || Corrupt { what: "memory file" };
            if let Some(file) = from.fds.next().ok_or_else(wrong)? {
                let spilled = Spilled::open(file).ok_or_else(wrong)?;
                if let Some(line) = from.line.and_then(|line| self.io.lines.get_mut(line as usize)) {
                    line.spent += spilled.len();
                }
                charged = charge(spilled.len());
                if charged.is_some() {
                    (body, items) = spilled.read().ok_or_else(wrong)?;
                }
            }
            lost = charged.is_none();
        } else {
            charged = charge(body.len() + items.len());
        }
        let mut rest = items.as_slice();
        let reply = self.decode_right(record.reply, &mut from, &mut &[][..])?;
        if matches!(reply, Right::Receive(_)) {
            self.state.destroy_right(reply);
            return Err(corrupt());
        }
        if lost {
            // Whoever waits for an answer is told that there will be none.
            self.state.destroy_right(reply);
            return Ok(None);
        }
        let mut message = Box::new(Message {
            id: record.id,
            complex: record.flags & flag::COMPLEX != 0,
            dest: Right::Null,
            reply,
            body,
            items: SmallVec::new(),
            origin: None,
            charge: Charge::default(),
        });
        while !rest.is_empty() {
            match self.decode_item(&mut from, &mut rest, message.body.len()) {
                Ok(item) => message.items.push(item),
                Err(error) => {
                    self.state.destroy_message(message);
                    return Err(error);
                }
            }
        }
        let consistent = if message.complex { typed::describes(&message.body, &message.items) } else { message.items.is_empty() };
        if !consistent {
            self.state.destroy_message(message);
            return Err(Corrupt { what: "body" });
        }
        let Some(charged) = charged else {
            // More than its sender may leave unreceived.
            self.state.destroy_message(message);
            return Ok(None);
        };
        message.charge = charged;
        Ok(Some(message))
    }

    fn decode_item(&mut self, from: &mut Incoming, rest: &mut &[u8], body: usize) -> Result<Item, Corrupt> {
        let wrong = || Corrupt { what: "item" };
        let head: ItemHead = wire::take(rest).ok_or_else(wrong)?;
        let count = usize::try_from(head.count).map_err(|_| wrong())?;
        let at = head.at as usize;
        let places = if head.kind == item::PORTS { count.checked_mul(abi::SLOT).ok_or_else(wrong)? } else { abi::SLOT };
        if !at.is_multiple_of(abi::SLOT) || at.checked_add(places).is_none_or(|end| end > body) {
            return Err(wrong());
        }
        match head.kind {
            item::PORTS => Ok(Item::Ports { at: head.at, rights: self.decode_rights(count, from, rest)? }),
            item::PORT_ARRAY => Ok(Item::PortArray { at: head.at, rights: self.decode_rights(count, from, rest)?.into_vec() }),
            item::BYTES => {
                let bytes = wire::take_bytes(rest, count).ok_or_else(wrong)?;
                Ok(Item::Memory { at: head.at, memory: Memory::Bytes(bytes.to_vec()) })
            }
            item::PAGES => {
                let memory = match from.fds.next().ok_or_else(wrong)? {
                    Some(file) if objects::is_sealed(&file, head.count) => Memory::Pages(file, head.count),
                    Some(_) => return Err(wrong()),
                    None => Memory::Lost(head.count),
                };
                Ok(Item::Memory { at: head.at, memory })
            }
            item::LOST => Ok(Item::Memory { at: head.at, memory: Memory::Lost(head.count) }),
            _ => Err(wrong()),
        }
    }

    fn decode_rights(&mut self, count: usize, from: &mut Incoming, rest: &mut &[u8]) -> Result<SmallVec<[Right; 1]>, Corrupt> {
        let codes = count.checked_mul(size_of::<WireRight>()).and_then(|n| wire::take_bytes(rest, n)).ok_or_else(corrupt)?;
        let mut rights = SmallVec::with_capacity(count);
        for code in codes.chunks_exact(size_of::<WireRight>()) {
            let code = WireRight::read_from_bytes(code).map_err(|_| corrupt())?;
            match self.decode_right(code, from, rest) {
                Ok(right) => rights.push(right),
                Err(error) => {
                    rights.into_iter().for_each(|right| self.state.destroy_right(right));
                    return Err(error);
                }
            }
        }
        Ok(rights)
    }

    /// Counts a message as received, for its sender's limit, or tells its sender.
    pub(crate) fn give_credit(&mut self, origin: Origin) {
        let (number, slot, serial) = match origin {
            Origin::Line { line, slot, serial } => (line, slot, serial),
            Origin::Forced(request) => return self.state.accepted(request),
        };
        let Some(line) = self.io.lines.get_mut(number as usize).filter(|line| line.serial == serial) else { return };
        if let Some(it) = line.ins.get_mut(slot as usize).and_then(Option::as_mut) {
            it.taken = it.taken.wrapping_add(1);
            let taken = it.taken;
            line.ours.taken[slot as usize].store(taken, Ordering::Release);
            if line.segment.rx.wake_writer() {
                line.ring_bell();
            }
        }
    }

    /// Takes the message of a send-once right that a third party held.
    pub(crate) fn pump_once_end(&mut self, id: u32) {
        loop {
            let Some(end) = self.io.once_ends.get_mut(id as usize) else { return };
            let port = end.port;
            let mut bytes = vec![0; wire::RECORD + super::line::INLINE];
            let before = end.fds.len();
            end.packets += 1;
            let account = |sender| {
                let account = account::Charge::of(&end.socket).unwrap_or_else(|| self.io.ledger.of(sender));
                Arc::clone(end.account.insert(account))
            };
            match objects::receive_held(end.socket.as_fd(), &mut bytes, &mut end.fds, account) {
                Ok((n, _)) if n >= wire::RECORD => {
                    bytes.truncate(n);
                    let end = self.io.once_ends.remove(id as usize);
                    return self.take_from_socket(port, &bytes, end);
                }
                // Descriptors, which go first, as many as a packet takes; or somebody looked whether this is where his
                // right leads.
                Ok((1..wire::RECORD, lost)) if end.packets <= PACKETS => {
                    if lost {
                        end.fds.resize_with(before + objects::PARCEL, || None);
                    }
                }
                Err(Errno::WOULDBLOCK) => return,
                // Dropped unused, or broken, which comes to the same.
                _ => {
                    self.io.once_ends.remove(id as usize);
                    return self.state.destroy_right(Right::SendOnce(port));
                }
            }
        }
    }

    fn take_from_socket(&mut self, port: PortId, bytes: &[u8], OnceEnd { mut fds, account, .. }: OnceEnd) {
        let mut rest = bytes;
        let record = wire::take::<Record>(&mut rest);
        // What found no place here is the last.
        fds.resize_with(fds.len().max(record.map_or(0, |record| record.fds as usize)), || None);
        if record.is_some_and(|record| record.kind == kind::TOKEN_MOVED) {
            return match fds.into_iter().flatten().next() {
                Some(socket) => self.adopt_or_destroy(socket, port),
                None => self.state.destroy_right(Right::SendOnce(port)),
            };
        }
        let decoded = record.and_then(|record| {
            let body = wire::take_bytes(&mut rest, record.body as usize)?.to_vec();
            let items = wire::take_bytes(&mut rest, record.items as usize)?.to_vec();
            let from = Incoming { line: None, fds: fds.into_iter(), account, taken_back: false };
            self.decode_message(from, &record, body, items).ok().flatten()
        });
        match decoded {
            Some(mut message) => {
                message.dest = Right::SendOnce(port);
                match self.state.port(port).home {
                    Home::Here(_) => self.state.enqueue(port, message),
                    _ => self.state.destroy_message(message),
                }
            }
            None => self.state.destroy_right(Right::SendOnce(port)),
        }
    }
}

/// What the sender put in a memory file: body and items.
pub(crate) struct Spilled {
    file: Reserved,
    body: u64,
    items: u64,
}

impl Spilled {
    /// None if it is not a good file. Body and items are each as large as a message can be, at most.
    pub(crate) fn open(file: Reserved) -> Option<Self> {
        if !objects::is_sealed(&file, 16) {
            return None;
        }
        let stat = rustix::fs::fstat(&file).ok()?;
        let size = stat.st_size as u64;
        // A file full of holes costs its maker nothing, and would cost this process what it claims to be.
        if (stat.st_blocks as u64).saturating_mul(512) < size {
            return None;
        }
        let mut lengths = [0; 16];
        read_all(&file, 0, &mut lengths)?;
        let [body, items] = <[u64; 2]>::read_from_bytes(&lengths).ok()?;
        let most = abi::MESSAGE_MAX as u64;
        if body > most || items > most || 16 + body + items > size || body % 8 != 0 {
            return None;
        }
        Some(Self { file, body, items })
    }

    /// The bytes of both.
    pub(crate) fn len(&self) -> usize {
        (self.body + self.items) as usize
    }

    /// Copies body and items.
    pub(crate) fn read(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (mut body, mut items) = (zeroed(self.body)?, zeroed(self.items)?);
        read_all(&self.file, 16, &mut body)?;
        read_all(&self.file, 16 + self.body, &mut items)?;
        Some((body, items))
    }
}

/// As many zeroes, if there is memory for them.
fn zeroed(len: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len as usize).ok()?;
    bytes.resize(len as usize, 0);
    Some(bytes)
}

fn read_all(file: &Reserved, mut at: u64, mut to: &mut [u8]) -> Option<()> {
    while !to.is_empty() {
        let n = rustix::io::pread(file, &mut *to, at).ok().filter(|n| *n > 0)?;
        to = &mut to[n..];
        at += n as u64;
    }
    Some(())
}
