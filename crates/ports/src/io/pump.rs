//! Records on their way in: from a line's ring to a receiver, a queue, or the line's own tables.

use super::{
    Inner,
    line::{GATE_MOVED, Line},
    moves::GONE,
    objects,
    rights::{Incoming, corrupt},
    wire::{self, ItemHead, Record, WireRight, flag, form, item, kind},
};
use crate::{
    abi,
    msg::{direct::Direct, typed},
    state::{
        Home, PortId, Right,
        message::{Item, Memory, Message, Origin},
    },
};
use rustix::io::Errno;
use slipway_fabric::{Corrupt, descriptor::Reserved, sync::Ordering};
use smallvec::SmallVec;
use std::os::fd::AsFd;
use zerocopy::FromBytes;

/// What pumping a line came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pumped {
    /// The receiver has its message.
    Delivered,
    /// There is nothing more in the ring that can be taken now.
    Dry,
}

impl Inner {
    /// Takes records out of a line until the receiver has its message or nothing is left. Messages for others go
    /// to their ports' queues.
    #[inline]
    pub(crate) fn pump(&mut self, number: u32, mut direct: Option<&mut Direct<'_>>) -> Pumped {
        loop {
            let front = match self.io.lines.get_mut(number as usize) {
                Some(line) => line.front(),
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
                if gone {
                    self.count_abroad_if_here(port);
                    self.io.stirred.push(number);
                }
            }
            kind::TOKEN_DROPPED => {
                // One that was rerouted or taken back since is not there any more.
                if let Some(port) = line.tokens.try_remove(target as usize) {
                    self.state.destroy_right(Right::SendOnce(port));
                }
                self.io.stirred.push(number);
            }
            kind::TOKEN_MOVED => {
                let socket = fds.next().ok_or_else(corrupt)?;
                if let Some(port) = line.tokens.try_remove(target as usize)
                    && self.adopt_once_end(socket, port).is_err()
                {
                    self.state.destroy_right(Right::SendOnce(port));
                }
                self.io.stirred.push(number);
            }
            kind::WATCH => {
                let slot = line.ins.get(target as usize).and_then(Option::as_ref).ok_or_else(corrupt)?;
                let (port, may) = (slot.port, slot.primary || slot.given > 0);
                let pipe = fds.next().ok_or_else(corrupt)?;
                if !may {
                    return Err(corrupt());
                }
                self.add_watch(port, pipe);
            }
            kind::MOVED => {
                let pipe = fds.next().ok_or_else(corrupt)?;
                self.port_moved(number, target, pipe);
            }
            kind::TOKEN_REROUTED => {
                let socket = fds.next().ok_or_else(corrupt)?;
                if let Some(once) = line.held.remove(&target)
                    && let Some(once) = self.io.onces.get_mut(once.0 as usize)
                {
                    *once = super::Once::Socket(socket);
                }
            }
            kind::LOOK => {
                self.look_at_gate(number, target);
            }
            kind::DETACH => {
                if let Some(slot) = line.ins.get_mut(target as usize).and_then(Option::as_mut) {
                    slot.primary = false;
                }
            }
            kind::BYE => {
                if line.is_idle() && !line.outs.iter().flatten().any(|out| !out.closed) {
                    self.end_line(number);
                }
            }
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
    fn count_abroad_if_here(&mut self, port: PortId) {
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
        let mut message = self.take_out(number, record)?;
        let line = self.line(number)?;
        if let Some(slot) = line.in_slot(record.target) {
            slot.accepted = slot.accepted.wrapping_add(1);
            let accepted = slot.accepted;
            line.ours.accepted[record.target as usize].store(accepted, Ordering::Release);
        }
        line.consume(record);
        message.dest = Right::Send(port);
        message.origin = Some(Origin { line: number, slot: record.target });
        self.state.port_mut(port).srights += 1;
        self.state.enqueue(port, message);
        Ok(true)
    }

    fn take_once(&mut self, number: u32, record: &Record) -> Result<bool, Corrupt> {
        let line = self.line(number)?;
        if !line.tokens.contains(record.target as usize) {
            return Err(Corrupt { what: "token" });
        }
        let mut message = self.take_out(number, record)?;
        let line = self.line(number)?;
        let port = line.tokens.remove(record.target as usize);
        line.consume(record);
        self.io.stirred.push(number);
        message.dest = Right::SendOnce(port);
        match self.state.port(port).home {
            Home::Here(_) => self.state.enqueue(port, message),
            _ => self.state.destroy_message(message),
        }
        Ok(true)
    }

    /// Copies a message out of the ring, with its rights; the record stays.
    fn take_out(&mut self, number: u32, record: &Record) -> Result<Box<Message>, Corrupt> {
        let line = self.line(number)?;
        let fds = line.take_fds(record.fds as usize).ok_or(Corrupt { what: "descriptors" })?;
        let mut body = vec![0; record.body as usize];
        line.copy_out(0, &mut body);
        let mut items = vec![0; record.items as usize];
        line.copy_out(body.len(), &mut items);
        self.decode_message(Some(number), record, body, items, fds)
    }

    /// Puts a message together again. Its `dest` is left to the caller.
    pub(crate) fn decode_message(
        &mut self,
        line: Option<u32>,
        record: &Record,
        mut body: Vec<u8>,
        mut items: Vec<u8>,
        fds: Vec<Reserved>,
    ) -> Result<Box<Message>, Corrupt> {
        let mut from = Incoming { line, fds: fds.into_iter() };
        if record.flags & flag::SPILLED != 0 {
            (body, items) = from.fds.next().and_then(unspill).ok_or(Corrupt { what: "memory file" })?;
        }
        let mut rest = items.as_slice();
        let reply = self.decode_right(record.reply, &mut from, &mut &[][..])?;
        if matches!(reply, Right::Receive(_)) {
            self.state.destroy_right(reply);
            return Err(corrupt());
        }
        let mut message = Box::new(Message {
            id: record.id,
            complex: record.flags & flag::COMPLEX != 0,
            dest: Right::Null,
            reply,
            body,
            items: SmallVec::new(),
            origin: None,
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
        Ok(message)
    }

    fn decode_item(&mut self, from: &mut Incoming, rest: &mut &[u8], body: usize) -> Result<Item, Corrupt> {
        let wrong = || Corrupt { what: "item" };
        let head: ItemHead = wire::take(rest).ok_or_else(wrong)?;
        let count = usize::try_from(head.count).map_err(|_| wrong())?;
        let at = head.at as usize;
        let places = if head.kind == item::PORTS { count.checked_mul(abi::SLOT).ok_or_else(wrong)? } else { abi::SLOT };
        if at % abi::SLOT != 0 || at.checked_add(places).is_none_or(|end| end > body) {
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
                let file = from.fds.next().filter(|file| objects::is_sealed(file, head.count)).ok_or_else(wrong)?;
                Ok(Item::Memory { at: head.at, memory: Memory::Pages(file.into_owned(), head.count) })
            }
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

    /// Drops a message that its sender has taken back. The rights that were given with it are given back.
    fn discard(&mut self, number: u32, record: &Record) -> Result<bool, Corrupt> {
        let line = self.line(number)?;
        let fds = line.take_fds(record.fds as usize).ok_or(Corrupt { what: "descriptors" })?;
        let mut items = vec![0; record.items as usize];
        line.copy_out(record.body as usize, &mut items);
        line.consume(record);
        let mut from = Incoming { line: Some(number), fds: fds.into_iter() };
        if record.flags & flag::SPILLED != 0 {
            (_, items) = from.fds.next().and_then(unspill).ok_or(Corrupt { what: "memory file" })?;
        }
        self.discard_right(record.reply, &mut from)?;
        let mut rest = items.as_slice();
        while !rest.is_empty() {
            let wrong = || Corrupt { what: "item" };
            let head: ItemHead = wire::take(&mut rest).ok_or_else(wrong)?;
            let count = usize::try_from(head.count).map_err(|_| wrong())?;
            match head.kind {
                item::PORTS | item::PORT_ARRAY => {
                    let codes = count.checked_mul(8).and_then(|n| wire::take_bytes(&mut rest, n)).ok_or_else(wrong)?;
                    for code in codes.chunks_exact(8) {
                        let code = WireRight::read_from_bytes(code).map_err(|_| wrong())?;
                        if code.form == form::RECEIVE {
                            // Its luggage follows and nothing after it is counted: the rest needs no look.
                            return Ok(true);
                        }
                        self.discard_right(code, &mut from)?;
                    }
                }
                item::BYTES => drop(wire::take_bytes(&mut rest, count).ok_or_else(wrong)?),
                _ => drop(from.fds.next()),
            }
        }
        Ok(true)
    }

    fn discard_right(&mut self, code: WireRight, from: &mut Incoming) -> Result<(), Corrupt> {
        match code.form {
            form::GIFT | form::FIRST_GIFT => {
                let right = self.decode_right(code, from, &mut &[][..])?;
                self.state.destroy_right(right);
            }
            form::SEND => drop((from.fds.next(), from.fds.next())),
            form::ONCE => drop(from.fds.next()),
            _ => {}
        }
        Ok(())
    }

    /// Counts a message from a line as received, for its sender's limit.
    pub(crate) fn give_credit(&mut self, origin: Origin) {
        let Some(line) = self.io.lines.get_mut(origin.line as usize) else { return };
        if let Some(slot) = line.ins.get_mut(origin.slot as usize).and_then(Option::as_mut) {
            slot.taken = slot.taken.wrapping_add(1);
            let taken = slot.taken;
            line.ours.taken[origin.slot as usize].store(taken, Ordering::Release);
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
            match objects::receive(end.socket.as_fd(), &mut bytes, &mut end.fds) {
                Ok(1) => {}
                Ok(n) if n >= wire::RECORD => {
                    bytes.truncate(n);
                    let end = self.io.once_ends.remove(id as usize);
                    return self.take_from_socket(port, &bytes, end.fds.into());
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

    fn take_from_socket(&mut self, port: PortId, bytes: &[u8], fds: Vec<Reserved>) {
        let mut rest = bytes;
        let decoded = wire::take::<Record>(&mut rest).and_then(|record| {
            let body = wire::take_bytes(&mut rest, record.body as usize)?.to_vec();
            let items = wire::take_bytes(&mut rest, record.items as usize)?.to_vec();
            self.decode_message(None, &record, body, items, fds).ok()
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

    /// The owner of a slot has closed it: what it did not accept is taken back, and sent again or destroyed.
    pub(crate) fn gate_closed(&mut self, number: u32, slot: u32, dead: bool) {
        let Some(line) = self.io.lines.get_mut(number as usize) else { return };
        let accepted = line.theirs.accepted[slot as usize % super::line::SLOTS].load(Ordering::Acquire);
        let Some(out) = line.out_slot(slot).filter(|out| !out.closed) else { return };
        out.closed = true;
        let (port, open) = (std::mem::replace(&mut out.port, GONE), out.sent.wrapping_sub(accepted) as usize);
        let identity = if dead { 0 } else { self.identity_of(port) };
        if let Some(out) = self.io.lines.get_mut(number as usize).and_then(|line| line.out_slot(slot)) {
            out.identity = identity;
        }
        let back = self.take_back(number, slot, port, open);
        if let Some(line) = self.io.lines.get_mut(number as usize) {
            line.ours.seen[slot as usize].store(1, Ordering::Release);
            line.ring_bell();
        }
        self.io.stirred.push(number);
        self.reroute(port, number, slot, back, dead);
    }

    /// The identity of a port that others know; 0 for none.
    fn identity_of(&self, port: PortId) -> u64 {
        let far = self.io.far(port).map(|far| far.identity);
        far.or_else(|| self.io.exported(port).map(|exported| exported.identity)).unwrap_or(0)
    }

    /// Finds another way for what was sent over a line that leads to the port no more.
    fn reroute(&mut self, port: PortId, number: u32, slot: u32, back: Vec<Box<Message>>, dead: bool) {
        if let Some(far) = self.io.far_mut(port) {
            far.routes.retain(|route| !(route.line == number && route.slot == slot));
            far.stranded.extend(back);
        } else {
            // The port is here by now: it moved to this process. These were within the limit where it was.
            return self.put_back(port, back);
        }
        if dead {
            self.state.far_port_died(port);
            self.bury_far(port);
        } else if self.io.far(port).is_some_and(|far| !far.stranded.is_empty()) {
            // Now, not with the next message: perhaps there is none.
            self.resend(port);
        }
    }

    /// Puts messages that never left this process into the queue of a port that has come here.
    pub(crate) fn put_back(&mut self, port: PortId, messages: Vec<Box<Message>>) {
        let here = self.state.ports.get(port.0 as usize).is_some_and(|it| matches!(it.home, Home::Here(_)));
        for message in messages {
            if here {
                self.state.enqueue(port, message);
            } else {
                self.state.destroy_message(message);
            }
        }
    }

    /// What is left of a far port that died: nothing waits for a way to it any more.
    pub(crate) fn bury_far(&mut self, port: PortId) {
        if let Some(far) = self.io.far_mut(port) {
            far.t = None;
            for message in std::mem::take(&mut far.stranded) {
                self.state.destroy_message(message);
            }
        }
    }

    fn resend(&mut self, port: PortId) {
        match self.route(port) {
            Ok(_) => self.send_stranded(port),
            Err(Errno::WOULDBLOCK) => {}
            Err(_) => {
                self.state.far_port_died(port);
                self.bury_far(port);
            }
        }
    }

    /// The other end of a line is gone, or broke the rules: what it sent before is taken, and the line closed.
    pub(crate) fn end_line(&mut self, number: u32) {
        let Some(line) = self.io.lines.get_mut(number as usize) else { return };
        if !std::mem::replace(&mut line.ended, true) {
            // What lies in the ring was sent while the sender lived.
            self.pump(number, None);
        }
        self.forget_hot(number);
        let Some(line) = self.io.lines.get_mut(number as usize) else { return };
        let outs: Vec<(u32, u32)> =
            line.outs.iter().enumerate().filter_map(|(i, out)| out.filter(|o| !o.closed).map(|o| (i as u32, o.sent))).collect();
        let mut lost = Vec::new();
        for (slot, sent) in outs {
            let Some(line) = self.io.lines.get_mut(number as usize) else { return };
            let gate = line.theirs.gate[slot as usize].load(Ordering::Acquire);
            // Without a closed gate, what left the ring was accepted, and the rest is taken back.
            let open = if gate >= GATE_MOVED {
                sent.wrapping_sub(line.theirs.accepted[slot as usize].load(Ordering::Acquire)) as usize
            } else {
                usize::MAX
            };
            let Some(port) = line.out_slot(slot).map(|out| out.port) else { continue };
            let back = self.take_back(number, slot, port, open);
            lost.push((port, slot, back));
        }
        let line = self.io.lines.remove(number as usize);
        self.wake_writers_of(number, &line);
        for (port, slot, back) in lost {
            let gone = self.io.far(port).is_none_or(|far| far.s.as_ref().is_none_or(|s| objects::hung_up(&**s)));
            self.reroute(port, number, slot, back, gone);
            self.release_if_unused(port);
        }
        for (_, once) in line.held {
            let mut found = self.state.far_once_died(once);
            if !found {
                // It waits in a message: who receives it gets a dead name.
                self.state.each_waiting(None, &mut |right| {
                    if *right == Right::FarOnce(once) {
                        *right = Right::Dead;
                        found = true;
                    }
                });
            }
            if found {
                self.io.onces.try_remove(once.0 as usize);
            } else if let Some(once) = self.io.onces.get_mut(once.0 as usize) {
                // A thread is about to send it.
                *once = super::Once::Dead;
            }
        }
        for (_, port) in line.tokens {
            self.state.destroy_right(Right::SendOnce(port));
        }
        for slot in line.ins.into_iter().flatten() {
            if let Some(exported) = self.io.exported_mut(slot.port) {
                exported.slots.retain(|(line, _)| *line != number);
                self.count_abroad_if_here(slot.port);
            }
        }
    }

    /// Gives a far port up that was kept only for a line that is gone.
    fn release_if_unused(&mut self, port: PortId) {
        let Some(it) = self.state.ports.get(port.0 as usize) else { return };
        if it.srights == 0 && it.sorights == 0 && it.names.is_empty() && !matches!(it.home, Home::Here(_)) {
            self.state.effects.push_back(crate::state::Effect::Forgotten(port));
        }
    }

    /// Reads back the last `open` messages to a slot, which its owner did not accept.
    fn take_back(&mut self, number: u32, slot: u32, port: PortId, open: usize) -> Vec<Box<Message>> {
        let Some(line) = self.io.lines.get_mut(number as usize) else { return Vec::new() };
        let consumed = line.segment.tx.unread(&mut line.tx).map_or(line.tx.tail, |unread| line.tx.tail - unread);
        let mut records = line.read_back(slot, consumed);
        records.drain(..records.len().saturating_sub(open));
        records.into_iter().filter_map(|(bytes, fds)| self.reclaim(number, port, &bytes, fds)).collect()
    }
}

/// Reads back what was put in a memory file by the sender: body and items.
pub(crate) fn unspill(file: Reserved) -> Option<(Vec<u8>, Vec<u8>)> {
    if !objects::is_sealed(&file, 16) {
        return None;
    }
    let size = rustix::fs::fstat(&file).ok()?.st_size as u64;
    let mut lengths = [0; 16];
    read_all(&file, 0, &mut lengths)?;
    let [body, items] = <[u64; 2]>::read_from_bytes(&lengths).ok()?;
    if body > abi::MESSAGE_MAX as u64 || body.checked_add(items)?.checked_add(16)? > size || body % 8 != 0 {
        return None;
    }
    let (mut first, mut second) = (vec![0; body as usize], vec![0; items as usize]);
    read_all(&file, 16, &mut first)?;
    read_all(&file, 16 + body, &mut second)?;
    Some((first, second))
}

fn read_all(file: &Reserved, mut at: u64, mut to: &mut [u8]) -> Option<()> {
    while !to.is_empty() {
        let n = rustix::io::pread(file, &mut *to, at).ok().filter(|n| *n > 0)?;
        to = &mut to[n..];
        at += n as u64;
    }
    Some(())
}
