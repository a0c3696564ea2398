//! Messages on their way out: to a queue here, over a line, or into a socket.

use super::{
    Inner, Once,
    line::{GATE_DEAD, INLINE, NO_SLOT, OutFd, Stall},
    objects,
    rights::Outgoing,
    wire::{self, ItemHead, RECORD, Record, WireRight, flag, item, kind},
};
use crate::{
    abi,
    state::{
        FarOnce, Home, PortId, Right,
        message::{Item, Memory, Message},
        port::Kernel,
    },
};
use rustix::io::Errno;
use std::{
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
};
use zerocopy::IntoBytes;

/// Why a message could not be sent at once: whose queue or line has no room.
#[derive(Debug)]
pub enum Refused {
    /// The queue of a port here is full.
    Queue(PortId, Box<Message>),
    /// The queue of a far port at the slot is full, or the line to it.
    Line(u32, u32, Box<Message>),
    /// There is no line to the port yet, and its socket has no room; or its owner was asked for one that leads there.
    Socket(PortId, Box<Message>),
    /// A resource ran out; the message is destroyed.
    Resources,
}

impl Inner {
    /// Sends a message whose rights are already out of their space. On success it is on its way, or its port
    /// is dead and it is destroyed.
    pub fn send(&mut self, message: Box<Message>) -> Result<(), Refused> {
        match message.dest {
            Right::Send(port) => match &self.state.port(port).home {
                Home::Here(local) if local.kernel != Kernel::No => self.answer(message),
                Home::Here(local) if local.queue.len() as u32 >= local.qlimit => return Err(Refused::Queue(port, message)),
                Home::Here(_) => self.state.enqueue(port, message),
                Home::Far => return self.send_far(port, message),
                Home::Dead => self.state.destroy_message(message),
            },
            Right::SendOnce(port) => match &self.state.port(port).home {
                Home::Here(_) => self.state.enqueue(port, message),
                _ => self.state.destroy_message(message),
            },
            Right::FarOnce(once) => return self.send_far_once(once, message),
            Right::Null | Right::Dead | Right::Receive(_) => self.state.destroy_message(message),
        }
        Ok(())
    }

    /// The library's own answer to a message for a task, thread or host: it knows no requests.
    fn answer(&mut self, mut message: Box<Message>) {
        let reply = std::mem::take(&mut message.reply);
        let id = message.id.wrapping_add(100);
        self.state.destroy_message(message);
        if matches!(reply, Right::Null | Right::Dead) {
            return self.state.destroy_right(reply);
        }
        let mut body = crate::state::notify::type_word(abi::types::INTEGER_32, 32, 1).to_le_bytes().to_vec();
        body.extend(u64::from(abi::Code::MIG_BAD_ID.0 as u32).to_le_bytes());
        let answer = Message {
            id,
            complex: false,
            dest: reply,
            reply: Right::Null,
            body,
            items: Default::default(),
            origin: None,
            charge: Default::default(),
        };
        if let Err(Refused::Queue(_, message) | Refused::Line(_, _, message) | Refused::Socket(_, message)) =
            self.send(Box::new(answer))
        {
            self.state.destroy_message(message);
        }
    }

    /// The line and slot to send to a far port over, made if need be.
    pub(crate) fn route(&mut self, port: PortId) -> Result<(u32, u32), Errno> {
        match self.io.far(port).and_then(|far| far.way()) {
            Some(route) => Ok((route.line, route.slot)),
            None => self.find_way(port),
        }
    }

    fn send_far(&mut self, port: PortId, message: Box<Message>) -> Result<(), Refused> {
        loop {
            if !matches!(self.state.port(port).home, Home::Far) {
                // It died, or its receive right came here, while this looked for a way.
                return self.send(message);
            }
            let (number, slot) = match self.route(port) {
                Ok(route) => route,
                Err(Errno::WOULDBLOCK) => return Err(Refused::Socket(port, message)),
                Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN | Errno::CONNREFUSED) => {
                    self.state.far_port_died(port);
                    continue;
                }
                Err(_) => {
                    self.state.destroy_message(message);
                    return Err(Refused::Resources);
                }
            };
            if self.look_at_gate(number, slot) {
                continue;
            }
            let Some(line) = self.io.lines.get_mut(number as usize) else {
                self.lose_route(port, number);
                continue;
            };
            let (len, fds) = room_for(&message);
            match line.credit(slot).and_then(|()| line.room(len, fds)) {
                Ok(()) => {}
                Err(Stall::Broken) => {
                    self.end_line(number);
                    continue;
                }
                Err(_) => return Err(Refused::Line(number, slot, message)),
            }
            return written(self.write_message(number, kind::MESSAGE, slot, message));
        }
    }

    fn send_far_once(&mut self, once: FarOnce, message: Box<Message>) -> Result<(), Refused> {
        let (len, fds) = room_for(&message);
        match self.io.onces.get(once.0 as usize) {
            Some(Once::Token { line: number, token }) => {
                let (number, token) = (*number, *token);
                if let Some(line) = self.io.lines.get_mut(number as usize) {
                    match line.room_for_answer(len, fds) {
                        Ok(()) => {
                            line.held.remove(&token);
                            self.io.onces.remove(once.0 as usize);
                            let message = Box::new(Message { dest: Right::Null, ..*message });
                            let sent = self.write_message(number, kind::ONCE, token, message);
                            if matches!(sent, Err(Stall::Short)) {
                                // Never used.
                                self.drop_token(number, token);
                            }
                            self.io.stirred.push(number);
                            return written(sent);
                        }
                        Err(Stall::Broken) => self.end_line(number),
                        Err(_) => return Err(Refused::Line(number, NO_SLOT, message)),
                    }
                }
                self.state.destroy_message(message);
            }
            Some(Once::Socket(_)) => {
                let Some(Once::Socket(socket)) = self.io.onces.try_remove(once.0 as usize) else { return Ok(()) };
                if let Some(port) = self.leads_to_itself(&socket, &message) {
                    self.state.enqueue(port, Box::new(Message { dest: Right::SendOnce(port), ..*message }));
                    return Ok(());
                }
                self.send_to_socket(&socket, Box::new(Message { dest: Right::Null, ..*message }));
            }
            Some(Once::Dead) | None => self.state.destroy_message(message),
        }
        Ok(())
    }

    /// Sends a message that was made here and that nobody waits for.
    pub(crate) fn transmit_unasked(&mut self, message: Box<Message>) {
        match self.send(message) {
            Ok(()) | Err(Refused::Resources) => {}
            Err(Refused::Line(number, _, message)) => self.send_later(number, message),
            Err(Refused::Queue(_, message) | Refused::Socket(_, message)) => self.state.destroy_message(message),
        }
    }

    /// Writes a message for a token when there is room for it.
    pub(crate) fn send_later(&mut self, number: u32, mut message: Box<Message>) {
        let Right::FarOnce(once) = std::mem::take(&mut message.dest) else { return self.state.destroy_message(message) };
        let Some(Once::Token { token, .. }) = self.io.onces.try_remove(once.0 as usize) else {
            return self.state.destroy_message(message);
        };
        let Ok(file) = reserve(&message, INLINE) else {
            self.drop_token(number, token);
            return self.state.destroy_message(message);
        };
        let (mut record, parts, fds) = self.encode_message(Some(number), *message, file);
        (record.kind, record.target) = (kind::ONCE, token);
        if let Some(line) = self.io.lines.get_mut(number as usize) {
            line.held.remove(&token);
            line.post_with(record, &[parts.0, parts.1].concat(), fds);
        }
    }

    /// Writes a message for which there is room. The right it is sent with is given up.
    pub(crate) fn write_message(&mut self, number: u32, kind: u8, target: u32, message: Box<Message>) -> Result<(), Stall> {
        let Ok(file) = reserve(&message, INLINE) else {
            self.state.destroy_message(message);
            return Err(Stall::Short);
        };
        let mut message = *message;
        let dest = std::mem::take(&mut message.dest);
        let (mut record, parts, fds) = self.encode_message(Some(number), message, file);
        (record.kind, record.target) = (kind, target);
        let slot = if kind == wire::kind::MESSAGE { target } else { NO_SLOT };
        self.io.counters.sent += 1;
        let line = self.io.lines.get_mut(number as usize).ok_or(Stall::Broken)?;
        let written = line.write(&record, [&parts.0, &parts.1], slot, fds);
        if let Some(out) = line.out_slot(target).filter(|_| slot != NO_SLOT) {
            out.sent = out.sent.wrapping_add(1);
        }
        self.state.destroy_right(dest);
        match written {
            Ok(()) => {
                if slot != NO_SLOT {
                    self.look_at_gate(number, slot);
                }
                Ok(())
            }
            Err(stall) => Err(self.broken(number, stall)),
        }
    }

    /// Turns a message into a record (without kind and target), body and items, and descriptors. What is large goes
    /// into `file`.
    pub(crate) fn encode_message(
        &mut self,
        line: Option<u32>,
        mut message: Message,
        file: Option<OwnedFd>,
    ) -> (Record, (Vec<u8>, Vec<u8>), Vec<OutFd>) {
        if message.items.iter().flat_map(Item::rights).any(|right| matches!(right, Right::Receive(_))) {
            self.free_onces_with(&mut message);
        }
        let mut out = Outgoing::default();
        let reply = self.encode_right(line, message.reply, &mut out);
        for item in message.items {
            self.encode_item(line, item, &mut out);
        }
        let mut flags = if message.complex { flag::COMPLEX } else { 0 };
        let mut parts = (message.body, out.items);
        let most = if line.is_some() { INLINE } else { PACKET };
        if parts.0.len() + parts.1.len() > most
            && let Some(Ok(file)) = file.map(|file| spill(file, &parts))
        {
            flags |= flag::SPILLED;
            parts = (Vec::new(), Vec::new());
            out.fds.insert(0, file);
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
        (record, parts, out.fds)
    }

    pub(crate) fn encode_item(&mut self, line: Option<u32>, item: Item, out: &mut Outgoing) {
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
            Item::Memory { at, memory: Memory::Pages(file, len) } if out.has_room(1) => {
                out.items.extend_from_slice(head(item::PAGES, at, len as usize).as_bytes());
                out.fds.push(OutFd(Arc::new(file)));
            }
            Item::Memory { at, memory: Memory::Lost(len) | Memory::Pages(_, len) } => {
                out.items.extend_from_slice(head(item::LOST, at, len as usize).as_bytes());
            }
        }
    }

    /// The rights' codes, and after them what belongs to receive rights.
    fn encode_rights(
        &mut self,
        line: Option<u32>,
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

    /// Sends a message as the one that a send-once right's socket takes.
    pub(crate) fn send_to_socket(&mut self, socket: impl AsFd, message: Box<Message>) {
        let Ok(file) = reserve(&message, PACKET) else { return self.state.destroy_message(message) };
        let (mut record, parts, fds) = self.encode_message(None, *message, file);
        record.kind = kind::ONCE;
        let mut rest = fds.as_slice();
        while rest.len() > objects::PARCEL {
            let (some, more) = rest.split_at(objects::PARCEL);
            let some: Vec<_> = some.iter().map(AsFd::as_fd).collect();
            if objects::send(socket.as_fd(), &[&[0]], &some).is_err() {
                return;
            }
            rest = more;
        }
        let rest: Vec<_> = rest.iter().map(AsFd::as_fd).collect();
        let _ = objects::send(socket.as_fd(), &[record.as_bytes(), &parts.0, &parts.1], &rest);
        self.io.counters.sent += 1;
    }

    /// Looks whether the owner of a slot has closed it, and does what that asks for. True if it has.
    #[inline]
    pub(crate) fn look_at_gate(&mut self, number: u32, slot: u32) -> bool {
        let closed = self.io.lines.get(number as usize).and_then(|line| line.closed_gate(slot));
        if let Some(reason) = closed {
            self.gate_closed(number, slot, reason == GATE_DEAD);
        }
        closed.is_some()
    }
}

/// What a write came to for the message: one whose line turned out to be lost went to a dead port.
fn written(result: Result<(), Stall>) -> Result<(), Refused> {
    match result {
        Ok(()) | Err(Stall::Broken) => Ok(()),
        Err(_) => Err(Refused::Resources),
    }
}

/// The most bytes of body and items in a packet of a send-once right's socket.
const PACKET: usize = INLINE / 2;

/// The memory file that the message may need if it has more than `most` bytes: while its rights can still be
/// taken back.
fn reserve(message: &Message, most: usize) -> std::io::Result<Option<OwnedFd>> {
    if footprint(message).0 <= most { Ok(None) } else { objects::memory_file(0).map(Some) }
}

/// Body and items in a memory file, which is sealed then: two lengths, and then the bytes.
fn spill(file: OwnedFd, parts: &(Vec<u8>, Vec<u8>)) -> std::io::Result<OutFd> {
    let lengths = [parts.0.len() as u64, parts.1.len() as u64];
    rustix::fs::ftruncate(&file, 16 + lengths[0] + lengths[1])?;
    let mut at = 0;
    for part in [lengths.as_bytes(), &parts.0, &parts.1] {
        let mut part = part;
        while !part.is_empty() {
            let n = rustix::io::pwrite(&file, part, at)?;
            part = &part[n..];
            at += n as u64;
        }
    }
    objects::seal(&file)?;
    Ok(OutFd(Arc::new(slipway_fabric::descriptor::Reserved::new(file)?)))
}

/// The most bytes that a message takes after its record's head, in the ring or in a file, and whether it may need descriptors.
fn footprint(message: &Message) -> (usize, usize) {
    let (mut items, mut fds) = (0, 0);
    for item in &message.items {
        let (bytes, many) = weight(item);
        (items, fds) = (items + bytes, fds + many);
        if item.rights().iter().any(|right| matches!(right, Right::Receive(_))) {
            items += INLINE;
        }
    }
    if matches!(message.reply, Right::Send(_) | Right::FarOnce(_)) {
        fds += 1;
    }
    let len = message.body.len() + items;
    if len > INLINE { (len, fds + 1) } else { (len, fds) }
}

/// The bytes that an item takes beside the body, without what belongs to receive rights, and whether it may need descriptors.
pub(crate) fn weight(item: &Item) -> (usize, usize) {
    let (bytes, fds) = match item {
        Item::Ports { .. } | Item::PortArray { .. } => (item.rights().len() * size_of::<WireRight>(), 1),
        Item::Memory { memory: Memory::Bytes(bytes), .. } => (bytes.len().next_multiple_of(8), 0),
        Item::Memory { memory: Memory::Pages(..), .. } => (0, 1),
        Item::Memory { memory: Memory::Lost(_), .. } => (0, 0),
    };
    (size_of::<ItemHead>() + bytes, fds)
}

/// The room that a message needs in a line's ring, in bytes, and whether it may need descriptors.
pub(crate) fn room_for(message: &Message) -> (usize, usize) {
    let (len, fds) = footprint(message);
    // What is larger goes in a file.
    (RECORD + len.min(INLINE), fds)
}
