//! Sending: a message is taken out of its sender's space, and handed in where its destination is.

use super::{
    format::{Body, Format, Header},
    pseudo_receive::{Step, pseudo_receive},
    request::{Request, deadline},
    send_notify,
};
use crate::{
    abi::{self, Code, kind, option, types},
    dispatch::Inner,
    lock::Guard,
    routes::{send::Refused, write::space_for},
    signals,
    state::{Home, Right, SpaceId, message::Message},
    wait::{self, Need},
};
use slipway_fabric::spin::now;

/// Sends the message in `buffer`, waiting for room if need be.
pub(super) fn send<'a, F: Format>(mut guard: Guard<'a>, space: SpaceId, buffer: &mut [u8], request: &Request) -> Step<'a> {
    if request.send_size < F::HEADER || !request.send_size.is_multiple_of(F::UNIT) || request.send_size > buffer.len() {
        return (guard, Code::SEND_MSG_TOO_SMALL);
    }
    if request.send_size > abi::MESSAGE_MAX {
        return (guard, Code::SEND_NO_BUFFER);
    }
    if request.option & option::SEND_CANCEL != 0
        && let Err(code) = send_notify::cancel::<F>(&mut guard, space, buffer, request)
    {
        return (guard, code);
    }
    let prepared = prepare::<F>(&mut guard, space, &buffer[..request.send_size]);
    match prepared {
        Ok(message) => hand_in::<F>(guard, space, message, buffer, request),
        Err(code) => (guard, code),
    }
}

/// Turns a buffer into a message, taking the rights out of the space.
fn prepare<F: Format>(inner: &mut Inner, space: SpaceId, bytes: &[u8]) -> Result<Box<Message>, Code> {
    let (header, bits, body) = F::read(bytes).ok_or(Code::SEND_MSG_TOO_SMALL)?;
    F::check(&header, bits, bytes)?;
    let (dest, reply) = take_ports(inner, space, &header)?;
    let mut into = Body::default();
    let taken = F::take(inner, space, header.complex, body, &mut into);
    let message = Box::new(Message {
        id: header.id,
        complex: header.complex,
        dest,
        reply,
        body: into.bytes,
        short: into.short,
        sender: Default::default(),
        items: into.items,
        origin: None,
        charge: Default::default(),
    });
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

/// If the owner of the port has closed the slot on the line to it, the port's names become dead names before anything is sent.
#[inline]
fn look_for_death(inner: &mut Inner, space: SpaceId, name: u32) {
    let Some(port) = inner.state.space(space).get(name).and_then(|entry| entry.port()) else { return };
    if !matches!(inner.state.port(port).home, Home::Remote) {
        return;
    }
    let route = inner.remote(port).and_then(|remote| remote.open_route()).map(|route| (route.line, route.slot));
    match route {
        Some((line, slot)) => drop(inner.look_at_gate(line, slot)),
        None => inner.refresh_remote(port),
    }
}

/// How long a sender waits for the answer to a question for a port's owner, whatever its own time-out, in nanoseconds:
/// the port's queue may have room. An owner that is not stopped has answered by then, also where it gets the processor seldom.
const PATIENCE: u64 = 1_000_000_000;

/// Sends a message, waiting for room if need be.
fn hand_in<'a, F: Format>(
    mut guard: Guard<'a>,
    space: SpaceId,
    mut message: Box<Message>,
    buffer: &mut [u8],
    request: &Request,
) -> Step<'a> {
    let (timed, notifies) = (request.option & option::SEND_TIMEOUT != 0, request.option & option::SEND_NOTIFY != 0);
    // As in Mach, a sender that asks for a notification waits only if it gives a time-out.
    let deadline = deadline(timed || notifies, if timed { request.timeout } else { 0 });
    let mut asked = None;
    loop {
        let refused = match guard.send(message) {
            Ok(()) => return (guard, Code::SUCCESS),
            Err(refused) => refused,
        };
        guard.settle();
        let waits = deadline.is_none_or(|deadline| now() < deadline);
        let parked;
        (guard, parked) = match refused {
            Refused::Resources => return (guard, Code::SEND_NO_BUFFER),
            Refused::Socket(port, message)
                if guard.awaited_answer(port).is_some() && now() < *asked.get_or_insert_with(|| now() + PATIENCE) =>
            {
                let until = deadline.map(|deadline| deadline.max(asked.unwrap_or(0)));
                let parked = guard.state.park(message);
                (wait::for_socket(guard, port, until), parked)
            }
            refused if !waits && notifies => return send_notify::send::<F>(guard, space, refused, buffer, request),
            Refused::Queue(_, message) | Refused::Line(_, _, message) | Refused::Socket(_, message) if !waits => {
                return pseudo_receive::<F>(guard, space, message, buffer, request, Code::SEND_TIMED_OUT);
            }
            Refused::Queue(port, message) => {
                let parked = guard.state.park(message);
                (wait::for_queue(guard, port, deadline), parked)
            }
            Refused::Line(number, slot, message) => {
                let (len, fds) = space_for(&message);
                let parked = guard.state.park(message);
                (wait::for_line(guard, number, slot, Need { len, behind: 0, fds }, deadline), parked)
            }
            Refused::Socket(port, message) => {
                let parked = guard.state.park(message);
                (wait::for_socket(guard, port, deadline), parked)
            }
        };
        message = guard.state.unpark(parked);
        if request.option & option::SEND_INTERRUPT != 0 && signals::have_interrupted() {
            return pseudo_receive::<F>(guard, space, message, buffer, request, Code::SEND_INTERRUPTED);
        }
    }
}
