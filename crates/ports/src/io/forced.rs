//! Messages that were written to a full queue elsewhere, for senders that want to know when they are received.

use super::{Inner, line::Line, wire::kind};
use crate::{
    abi::QLIMIT_MAX,
    state::{LineId, message::Message},
};

/// A message over the limit of a slot.
#[derive(Debug, Clone, Copy)]
pub struct Forced {
    /// The slot.
    slot: u32,
    /// How many messages the slot has had with this one (wraps).
    ordinal: u32,
    /// The request for its acceptance.
    request: u32,
}

impl Line {
    /// The messages that were received by now, among those that were over a limit; the bell tells of the rest.
    fn received(&mut self) -> Vec<Forced> {
        let mut done = Vec::new();
        for armed in [false, true] {
            let credit = &self.credit;
            done.extend(self.forced.extract_if(.., |it| credit.has_taken(it.slot, it.ordinal)));
            if self.forced.is_empty() || armed {
                break;
            }
            self.segment.tx.arm_writer();
        }
        done
    }
}

impl Inner {
    /// Writes a message to a slot whose queue, or whose line, is full. `Err` if even the owner of the slot would
    /// not take it.
    pub(crate) fn write_regardless(
        &mut self,
        number: LineId,
        slot: u32,
        message: Box<Message>,
        request: u32,
    ) -> Result<(), Box<Message>> {
        let Some(line) = self.io.lines.get_mut(number) else { return Err(message) };
        let Some(count) = line.out_slot(slot).filter(|out| !out.closed).map(|out| out.count) else { return Err(message) };
        if line.credit.untaken(slot, &count) > QLIMIT_MAX {
            return Err(message);
        }
        line.forced.push(Forced { slot, ordinal: count.sent().wrapping_add(1), request });
        // Whatever becomes of it, the request is answered when the line has no more to do with it.
        let _ = self.write_message(number, kind::MESSAGE, slot, message);
        self.look_at_forced(number);
        Ok(())
    }

    /// Tells the senders of messages over a limit that were received by now.
    pub(crate) fn look_at_forced(&mut self, number: LineId) {
        let Some(line) = self.io.lines.get_mut(number).filter(|line| !line.forced.is_empty()) else { return };
        line.received().into_iter().for_each(|it| self.state.accepted(it.request));
    }

    /// A slot is closed: what was over its limit is in no queue there any more.
    pub(crate) fn forget_forced(&mut self, number: LineId, slot: u32) {
        let Some(line) = self.io.lines.get_mut(number) else { return };
        let gone: Vec<Forced> = line.forced.extract_if(.., |it| it.slot == slot).collect();
        gone.into_iter().for_each(|it| self.state.accepted(it.request));
    }

    /// As [`Inner::forget_forced`], when a line is gone.
    pub(crate) fn forget_all_forced(&mut self, line: &Line) {
        line.forced.iter().for_each(|it| self.state.accepted(it.request));
    }
}
