//! The numbers that stand for ports on a line.
//!
//! Slot 0 is the port that the line was made for. The owner of ports gives out the odd ones, with rights; the other end names the
//! even ones, with receive rights that it sends: so it can send to a port behind its receive right, and waits for
//! no answer.
//!
//! The slot of a port that died stands for another port later. Its sender takes back what it sent, gives up its rights, and says so
//! with a RELEASE that is the LAST record about the slot. When all rights that the owner gave have come back, it writes none about it either, and
//! resets its credit: an odd slot is offered again by the owner, an even one named again by the sender.

use super::{
    Line,
    ends::Ends,
    parts::{GONE, InSlot, OutSlot, is_promised},
};
use crate::{
    state::PortId,
    wire::{Record, flag, kind},
};
use slipway_fabric::credit::{Closed, SLOTS, TxCount};

impl Line {
    /// A slot for a port of this end that has none. None if there are no more.
    pub fn offer(&mut self, port: PortId) -> Option<u32> {
        let slot = self.reoffers.pop().or_else(|| {
            let fresh = Some(self.offered).filter(|slot| (*slot as usize) < SLOTS);
            self.offered += u32::from(fresh.is_some()) * 2;
            fresh
        })?;
        // The port has ends of its own.
        self.in_ends.take(slot).into_iter().for_each(Ends::hang_up);
        self.set_slot(slot, InSlot::of(port));
        self.slot_of.insert(port, slot);
        Some(slot)
    }

    /// Takes the ends that are kept by the slot that is [offered](Self::offer) next.
    pub fn take_ends_to_offer(&mut self) -> Option<Ends> {
        self.in_ends.take(*self.reoffers.last()?)
    }

    fn set_slot(&mut self, slot: u32, it: InSlot) {
        let index = slot as usize;
        if self.ins.len() <= index {
            self.ins.resize_with(index + 1, || None);
        }
        self.ins[index] = Some(it);
    }

    /// Whether the other end can offer its slot for a port: it is one of those that an owner gives out, and new, or this end is done
    /// with it. One that this end names would come to stand for two ports.
    pub fn may_be_offered(&self, slot: u32) -> bool {
        let index = slot as usize;
        !slot.is_multiple_of(2) && index < SLOTS && self.outs.get(index).is_none_or(|out| out.is_none_or(|out| out.done))
    }

    /// A slot of the other end for a port whose receive right is about to go there: this end names it, and may send to it
    /// behind the right. None if there are no more.
    pub fn promise(&mut self, port: PortId) -> Option<u32> {
        if let Some(&slot) = self.repromises.front()
            && self.credit.is_reset(slot)
        {
            self.repromises.pop_front();
            return self.learn(slot, port).then_some(slot);
        }
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

    /// This end has named a slot, and nothing came of it.
    pub fn withdraw(&mut self, slot: u32) {
        self.outs[slot as usize] = None;
        self.repromises.push_front(slot);
    }

    /// What the other end sends to a slot that it [could name](Self::may_be_promised) is for this port, whose queue has
    /// that limit; its rights may be `counted` there. None if the port is not here, for whatever reason: the other end finds another way.
    pub fn keep_promise(&mut self, slot: u32, port: Option<PortId>, limit: u32, counted: bool) {
        let given = u32::from(counted);
        if let Some(port) = port {
            self.set_slot(slot, InSlot { primary: true, given, ..InSlot::of(port) });
            self.slot_of.insert(port, slot);
            return self.credit.open(slot, limit);
        }
        let closed = InSlot { closed: true, given, ..InSlot::of(GONE) };
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

    /// Takes the other end's word that it is done with a slot of this end, and whether it has `kept` the sending end. False if the port is
    /// not dead, or was the line's first.
    pub fn end_slot(&mut self, slot: u32, kept: bool) -> bool {
        let Some(Some(it)) = self.ins.get(slot as usize).filter(|_| slot != 0) else { return false };
        if !kept {
            self.in_ends.take(slot).into_iter().for_each(Ends::hang_up);
        }
        // Rights that it never counted, or messages that are not counted as taken, leave the number unused.
        if it.dead && it.given == 0 && it.count.waiting() == 0 {
            self.ins[slot as usize] = None;
            self.credit.reset(slot);
            if !is_promised(slot) {
                self.reoffers.push(slot);
            }
            return true;
        }
        it.dead
    }

    /// Tells the owner of a slot, whose port is dead, that this end is done with it, and with the rights that it has there.
    pub fn leave_slot(&mut self, slot: u32, rights: u32) {
        let Some(out) = self.out_slot(slot).filter(|_| slot != 0) else { return };
        if !std::mem::replace(&mut out.done, true) && is_promised(slot) {
            self.repromises.push_back(slot);
        }
        let flags = if self.out_ends.has(slot) { flag::LAST | flag::KEPT } else { flag::LAST };
        self.post_quietly(Record { kind: kind::RELEASE, flags, target: slot, count: rights, ..Record::default() });
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
        self.credit.unsee(slot);
        self.outs[index] =
            Some(OutSlot { port, count: TxCount::default(), closed: false, done: false, identity: 0, lost: false });
        true
    }

    /// Whether what is known of the other end's slot stays worth keeping without a right: what was sent there may
    /// have to be taken back, and the slot is good for the next right.
    pub fn keeps(&self, slot: u32) -> bool {
        self.outs.get(slot as usize).is_some_and(|out| out.is_some_and(|o| !o.closed))
    }
}
