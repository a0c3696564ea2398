//! The credit of senders, and lines that break.

use super::{Routes, Upcall};
use crate::state::{LineId, message::Origin};

impl Routes {
    /// Tells the senders of messages over a limit that were received by now.
    pub(crate) fn look_at_awaited(&mut self, id: LineId) {
        let Some(line) = self.lines.get_mut(id).filter(|line| !line.awaited.is_empty()) else { return };
        line.take_received().into_iter().for_each(|it| self.state.accepted(it.request));
    }

    /// A line broke: nothing more is written, and it is ended.
    pub(super) fn break_line(&mut self, id: LineId) {
        if let Some(line) = self.lines.get_mut(id) {
            line.ended = true;
            self.upcall(Upcall::End(id));
        }
    }

    /// Counts a message as received, for its sender's limit, or tells its sender.
    pub(crate) fn give_credit(&mut self, origin: Origin) {
        let (number, slot) = match origin {
            Origin::Line { line, slot } => (line, slot),
            Origin::Notify(request) => return self.state.accepted(request),
        };
        let Some(line) = self.lines.get_mut(number) else { return };
        if let Some(it) = line.ins.get_mut(slot as usize).and_then(Option::as_mut) {
            line.credit.take(slot, &mut it.count);
            if line.segment.rx.wake_writer() {
                line.ring_bell();
            }
        }
    }
}
