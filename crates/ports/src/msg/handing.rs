//! A message that goes from its sender's buffer into the hands of a thread of this process that waits for it, past the queue.
//!
//! The sender does what the receiver would have done with the lock held, so the receiver need not take it: the
//! lock and what it guards stay on the processor where they are. As in the [fast path](super::fast), guards come first.

use super::{
    darwin::Darwin,
    fast::{Taken, reply_port},
    format::{Delivered, Format, Header, Origin},
    header::Typed,
    typed,
};
use crate::{
    abi::{self, COMPLEX, LOCAL_MASK, REMOTE_MASK, kind, types},
    dialect::Dialect,
    dispatch::Inner,
    lock::Guard,
    state::{PortId, Right, SpaceId, port::Kernel, space::Object},
    waiting::{HANDED, receivers},
};

/// Sends the message of `size` bytes in `buffer` if it is plain, and a thread waits for it whose port's queue is empty: false,
/// and nothing has changed, if not.
pub(super) fn send<F: Format>(guard: &mut Guard<'_>, space: SpaceId, buffer: &[u8], size: usize) -> bool {
    if size > HANDED || size > buffer.len() || !size.is_multiple_of(F::UNIT) || guard.state.turns.any() {
        return false;
    }
    let Some((header, bits, body)) = F::read(&buffer[..size]) else { return false };
    let plain = bits & COMPLEX == 0 && bits & !(REMOTE_MASK | LOCAL_MASK) == 0;
    plain
        && hand(guard.quietly(), space, &header, body).is_some_and(|needs_bells| {
            if needs_bells {
                guard.hand_over();
            }
            true
        })
}

/// The port that a message goes to, if it is here.
fn destination(inner: &Inner, space: SpaceId, header: &Header) -> Option<PortId> {
    let entry = inner.state.space(space).get(header.remote)?;
    match (header.remote_type, entry.object) {
        (types::COPY_SEND, Object::Port(port)) if entry.has(kind::SEND) => Some(port),
        (types::MOVE_SEND_ONCE, Object::Port(port)) if entry.has(kind::SEND_ONCE) && entry.request == 0 => Some(port),
        _ => None,
    }
}

/// Hands the message over: whether others depend on the lines that the receiver looked at. None if it can't be handed over.
fn hand(inner: &mut Inner, space: SpaceId, header: &Header, body: &[u8]) -> Option<bool> {
    let port = destination(inner, space, header)?;
    let reply = match (header.local_type, header.local) {
        (0, abi::NULL) => None,
        (types::MAKE_SEND_ONCE, name) => Some(reply_port(inner, space, name)?),
        _ => return None,
    };
    inner.state.port(port).local().filter(|local| local.queue.is_empty() && local.kernel == Kernel::No)?;
    let (thread, receiver, dialect) =
        inner.waiting.taker(|dialect| size(dialect, body), receivers(port, inner.state.sets_of(port)))?;

    // Past this point nothing can fail.
    let dest_type = if header.remote_type == types::COPY_SEND { types::PORT_SEND } else { types::PORT_SEND_ONCE };
    if dest_type == types::PORT_SEND_ONCE && inner.state.copyin(space, header.remote, types::MOVE_SEND_ONCE).is_ok() {
        inner.state.drop_soright(port);
    }
    let (reply, reply_type) = match reply {
        None => (abi::NULL, 0),
        Some(reply) => {
            inner.state.port_mut(reply).sorights += 1;
            (typed::place_right(inner, receiver, Right::SendOnce(reply), &mut 0, 0), types::PORT_SEND_ONCE)
        }
    };
    let local = inner.state.port_mut(port).local_mut()?;
    let taken = Taken::new(local, dest_type);
    inner.received += 1;
    let message = Delivered { size: 0, id: header.id, complex: false, dest_type, reply, reply_type };
    inner.waiting.hand(&inner.routes.lines, thread, size(dialect, body), |bytes| match dialect {
        Dialect::Typed => write::<Typed>(bytes, body, message, &taken, ()),
        Dialect::Darwin(tail) => write::<Darwin>(bytes, body, message, &taken, tail),
    });
    Some(inner.waiting.needs_bells() || inner.unheard)
}

/// The room that a plain message takes at its receiver, in bytes.
fn size(dialect: Dialect, body: &[u8]) -> usize {
    match dialect {
        Dialect::Typed => Typed::HEADER + body.len().next_multiple_of(Typed::UNIT),
        Dialect::Darwin(tail) if Darwin::asks_for_context(tail) => usize::MAX,
        Dialect::Darwin(tail) => Darwin::HEADER + body.len() + Darwin::room(tail),
    }
}

/// Writes a plain message as its receiver gets it. `bytes` are as many as it takes.
fn write<F: Format>(bytes: &mut [u8], body: &[u8], message: Delivered, taken: &Taken, tail: F::Tail) {
    let len = body.len().next_multiple_of(F::UNIT);
    bytes[F::HEADER..F::HEADER + body.len()].copy_from_slice(body);
    bytes[F::HEADER + body.len()..F::HEADER + len].fill(0);
    let message = Delivered { size: F::settle(bytes, message.id, len), ..message };
    F::write(bytes, &message, &taken.at, tail, Origin::default);
}
