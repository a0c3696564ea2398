//! The short way: a message of plain bytes goes from the sender's buffer into the ring, or from there to the receiver's.
//!
//! As in seL4's fast path: guards that each leave for the slow path, with nothing changed; a point of no
//! return; and a commit that can't fail.

use super::header::{self, Delivered, Header};
use crate::{
    abi::{HEADER, kind, types},
    io::{
        Inner, Once,
        line::{INLINE, Line},
        rights::wire,
        wait::For,
        wire::{self, RECORD, Record, WireRight, form},
    },
    state::{FarOnce, Home, PortId, Right, SpaceId, State, port::Port, space::Object},
};
use slipway_fabric::sync::Ordering;

/// Where the message goes.
enum Way {
    /// A far port's first route.
    Slot { line: u32, slot: u32 },
    /// A send-once right's token, and the name to be given up.
    Token { line: u32, token: u32, once: FarOnce },
}

/// Sends the message of `size` bytes in `buffer` if that can be done right now and without a thought: false, and
/// nothing changed, if not.
#[inline]
pub fn send(inner: &mut Inner, space: SpaceId, buffer: &[u8], size: usize) -> bool {
    if !(HEADER..=INLINE).contains(&size) || !size.is_multiple_of(8) {
        return false;
    }
    let Some(message) = buffer.get(..size) else { return false };
    let Ok(header) = header::parse(message) else { return false };
    if header.complex {
        return false;
    }
    let Some(entry) = inner.state.space(space).get(header.remote) else { return false };
    let way = match (header.remote_type, entry.object) {
        (types::COPY_SEND, Object::Port(port)) if entry.has(kind::SEND) => {
            let Some(route) = inner.io.far(port).and_then(|far| far.way()) else { return false };
            Way::Slot { line: route.line, slot: route.slot }
        }
        (types::MOVE_SEND_ONCE, Object::Once(once)) if entry.request == 0 => match inner.io.onces.get(once.0 as usize) {
            Some(Once::Token { line, token }) => Way::Token { line: *line, token: *token, once },
            _ => return false,
        },
        _ => return false,
    };
    let reply = match header.local_type {
        0 => None,
        types::MAKE_SEND_ONCE => match reply_port(inner, space, header.local) {
            Some(port) => Some(port),
            None => return false,
        },
        _ => return false,
    };
    match way {
        Way::Slot { line, slot } => to_slot(inner, (line, slot), &header, reply, &message[HEADER..]),
        Way::Token { line, token, once } => to_token(inner, space, (line, token, once), &header, reply, &message[HEADER..]),
    }
}

/// Makes the reply right.
#[inline]
fn make_reply(state: &mut State, line: &mut Line, reply: Option<PortId>) -> WireRight {
    match reply {
        Some(port) => {
            state.port_mut(port).sorights += 1;
            wire(form::TOKEN, line.give_token(port))
        }
        None => wire(form::NULL, 0),
    }
}

#[inline]
fn to_slot(inner: &mut Inner, (number, slot): (u32, u32), header: &Header, reply: Option<PortId>, body: &[u8]) -> bool {
    let Inner { state, io } = inner;
    let Some(line) = io.lines.get_mut(number as usize) else { return false };
    if line.credit(slot).and_then(|()| line.room(RECORD + body.len(), 0)).is_err() {
        return false;
    }

    // Past this point nothing can fail but the line itself, whose loss is as good as a delivery to a dead port.
    let reply = make_reply(state, line, reply);
    let record = record(wire::kind::MESSAGE, slot, header.id, reply, body);
    let written = line.write_plain(&record, body);
    if let Some(out) = line.out_slot(slot) {
        out.sent = out.sent.wrapping_add(1);
    }
    io.counters.sent += 1;
    if written.is_err() {
        inner.end_line(number);
    } else if line.closed_gate(slot).is_some() {
        inner.look_at_gate(number, slot);
    }
    true
}

#[inline]
fn to_token(
    inner: &mut Inner,
    space: SpaceId,
    (number, token, once): (u32, u32, FarOnce),
    header: &Header,
    reply: Option<PortId>,
    body: &[u8],
) -> bool {
    let Inner { state, io } = inner;
    let Some(line) = io.lines.get_mut(number as usize) else { return false };
    if line.room(RECORD + body.len(), 0).is_err() {
        return false;
    }

    // As in `to_slot`.
    let reply = make_reply(state, line, reply);
    let record = record(wire::kind::ONCE, token, header.id, reply, body);
    let written = line.write_plain(&record, body);
    line.held.remove(&token);
    io.onces.remove(once.0 as usize);
    io.counters.sent += 1;
    state.space_mut(space).remove(header.remote);
    if written.is_err() {
        inner.end_line(number);
    } else if line.lapsed {
        io.stirred.push(number);
    }
    true
}

#[inline]
fn record(kind: u8, target: u32, id: i32, reply: WireRight, body: &[u8]) -> Record {
    Record { body: body.len() as u32, kind, target, id, reply, ..Record::default() }
}

/// The port that a reply right is made for, if it is here.
#[inline]
fn reply_port(inner: &Inner, space: SpaceId, name: u32) -> Option<PortId> {
    let entry = inner.state.space(space).get(name).filter(|entry| entry.has(kind::RECEIVE))?;
    entry.port().filter(|port| matches!(inner.state.port(*port).home, Home::Here(_)))
}

/// What the short way in came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Short {
    /// A message was received.
    Received,
    /// There is nothing on the line.
    Nothing,
    /// There is something that goes another way.
    Other,
}

/// Receives what lies at the front of the line that was last active, if it is a message of plain bytes for
/// `what` that fits. Nothing has changed if not.
#[inline]
pub fn receive(inner: &mut Inner, space: SpaceId, what: For, buffer: &mut [u8], room: usize) -> Short {
    let Inner { state, io } = inner;
    let Some(&number) = io.hot.first() else { return Short::Other };
    let Some(line) = io.lines.get_mut(number as usize) else { return Short::Other };
    let record = match line.front() {
        Ok(Some(record)) => record,
        Ok(None) => return Short::Nothing,
        Err(_) => return Short::Other,
    };
    let size = HEADER + record.body as usize;
    let plain = record.kind == wire::kind::MESSAGE && record.fds == 0 && record.items == 0 && record.flags == 0;
    let answered = match record.reply.form {
        form::NULL => false,
        form::TOKEN if !line.held.contains_key(&record.reply.value) => true,
        _ => return Short::Other,
    };
    if !plain || size > room || size > buffer.len() {
        return Short::Other;
    }
    let Some(Some(slot)) = line.ins.get_mut(record.target as usize) else { return Short::Other };
    if slot.closed || (!slot.primary && slot.given == 0) {
        return Short::Other;
    }
    let Some(Port { home: Home::Here(local), .. }) = state.ports.get_mut(slot.port.0 as usize) else { return Short::Other };
    let mine = match what {
        For::Port(own) => own == slot.port,
        For::Set(set) => local.set == Some(set),
        For::Room(_) | For::Line(_) | For::Turn(_) => false,
    };
    if !mine || !local.queue.is_empty() || local.payload.is_some() {
        return Short::Other;
    }

    // Past this point nothing can fail.
    slot.accepted = slot.accepted.wrapping_add(1);
    slot.taken = slot.taken.wrapping_add(1);
    let (accepted, taken) = (slot.accepted, slot.taken);
    if size > HEADER {
        line.copy_out(0, &mut buffer[HEADER..size]);
    }
    line.ours.accepted[record.target as usize].store(accepted, Ordering::Relaxed); // ordered by the next
    line.ours.taken[record.target as usize].store(taken, Ordering::Release);
    line.consume(&record);
    let seqno = local.seqno;
    local.seqno = seqno.wrapping_add(1);
    let name = local.receiver.map_or(0, |(_, name)| u64::from(name));
    io.counters.received += 1;
    let (mut reply, mut reply_type) = (0, 0);
    if answered {
        let once = FarOnce(io.onces.insert(Once::Token { line: number, token: record.reply.value }) as u32);
        line.held.insert(record.reply.value, once);
        reply = super::typed::place_right(inner, space, Right::FarOnce(once), &mut 0, 0);
        reply_type = types::PORT_SEND_ONCE;
    }
    let delivered = Delivered { size, id: record.id, complex: false, dest_type: types::PORT_SEND, reply, reply_type };
    header::write(buffer, &delivered, name, types::PORT_SEND, seqno);
    Short::Received
}
