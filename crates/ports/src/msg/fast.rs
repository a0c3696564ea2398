//! The fast path: a message of plain bytes goes from the sender's buffer into a ring, or from there to the receiver's buffer,
//! past every queue.
//!
//! As in seL4's fast path: guards that each leave for the slow path, with nothing changed; a point of no
//! return; and a commit that can't fail.

use super::{
    format::{Delivered, Format, Header, Local as Destination, Origin},
    typed,
};
use crate::{
    abi::{self, Code, LOCAL_MASK, REMOTE_MASK, kind, types},
    dispatch::Inner,
    line::{INLINE, Line},
    routes::{Deferred, Once, Routes, Upcall, import::View},
    state::{
        Home, LineId, PortId, Right, SpaceId, State,
        message::Sender,
        port::{Local, Port},
        space::Object,
    },
    waiting::For,
    wire::{self, RECORD, Record, WireRight, flag, form, parse::ParsedRight},
};

impl Inner {
    /// What a name to receive from denotes, if it can be received from.
    #[inline(always)]
    pub(super) fn receives_from(&mut self, space: SpaceId, name: u32) -> Option<For> {
        if !self.shortcuts.knows_receiver(space, name) {
            self.look_up_receiver(space, name);
        }
        self.shortcuts.what()
    }

    #[inline(never)]
    fn look_up_receiver(&mut self, space: SpaceId, name: u32) {
        let what = receivable(self, space, name).ok().and_then(|what| Some((what, self.serial_of(what)?)));
        let calm = what.and_then(|(what, _)| line_of_calm(self, what));
        self.shortcuts.note_receiver(space, name, what, calm);
    }

    /// Line and slot to which a message goes for a name with a send right to a port elsewhere.
    #[inline(always)]
    pub(super) fn route_to(&mut self, space: SpaceId, name: u32) -> Option<(LineId, u32)> {
        if self.shortcuts.knows_route(space, name) || self.look_up_route(space, name).is_some() {
            return Some(self.shortcuts.route());
        }
        None
    }

    #[inline(never)]
    fn look_up_route(&mut self, space: SpaceId, name: u32) -> Option<()> {
        let port = self.state.space(space).get(name).filter(|entry| entry.has(kind::SEND))?.port()?;
        let route = self.remote(port)?.route()?;
        let route = route.line_and_slot();
        self.shortcuts.note_route(space, name, route);
        Some(())
    }
}

/// Sends the message of `size` bytes in `buffer` if it is plain, and its line has room: false, and nothing has changed, if
/// not.
#[inline(always)]
pub fn send<F: Format>(inner: &mut Inner, space: SpaceId, buffer: &[u8], size: usize) -> bool {
    const PLAIN: u32 = types::COPY_SEND;
    const { assert!(F::UNIT.is_power_of_two() && F::HEADER.is_multiple_of(F::UNIT)) };
    let Some((header, bits, body)) = buffer.get(..size).and_then(F::read) else { return false };
    // One comparison for the most and the unit: what is no multiple is very large once it is turned.
    if body.len().rotate_right(F::UNIT.trailing_zeros()) > (INLINE - F::HEADER) / F::UNIT {
        return false;
    }
    match bits {
        PLAIN => header.local == abi::NULL && to_slot::<F>(inner, space, &header, None, body),
        _ => send_with_once::<F>(inner, space, &buffer[..size]),
    }
}

/// As [`send`], for a message with a send-once right, or for one.
#[inline(never)]
fn send_with_once<F: Format>(inner: &mut Inner, space: SpaceId, message: &[u8]) -> bool {
    let Some((header, bits, body)) = F::read(message) else { return false };
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
        types::COPY_SEND => to_slot::<F>(inner, space, &header, reply, body),
        types::MOVE_SEND_ONCE => to_token::<F>(inner, space, &header, reply, body),
        _ => false,
    }
}

/// The port that a reply right is made for, if it is here.
pub(super) fn reply_port(inner: &Inner, space: SpaceId, name: u32) -> Option<PortId> {
    let entry = inner.state.space(space).get(name).filter(|entry| entry.has(kind::RECEIVE))?;
    entry.port().filter(|port| matches!(inner.state.port(*port).home, Home::Here(_)))
}

/// Makes the reply right.
#[inline(always)]
fn make_reply(state: &mut State, line: &mut Line, reply: Option<PortId>) -> WireRight {
    match reply {
        Some(port) => {
            state.port_mut(port).sorights += 1;
            WireRight { form: form::TOKEN, value: line.give_token(port) }
        }
        None => WireRight::default(),
    }
}

/// What a body is filled up by, in bytes.
#[inline(always)]
fn filling<F: Format>(body: &[u8]) -> usize {
    if F::SHORT { body.len() & 4 } else { 0 }
}

/// Writes a message, for which there is room.
#[inline(always)]
fn write<F: Format>(
    line: &mut Line,
    kind: u8,
    target: u32,
    id: i32,
    reply: WireRight,
    body: &[u8],
) -> Result<(), slipway_fabric::Corrupt> {
    let filling = filling::<F>(body);
    // The flag is twice as large as the filling that it tells of.
    let flags = (2 * filling) as u8;
    const { assert!(flag::SHORT == 2 * 4) };
    let record = Record { body: (body.len() + filling) as u32, kind, flags, target, id, reply, ..Record::default() };
    line.write_plain(&record, body, filling)
}

#[inline(always)]
fn to_slot<F: Format>(inner: &mut Inner, space: SpaceId, header: &Header, reply: Option<PortId>, body: &[u8]) -> bool {
    let Some((number, slot)) = inner.route_to(space, header.remote) else { return false };
    let Routes { state, lines, sent, .. } = &mut inner.routes;
    let Some(line) = lines.known(number) else { return false };
    // What is flushed may drop descriptors.
    if !line.backlog.is_empty() || line.check_space(RECORD + body.len() + filling::<F>(body), 0).is_err() {
        return false;
    }
    let Ok(out) = line.credited(slot) else { return false };

    // Past this point nothing can fail but the line itself, whose loss is as good as a delivery to a dead port.
    out.count.add();
    *sent += 1;
    let reply = make_reply(state, line, reply);
    let written = write::<F>(line, wire::kind::MESSAGE, slot, header.id, reply, body);
    if written.is_err() || line.credit.closed(slot).is_some() {
        lost_or_closed(inner, number, written.is_err());
    }
    true
}

/// A line that was just written to is broken, or the slot closed. What that comes to may drop descriptors, and is the
/// watcher's, or that of the next to send.
#[cold]
pub(super) fn lost_or_closed(inner: &mut Inner, number: LineId, lost: bool) {
    inner.shortcuts.forget();
    match lost {
        true => inner.upcall(Upcall::End(number)),
        false => {
            inner.stay();
            inner.defer(Deferred::Stir(number));
        }
    }
}

fn to_token<F: Format>(inner: &mut Inner, space: SpaceId, header: &Header, reply: Option<PortId>, body: &[u8]) -> bool {
    let Some(Object::Once(once)) =
        inner.state.space(space).get(header.remote).filter(|entry| entry.request == 0).map(|entry| entry.object)
    else {
        return false;
    };
    let Some(Once::Token { line: number, token }) = inner.onces.get(once.0 as usize) else { return false };
    let (number, token) = (*number, *token);
    let Routes { state, lines, onces, stirred, sent, .. } = &mut inner.routes;
    let Some(line) = lines.get_mut(number) else { return false };
    // What is flushed may drop descriptors.
    if !line.backlog.is_empty() || line.check_space(RECORD + body.len() + filling::<F>(body), 0).is_err() {
        return false;
    }

    // As in `to_slot`.
    let reply = make_reply(state, line, reply);
    let written = write::<F>(line, wire::kind::ONCE, token, header.id, reply, body);
    line.held.remove(&token);
    onces.remove(once.0 as usize);
    *sent += 1;
    state.space_mut(space).remove(header.remote);
    if written.is_err() {
        lost_or_closed(inner, number, true);
    } else if line.lapsed {
        stirred.push(number);
    }
    true
}

/// What a name to receive from denotes.
pub(super) fn receivable(inner: &Inner, space: SpaceId, name: u32) -> Result<For, Code> {
    let entry = inner.state.space(space).get(name).ok_or(Code::RCV_INVALID_NAME)?;
    match entry.object {
        Object::Set(set) => Ok(For::Set(set)),
        Object::Port(port) if entry.has(kind::RECEIVE) => match inner.state.port(port).local() {
            Some(local) if local.set.is_some() => Err(Code::RCV_IN_SET),
            _ => Ok(For::Port(port)),
        },
        _ => Err(Code::RCV_INVALID_NAME),
    }
}

/// The line that a receiver looks at, if it is [calm](crate::dispatch::shortcuts::Shortcuts::is_calm).
fn line_of_calm(inner: &Inner, what: For) -> Option<LineId> {
    let undisturbed = !inner.state.turns.any() && !inner.crowded && !inner.serves && inner.waiting.pollables.is_empty();
    match inner.waiting.hot[..] {
        [line] if undisturbed && none_queued(&inner.state, what) => Some(line),
        _ => None,
    }
}

/// What the fast path to a receiver came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Short {
    /// A message was received.
    Received,
    /// There is nothing anywhere.
    Nothing,
    /// There may be something, which the slow path finds.
    Other,
}

/// Whether a wait may begin without a look at the lines: [`Short::Nothing`] if no message is queued, and there is one hot line at
/// most, which the wait looks at itself.
#[inline(always)]
pub fn look(inner: &Inner, what: For) -> Short {
    if inner.waiting.hot.len() <= 1 && none_queued(&inner.state, what) { Short::Nothing } else { Short::Other }
}

/// Whether no message waits in a queue here.
#[inline(always)]
fn none_queued(state: &State, what: For) -> bool {
    match what {
        For::Port(port) => {
            matches!(state.ports.get(port.0 as usize), Some(Port { home: Home::Here(local), .. }) if local.queue.is_empty())
        }
        For::Set(set) => state.set(set).ready.is_empty(),
        For::NotFull(_) | For::Line(_) | For::Turn(_) => false,
    }
}

/// Where a received message goes.
#[derive(Debug)]
pub struct Buffer<'a, F: Format> {
    /// The space in which the message's rights get names.
    pub space: SpaceId,
    /// What is received from.
    pub what: For,
    /// Where the message goes: all of it may be used.
    pub bytes: &'a mut [u8],
    /// What comes behind the message.
    pub tail: F::Tail,
}

/// Receives what lies at the front of the line that was last active, if [`take`] takes it.
#[inline(always)]
pub fn receive<F: Format>(inner: &mut Inner, space: SpaceId, what: For, bytes: &mut [u8], tail: F::Tail) -> Short {
    // What has more behind it than most is not told in registers.
    let short = if F::is_usual(tail) {
        receive_plain::<F>(inner, space, what, bytes)
    } else {
        if inner.waiting.hot.len() > 1 {
            inner.waiting.take_turns(&inner.routes.lines);
        }
        Short::Other
    };
    match short {
        Short::Other => receive_front::<F>(inner, space, what, bytes, tail),
        short => short,
    }
}

/// As [`receive`], for what is most frequent.
#[inline(always)]
fn receive_plain<F: Format>(inner: &mut Inner, space: SpaceId, what: For, bytes: &mut [u8]) -> Short {
    let Routes { state, lines, .. } = &mut inner.routes;
    let (number, alone) = match inner.waiting.hot[..] {
        [] => return if none_queued(state, what) { Short::Nothing } else { Short::Other },
        [number] => (number, true),
        [..] => (inner.waiting.take_turns(lines), false),
    };
    let Some(line) = lines.get_mut(number) else { return Short::Other };
    let record = match line.front() {
        Ok(Some(record)) => record,
        Ok(None) if alone && none_queued(state, what) => return Short::Nothing,
        Ok(None) | Err(_) => return Short::Other,
    };
    match take_off::<F, true>(state, line, &record, what, bytes, F::USUAL) {
        Some(taken) => deliver::<F>(inner, number, &record, &taken, space, bytes, F::USUAL),
        None => return Short::Other,
    }
    Short::Received
}

/// As [`receive`], for what is less frequent.
#[inline(never)]
pub(super) fn receive_front<F: Format>(inner: &mut Inner, space: SpaceId, what: For, bytes: &mut [u8], tail: F::Tail) -> Short {
    let Some(&number) = inner.waiting.hot.first() else { return Short::Other };
    // What is posted may drop descriptors.
    let free = |line: &&mut Line| line.kept.is_empty() && line.backlog.is_empty();
    let front = inner.lines.get_mut(number).filter(free).and_then(|line| line.front().ok().flatten());
    let mut to = Buffer::<F> { space, what, bytes, tail };
    if front.is_some_and(|record| take(inner, number, &record, &mut to)) { Short::Received } else { Short::Other }
}

/// Takes the record at the front of a line, if it is a message for a port of the receiver's whose queue is empty, that fits,
/// and has nothing in it but bytes and perhaps a reply right. False, and nothing has changed, if not.
pub fn take<F: Format>(inner: &mut Inner, number: LineId, record: &Record, to: &mut Buffer<'_, F>) -> bool {
    let Routes { state, lines, .. } = &mut inner.routes;
    let Some(line) = lines.get_mut(number) else { return false };
    let taken = match record.kind {
        wire::kind::MESSAGE => take_off::<F, false>(state, line, record, to.what, to.bytes, to.tail),
        wire::kind::ONCE => take_off_once(state, line, record, to),
        _ => None,
    };
    let Some(taken) = taken else { return false };
    deliver::<F>(inner, number, record, &taken, to.space, to.bytes, to.tail);
    true
}

/// What the header of a message that was taken says of its port.
pub(super) struct Taken {
    pub at: Destination,
    pub dest_type: u32,
}

/// Whether there is nothing in the record but bytes that fit, and perhaps a reply right that takes no descriptor. What a body is filled up with
/// is copied, too: it lies where the tail comes.
#[inline(always)]
pub(super) fn fits<F: Format>(record: &Record, bytes: &[u8], tail: F::Tail) -> bool {
    let flags = if F::SHORT { record.flags & !flag::SHORT } else { record.flags };
    let plain = flags == 0 && record.fds == 0 && record.items == 0 && !F::asks_for_context(tail);
    plain && F::HEADER + F::room(tail) + record.body as usize <= bytes.len()
}

/// The bytes of a body that its receiver gets.
#[inline(always)]
fn len<F: Format>(record: &Record) -> usize {
    let filling = if F::SHORT { (record.flags & flag::SHORT) / 2 } else { 0 };
    (record.body as usize).saturating_sub(filling.into())
}

/// Takes the body of a message at the front off the line, which is counted as received. `MOST`: of most messages, which
/// makes the fewest steps; those that have nothing else but perhaps a token.
#[inline(always)]
fn take_off<F: Format, const MOST: bool>(
    state: &mut State,
    line: &mut Line,
    record: &Record,
    what: For,
    bytes: &mut [u8],
    tail: F::Tail,
) -> Option<Taken> {
    if MOST && record.kind != wire::kind::MESSAGE || !fits::<F>(record, bytes, tail) {
        return None;
    }
    match record.reply.form {
        form::NULL | form::TOKEN => {}
        form::DEAD | form::LINE_RIGHT | form::BACK if !MOST => {}
        _ => return None,
    }
    let Some(Some(slot)) = line.ins.get_mut(record.target as usize) else { return None };
    if !slot.takes() {
        return None;
    }
    let local = receiver(state, slot.port, what)?;
    if MOST && local.is_protected {
        return None;
    }

    // Past this point nothing can fail.
    line.credit.accept_and_take(record.target, &mut slot.count);
    pull::<F>(line, record, bytes);
    Some(Taken::new(local, types::PORT_SEND))
}

/// Takes the front record off its line, and its body into the buffer.
#[inline(always)]
pub(super) fn pull<F: Format>(line: &mut Line, record: &Record, bytes: &mut [u8]) {
    let end = F::HEADER + record.body as usize;
    if end > F::HEADER {
        line.copy_out(0, &mut bytes[F::HEADER..end]);
    }
    line.consume(record);
}

/// As [`take_off`], for the message of a send-once right.
fn take_off_once<F: Format>(state: &mut State, line: &mut Line, record: &Record, to: &mut Buffer<'_, F>) -> Option<Taken> {
    let by_value = matches!(record.reply.form, form::NULL | form::TOKEN | form::DEAD | form::LINE_RIGHT | form::BACK);
    if !fits::<F>(record, to.bytes, to.tail) || !by_value {
        return None;
    }
    let port = line.token_port(record.target)?;
    let local = receiver(state, port, to.what)?;
    let taken = Taken::new(local, types::PORT_SEND_ONCE);

    // As in `take_off`.
    line.copy_out(0, &mut to.bytes[F::HEADER..F::HEADER + record.body as usize]);
    line.take_token(record.target);
    line.consume(record);
    let it = state.port_mut(port);
    it.sorights = it.sorights.saturating_sub(1);
    Some(taken)
}

/// The port, if messages for it go to the receiver at once: it is here, the receiver receives from it, and its queue is empty.
#[inline(always)]
pub(super) fn receiver(state: &mut State, port: PortId, what: For) -> Option<&mut Local> {
    let further = matches!(what, For::Set(set) if state.is_in_further(port, set));
    let Some(Port { home: Home::Here(local), .. }) = state.ports.get_mut(port.0 as usize) else { return None };
    let mine = what == For::Port(port) || local.set.is_some_and(|it| what == For::Set(it.set)) || further;
    if mine && local.queue.is_empty() { Some(local) } else { None }
}

impl Taken {
    /// Counts a message of the port.
    #[inline(always)]
    pub fn new(local: &mut Local, dest_type: u32) -> Self {
        let seqno = local.seqno;
        local.seqno = seqno.wrapping_add(1);
        let (local, local_type) = local.address(dest_type);
        Self { at: Destination { local, local_type, seqno }, dest_type }
    }
}

/// Writes the header of a message that was taken off a line.
#[inline(always)]
pub(super) fn deliver<F: Format>(
    inner: &mut Inner,
    number: LineId,
    record: &Record,
    taken: &Taken,
    space: SpaceId,
    bytes: &mut [u8],
    tail: F::Tail,
) {
    inner.received += 1;
    let (reply, reply_type) = match record.reply.form {
        form::NULL => (abi::NULL, 0),
        _ => take_reply(inner, space, number, record.reply),
    };
    if record.kind == wire::kind::ONCE && inner.lines.get(number).is_some_and(|line| line.lapsed) {
        inner.stirred.push(number);
    }
    let size = F::settle(bytes, record.id, len::<F>(record));
    let message = Delivered { size, id: record.id, complex: false, dest_type: taken.dest_type, reply, reply_type };
    let sender = || inner.lines.get(number).map_or(Sender::UNKNOWN, |line| line.peer.sender());
    F::write(bytes, &message, &taken.at, tail, || Origin { sender: sender(), context: 0 });
}

/// The reply right is none that the peer could give: the line ends.
#[cold]
fn wrong_reply(inner: &mut Inner, number: LineId) -> Right {
    inner.upcall(Upcall::End(number));
    Right::Dead
}

/// The name and the type of the reply right of a record.
#[inline(never)]
fn take_reply(inner: &mut Inner, space: SpaceId, number: LineId, reply: WireRight) -> (u32, u32) {
    if reply.form == form::TOKEN {
        let held = inner.hold_token(number, reply.value);
        let right = held.unwrap_or_else(|_| wrong_reply(inner, number));
        return (typed::place_right(inner, space, right, &mut 0, 0), types::PORT_SEND_ONCE);
    }
    inner.shortcuts.forget();
    let parsed = ParsedRight::numbered(reply).unwrap_or(ParsedRight::Dead);
    let imported = inner.import_right(View::Reader(number), parsed);
    let right = imported.unwrap_or_else(|_| wrong_reply(inner, number));
    let kind = right.received_type();
    (typed::place_right(inner, space, right, &mut 0, 0), kind)
}
