//! Messages that a line's end reads after their sender has taken them back: nothing of them is kept, but
//! the rights that were given with them, on the line, are given back.

use super::{
    Inner,
    moves::NESTING,
    objects::Arrived,
    pump::Spilled,
    rights::{Incoming, corrupt},
    wire::{self, ItemHead, Luggage, Record, WireRight, flag, form, item},
};
use slipway_fabric::Corrupt;
use zerocopy::FromBytes;

impl Inner {
    /// Drops the message at the front of a line, which its sender has taken back.
    pub(super) fn discard(&mut self, number: u32, record: &Record) -> Result<bool, Corrupt> {
        let line = self.io.lines.get_mut(number as usize).ok_or_else(corrupt)?;
        let fds = line.take_fds(record.fds as usize).ok_or(Corrupt { what: "descriptors" })?;
        let mut items = vec![0; record.items as usize];
        line.copy_out(record.body as usize, &mut items);
        line.consume(record);
        let mut from = Incoming { line: Some(number), fds: fds.into_iter(), account: None, taken_back: false };
        if record.flags & flag::SPILLED != 0 {
            let wrong = || Corrupt { what: "memory file" };
            let Some(file) = from.fds.next().ok_or_else(wrong)? else { return Ok(true) };
            let spilled = Spilled::open(file).ok_or_else(wrong)?;
            if let Some(line) = self.io.lines.get_mut(number as usize) {
                line.spent += spilled.len();
            }
            (_, items) = spilled.read().ok_or_else(wrong)?;
        }
        self.discard_message(record.reply, &items, &mut from, 0)?;
        Ok(true)
    }

    fn discard_message(&mut self, reply: WireRight, items: &[u8], from: &mut Incoming, depth: u32) -> Result<(), Corrupt> {
        let wrong = || Corrupt { what: "item" };
        let mut rest = items;
        self.discard_right(reply, from, &mut &[][..], depth)?;
        while !rest.is_empty() {
            let head: ItemHead = wire::take(&mut rest).ok_or_else(wrong)?;
            let count = usize::try_from(head.count).map_err(|_| wrong())?;
            match head.kind {
                item::PORTS | item::PORT_ARRAY => {
                    let codes = count.checked_mul(8).and_then(|n| wire::take_bytes(&mut rest, n)).ok_or_else(wrong)?;
                    for code in codes.chunks_exact(8) {
                        let code = WireRight::read_from_bytes(code).map_err(|_| wrong())?;
                        self.discard_right(code, from, &mut rest, depth)?;
                    }
                }
                item::BYTES => drop(wire::take_bytes(&mut rest, count).ok_or_else(wrong)?),
                item::LOST => {}
                _ => drop(from.fds.next()),
            }
        }
        Ok(())
    }

    fn discard_right(&mut self, code: WireRight, from: &mut Incoming, items: &mut &[u8], depth: u32) -> Result<(), Corrupt> {
        match code.form {
            form::GIFT | form::FIRST_GIFT => {
                let right = self.decode_right(code, from, &mut &[][..])?;
                self.state.destroy_right(right);
            }
            form::SEND => drop((from.fds.next(), from.fds.next())),
            form::ONCE => drop(from.fds.next()),
            form::RECEIVE => self.discard_luggage(from, items, depth + 1)?,
            _ => {}
        }
        Ok(())
    }

    /// What belongs to a receive right: the right itself has never left its sender.
    fn discard_luggage(&mut self, from: &mut Incoming, items: &mut &[u8], depth: u32) -> Result<(), Corrupt> {
        let wrong = || Corrupt { what: "receive right" };
        let luggage: Luggage = wire::take(items).filter(|_| depth <= NESTING).ok_or_else(wrong)?;
        // Both ends of the port, and those of pipes and send-once rights.
        let ends = 2 + u64::from(luggage.watches) + u64::from(luggage.onces);
        (0..ends).try_for_each(|_| from.fds.next().map(drop)).ok_or_else(wrong)?;
        self.discard_right(luggage.nsrequest, from, items, depth)?;
        self.discard_right(luggage.pdrequest, from, items, depth)?;
        for _ in 0..luggage.messages {
            let record: Record = wire::take(items).ok_or_else(wrong)?;
            wire::take_bytes(items, record.body as usize).ok_or_else(wrong)?;
            let inner = wire::take_bytes(items, record.items as usize).ok_or_else(wrong)?;
            let fds: Vec<Arrived> = from.fds.by_ref().take(record.fds as usize).collect();
            let mut own = Incoming { line: from.line, fds: fds.into_iter(), account: None, taken_back: false };
            self.discard_message(record.reply, inner, &mut own, depth)?;
        }
        Ok(())
    }
}
