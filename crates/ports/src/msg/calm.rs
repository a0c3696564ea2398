//! The fast path of a *calm* receiver: it has one line to look at and nothing else, and all that has to be checked of its name, its port and the
//! slot was checked for the message before, and is [remembered](crate::dispatch::shortcuts::Shortcuts).
//!
//! What the other end wrote is checked for each message: the position, the record's head, its length and its slot.

use super::{
    fast::{Short, Taken, deliver, fits, pull, receive_front, receiver},
    format::{Format, Local as Destination},
    receive::receive_slowly,
    request::{INTERRUPTS, Request},
};
use crate::{
    abi::{Code, option, types},
    dispatch::{Inner, shortcuts::Shortcuts},
    line::Line,
    lock::Guard,
    routes::Routes,
    state::{Home, SpaceId, State, port::Port},
    wait::{self, Ended, HasMessage},
    waiting::For,
    wire::{self, form},
};
use slipway_fabric::ring::RxCursor;

/// Whether the receiver is calm, and asks for nothing but a message, however long that takes.
#[inline(always)]
pub(super) fn receives<F: Format>(inner: &Inner, space: SpaceId, request: &Request) -> bool {
    inner.shortcuts.is_calm(space, request.receive_name)
        && request.option & (option::RCV_TIMEOUT | INTERRUPTS) == 0
        && F::is_usual(F::tail(request.option))
}

/// Receives for a calm receiver.
#[inline(always)]
pub(super) fn receive<F: Format>(mut guard: Guard<'_>, space: SpaceId, bytes: &mut [u8], request: &Request) -> Code {
    let (what, since) = (guard.shortcuts.calm_what(), guard.shortcuts.since());
    // Also behind what was just sent: the other end may have had this processor for its answer.
    loop {
        let read = match take::<F>(guard.quietly(), space, what, bytes) {
            Look::Received => return received(guard),
            Look::Nothing(read) => read,
            Look::Other => break,
        };
        guard = match wait::for_next(guard, read, what, space, bytes, F::dialect(F::USUAL)) {
            Ok(guard) => guard,
            Err(HasMessage) => return Code::SUCCESS,
        };
        if !guard.shortcuts.is_calm_since(since) {
            break;
        }
    }
    // Meanwhile anything may have changed.
    receive_slowly::<F>(guard, space, (what, since), bytes, request, Ended::Look)
}

#[inline(always)]
fn received(mut guard: Guard<'_>) -> Code {
    // Nobody polls.
    if !guard.waiting.list.is_empty() {
        guard.hand_over();
    }
    guard.release();
    Code::SUCCESS
}

/// What a look at a calm receiver's line came to.
enum Look {
    /// A message was received.
    Received,
    /// There is nothing; how far the line was read.
    Nothing(RxCursor),
    /// There may be something, which the slow path finds.
    Other,
}

/// Takes the message at the front of a calm receiver's line.
#[inline(always)]
fn take<F: Format>(inner: &mut Inner, space: SpaceId, what: For, bytes: &mut [u8]) -> Look {
    match take_plain::<F>(inner, space, what, bytes) {
        Look::Other if receive_front::<F>(inner, space, what, bytes, F::USUAL) == Short::Received => Look::Received,
        look => look,
    }
}

/// As [`take`], if the message came by a send right, fits, and has nothing in it but bytes and perhaps a token.
#[inline(always)]
fn take_plain<F: Format>(inner: &mut Inner, space: SpaceId, what: For, bytes: &mut [u8]) -> Look {
    let Inner { routes: Routes { state, lines, .. }, shortcuts, .. } = inner;
    let Some(line) = lines.known(shortcuts.line()) else { return Look::Other };
    let record = match line.front() {
        Ok(Some(record)) => record,
        Ok(None) => return Look::Nothing(line.rx),
        Err(_) => return Look::Other,
    };
    let plain = record.kind == wire::kind::MESSAGE && matches!(record.reply.form, form::NULL | form::TOKEN);
    if !plain || !fits::<F>(&record, bytes, F::USUAL) {
        return Look::Other;
    }
    let known = shortcuts.knows_slot(record.target) || look_up_slot(shortcuts, state, line, record.target, what);
    let Some(Some(slot)) = line.ins.get_mut(record.target as usize).filter(|_| known) else { return Look::Other };
    let port = shortcuts.port();
    let Some(Port { home: Home::Here(local), .. }) = state.ports.get_mut(port.0 as usize) else { return Look::Other };

    // Past this point nothing can fail.
    let seqno = local.seqno;
    local.seqno = seqno.wrapping_add(1);
    line.credit.accept_and_take(record.target, &mut slot.count);
    pull::<F>(line, &record, bytes);
    let (local, local_type) = inner.shortcuts.address();
    let taken = Taken { at: Destination { local, local_type, seqno }, dest_type: types::PORT_SEND };
    let number = inner.shortcuts.line();
    deliver::<F>(inner, number, &record, &taken, space, bytes, F::USUAL);
    Look::Received
}

/// Looks up what a slot of the line stands for: whether a message there is one for the receiver.
#[inline(never)]
fn look_up_slot(shortcuts: &mut Shortcuts, state: &mut State, line: &Line, target: u32, what: For) -> bool {
    let slot = line.ins.get(target as usize).and_then(Option::as_ref);
    let Some(port) = slot.filter(|slot| slot.takes()).map(|slot| slot.port) else { return false };
    let Some(local) = receiver(state, port, what) else { return false };
    shortcuts.note_slot(target, port, local.address(types::PORT_SEND));
    true
}
