//! Ways that end: a port's owner closed it, or the other end of a line is gone. What was on its way is taken back.

use super::{
    Inner,
    attach::is_shortage,
    later::{Later, PAUSE},
    line::GATE_MOVED,
    moves::GONE,
    objects,
    tokens::Token,
    trust::Trust,
    wait::now,
};
use crate::state::{FarOnce, Home, LineId, PortId, Right, message::Message};
use slipway_fabric::sync::Ordering;

impl Inner {
    /// The owner of a slot has closed it: what it did not accept is taken back, and sent again or destroyed.
    pub(crate) fn gate_closed(&mut self, number: LineId, slot: u32, dead: bool) {
        let Some(line) = self.io.lines.get_mut(number) else { return };
        let accepted = line.theirs.accepted[slot as usize % super::line::SLOTS].load(Ordering::Acquire);
        let Some((port, sent)) = self.close_out(number, slot, dead) else { return };
        self.forget_forced(number, slot);
        let back = self.take_back(number, slot, port, sent.wrapping_sub(accepted) as usize);
        if let Some(line) = self.io.lines.get_mut(number) {
            line.ours.seen[slot as usize].store(1, Ordering::Release);
            line.ring_bell();
        }
        self.io.stirred.push(number);
        self.reroute(port, number, slot, back, dead);
    }

    /// Marks a slot of the other end as closed: its port, and how many messages were sent there. None if it was closed
    /// before: what was sent is taken back once.
    fn close_out(&mut self, number: LineId, slot: u32, dead: bool) -> Option<(PortId, u32)> {
        let out = self.io.lines.get_mut(number)?.out_slot(slot).filter(|out| !out.closed)?;
        out.closed = true;
        let (port, sent) = (std::mem::replace(&mut out.port, GONE), out.sent);
        let identity = if dead { 0 } else { self.identity_of(port) };
        if let Some(out) = self.io.lines.get_mut(number).and_then(|line| line.out_slot(slot)) {
            out.identity = identity;
        }
        Some((port, sent))
    }

    /// The identity of a port that others know; 0 for none.
    fn identity_of(&self, port: PortId) -> u64 {
        let far = self.io.far(port).map(|far| far.identity);
        far.or_else(|| self.io.exported(port).map(|exported| exported.identity)).unwrap_or(0)
    }

    /// Finds another way for what was sent over a line that leads to the port no more.
    fn reroute(&mut self, port: PortId, number: LineId, slot: u32, back: Vec<Box<Message>>, dead: bool) {
        let Some(far) = self.io.far_mut(port) else {
            // The port is here by now: it moved to this process. These were within the limit where it was.
            return self.put_back(port, back);
        };
        let trust = far.forget_way(number, slot).unwrap_or(Trust::Proven);
        far.stranded.extend(back);
        if dead && self.doubt_death(port, trust) {
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

    /// What waits for a way to a far port is sent, if it still waits.
    pub(super) fn resend_stranded(&mut self, port: PortId) {
        if self.io.far(port).is_some_and(|far| !far.stranded.is_empty()) {
            self.resend(port);
        }
    }

    fn resend(&mut self, port: PortId) {
        // Ways that others claim lead there are no help: what comes back was on one that is known.
        let way = self.io.far(port).and_then(|far| far.way()).map(|route| (route.line, route.slot));
        match way.map_or_else(|| self.attach(port), Ok) {
            Ok(_) => self.send_stranded(port),
            Err(error) if is_shortage(error) => self.try_later(Later::Resend(port)),
            Err(_) => {
                self.state.far_port_died(port);
                self.bury_far(port);
            }
        }
    }

    /// The other end of a line is gone, or broke the rules: what it sent before is taken, and the line closed.
    pub(crate) fn end_line(&mut self, number: LineId) {
        let Some(line) = self.io.lines.get_mut(number) else { return };
        if !std::mem::replace(&mut line.ended, true) {
            // What lies in the ring was sent while the sender lived.
            self.pump(number, None);
        }
        self.forget_hot(number);
        let Some(line) = self.io.lines.get_mut(number) else { return };
        let slots = line.outs.len() as u32;
        let mut lost = Vec::new();
        for slot in 0..slots {
            let Some((port, sent)) = self.close_out(number, slot, false) else { continue };
            let Some(line) = self.io.lines.get_mut(number) else { return };
            let gate = line.theirs.gate[slot as usize].load(Ordering::Acquire);
            // Without a closed gate, what left the ring was accepted, and the rest is taken back.
            let open = if gate >= GATE_MOVED {
                sent.wrapping_sub(line.theirs.accepted[slot as usize].load(Ordering::Acquire)) as usize
            } else {
                usize::MAX
            };
            let back = self.take_back(number, slot, port, open);
            lost.push((port, slot, back));
        }
        let Some(line) = self.io.lines.remove(number) else { return };
        // The other end hears of it now, whenever the sockets are closed.
        let _ = rustix::net::shutdown(&line.bell, rustix::net::Shutdown::Both);
        self.wake_writers_of(number, &line);
        self.forget_all_forced(&line);
        for (port, slot, back) in lost {
            if line.refused
                && let Some(far) = self.io.far_mut(port)
            {
                far.refused_until = now() + PAUSE;
            }
            let gone = self.io.far(port).is_none_or(|far| far.s.as_ref().is_none_or(|s| objects::hung_up(&**s)));
            self.reroute(port, number, slot, back, gone);
            self.release_if_unused(port);
        }
        let held: Vec<FarOnce> = line.held.into_values().collect();
        self.onces_died(&held);
        for (_, token) in line.tokens {
            if let Token::Port(port) = token {
                self.state.destroy_right(Right::SendOnce(port));
            }
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
    fn take_back(&mut self, number: LineId, slot: u32, port: PortId, open: usize) -> Vec<Box<Message>> {
        let Some(line) = self.io.lines.get_mut(number) else { return Vec::new() };
        let consumed = line.segment.tx.unread(&mut line.tx).map_or(line.tx.tail, |unread| line.tx.tail - unread);
        let mut records = line.read_back(slot, consumed);
        records.drain(..records.len().saturating_sub(open));
        records.into_iter().filter_map(|(bytes, fds)| self.reclaim(number, port, &bytes, fds)).collect()
    }
}
