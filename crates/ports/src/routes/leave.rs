//! Messages whose senders end before they learn that the port moved.
//!
//! What was sent to a slot, and not accepted when it closed, is taken back by its sender. One that has ended can't. So the old owner keeps a
//! send right to a port that moved while something lies in the ring of a line whose other end may send to it. When that end has seen the
//! closed slot, the right is given up; when it is gone, the old owner sends what it left on, in its place.
//!
//! Two processes that end at the same time: a sender says that it leaves, and then looks at the gate once more; an old owner closes the gate,
//! and then looks whether the sender leaves. At least one of them sees the other. The old owner waits for the end of one that leaves.

use super::{Routes, Upcall};
use crate::{
    objects,
    routes::import::View,
    state::{LineId, PortId, Right},
    wire::parse::Parsed,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use slipway_fabric::{Corrupt, spin::now};

/// How long, in nanoseconds, a process that ends waits for others that do so at the same time.
const LAST_MOMENT: u64 = 1_000_000_000;

impl Routes {
    /// The lines and slots of a port that has just closed them in whose rings something lies.
    pub(super) fn unread_slots(&self, slots: &[(LineId, u32)]) -> Vec<(LineId, u32)> {
        let is_unread = |number: &LineId| self.lines.get(*number).is_some_and(|line| line.segment.rx.readable(line.rx.head));
        slots.iter().filter(|(number, _)| is_unread(number)).copied().collect()
    }

    /// Keeps a send right to a port that moved for what its senders left in these slots.
    pub(super) fn keep_for(&mut self, port: PortId, slots: Vec<(LineId, u32)>) {
        for (number, slot) in slots {
            if let Some(line) = self.lines.get_mut(number) {
                line.left.push((slot, port));
                self.state.port_mut(port).srights += 1;
            }
        }
    }

    /// Gives the rights up for which the other end of the line has taken back what it left.
    pub(crate) fn drop_seen(&mut self, number: LineId) {
        let Some(line) = self.lines.get_mut(number) else { return };
        let seen: Vec<_> = line.left.extract_if(.., |(slot, _)| line.credit.is_seen(*slot)).collect();
        seen.into_iter().for_each(|(_, port)| self.state.destroy_right(Right::Send(port)));
    }

    /// A message to a slot that had closed, whose sender is gone: it goes on to where the port is now.
    ///
    /// # Errors
    /// The message breaks the rules.
    pub(crate) fn send_on(&mut self, number: LineId, port: PortId, parsed: Parsed) -> Result<(), Corrupt> {
        let Some(mut message) = self.import(View::Reader(number), parsed)? else { return Ok(()) };
        self.state.port_mut(port).srights += 1;
        message.dest = Right::Send(port);
        self.upcall(Upcall::PutBack(port, vec![message]));
        Ok(())
    }

    /// The line is gone, and what its other end had left is sent on.
    pub(super) fn drop_left(&mut self, left: Vec<(u32, PortId)>) {
        left.into_iter().for_each(|(_, port)| self.state.destroy_right(Right::Send(port)));
    }

    /// Lines whose other ends leave, and have left something for a port that moved: waits until they are gone, for a moment.
    pub(crate) fn await_leavers(&self) -> Vec<LineId> {
        let until = now() + LAST_MOMENT;
        let leaves = |number: &LineId| {
            let Some(line) = self.lines.get(*number) else { return false };
            if !line.left.iter().any(|(slot, _)| line.credit.is_leaving(*slot)) {
                return objects::hung_up(&line.bell);
            }
            let mut bell = [PollFd::new(&line.bell, PollFlags::empty())];
            let left = until.saturating_sub(now());
            let left = Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 };
            poll(&mut bell, Some(&left)).is_ok_and(|n| n > 0)
        };
        let lines: Vec<LineId> = self.lines.iter().filter(|(_, line)| !line.left.is_empty()).map(|(number, _)| number).collect();
        lines.into_iter().filter(leaves).collect()
    }

    /// This process ends: what the owners of its slots have not accepted by now is theirs to send on, if they close them later.
    pub(crate) fn leave(&mut self) {
        let open = self.lines.iter().flat_map(|(number, line)| {
            let unaccepted = |slot: &u32| {
                line.outs[*slot as usize]
                    .as_ref()
                    .is_some_and(|out| !out.closed && line.credit.unaccepted(*slot, &out.count) != 0)
            };
            (0..line.outs.len() as u32).filter(unaccepted).map(move |slot| (number, slot))
        });
        for (number, slot) in open.collect::<Vec<_>>() {
            if let Some(line) = self.lines.get(number) {
                line.credit.leave(slot);
            }
            self.look_at_gate(number, slot);
        }
    }
}
