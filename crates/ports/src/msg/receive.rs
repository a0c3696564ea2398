//! Receiving: by the fast path, from a queue here, or off a line.

#[cfg(test)]
mod tests;

use super::{
    fast::{self, Buffer, Short, receivable},
    format::{Body, Delivered, Format, Origin},
    header,
    request::{INTERRUPTS, Request, deadline},
    typed,
};
use crate::{
    abi::{Code, option},
    dispatch::{Inner, records::Dispatched},
    lock::Guard,
    signals,
    state::{PortId, Right, Serial, SpaceId, message::Message},
    wait::{self, Ended, Hands, HasMessage, turn},
    waiting::For,
};

/// Receives by the fast path, as long as there is nothing else to be done. All of `bytes` may be used.
#[inline(never)]
pub(super) fn receive<F: Format>(guard: Guard<'_>, space: SpaceId, bytes: &mut [u8], request: &Request) -> Code {
    // Where calls may take the place of messages, a receiver lends its place while it waits.
    match guard.state.turns.any() {
        false => receive_as::<F, false>(guard, space, bytes, request),
        true => receive_lending::<F>(guard, space, bytes, request),
    }
}

#[inline(never)]
fn receive_lending<F: Format>(guard: Guard<'_>, space: SpaceId, bytes: &mut [u8], request: &Request) -> Code {
    receive_as::<F, true>(guard, space, bytes, request)
}

#[inline(always)]
fn receive_as<F: Format, const LENDS: bool>(mut guard: Guard<'_>, space: SpaceId, bytes: &mut [u8], request: &Request) -> Code {
    let tail = F::tail(request.option);
    let Some(what) = guard.quietly().receives_from(space, request.receive_name) else {
        return receivable(&guard, space, request.receive_name).err().unwrap_or(Code::RCV_INVALID_NAME);
    };
    let since = guard.shortcuts.since();
    if LENDS {
        guard.quietly().come_back(what);
    }
    // The answer to what was just sent can't be there yet.
    let mut looks = request.option & option::SEND_MSG != 0;
    let mut ended = Ended::Stirred;
    while ended == Ended::Stirred {
        let short = match std::mem::take(&mut looks) {
            true => fast::look(guard.quietly(), what),
            false => fast::receive::<F>(guard.quietly(), space, what, bytes, tail),
        };
        match short {
            Short::Received => {
                if LENDS {
                    guard.quietly().go_away(what);
                }
                if guard.waiting.others_wait() || guard.unheard {
                    guard.hand_over();
                }
                return Code::SUCCESS;
            }
            Short::Nothing if request.option & (option::RCV_TIMEOUT | INTERRUPTS) == 0 => {}
            Short::Nothing | Short::Other => break,
        }
        let waited = match LENDS {
            true => turn::for_message(guard, what, None, Hands::none()),
            false => wait::for_message(guard, what, space, bytes, F::dialect(tail)),
        };
        (guard, ended) = match waited {
            Ok(waited) => waited,
            Err(HasMessage) => return Code::SUCCESS,
        };
    }
    receive_slowly::<F>(guard, space, (what, since), bytes, request, ended)
}

/// Receives from wherever a message is or comes from, after a wait for it that has `ended` so. `since`: the serial of `what` when the receive began.
#[inline(never)]
pub(super) fn receive_slowly<F: Format>(
    mut guard: Guard<'_>,
    space: SpaceId,
    (what, since): (For, Serial),
    bytes: &mut [u8],
    request: &Request,
    mut ended: Ended,
) -> Code {
    guard.come_back(what);
    let asked = request.option & option::RCV_TIMEOUT != 0;
    let mut until = None;
    loop {
        if ended != Ended::Stirred
            && let Some(code) = changed(&guard, what, since)
        {
            return finish(guard, what, code);
        }
        // What is left to do may send a message here, of which only a thread that waits already is told.
        loop {
            if let Some(code) = try_receive::<F>(&mut guard, space, what, bytes, request.option) {
                return finish(guard, what, code);
            }
            if !guard.is_unsettled() {
                break;
            }
            guard.settle();
        }
        if ended == Ended::TimedOut {
            return finish(guard, what, Code::RCV_TIMED_OUT);
        }
        if request.option & option::RCV_INTERRUPT != 0 && signals::have_interrupted() {
            return finish(guard, what, Code::RCV_INTERRUPTED);
        }
        if asked && request.timeout == 0 {
            // A message that was sent before this call may lie in a line whose bell the watcher has yet to hear.
            guard.catch_up();
            let code = try_receive::<F>(&mut guard, space, what, bytes, request.option);
            // Only what found nothing lets those that poll wait: behind a message that came may lie more, of which nobody is told again.
            if code.is_none() {
                guard.waiting.quiet(what);
            }
            return finish(guard, what, code.unwrap_or(Code::RCV_TIMED_OUT));
        }
        let deadline = *until.get_or_insert_with(|| deadline(asked, request.timeout));
        (guard, ended) = match turn::for_message(
            guard,
            what,
            deadline,
            Hands { space, bytes, dialect: F::dialect(F::tail(request.option)) },
        ) {
            Ok(waited) => waited,
            Err(HasMessage) => return Code::SUCCESS,
        };
    }
}

/// Ends a receive: others may depend on the lines that it looked at.
fn finish(mut guard: Guard<'_>, what: For, code: Code) -> Code {
    if code == Code::SUCCESS {
        guard.go_away(what);
    }
    guard.hand_over();
    code
}

/// The error of a receive whose port or set is not what it was when that began. By its number and its name it may be another one. As in Mach, a receive right
/// that was moved is gone, also if it has come back, and one that has another name is the same.
fn changed(inner: &Inner, what: For, since: Serial) -> Option<Code> {
    let in_set = |port: PortId| inner.state.port(port).local().is_some_and(|local| local.set.is_some());
    match what {
        _ if inner.serial_of(what) != Some(since) => Some(Code::RCV_PORT_DIED),
        For::Port(port) if in_set(port) => Some(Code::RCV_PORT_CHANGED),
        _ => None,
    }
}

/// Receives what is there: None if nothing is.
fn try_receive<F: Format>(inner: &mut Inner, space: SpaceId, what: For, bytes: &mut [u8], option: u32) -> Option<Code> {
    match fast::receive::<F>(inner, space, what, bytes, F::tail(option)) {
        Short::Received => Some(Code::SUCCESS),
        Short::Nothing => None,
        Short::Other => take_any::<F>(inner, space, what, bytes, option),
    }
}

/// As [`try_receive`], from wherever a message is.
fn take_any<F: Format>(inner: &mut Inner, space: SpaceId, what: For, bytes: &mut [u8], option: u32) -> Option<Code> {
    loop {
        if let Some(port) = waiting_at(inner, what) {
            return Some(from_queue::<F>(inner, space, what, port, bytes, option));
        }
        let mut to = Buffer::<F> { space, what, bytes, tail: F::tail(option) };
        let mut queued = false;
        for i in 0..inner.waiting.hot.len() {
            let Some(number) = inner.waiting.hot.get(i).copied() else { break };
            let Some(line) = inner.lines.get(number) else { continue };
            if !line.segment.rx.readable(line.rx.head) {
                continue;
            }
            match inner.dispatch_until(number, |inner, record| fast::take(inner, number, record, &mut to)) {
                Dispatched::Delivered => {
                    if i > 0 {
                        inner.heat(number);
                    }
                    return Some(Code::SUCCESS);
                }
                Dispatched::More => inner.crowded = true,
                Dispatched::Dry => {}
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
            inner.state.still_ready(set, port);
            Some(port)
        }
        For::NotFull(_) | For::Line(_) | For::Turn(_) => None,
    }
}

fn from_queue<F: Format>(inner: &mut Inner, space: SpaceId, what: For, port: PortId, bytes: &mut [u8], option: u32) -> Code {
    let size = match inner.state.port(port).local().and_then(|local| local.queue.front()) {
        Some(message) => F::size(message),
        None => return Code::RCV_TIMED_OUT,
    };
    let tail = F::tail(option);
    let fits = size + F::room(tail) <= bytes.len();
    if !fits && option & option::RCV_LARGE != 0 {
        if let Some(place) = bytes.get_mut(4..8) {
            place.copy_from_slice(&(size as u32).to_le_bytes());
        }
        if option & option::RCV_LARGE_IDENTITY != 0
            && let (Some(place), Some(local)) = (bytes.get_mut(12..16), inner.state.port(port).local())
        {
            place.copy_from_slice(&local.receiver.map_or(0, |(_, name)| name).to_le_bytes());
        }
        // It may fit another thread, which its sender did not wake.
        inner.wake_receiver(port);
        return Code::RCV_TOO_LARGE;
    }
    if let For::Set(set) = what {
        // It goes to the back if it has more.
        let _ = inner.state.next_ready(set);
    }
    let Some(message) = inner.state.dequeue(port) else { return Code::RCV_TIMED_OUT };
    let Message { id, complex, dest, reply, body, short, sender, items, .. } = *message;
    let dest_type = dest.received_type();
    if !fits {
        inner.state.destroy_items(items);
        inner.state.destroy_right(reply);
        finish_dest(inner, dest);
        return Code::RCV_TOO_LARGE;
    }
    let reply_type = if reply == Right::Null { 0 } else { reply.received_type() };
    let mut lost = 0;
    let reply = typed::place_right(inner, space, reply, &mut lost, 0x2000);
    let given = F::give(inner, space, id, complex, Body { bytes: body, short, items }, bytes);
    let local = header::arrived(inner, port, dest_type);
    let context = match F::asks_for_context(tail) {
        true => inner.state.port(port).local().map_or(0, |local| local.context),
        false => 0,
    };
    let delivered = Delivered { size, id, complex, dest_type, reply, reply_type };
    F::write(bytes, &delivered, &local, tail, || Origin { sender, context });
    finish_dest(inner, dest);
    given.err().unwrap_or(Code::SUCCESS)
}

/// Uses up the right that a message was sent with.
fn finish_dest(inner: &mut Inner, dest: Right) {
    match dest {
        Right::SendOnce(port) => inner.state.drop_soright(port),
        dest => inner.state.destroy_right(dest),
    }
}
