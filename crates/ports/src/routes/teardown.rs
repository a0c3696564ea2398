//! Routes that end: a port's owner closed it, or the other end of a line is gone. What was on its way is taken back.

use super::{Deferred, Route, Routes, attach::is_shortage, import::View, pass_on::taken_back, table::Trust, watch::PAUSE};
use crate::{
    line::{GONE, OutFd, Token},
    objects,
    state::{Effect, Home, LineId, PortId, RemoteSendOnce, Right, message::Message},
    wire::{self, Record, parse},
};
use slipway_fabric::spin::now;
use slipway_fabric::{
    credit::{Closed, TxCount},
    descriptor::Reserved,
};
use std::sync::Arc;

impl Routes {
    /// Looks whether the owner of a slot has closed it, and does what that asks for. True if it has.
    #[inline]
    pub(crate) fn look_at_gate(&mut self, number: LineId, slot: u32) -> bool {
        let closed = self.lines.get(number).and_then(|line| line.credit.closed(slot));
        if let Some(why) = closed {
            self.gate_closed(number, slot, why);
        }
        closed.is_some()
    }

    /// The owner of a slot has closed it: what it did not accept is taken back, and sent again or destroyed.
    pub(crate) fn gate_closed(&mut self, number: LineId, slot: u32, why: Closed) {
        let dead = why != Closed::Moved;
        let Some((port, count)) = self.close_out(number, slot, dead) else { return };
        let Some(line) = self.lines.get(number) else { return };
        let open = line.credit.unaccepted(slot, &count) as usize;
        let awaited = self.lines.get_mut(number).map(|line| line.take_awaited(slot));
        awaited.into_iter().flatten().for_each(|it| self.state.accepted(it.request));
        let back = self.take_back(number, slot, port, open, true);
        if let Some(line) = self.lines.get_mut(number) {
            line.credit.see(slot);
            // The owner waits for this if it found there what it did not accept.
            if !dead || open > 0 {
                line.ring_bell();
            }
        }
        self.stirred.push(number);
        let route =
            self.remote(port).and_then(|remote| remote.routes.iter().find(|route| route.line_and_slot() == (number, slot)));
        let rights = route.map_or(0, |route| route.line_rights);
        if why == Closed::Kept {
            self.keep_known_ends(port, number, slot);
        }
        self.reroute(port, number, slot, back, dead);
        if dead && let Some(line) = self.lines.get_mut(number) {
            line.leave_slot(slot, rights);
        }
        self.release_unused(port);
    }

    /// Marks a slot of the other end as closed: its port, and how many messages were sent there. None if it was closed
    /// before: what was sent is taken back once.
    fn close_out(&mut self, number: LineId, slot: u32, dead: bool) -> Option<(PortId, TxCount)> {
        let out = self.lines.get_mut(number)?.out_slot(slot).filter(|out| !out.closed)?;
        out.closed = true;
        let (port, count) = (std::mem::replace(&mut out.port, GONE), out.count);
        let identity = if dead { 0 } else { self.identity_of(port) };
        if let Some(out) = self.lines.get_mut(number).and_then(|line| line.out_slot(slot)) {
            out.identity = identity;
        }
        Some((port, count))
    }

    /// The identity of a port that others know; 0 for none.
    fn identity_of(&self, port: PortId) -> u64 {
        let remote = self.remote(port).map(|remote| remote.identity);
        remote.or_else(|| self.exported(port).map(|exported| exported.identity)).unwrap_or(0)
    }

    /// Finds another route for what was sent over a line that leads to the port no more.
    fn reroute(&mut self, port: PortId, number: LineId, slot: u32, back: Vec<Box<Message>>, dead: bool) {
        let Some(remote) = self.remote_mut(port) else {
            // The port is here by now: it moved to this process. These were within the limit where it was.
            return self.put_back(port, back);
        };
        let trust = remote.forget_route(number, slot).unwrap_or(Trust::Proven);
        self.let_go();
        let Some(remote) = self.remote_mut(port) else { return };
        remote.stranded.extend(back);
        if dead && self.doubt_death(port, trust) {
            self.state.remote_port_died(port);
            self.bury_remote(port);
        } else if self.remote(port).is_some_and(|remote| !remote.stranded.is_empty()) {
            // Now, not with the next message: perhaps there is none.
            self.resend(port);
        }
    }

    /// Puts messages that never left this process into the queue of a port that has come here.
    pub(crate) fn put_back(&mut self, port: PortId, messages: Vec<Box<Message>>) {
        match self.state.ports.get(port.0 as usize).map(|it| &it.home) {
            Some(Home::Here(_)) => messages.into_iter().for_each(|message| self.state.enqueue(port, message)),
            // It has left again.
            Some(Home::Remote) if self.remote(port).is_some() => {
                if let Some(remote) = self.remote_mut(port) {
                    remote.stranded.extend(messages);
                }
                self.resend_stranded(port);
            }
            _ => messages.into_iter().for_each(|message| self.state.destroy_message(message)),
        }
    }

    /// What is left of a remote port that died: nothing waits for a route to it any more.
    pub(crate) fn bury_remote(&mut self, port: PortId) {
        if let Some(remote) = self.remote_mut(port) {
            remote.t = None;
            for message in std::mem::take(&mut remote.stranded) {
                self.state.destroy_message(message);
            }
        }
    }

    /// What waits for a route to a remote port is sent, if it still waits.
    pub(crate) fn resend_stranded(&mut self, port: PortId) {
        if self.remote(port).is_some_and(|remote| !remote.stranded.is_empty()) {
            self.resend(port);
        }
    }

    fn resend(&mut self, port: PortId) {
        // Routes that others claim lead there are no help: what comes back was on one that is known.
        let route = self.remote(port).and_then(|remote| remote.open_route()).map(Route::line_and_slot);
        match route.map_or_else(|| self.attach(port), Ok) {
            Ok(_) => self.send_stranded(port),
            Err(error) if is_shortage(error) => self.retry_later(Deferred::Resend(port)),
            Err(_) => {
                self.state.remote_port_died(port);
                self.bury_remote(port);
            }
        }
    }

    /// Takes a line down whose other end is gone, or broke the rules, and of which everything was taken that came before that.
    pub(crate) fn take_down(&mut self, number: LineId) {
        // What it brought outlives it.
        self.take_unread(number, None);
        let Some(line) = self.lines.get(number) else { return };
        let slots = line.outs.len() as u32;
        // It has yet to hear of this, and then takes what lies in the ring.
        let peer_lives = !line.refused && !objects::hung_up(&line.bell);
        let mut lost = Vec::new();
        for slot in 0..slots {
            let Some((port, count)) = self.close_out(number, slot, false) else { continue };
            let Some(line) = self.lines.get_mut(number) else { return };
            // Without a closed gate, what left the ring was accepted, and the rest is taken back.
            let (open, written) = match line.credit.closed(slot) {
                Some(_) => (line.credit.unaccepted(slot, &count) as usize, true),
                None => (usize::MAX, !peer_lives),
            };
            let back = self.take_back(number, slot, port, open, written);
            if peer_lives
                && open != usize::MAX
                && let Some(line) = self.lines.get(number)
            {
                // Else its owner would send it on.
                line.credit.see(slot);
            }
            lost.push((port, slot, back));
        }
        let Some(line) = self.lines.remove(number) else { return };
        // The other end hears of it now, whenever the sockets are closed.
        let _ = rustix::net::shutdown(&line.bell, rustix::net::Shutdown::Both);
        // Bells are no reason to have a thread of its own close it.
        slipway_fabric::packet::drop_unread(&line.bell);
        line.awaited.iter().for_each(|it| self.state.accepted(it.request));
        for (port, slot, back) in lost {
            if line.refused
                && let Some(remote) = self.remote_mut(port)
            {
                remote.refused_until = now() + PAUSE;
            }
            let gone = self.remote(port).is_none_or(|remote| remote.s.as_ref().is_none_or(|s| objects::hung_up(&**s)));
            self.reroute(port, number, slot, back, gone);
            self.release_unused(port);
        }
        let held: Vec<RemoteSendOnce> = line.held.into_values().collect();
        self.onces_died(&held);
        for (_, token) in line.tokens {
            if let Token::Port(port) = token {
                self.state.destroy_right(Right::SendOnce(port));
            }
        }
        for slot in line.ins.into_iter().flatten() {
            if let Some(exported) = self.exported_mut(slot.port) {
                exported.slots.retain(|(line, _)| *line != number);
                self.count_abroad(slot.port);
                // Its other end may have given the sending end away, and not come to say so.
                self.share(slot.port);
            }
        }
        self.drop_left(line.left);
    }

    /// Gives a remote port up that was kept only for a line that is gone.
    fn release_unused(&mut self, port: PortId) {
        let Some(it) = self.state.ports.get(port.0 as usize) else { return };
        if it.srights == 0 && it.sorights == 0 && it.names.is_empty() && !matches!(it.home, Home::Here(_)) {
            self.state.effect(Effect::Forgotten(port));
        }
    }

    /// Reads back the last `open` messages to a slot, which its owner did not accept: those that wait for room, and those that were `written`.
    fn take_back(&mut self, number: LineId, slot: u32, port: PortId, open: usize, written: bool) -> Vec<Box<Message>> {
        let Some(line) = self.lines.get_mut(number) else { return Vec::new() };
        let unread = if written { line.segment.tx.unread(&mut line.tx).unwrap_or(0) } else { 0 };
        let mut records = line.read_back(slot, line.tx.tail - unread);
        records.drain(..records.len().saturating_sub(open));
        records.into_iter().filter_map(|(bytes, fds)| self.reclaim(number, port, &bytes, fds)).collect()
    }

    /// Makes a message of what this process itself had written into a ring, to be sent again.
    fn reclaim(&mut self, number: LineId, port: PortId, bytes: &[u8], fds: Vec<OutFd>) -> Option<Box<Message>> {
        let mut rest = bytes;
        let record: Record = wire::take(&mut rest)?;
        let body = wire::take_bytes(&mut rest, record.body as usize)?.to_vec();
        let items = wire::take_bytes(&mut rest, record.items as usize)?.to_vec();
        let fds = fds.iter().map(|fd| taken_back(fd).ok()).collect();
        let parsed = parse::message(&record, body, items, fds, None).ok()?;
        let mut message = self.import(View::Writer(number), parsed).ok()??;
        self.state.port_mut(port).srights += 1;
        message.dest = Right::Send(port);
        Some(message)
    }

    /// The port behind the other end's slot moved; the pipe counts this process as a holder of it.
    pub(crate) fn port_moved(&mut self, number: LineId, slot: u32, pipe: Option<Reserved>) {
        let Some(port) = self.port_of_out(number, slot) else { return };
        if let Some(remote) = self.remote_mut(port) {
            for route in remote.routes.iter_mut().filter(|route| route.line == number && route.slot == slot) {
                route.line_rights = 0;
            }
        }
        // First, as what is taken back counts as holding the port too.
        self.look_at_gate(number, slot);
        let held = self.state.ports.get(port.0 as usize).is_some_and(|it| it.srights > 0);
        if let Some(remote) = self.remote_mut(port).filter(|remote| held && remote.t.is_none()) {
            remote.t = pipe.map(Arc::new);
        }
        self.release_unused(port);
    }

    /// Forgets a line as a route to a port.
    pub(crate) fn lose_route(&mut self, port: PortId, number: LineId) {
        if let Some(remote) = self.remote_mut(port) {
            remote.routes.retain(|route| route.line != number);
            remote.giver = remote.giver.filter(|giver| *giver != number);
        }
    }
}
