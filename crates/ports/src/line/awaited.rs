//! Messages that were written to a full queue elsewhere, whose senders are told when they are received (`MACH_SEND_NOTIFY`).

use super::{Line, parts::Awaited};

impl Line {
    /// Notes that the next message to the slot is over its limit, and awaited. `request` is the request for its acceptance.
    pub fn await_next(&mut self, slot: u32, request: u32) {
        if let Some(out) = self.out_slot(slot) {
            let ordinal = out.count.sent().wrapping_add(1);
            self.awaited.push(Awaited { slot, ordinal, request });
        }
    }

    /// Takes the messages that were received by now, among those that were over a limit; the bell tells of the rest.
    pub fn take_received(&mut self) -> Vec<Awaited> {
        let mut done = Vec::new();
        for armed in [false, true] {
            let credit = &self.credit;
            done.extend(self.awaited.extract_if(.., |it| credit.has_taken(it.slot, it.ordinal)));
            if self.awaited.is_empty() || armed {
                break;
            }
            self.segment.tx.arm_writer();
        }
        done
    }

    /// Takes those of a slot that is closed: they are in no queue there any more.
    pub fn take_awaited(&mut self, slot: u32) -> Vec<Awaited> {
        self.awaited.extract_if(.., |it| it.slot == slot).collect()
    }
}
