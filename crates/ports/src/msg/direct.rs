//! The short way in: a message goes from the ring to the receiver's buffer, past every queue.

use super::header;
use crate::{
    abi::{self, types},
    io::{
        Inner, Once,
        line::{HELD, InSlot},
        wait::For,
        wire::{Record, form, kind},
    },
    state::{FarOnce, Home, PortId, Right, SpaceId},
};
use slipway_fabric::sync::Ordering;

/// A receiver that looks at lines itself.
#[derive(Debug)]
pub struct Direct<'a> {
    /// Whose names the message's rights get.
    pub space: SpaceId,
    /// What it receives from.
    pub what: For,
    /// Where the message goes.
    pub buffer: &'a mut [u8],
    /// The bytes of it that may be used.
    pub room: usize,
}

impl Direct<'_> {
    /// Whether the record is a message for this receiver that can go to it as it is: for a port whose queue
    /// is empty, small enough, with nothing in it but bytes and perhaps a reply right on this line.
    #[inline]
    pub(crate) fn wants(&self, inner: &Inner, number: u32, record: &Record) -> bool {
        // What claims to carry more than bytes is looked at more closely elsewhere.
        let plain = record.fds == 0 && record.items == 0 && record.flags & crate::io::wire::flag::COMPLEX == 0;
        if !plain || abi::HEADER + record.body as usize > self.room {
            return false;
        }
        let Some(line) = inner.io.lines.get(number as usize) else { return false };
        let port = match record.kind {
            kind::MESSAGE => match line.ins.get(record.target as usize) {
                Some(Some(InSlot { port, closed: false, primary, given, .. })) if *primary || *given > 0 => *port,
                _ => return false,
            },
            kind::ONCE => match line.token_port(record.target) {
                Some(port) => port,
                None => return false,
            },
            _ => return false,
        };
        let Home::Here(local) = &inner.state.port(port).home else { return false };
        let mine = match self.what {
            For::Port(own) => own == port,
            For::Set(set) => local.set == Some(set),
            For::Room(_) | For::Line(_) | For::Turn(_) => false,
        };
        mine && local.queue.is_empty()
            && matches!(record.reply.form, form::NULL | form::DEAD | form::TOKEN | form::GIFT | form::BACK)
    }

    /// Takes the record that is [wanted](Direct::wants).
    #[inline]
    pub(crate) fn deliver(&mut self, inner: &mut Inner, number: u32, record: &Record) {
        let end = abi::HEADER + record.body as usize;
        let mut once = false;
        let mut port = PortId(0);
        if let Some(line) = inner.io.lines.get_mut(number as usize) {
            line.copy_out(0, &mut self.buffer[abi::HEADER..end]);
            if record.kind == kind::ONCE {
                once = true;
                port = line.token_port(record.target).unwrap_or(port);
                line.take_token(record.target);
            } else if let Some(slot) = line.in_slot(record.target) {
                port = slot.port;
                slot.accepted = slot.accepted.wrapping_add(1);
                slot.taken = slot.taken.wrapping_add(1);
                let (accepted, taken) = (slot.accepted, slot.taken);
                line.ours.accepted[record.target as usize].store(accepted, Ordering::Relaxed); // ordered by the release below
                line.ours.taken[record.target as usize].store(taken, Ordering::Release);
            }
            line.consume(record);
        }
        let (reply, reply_type) = self.reply(inner, number, record);
        if once {
            let it = inner.state.port_mut(port);
            it.sorights = it.sorights.saturating_sub(1);
            if inner.io.lines.get(number as usize).is_some_and(|line| line.lapsed) {
                inner.io.stirred.push(number);
            }
        }
        let dest_type = if once { types::PORT_SEND_ONCE } else { types::PORT_SEND };
        header::deliver(
            inner,
            port,
            self.buffer,
            &header::Delivered { size: end, id: record.id, complex: false, dest_type, reply, reply_type },
        );
    }

    /// The name of the reply right.
    #[inline]
    fn reply(&self, inner: &mut Inner, number: u32, record: &Record) -> (u32, u32) {
        if record.reply.form == form::NULL {
            return (abi::NULL, 0);
        }
        if record.reply.form == form::TOKEN {
            // A token that is out already can't be given again: the peer's mistake, and its loss.
            let held = inner
                .io
                .lines
                .get(number as usize)
                .is_some_and(|line| line.held.len() >= HELD || line.held.contains_key(&record.reply.value));
            if !held {
                let once = FarOnce(inner.io.onces.insert(Once::Token { line: number, token: record.reply.value }) as u32);
                if let Some(line) = inner.io.lines.get_mut(number as usize) {
                    line.held.insert(record.reply.value, once);
                }
                let name = super::typed::place_right(inner, self.space, Right::FarOnce(once), &mut 0, 0);
                return (name, types::PORT_SEND_ONCE);
            }
        }
        let mut from =
            crate::io::rights::Incoming { line: Some(number), fds: Vec::new().into_iter(), account: None, taken_back: false };
        let right = inner.decode_right(record.reply, &mut from, &mut &[][..]).unwrap_or(Right::Dead);
        let kind = right.received_type();
        (super::typed::place_right(inner, self.space, right, &mut 0, 0), kind)
    }
}
