//! The short way: a message of plain bytes goes from the sender's buffer into the ring, or from there to the receiver's.
//!
//! As in seL4's fast path: guards that each leave for the slow path, with nothing changed; a point of no
//! return; and a commit that can't fail.

use super::header::{self, Delivered, Header};
use crate::{
    abi::{self, HEADER, LOCAL_MASK, REMOTE_MASK, kind, types},
    io::{
        Inner, Once,
        later::Later,
        line::{HELD, INLINE, Line},
        rights::wire,
        wait::For,
        wire::{self, RECORD, Record, WireRight, form},
    },
    state::{Home, LineId, PortId, Right, SpaceId, State, port::Port, space::Object},
};
use slipway_fabric::sync::Ordering;

/// Where the last message went, and what the last was received from: the names' meaning, looked up.
///
/// It is good as long as nothing but plain messages comes and goes. So whoever else reaches what the lock guards has it
/// forgotten: see [`Guard`](crate::process::Guard).
#[derive(Debug)]
pub struct Shortcuts {
    /// The task and the name that was sent to, or [`NOTHING`].
    sent_to: u64,
    /// The line and the slot that it led to.
    way: (LineId, u32),
    /// The task and the name that was received from, or [`NOTHING`].
    received_from: u64,
    /// What it stands for; None if nothing can be received from it.
    what: Option<For>,
}

/// No name in any task.
const NOTHING: u64 = !0;

/// A name in a task.
#[inline(always)]
fn key(space: SpaceId, name: u32) -> u64 {
    u64::from(space.0) << 32 | u64::from(name)
}

impl Default for Shortcuts {
    fn default() -> Self {
        Self { sent_to: NOTHING, way: (LineId::NONE, 0), received_from: NOTHING, what: None }
    }
}

impl Shortcuts {
    /// Something else is about to happen.
    #[inline(always)]
    pub fn forget(&mut self) {
        (self.sent_to, self.received_from) = (NOTHING, NOTHING);
    }
}

impl Inner {
    /// What a name to receive from denotes, if it can be received from.
    #[inline(always)]
    pub(super) fn receives_from(&mut self, space: SpaceId, name: u32) -> Option<For> {
        if self.io.shortcuts.received_from == key(space, name) {
            return self.io.shortcuts.what;
        }
        self.look_up_receiver(space, name)
    }

    #[inline(never)]
    fn look_up_receiver(&mut self, space: SpaceId, name: u32) -> Option<For> {
        let what = super::receivable(self, space, name).ok();
        (self.io.shortcuts.received_from, self.io.shortcuts.what) = (key(space, name), what);
        what
    }

    /// Line and slot to which a message goes for a name with a send right to a port elsewhere.
    #[inline(always)]
    fn way_to(&mut self, space: SpaceId, name: u32) -> Option<(LineId, u32)> {
        if self.io.shortcuts.sent_to == key(space, name) { Some(self.io.shortcuts.way) } else { self.look_up_way(space, name) }
    }

    #[inline(never)]
    fn look_up_way(&mut self, space: SpaceId, name: u32) -> Option<(LineId, u32)> {
        let port = self.state.space(space).get(name).filter(|entry| entry.has(kind::SEND))?.port()?;
        let route = self.io.far(port)?.way()?;
        let way = (route.line, route.slot);
        (self.io.shortcuts.sent_to, self.io.shortcuts.way) = (key(space, name), way);
        Some(way)
    }
}

/// Sends the message of `size` bytes in `buffer` if that can be done right now and without a thought: false, and
/// nothing changed, if not.
#[inline(always)]
pub fn send(inner: &mut Inner, space: SpaceId, buffer: &[u8], size: usize) -> bool {
    const PLAIN: u32 = types::COPY_SEND;
    if size > buffer.len() || size > INLINE || !size.is_multiple_of(8) {
        return false;
    }
    let Some((front, body)) = buffer[..size].split_first_chunk::<HEADER>() else { return false };
    let (header, bits) = header::read(front);
    match bits {
        PLAIN => header.local == abi::NULL && to_slot(inner, space, &header, None, body),
        _ => send_with_once(inner, space, front, body),
    }
}

/// As [`send`], for a message with a send-once right, or for one.
#[inline(never)]
fn send_with_once(inner: &mut Inner, space: SpaceId, front: &[u8; HEADER], body: &[u8]) -> bool {
    let (header, bits) = header::read(front);
    let reply = match (header.local_type, header.local) {
        (0, abi::NULL) => None,
        (types::MAKE_SEND_ONCE, name) => match reply_port(inner, space, name) {
            Some(port) => Some(port),
            None => return false,
        },
        _ => return false,
    };
    match header.remote_type {
        _ if bits & !(REMOTE_MASK | LOCAL_MASK) != 0 => false,
        types::COPY_SEND => to_slot(inner, space, &header, reply, body),
        types::MOVE_SEND_ONCE => to_token(inner, space, &header, reply, body),
        _ => false,
    }
}

/// The port that a reply right is made for, if it is here.
fn reply_port(inner: &Inner, space: SpaceId, name: u32) -> Option<PortId> {
    let entry = inner.state.space(space).get(name).filter(|entry| entry.has(kind::RECEIVE))?;
    entry.port().filter(|port| matches!(inner.state.port(*port).home, Home::Here(_)))
}

/// Makes the reply right.
#[inline(always)]
fn make_reply(state: &mut State, line: &mut Line, reply: Option<PortId>) -> WireRight {
    match reply {
        Some(port) => {
            state.port_mut(port).sorights += 1;
            wire(form::TOKEN, line.give_token(port))
        }
        None => wire(form::NULL, 0),
    }
}

#[inline(always)]
fn record(kind: u8, target: u32, id: i32, reply: WireRight, body: &[u8]) -> Record {
    Record { body: body.len() as u32, kind, target, id, reply, ..Record::default() }
}

#[inline(always)]
fn to_slot(inner: &mut Inner, space: SpaceId, header: &Header, reply: Option<PortId>, body: &[u8]) -> bool {
    let Some((number, slot)) = inner.way_to(space, header.remote) else { return false };
    let Inner { state, io } = inner;
    let Some(line) = io.lines.get_mut(number) else { return false };
    if line.room(RECORD + body.len(), 0).is_err() {
        return false;
    }
    let Ok(out) = line.credited(slot) else { return false };

    // Past this point nothing can fail but the line itself, whose loss is as good as a delivery to a dead port.
    out.sent = out.sent.wrapping_add(1);
    io.counters.sent += 1;
    let reply = make_reply(state, line, reply);
    let written = line.write_plain(&record(wire::kind::MESSAGE, slot, header.id, reply, body), body);
    if written.is_err() || line.closed_gate(slot).is_some() {
        lost_or_closed(inner, number);
    }
    true
}

/// A line that was just written to is broken, or the slot closed. What that comes to may drop descriptors, and is the
/// watcher's, or that of the next to send.
#[cold]
fn lost_or_closed(inner: &mut Inner, number: LineId) {
    inner.io.shortcuts.forget();
    inner.put_off(Later::Stir(number));
}

fn to_token(inner: &mut Inner, space: SpaceId, header: &Header, reply: Option<PortId>, body: &[u8]) -> bool {
    let Some(Object::Once(once)) =
        inner.state.space(space).get(header.remote).filter(|entry| entry.request == 0).map(|entry| entry.object)
    else {
        return false;
    };
    let Some(Once::Token { line: number, token }) = inner.io.onces.get(once.0 as usize) else { return false };
    let (number, token) = (*number, *token);
    let Inner { state, io } = inner;
    let Some(line) = io.lines.get_mut(number) else { return false };
    if line.room(RECORD + body.len(), 0).is_err() {
        return false;
    }

    // As in `to_slot`.
    let reply = make_reply(state, line, reply);
    let written = line.write_plain(&record(wire::kind::ONCE, token, header.id, reply, body), body);
    line.held.remove(&token);
    io.onces.remove(once.0 as usize);
    io.counters.sent += 1;
    state.space_mut(space).remove(header.remote);
    if written.is_err() {
        lost_or_closed(inner, number);
    } else if line.lapsed {
        io.stirred.push(number);
    }
    true
}

/// What the short way in came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Short {
    /// A message was received.
    Received,
    /// There is nothing anywhere.
    Nothing,
    /// There is something that goes another way.
    Other,
}

/// Looks whether a wait for what comes over the only line may begin, which looks at the line itself.
#[inline(always)]
pub fn look(inner: &Inner, what: For) -> Short {
    if inner.io.hot.len() == 1 && none_queued(&inner.state, what) { Short::Nothing } else { Short::Other }
}

/// Whether no message waits in a queue here.
#[inline(always)]
fn none_queued(state: &State, what: For) -> bool {
    match what {
        For::Port(port) => state.port(port).local().is_some_and(|local| local.queue.is_empty()),
        For::Set(set) => state.set(set).ready.is_empty(),
        For::Room(_) | For::Line(_) | For::Turn(_) => false,
    }
}

/// Receives what lies at the front of the line that was last active, if it is a message of plain bytes for
/// `what` that fits. Nothing has changed if not.
#[inline(always)]
pub fn receive(inner: &mut Inner, space: SpaceId, what: For, buffer: &mut [u8], room: usize) -> Short {
    let Inner { state, io } = inner;
    let Some(&number) = io.hot.first() else { return Short::Other };
    let Some(line) = io.lines.get_mut(number) else { return Short::Other };
    let record = match line.front() {
        Ok(Some(record)) => record,
        Ok(None) if io.hot.len() == 1 && none_queued(state, what) => return Short::Nothing,
        Ok(None) | Err(_) => return Short::Other,
    };
    let size = HEADER + record.body as usize;
    let plain = record.kind == wire::kind::MESSAGE && record.flags == 0 && record.fds == 0 && record.items == 0;
    if !plain || size > room || size > buffer.len() {
        return Short::Other;
    }
    let answered = match record.reply.form {
        form::NULL => false,
        form::TOKEN if line.held.len() < HELD && !line.held.contains_key(&record.reply.value) => true,
        _ => return Short::Other,
    };
    let index = record.target as usize;
    let Some(Some(slot)) = line.ins.get_mut(index) else { return Short::Other };
    let (Some(accepted), Some(taken)) = (line.ours.accepted.get(index), line.ours.taken.get(index)) else { return Short::Other };
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
    accepted.store(slot.accepted, Ordering::Relaxed); // ordered by the next
    taken.store(slot.taken, Ordering::Release);
    if size > HEADER {
        line.copy_out(0, &mut buffer[HEADER..size]);
    }
    line.consume(&record);
    let seqno = local.seqno;
    local.seqno = seqno.wrapping_add(1);
    let name = local.receiver.map_or(0, |(_, name)| u64::from(name));
    io.counters.received += 1;
    let (reply, reply_type) = if answered { take_reply(inner, space, number, record.reply.value) } else { (abi::NULL, 0) };
    let delivered = Delivered { size, id: record.id, complex: false, dest_type: types::PORT_SEND, reply, reply_type };
    header::write(buffer, &delivered, name, types::PORT_SEND, seqno);
    Short::Received
}

/// The name and the type of the reply right that came as a token.
#[inline(never)]
fn take_reply(inner: &mut Inner, space: SpaceId, number: LineId, token: u32) -> (u32, u32) {
    let right = inner.hold_token(number, token).unwrap_or(Right::Dead);
    (super::typed::place_right(inner, space, right, &mut 0, 0), types::PORT_SEND_ONCE)
}
