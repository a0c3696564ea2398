//! Send rights to ports that moved away, kept for what lies in the rings of their senders: see [`leave`](super::leave).

use super::Routes;
use crate::state::{LineId, PortId, Right};

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

    /// The line is gone, and what its other end had left is sent on.
    pub(super) fn drop_left(&mut self, left: Vec<(u32, PortId)>) {
        left.into_iter().for_each(|(_, port)| self.state.destroy_right(Right::Send(port)));
    }
}
