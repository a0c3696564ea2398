//! `mach_msg`: sending and receiving messages as bytes in a buffer.

pub mod direct;
pub mod fast;
pub mod header;
mod regardless;
pub mod typed;

use crate::{
    abi::{self, Code, HEADER, kind, option, types},
    io::{
        Inner,
        deliver::{Refused, room_for},
        pump::Pumped,
        wait::{self, Ended, For},
    },
    process::{Guard, Process},
    state::{Home, PortId, Right, SpaceId, message::Message, space::Object},
};
use direct::Direct;
use fast::Short;
use header::{Delivered, Header};

pub use slipway_abi::call::Request;

/// Sends the message in `buffer`, receives one into it, or one after the other, for the task with `space`.
///
/// Returns what `mach_msg` returns. `buffer` is at least as long as the larger of the two sizes.
pub fn mach_msg(process: &'static Process, space: SpaceId, buffer: &mut [u8], request: &Request) -> Code {
    let mut guard = process.lock();
    let cancels = request.option & option::SEND_CANCEL != 0;
    if request.option & option::SEND_MSG != 0 && (cancels || !fast::send(guard.quietly(), space, buffer, request.send_size)) {
        return send_slowly(guard, space, buffer, request);
    }
    if request.option & option::RCV_MSG == 0 {
        return Code::SUCCESS;
    }
    receive(guard, space, buffer, request)
}

/// As [`mach_msg`], when the message to be sent doesn't go the short way.
#[inline(never)]
fn send_slowly(guard: Guard<'_>, space: SpaceId, buffer: &mut [u8], request: &Request) -> Code {
    let (guard, code) = send(guard, space, buffer, request);
    if code != Code::SUCCESS || request.option & option::RCV_MSG == 0 {
        return code;
    }
    receive(guard, space, buffer, request)
}

fn deadline(asked: bool, milliseconds: u32) -> Option<u64> {
    asked.then(|| wait::now().saturating_add(u64::from(milliseconds) * 1_000_000))
}

type Step<'a> = (Guard<'a>, Code);

fn send<'a>(mut guard: Guard<'a>, space: SpaceId, buffer: &mut [u8], request: &Request) -> Step<'a> {
    if request.send_size < HEADER || !request.send_size.is_multiple_of(abi::SLOT) || request.send_size > buffer.len() {
        return (guard, Code::SEND_MSG_TOO_SMALL);
    }
    if request.send_size > abi::MESSAGE_MAX {
        return (guard, Code::SEND_NO_BUFFER);
    }
    if request.option & option::SEND_CANCEL != 0
        && let Err(code) = regardless::cancel(&mut guard, space, buffer, request)
    {
        return (guard, code);
    }
    let prepared = prepare(&mut guard, space, &buffer[..request.send_size]);
    match prepared {
        Ok(message) => hand_in(guard, space, message, buffer, request),
        Err(code) => (guard, code),
    }
}

/// Turns a buffer into a message, taking the rights out of the space.
fn prepare(inner: &mut Inner, space: SpaceId, bytes: &[u8]) -> Result<Box<Message>, Code> {
    let header = header::parse(bytes)?;
    let (dest, reply) = take_ports(inner, space, &header)?;
    let mut body = bytes[HEADER..].to_vec();
    let mut items = typed::Items::new();
    let taken = if header.complex { typed::copyin(inner, space, &mut body, &mut items) } else { Ok(()) };
    let message = Box::new(Message { id: header.id, complex: header.complex, dest, reply, body, items, origin: None });
    match taken {
        Ok(()) => Ok(message),
        Err(code) => {
            // In the order of any message that is destroyed: the right it was to be sent with goes first.
            inner.state.destroy_message(message);
            Err(code)
        }
    }
}

/// Takes destination and reply port out of the space: both or neither.
#[inline]
fn take_ports(inner: &mut Inner, space: SpaceId, header: &Header) -> Result<(Right, Right), Code> {
    let invalid = Code::SEND_INVALID_DEST;
    if header.remote == abi::NULL || header.remote == abi::DEAD {
        return Err(invalid);
    }
    look_for_death(inner, space, header.remote);
    let alive = inner.state.space(space).get(header.remote).is_some_and(|entry| entry.kind != kind::DEAD_NAME);
    if !alive || !inner.state.can_copyin(space, header.remote, header.remote_type) {
        return Err(invalid);
    }
    let replies = header.local_type != 0;
    if replies && !inner.state.can_copyin(space, header.local, header.local_type) {
        return Err(Code::SEND_INVALID_REPLY);
    }
    if replies && header.local == header.remote && !enough_for_two(inner, space, header) {
        return Err(Code::SEND_INVALID_REPLY);
    }
    // A copy or a made right first: a moved one may take the name away.
    let moves = matches!(header.remote_type, types::MOVE_SEND | types::MOVE_SEND_ONCE);
    let mut reply = Right::Null;
    if replies && moves {
        reply = inner.state.copyin(space, header.local, header.local_type).map_err(|_| Code::SEND_INVALID_REPLY)?;
    }
    let dest = match inner.state.copyin(space, header.remote, header.remote_type) {
        Ok(dest) => dest,
        Err(_) => {
            inner.state.destroy_right(reply);
            return Err(invalid);
        }
    };
    if replies && !moves {
        reply = match inner.state.copyin(space, header.local, header.local_type) {
            Ok(reply) => reply,
            Err(_) => {
                inner.state.destroy_right(dest);
                return Err(Code::SEND_INVALID_REPLY);
            }
        };
    }
    Ok((dest, reply))
}

/// Whether one name has the rights for both ports of a header.
fn enough_for_two(inner: &Inner, space: SpaceId, header: &Header) -> bool {
    let Some(entry) = inner.state.space(space).get(header.remote) else { return false };
    let moved = [header.remote_type, header.local_type];
    let sends = moved.iter().filter(|it| **it == types::MOVE_SEND).count() as u32;
    let onces = moved.iter().filter(|it| **it == types::MOVE_SEND_ONCE).count();
    // A last user reference that one of them moves away is not there for the other to copy.
    let copies = moved.contains(&types::COPY_SEND);
    onces < 2 && (sends == 0 || entry.urefs >= sends + u32::from(copies))
}

/// A port whose owner has closed the way to it: its names become dead names before anything is sent.
#[inline]
fn look_for_death(inner: &mut Inner, space: SpaceId, name: u32) {
    let Some(port) = inner.state.space(space).get(name).and_then(|entry| entry.port()) else { return };
    if !matches!(inner.state.port(port).home, Home::Far) {
        return;
    }
    let route = inner.io.far(port).and_then(|far| far.way()).map(|route| (route.line, route.slot));
    match route {
        Some((line, slot)) => drop(inner.look_at_gate(line, slot)),
        None => inner.refresh_far(port),
    }
}

/// How long a sender waits for the answer to a question for a port's owner, whatever its own time-out, in nanoseconds:
/// the port's queue may have room.
const PATIENCE: u64 = 250_000_000;

/// Sends a message, waiting for room if need be.
fn hand_in<'a>(
    mut guard: Guard<'a>,
    space: SpaceId,
    mut message: Box<Message>,
    buffer: &mut [u8],
    request: &Request,
) -> Step<'a> {
    let (timed, notifies) = (request.option & option::SEND_TIMEOUT != 0, request.option & option::SEND_NOTIFY != 0);
    // As in Mach, who wants to be told later does not wait now, unless he says how long.
    let deadline = deadline(timed || notifies, if timed { request.timeout } else { 0 });
    let mut asked = None;
    loop {
        let ended;
        let refused = match guard.send(message) {
            Ok(()) => return (guard, Code::SUCCESS),
            Err(refused) => refused,
        };
        guard.settle();
        let waits = deadline.is_none_or(|deadline| wait::now() < deadline);
        (guard, ended, message) = match refused {
            Refused::Resources => return (guard, Code::SEND_NO_BUFFER),
            Refused::Socket(port, message)
                if guard.awaited_answer(port).is_some() && wait::now() < *asked.get_or_insert_with(|| wait::now() + PATIENCE) =>
            {
                let until = deadline.map(|deadline| deadline.max(asked.unwrap_or(0)));
                let (guard, ended) = wait::for_socket(guard, port, until);
                (guard, ended, message)
            }
            refused if !waits && notifies => return regardless::send(guard, space, refused, buffer, request),
            Refused::Queue(_, message) | Refused::Line(_, _, message) | Refused::Socket(_, message) if !waits => {
                return take_back(guard, space, message, buffer, request, Code::SEND_TIMED_OUT);
            }
            Refused::Queue(port, message) => {
                let (guard, ended) = wait::for_room(guard, port, deadline);
                (guard, ended, message)
            }
            Refused::Line(number, slot, message) => {
                let (guard, ended) = wait::for_line(guard, number, slot, room_for(&message), deadline);
                (guard, ended, message)
            }
            Refused::Socket(port, message) => {
                let (guard, ended) = wait::for_socket(guard, port, deadline);
                (guard, ended, message)
            }
        };
        if ended == Ended::Interrupted && request.option & option::SEND_INTERRUPT != 0 {
            return take_back(guard, space, message, buffer, request, Code::SEND_INTERRUPTED);
        }
    }
}

/// Gives the rights of an unsent message back to its sender, as if it had received the message
/// (Mach calls it a pseudo-receive).
fn take_back<'a>(
    mut guard: Guard<'a>,
    space: SpaceId,
    message: Box<Message>,
    buffer: &mut [u8],
    request: &Request,
    code: Code,
) -> Step<'a> {
    let inner = &mut *guard;
    let Message { id, complex, dest, reply, mut body, items, .. } = *message;
    let (dest_type, reply_type) = (dest.received_type(), if reply == Right::Null { 0 } else { reply.received_type() });
    let mut lost = 0;
    let remote = typed::place_right(inner, space, dest, &mut lost, 0);
    let local = typed::place_right(inner, space, reply, &mut lost, 0);
    let _ = typed::copyout(inner, space, &mut body, items);
    buffer[HEADER..request.send_size].copy_from_slice(&body);
    let delivered = Delivered { size: request.send_size, id, complex, dest_type, reply: remote, reply_type: dest_type };
    header::write(buffer, &delivered, u64::from(local), reply_type, 0);
    (guard, code)
}

/// What a name to receive from denotes.
fn receivable(inner: &Inner, space: SpaceId, name: u32) -> Result<For, Code> {
    let entry = inner.state.space(space).get(name).ok_or(Code::RCV_INVALID_NAME)?;
    match entry.object {
        Object::Set(set) => Ok(For::Set(set)),
        Object::Port(port) if entry.has(kind::RECEIVE) => match inner.state.port(port).local().and_then(|local| local.set) {
            Some(_) => Err(Code::RCV_IN_SET),
            None => Ok(For::Port(port)),
        },
        _ => Err(Code::RCV_INVALID_NAME),
    }
}

/// Receives by the short way, as long as there is nothing else to be done.
#[inline(always)]
fn receive(mut guard: Guard<'_>, space: SpaceId, buffer: &mut [u8], request: &Request) -> Code {
    let Some(what) = guard.quietly().receives_from(space, request.receive_name) else {
        return receivable(&guard, space, request.receive_name).err().unwrap_or(Code::RCV_INVALID_NAME);
    };
    // Who has just asked can't have the answer yet.
    let mut asked = request.option & option::SEND_MSG != 0;
    let mut ended = Ended::Stirred;
    // Where calls may take the place of messages, a receiver lends its place while it waits.
    let lends = guard.state.turns.any();
    if lends {
        guard.quietly().come_back(what);
    }
    while ended == Ended::Stirred {
        let inner = guard.quietly();
        let short = match std::mem::take(&mut asked) {
            true => fast::look(inner, what),
            false => fast::receive(inner, space, what, buffer, request.receive_size),
        };
        match short {
            Short::Received => {
                if lends {
                    guard.quietly().go_away(what);
                }
                if guard.others_wait() {
                    guard.hand_over();
                }
                return Code::SUCCESS;
            }
            Short::Nothing if request.option & option::RCV_TIMEOUT == 0 => {
                (guard, ended) = match lends {
                    true => crate::trap::wait::for_message(guard, what, None),
                    false => wait::for_message(guard, what, None),
                };
            }
            Short::Nothing | Short::Other => break,
        }
    }
    receive_slowly(guard, space, what, buffer, request, ended)
}

/// Receives from wherever a message is or comes from, after a wait for it that has `ended` so.
#[inline(never)]
fn receive_slowly(
    mut guard: Guard<'_>,
    space: SpaceId,
    what: For,
    buffer: &mut [u8],
    request: &Request,
    mut ended: Ended,
) -> Code {
    guard.come_back(what);
    let asked = request.option & option::RCV_TIMEOUT != 0;
    let mut until = None;
    loop {
        if ended != Ended::Stirred {
            match receivable(&guard, space, request.receive_name) {
                Ok(still) if still == what => {}
                other => {
                    let code = changed(&guard, space, what, other);
                    // It may have been the one that looked at lines for others.
                    return received(guard, what, code);
                }
            }
        }
        if let Some(code) = try_receive(&mut guard, space, what, buffer, request) {
            return received(guard, what, code);
        }
        match ended {
            Ended::TimedOut => return received(guard, what, Code::RCV_TIMED_OUT),
            Ended::Interrupted if request.option & option::RCV_INTERRUPT != 0 => {
                return received(guard, what, Code::RCV_INTERRUPTED);
            }
            _ => {}
        }
        guard.settle();
        if asked && request.timeout == 0 {
            // Nothing can be there that was sent before this call and not seen: the watcher's part apart.
            guard.catch_up();
            let code = try_receive(&mut guard, space, what, buffer, request).unwrap_or(Code::RCV_TIMED_OUT);
            guard.quiet(what);
            return received(guard, what, code);
        }
        let deadline = *until.get_or_insert_with(|| deadline(asked, request.timeout));
        (guard, ended) = crate::trap::wait::for_message(guard, what, deadline);
    }
}

/// A receiver is done.
fn received(mut guard: Guard<'_>, what: For, code: Code) -> Code {
    if code == Code::SUCCESS {
        guard.go_away(what);
    }
    guard.hand_over();
    code
}

/// Why what was received from is not there any more. A receive right on its way elsewhere is gone, as in Mach.
fn changed(inner: &Inner, space: SpaceId, was: For, now: Result<For, Code>) -> Code {
    let held = match was {
        For::Port(port) => inner.state.ports.get(port.0 as usize).and_then(|port| port.local()?.receiver),
        For::Set(set) => inner.state.sets.get(set.0 as usize).map(|set| set.holder),
        For::Room(_) | For::Line(_) | For::Turn(_) => None,
    };
    match now {
        Err(Code::RCV_IN_SET) => Code::RCV_PORT_CHANGED,
        // Another name, or another port under its name.
        _ if held.is_some_and(|(holder, _)| holder == space) => Code::RCV_PORT_CHANGED,
        _ => Code::RCV_PORT_DIED,
    }
}

/// Receives what is there: None if nothing is.
fn try_receive(inner: &mut Inner, space: SpaceId, what: For, buffer: &mut [u8], request: &Request) -> Option<Code> {
    match fast::receive(inner, space, what, buffer, request.receive_size) {
        Short::Received => Some(Code::SUCCESS),
        Short::Nothing => None,
        Short::Other => take_any(inner, space, what, buffer, request),
    }
}

/// As [`try_receive`], from wherever a message is.
fn take_any(inner: &mut Inner, space: SpaceId, what: For, buffer: &mut [u8], request: &Request) -> Option<Code> {
    loop {
        if let Some(port) = waiting_at(inner, what) {
            return Some(from_queue(inner, space, port, buffer, request));
        }
        let room = request.receive_size.min(buffer.len());
        let mut direct = Direct { space, what, buffer, room };
        let mut queued = false;
        for i in 0..inner.io.hot.len() {
            let Some(number) = inner.io.hot.get(i).copied() else { break };
            let Some(line) = inner.io.lines.get(number as usize) else { continue };
            if !line.segment.rx.readable(line.rx.head) {
                continue;
            }
            match inner.pump(number, Some(&mut direct)) {
                Pumped::Delivered => {
                    if i > 0 {
                        inner.heat(number);
                    }
                    return Some(Code::SUCCESS);
                }
                Pumped::More => inner.io.crowded = true,
                Pumped::Dry => {}
            }
            queued |= waiting_at(inner, what).is_some();
        }
        if !queued {
            return None;
        }
    }
}

/// The port with a message in its queue, if there is one.
#[inline]
fn waiting_at(inner: &mut Inner, what: For) -> Option<PortId> {
    match what {
        For::Port(port) => inner.state.port(port).local().filter(|local| !local.queue.is_empty()).map(|_| port),
        For::Set(set) => {
            let port = inner.state.next_ready(set)?;
            // It is looked at again before it is taken.
            inner.state.still_ready(port);
            Some(port)
        }
        For::Room(_) | For::Line(_) | For::Turn(_) => None,
    }
}

fn from_queue(inner: &mut Inner, space: SpaceId, port: PortId, buffer: &mut [u8], request: &Request) -> Code {
    let size = match inner.state.port(port).local().and_then(|local| local.queue.front()) {
        Some(message) => message.size(),
        None => return Code::RCV_TIMED_OUT,
    };
    let fits = size <= request.receive_size.min(buffer.len());
    if !fits && request.option & option::RCV_LARGE != 0 {
        if buffer.len() >= 8 && request.receive_size >= 8 {
            buffer[4..8].copy_from_slice(&(size as u32).to_le_bytes());
        }
        return Code::RCV_TOO_LARGE;
    }
    let set = inner.state.port(port).local().and_then(|local| local.set);
    if let Some(set) = set {
        // Its turn is over: it goes to the back if more is there.
        let _ = inner.state.next_ready(set);
    }
    let Some(message) = inner.state.dequeue(port) else { return Code::RCV_TIMED_OUT };
    let Message { id, complex, dest, reply, mut body, items, .. } = *message;
    let dest_type = dest.received_type();
    if !fits {
        inner.state.destroy_items(items);
        inner.state.destroy_right(reply);
        finish_dest(inner, dest);
        return Code::RCV_TOO_LARGE;
    }
    let reply_type = if reply == Right::Null { 0 } else { reply.received_type() };
    let mut lost = 0;
    let name = typed::place_right(inner, space, reply, &mut lost, 0x2000);
    let copied = if items.is_empty() { Ok(()) } else { typed::copyout(inner, space, &mut body, items) };
    buffer[HEADER..size].copy_from_slice(&body);
    header::deliver(inner, port, buffer, &Delivered { size, id, complex, dest_type, reply: name, reply_type });
    finish_dest(inner, dest);
    copied.err().unwrap_or(Code::SUCCESS)
}

/// Uses up the right that a message was sent with.
fn finish_dest(inner: &mut Inner, dest: Right) {
    match dest {
        Right::SendOnce(port) => inner.state.drop_soright(port),
        dest => inner.state.destroy_right(dest),
    }
}
