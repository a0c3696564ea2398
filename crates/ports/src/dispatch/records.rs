//! Records on their way in: from a line's ring to a receiver, a queue, or the line's own tables.

use super::Inner;
use crate::{
    abi,
    line::{Line, QUANTUM, RING, Token},
    objects::{self, Arrived},
    routes::{Deferred, Routes, Upcall, corrupt, import::View},
    state::{LineId, Right, message::Origin},
    wire::{
        Record, flag, kind,
        parse::{self, Parsed},
    },
};
use slipway_fabric::{Corrupt, credit::Closed, descriptor::Reserved};

/// The error for descriptors that are not there: they never come if the other end is gone.
const MISSING: Corrupt = Corrupt { what: "descriptors" };

/// What dispatching a line came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dispatched {
    /// The receiver has its message.
    Delivered,
    /// There is nothing more in the ring that can be taken now.
    Dry,
    /// As much was taken as the ring holds, and there is more.
    More,
}

impl Inner {
    /// Takes records out of a line until nothing is left. Messages go to their ports' queues. Everything that was there at
    /// the call is taken, and not much more.
    pub(crate) fn dispatch(&mut self, number: LineId) -> Dispatched {
        self.dispatch_until(number, |_, _| false)
    }

    /// As [`Inner::dispatch`], until a receiver has `taken` a record off the line itself.
    #[inline]
    pub(crate) fn dispatch_until(&mut self, number: LineId, mut taken: impl FnMut(&mut Self, &Record) -> bool) -> Dispatched {
        let Some(line) = self.lines.get_mut(number) else { return Dispatched::Dry };
        let end = line.rx.head + RING as u64;
        line.spent = 0;
        // As long as something is kept, no message is taken the short way.
        line.release_kept();
        loop {
            let front = match self.lines.get_mut(number) {
                // A line that ends gets no other one.
                Some(line) if line.rx.head < end && (line.spent < QUANTUM || line.ended) => line.front(),
                Some(_) => return Dispatched::More,
                None => return Dispatched::Dry,
            };
            let done = match front {
                Ok(None) => return Dispatched::Dry,
                Ok(Some(record)) if taken(self, &record) => return Dispatched::Delivered,
                Ok(Some(record)) => self.take_record(number, &record),
                Err(corrupt) => self.open_area(number, corrupt),
            };
            self.make_upcalls();
            match done {
                Ok(true) => {}
                Ok(false) => return Dispatched::Dry,
                Err(_) => {
                    self.end_line(number);
                    return Dispatched::Dry;
                }
            }
        }
    }

    /// There is no record, but `corrupt` at the front. At a ring whose area has yet to come that is the first record. False if there is no descriptor
    /// for the area's file now.
    #[cold]
    fn open_area(&mut self, number: LineId, corrupt: Corrupt) -> Result<bool, Corrupt> {
        let line = self.line(number)?;
        if !line.segment.awaits_area() {
            return Err(corrupt);
        }
        // Closed at once: it is no peer's, and its place is needed now.
        drop(line.spare.take().filter(Reserved::is_open).map(Reserved::into_owned));
        if !line.ended && !objects::can_open(&line.bell, 1) {
            line.blocked = true;
            self.retry_later(Deferred::Stir(number));
            return Ok(false);
        }
        line.take_area().map(|()| true)
    }

    fn line(&mut self, number: LineId) -> Result<&mut Line, Corrupt> {
        self.lines.get_mut(number).ok_or(Corrupt { what: "line" })
    }

    /// Takes the front record. False if it has to stay for now.
    fn take_record(&mut self, number: LineId, record: &Record) -> Result<bool, Corrupt> {
        let line = self.line(number)?;
        if line.lost_promises
            && matches!(record.kind, kind::MESSAGE | kind::WATCH | kind::ATTACH | kind::RELEASE)
            && line.may_be_promised(record.target)
        {
            line.keep_promise(record.target, None, 0, true);
        }
        match record.kind {
            kind::MESSAGE => return self.take_message(number, record),
            kind::ONCE => return self.take_once(number, record),
            kind::RELEASE if record.fds == 0 => return self.take_release(number, record),
            _ => {}
        }
        if record.kind == kind::MOVED && self.is_leaving() && !self.line(number)?.ended {
            // The pipe counts this process until it has looked at the gate.
            self.retry_later(Deferred::Stir(number));
            return Ok(false);
        }
        let fds = self.take_fds(number, record)?;
        if matches!(record.kind, kind::WATCH | kind::ATTACH) {
            self.share_slot(number, record.target);
        }
        let line = self.line(number)?;
        line.consume(record);
        let mut fds = fds.into_iter();
        let target = record.target;
        match record.kind {
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
                let (port, has_moved) = (slot.port, slot.closed && !slot.dead);
                match pipe {
                    Some(pipe) if has_moved => self.pass_watch_on(number, target, pipe),
                    Some(pipe) => self.add_watch(port, pipe),
                    // The third party is counted as long as this line lasts.
                    None => {
                        slot.given = slot.given.saturating_add(1);
                        self.count_abroad(port);
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
                self.held_changed(number, target, socket.filter(objects::is_pair));
            }
            kind::TOKEN_DEAD => self.held_changed(number, target, None),
            kind::TOKEN_SEEN => self.token_seen(number, target)?,
            kind::LOOK => self.look_at_gate_in_time(number, target),
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
            kind::FORGET => line.remembered.forget(target)?,
            kind::REMEMBERS => line.remembered.answered(target, record.flags & flag::LOST == 0)?,
            _ => return Err(Corrupt { what: "record kind" }),
        }
        Ok(true)
    }

    /// Takes rights back that were counted on the line. The most frequent record after messages.
    fn take_release(&mut self, number: LineId, record: &Record) -> Result<bool, Corrupt> {
        let line = self.line(number)?;
        line.consume(record);
        let slot = line.ins.get_mut(record.target as usize).and_then(Option::as_mut).ok_or_else(corrupt)?;
        let last = record.flags & flag::LAST != 0;
        slot.given = slot.given.checked_sub(record.count).filter(|_| record.count > 0 || last).ok_or_else(corrupt)?;
        let (port, gone) = (slot.port, slot.given == 0 && record.count > 0);
        if last && !line.end_slot(record.target, record.flags & flag::KEPT != 0) {
            return Err(corrupt());
        }
        if record.flags & flag::LOST != 0 && line.slot_of.get(&port) == Some(&record.target) {
            line.slot_of.remove(&port);
            self.share(port);
        }
        if gone {
            self.count_abroad(port);
            self.stir(number);
        }
        Ok(true)
    }

    fn take_message(&mut self, number: LineId, record: &Record) -> Result<bool, Corrupt> {
        let line = self.line(number)?;
        let slot = line.ins.get(record.target as usize).and_then(Option::as_ref).ok_or(Corrupt { what: "slot" })?;
        if slot.closed {
            if !line.credit.is_seen(record.target) {
                let left = line.left.iter().find(|(slot, _)| *slot == record.target).filter(|_| line.ended);
                if let Some((_, port)) = left.copied() {
                    let parsed = self.parse(number, record, true)?;
                    self.line(number)?.consume(record);
                    self.send_on(number, port, parsed)?;
                    return Ok(true);
                }
                if !line.ended || !objects::hung_up(&line.bell) {
                    // The sender takes it back, and rings; nothing behind it is looked at before. A port that nobody was thought to
                    // hold died without a bell: this sender has got a right by another way meanwhile, and is told now.
                    let dead = slot.dead;
                    if !std::mem::replace(&mut line.blocked, true) {
                        if dead {
                            line.segment.rx.wake_writer();
                            line.ring_bell();
                        }
                        self.share_all(number);
                    }
                    return Ok(false);
                }
            }
            let parsed = self.parse(number, record, false)?;
            self.line(number)?.consume(record);
            self.discard(number, parsed)?;
            return Ok(true);
        }
        // No peer sends to what it was not given.
        if (!slot.primary && slot.given == 0) || slot.count.waiting() > abi::QLIMIT_MAX {
            return Err(Corrupt { what: "slot" });
        }
        let port = slot.port;
        let parsed = self.parse(number, record, true)?;
        let message = self.import(View::Reader(number), parsed)?;
        let line = self.line(number)?;
        if let Some(Some(slot)) = line.ins.get_mut(record.target as usize)
            && !slot.closed
        {
            line.credit.accept(record.target, &mut slot.count);
        }
        line.consume(record);
        let origin = Origin::Line { line: number, slot: record.target };
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

    fn take_once(&mut self, number: LineId, record: &Record) -> Result<bool, Corrupt> {
        let unknown = || Corrupt { what: "token" };
        if matches!(self.line(number)?.tokens.get(record.target as usize), None | Some(Token::Spent)) {
            return Err(unknown());
        }
        let parsed = self.parse(number, record, true)?;
        let message = self.import(View::Reader(number), parsed)?;
        let line = self.line(number)?;
        // The message may have brought the token itself home.
        let Some(token) = line.take_token(record.target) else {
            message.into_iter().for_each(|message| self.state.destroy_message(message));
            return Err(unknown());
        };
        line.consume(record);
        self.stirred.push(number);
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

    /// Takes the front record's descriptors, and before them what was left in the socket.
    fn take_fds(&mut self, number: LineId, record: &Record) -> Result<Vec<Arrived>, Corrupt> {
        if record.fds > 0 {
            self.take_unread(number, None);
        }
        self.line(number)?.take_fds(record.fds as usize).ok_or(MISSING)
    }

    /// Copies a message out of the ring, and checks it; the record stays. What is `kept` of it is charged to the line's account.
    fn parse(&mut self, number: LineId, record: &Record, kept: bool) -> Result<Parsed, Corrupt> {
        let fds = self.take_fds(number, record)?;
        let line = self.line(number)?;
        let mut body = vec![0; record.body as usize];
        line.copy_out(0, &mut body);
        let mut items = vec![0; record.items as usize];
        line.copy_out(body.len(), &mut items);
        let parsed = parse::message(record, body, items, fds, Some(&line.account).filter(|_| kept))?;
        if let Parsed::Whole(message) = &parsed {
            if record.flags & flag::SPILLED != 0 {
                line.spent += message.len;
            }
            // It may have to be opened.
            line.spend_on(message.bundle.as_ref().map_or(0, |bundle| bundle.unread()));
        }
        Ok(parsed)
    }

    /// Does what the routes leave to this layer.
    #[inline]
    pub(crate) fn make_upcalls(&mut self) {
        if !self.upcalls.is_empty() {
            self.make_some_upcalls();
        }
    }

    #[inline(never)]
    fn make_some_upcalls(&mut self) {
        if std::mem::replace(&mut self.upcalling, true) {
            return;
        }
        while let Some(upcall) = self.upcalls.pop_front() {
            match upcall {
                Upcall::Stir(line) => self.line_stirs(line),
                Upcall::Heat(line) => {
                    self.heat(line);
                    self.hand_over();
                }
                Upcall::NotFull(line) => self.wake_line_senders(line),
                Upcall::End(line) => self.end_line(line),
                Upcall::Gate(line, slot) => drop(self.look_at_gate(line, slot)),
                Upcall::Close(line, slot) => self.gate_closed(line, slot, Closed::Moved),
                Upcall::PutBack(port, messages) => self.put_back(port, messages),
            }
        }
        self.upcalling = false;
    }

    /// The other end of a line is gone, or broke the rules: what it sent before is taken, and the line closed.
    pub(crate) fn end_line(&mut self, id: LineId) {
        let Some(line) = self.routes.lines.get_mut(id) else { return };
        line.ended = true;
        if !std::mem::replace(&mut line.drained, true) {
            // What lies in the ring was sent while the sender lived.
            self.dispatch(id);
        }
        self.waiting.forget_hot(id);
        if let Some(line) = self.lines.get(id) {
            // Threads of this process sleep on the line's own words.
            line.segment.rx.rouse_reader();
            self.waiting.wake_leader(&self.routes.lines);
            self.wake_line_senders(id);
        }
        self.take_down(id);
        self.mapped.forget_gone();
    }

    /// A record came over a line that rings its bell: it is hot from now on.
    pub(crate) fn heat(&mut self, id: LineId) {
        if self.waiting.stopped > 0 {
            return self.cool(id);
        }
        if let Some(cold) = self.waiting.heat(&self.routes.lines, id) {
            self.cool(cold);
        }
    }

    /// Has a line ring its bell for the next record, and takes what came before that.
    fn cool(&mut self, number: LineId) {
        for _ in 0..4 {
            let Some(line) = self.lines.get(number) else { return };
            line.segment.rx.arm_reader();
            if !line.segment.rx.readable(line.rx.head) {
                return;
            }
            line.segment.rx.disarm_reader();
            let before = line.rx.head;
            self.dispatch(number);
            if self.lines.get(number).is_some_and(|line| line.rx.head == before) {
                // What is left can't be taken yet; the change that makes it possible rings.
                return;
            }
        }
        // The peer keeps writing.
        self.defer(Deferred::Stir(number));
    }

    /// A line rang, or is new: everything on it that does not wait for a receiver is done.
    pub(crate) fn line_stirs(&mut self, number: LineId) {
        let Routes { lines, stirred, .. } = &mut self.routes;
        let Some(line) = lines.get_mut(number) else { return };
        line.blocked = false;
        line.release_kept();
        if line.lapsed {
            stirred.push(number);
        }
        let has_left = !line.left.is_empty();
        let closed: Vec<u32> = (0..line.outs.len() as u32)
            .filter(|slot| line.outs[*slot as usize].is_some_and(|out| !out.closed) && line.credit.closed(*slot).is_some())
            .collect();
        if line.hurry().is_err() {
            return self.end_line(number);
        }
        for slot in closed {
            self.look_at_gate_in_time(number, slot);
        }
        if has_left {
            self.drop_seen(number);
        }
        self.look_at_awaited(number);
        // The bell may be for a sender that waits for free space, whose flag the backlog took over.
        self.wake_line_senders(number);
        self.heat(number);
        if self.dispatch(number) == Dispatched::More {
            self.defer(Deferred::Stir(number));
        }
        match self.serves {
            true => self.cool_unled(),
            false => self.hand_over(),
        }
    }

    /// Has the lines ring that receivers looked at, if none does now.
    pub(crate) fn cool_unled(&mut self) {
        if !self.waiting.is_led() && !self.waiting.hot.is_empty() {
            self.cool_all();
        }
    }

    /// Has all lines ring their bells: no receiver looks at them from here on.
    pub(crate) fn cool_all(&mut self) {
        self.waiting.epoch += 1;
        while let Some(number) = self.waiting.hot.pop() {
            self.cool(number);
        }
    }

    /// Called when a receiver is done: if others depend on the lines that it looked at, these ring.
    #[cold]
    pub(crate) fn hand_over(&mut self) {
        if self.waiting.needs_bells() {
            self.cool_all();
        } else if self.unheard && !self.waiting.is_led() && !self.waiting.hot.is_empty() {
            // Not at once: to ring costs as much as several messages, and the receiver mostly comes again.
            self.unheard = false;
            self.retry_later(Deferred::Cool);
        }
    }
}
