//! Messages that come back: what a sender had written to a port that moved, and its old owner not accepted.
//!
//! The sender reads it back out of its own ring and sends it again, to wherever the receiving end is by then. So nothing is
//! lost when the old owner dies, and nothing sent twice.

use super::{
    Inner, Once,
    line::OutFd,
    rights::Incoming,
    wire::{self, ItemHead, Record, WireRight, flag, form, item},
};
use crate::state::{
    FarOnce, PortId, Right,
    message::{Item, Memory, Message},
};
use slipway_fabric::descriptor::Reserved;
use smallvec::SmallVec;
use std::os::fd::AsFd;
use zerocopy::FromBytes;

impl Inner {
    /// Makes a message of what this process itself had written into a ring, to be sent again.
    pub(crate) fn reclaim(&mut self, number: u32, port: PortId, bytes: &[u8], fds: Vec<OutFd>) -> Option<Box<Message>> {
        let mut rest = bytes;
        let record: Record = wire::take(&mut rest)?;
        let mut fds = fds.into_iter().map(|fd| Reserved::new(rustix::io::fcntl_dupfd_cloexec(fd.as_fd(), 0).ok()?).ok());
        let (body, items) = if record.flags & flag::SPILLED != 0 {
            super::pump::Spilled::open(fds.next()??)?.read()?
        } else {
            let body = wire::take_bytes(&mut rest, record.body as usize)?.to_vec();
            (body, wire::take_bytes(&mut rest, record.items as usize)?.to_vec())
        };
        let mut from = Incoming { line: Some(number), fds: fds.collect::<Vec<_>>().into_iter(), account: None, taken_back: true };
        let reply = self.reclaim_right(record.reply, &mut from, &mut &[][..]);
        let mut items = items.as_slice();
        let mut taken = SmallVec::new();
        while let Some(item) = self.reclaim_item(&mut from, &mut items) {
            taken.push(item);
        }
        self.state.port_mut(port).srights += 1;
        let complex = record.flags & flag::COMPLEX != 0;
        Some(Box::new(Message {
            id: record.id,
            complex,
            dest: Right::Send(port),
            reply,
            body,
            items: taken,
            origin: None,
            charge: Default::default(),
        }))
    }

    fn reclaim_item(&mut self, from: &mut Incoming, rest: &mut &[u8]) -> Option<Item> {
        let head: ItemHead = wire::take(rest)?;
        let (count, at) = (head.count as usize, head.at);
        match head.kind {
            item::PORTS | item::PORT_ARRAY => {
                let codes = wire::take_bytes(rest, count.checked_mul(8)?)?;
                let mut rights = SmallVec::new();
                for code in codes.chunks_exact(8) {
                    let right = self.reclaim_right(WireRight::read_from_bytes(code).ok()?, from, rest);
                    rights.push(right);
                }
                Some(if head.kind == item::PORTS {
                    Item::Ports { at, rights }
                } else {
                    Item::PortArray { at, rights: rights.into_vec() }
                })
            }
            item::BYTES => Some(Item::Memory { at, memory: Memory::Bytes(wire::take_bytes(rest, count)?.to_vec()) }),
            item::LOST => Some(Item::Memory { at, memory: Memory::Lost(head.count) }),
            _ => {
                let lost = Memory::Lost(head.count);
                Some(Item::Memory { at, memory: from.fds.next()?.map_or(lost, |file| Memory::Pages(file, head.count)) })
            }
        }
    }

    /// A right as its writer sees it again.
    pub(crate) fn reclaim_right(&mut self, code: WireRight, from: &mut Incoming, items: &mut &[u8]) -> Right {
        let number = from.line.unwrap_or(!0);
        let line = self.io.lines.get_mut(number as usize);
        let port = match code.form {
            form::GIFT | form::FIRST_GIFT => {
                if code.form == form::FIRST_GIFT {
                    drop(from.fds.next());
                }
                // Only what the other end was given: the code was read back from memory that it can write.
                let given =
                    line.is_some_and(|line| matches!(line.ins.get(code.value as usize), Some(Some(slot)) if slot.given > 0));
                self.port_of_in(number, code.value).filter(|_| given)
            }
            form::BACK => self.port_of_out(number, code.value),
            form::TOKEN => return self.token_back(number, code.value).unwrap_or(Right::Dead),
            form::NULL => return Right::Null,
            form::DEAD => return Right::Dead,
            form::TOKEN_BACK => {
                let once = FarOnce(self.io.onces.insert(Once::Token { line: number, token: code.value }) as u32);
                if let Some(line) = self.io.lines.get_mut(number as usize) {
                    line.held.insert(code.value, once);
                }
                return Right::FarOnce(once);
            }
            _ => return self.decode_loose(code, from, items).unwrap_or(Right::Dead),
        };
        // The other end gives back what it was given with the message that it never took; this is another.
        match port.filter(|port| self.state.ports.get(port.0 as usize).is_some_and(|it| !it.is_dead())) {
            Some(port) => {
                self.state.port_mut(port).srights += 1;
                Right::Send(port)
            }
            None => Right::Dead,
        }
    }
}
