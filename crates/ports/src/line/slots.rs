//! The numbers that stand for ports on a line.
//!
//! Slot 0 is the port that the line was made for. The owner of ports gives out the odd ones, with rights; the other end names the
//! even ones, with receive rights that it sends: so it can send to a port behind its receive right, and waits for
//! no answer.

use super::{
    Line,
    parts::{GONE, InSlot, OutSlot, is_promised},
};
use crate::state::PortId;
use slipway_fabric::credit::{Closed, SLOTS, TxCount};

impl Line {
    /// The slot of a port of this end, made if need be: its number, and whether it is new. None if
    /// there are no more.
    pub fn offer(&mut self, port: PortId) -> Option<(u32, bool)> {
        if let Some(slot) = self.slot_of.get(&port) {
            return Some((*slot, false));
        }
        let slot = self.offered;
        if slot as usize >= SLOTS {
            return None;
        }
        self.offered += 2;
        self.set_slot(slot, InSlot::of(port));
        self.slot_of.insert(port, slot);
        Some((slot, true))
    }

    fn set_slot(&mut self, slot: u32, it: InSlot) {
        let index = slot as usize;
        if self.ins.len() <= index {
            self.ins.resize_with(index + 1, || None);
        }
        self.ins[index] = Some(it);
    }

    /// A slot of the other end for a port whose receive right is about to go there: this end names it, and may send to it
    /// behind the right. None if there are no more.
    pub fn promise(&mut self, port: PortId) -> Option<u32> {
        while self.out_slot(self.promised).is_some() {
            self.promised += 2;
        }
        self.learn(self.promised, port).then_some(self.promised)
    }

    /// Whether the other end can name the slot for a port.
    pub fn may_be_promised(&self, slot: u32) -> bool {
        let index = slot as usize;
        is_promised(slot) && index < SLOTS && self.ins.get(index).is_none_or(Option::is_none)
    }

    /// What the other end sends to a slot that it [could name](Self::may_be_promised) is for this port, whose queue has
    /// that limit. None if the port is not here, for whatever reason: the other end finds another way.
    pub fn keep_promise(&mut self, slot: u32, port: Option<PortId>, limit: u32) {
        if let Some(port) = port {
            self.set_slot(slot, InSlot { primary: true, ..InSlot::of(port) });
            self.slot_of.insert(port, slot);
            return self.credit.open(slot, limit);
        }
        let closed = InSlot { closed: true, ..InSlot::of(GONE) };
        self.credit.close(slot, &closed.count, Closed::Moved);
        self.set_slot(slot, closed);
        self.segment.rx.wake_writer();
        self.ring_bell();
    }

    /// A slot of this end that is open.
    #[inline]
    pub fn in_slot(&mut self, slot: u32) -> Option<&mut InSlot> {
        self.ins.get_mut(slot as usize)?.as_mut().filter(|it| !it.closed)
    }

    /// A slot of the other end.
    #[inline]
    pub fn out_slot(&mut self, slot: u32) -> Option<&mut OutSlot> {
        self.outs.get_mut(slot as usize)?.as_mut()
    }

    /// Notes a slot of the other end; false if that is no slot.
    pub fn learn(&mut self, slot: u32, port: PortId) -> bool {
        let index = slot as usize;
        if index >= SLOTS {
            return false;
        }
        if self.outs.len() <= index {
            self.outs.resize(index + 1, None);
        }
        self.outs[index] = Some(OutSlot { port, count: TxCount::default(), closed: false, identity: 0, lost: false });
        true
    }

    /// Whether what is known of the other end's slot stays worth keeping without a right: what was sent there may
    /// have to be taken back, and the slot is good for the next right.
    pub fn keeps(&self, slot: u32) -> bool {
        self.outs.get(slot as usize).is_some_and(|out| out.is_some_and(|o| !o.closed))
    }
}
