//! `MACH_SEND_NOTIFY`: a message that finds the queue full is taken all the same, one for each name, and its sender gets a
//! notification when it is received.

use super::{
    format::Format,
    pseudo_receive::{Step, pseudo_receive},
    request::Request,
};
use crate::{
    abi::{Code, NULL, kind},
    dispatch::Inner,
    line::NO_SLOT,
    lock::Guard,
    routes::send::Refused,
    state::{Right, SpaceId},
};

/// Sends a message that was refused for want of room, on the terms of `MACH_SEND_NOTIFY`: `SEND_WILL_NOTIFY`, or
/// the message comes back.
pub(super) fn send<'a, F: Format>(
    mut guard: Guard<'a>,
    space: SpaceId,
    refused: Refused,
    buffer: &mut [u8],
    request: &Request,
) -> Step<'a> {
    let (line, message) = match refused {
        Refused::Resources => return (guard, Code::SEND_NO_BUFFER),
        Refused::Socket(_, message) => return pseudo_receive::<F>(guard, space, message, buffer, request, Code::SEND_NO_NOTIFY),
        Refused::Queue(_, message) => (None, message),
        Refused::Line(number, slot, message) => (Some((number, slot)), message),
    };
    // A send-once right's message waits for no limit.
    if let Some((number, NO_SLOT)) = line {
        guard.send_later(number, message);
        return (guard, Code::SUCCESS);
    }
    let (Right::Send(port), false) = (&message.dest, request.notify == NULL) else {
        return pseudo_receive::<F>(guard, space, message, buffer, request, Code::SEND_INVALID_NOTIFY);
    };
    let port = *port;
    let id = match guard.state.request_acceptance(space, port, request.notify) {
        Ok(id) => id,
        Err(code) => return pseudo_receive::<F>(guard, space, message, buffer, request, code),
    };
    match line {
        None => guard.state.enqueue_regardless(port, message, id),
        Some((number, slot)) => {
            if let Err(message) = guard.write_over_limit(number, slot, message, id) {
                guard.state.drop_acceptance(id);
                return pseudo_receive::<F>(guard, space, message, buffer, request, Code::SEND_NO_NOTIFY);
            }
        }
    }
    (guard, Code::SEND_WILL_NOTIFY)
}

/// `MACH_SEND_CANCEL`: takes back what was asked for the destination before, so that it can be asked for again.
/// `SEND_INVALID_NOTIFY` if the name for notifications is no receive right.
pub(super) fn cancel<F: Format>(inner: &mut Inner, space: SpaceId, buffer: &[u8], request: &Request) -> Result<(), Code> {
    let names = inner.state.space(space);
    if names.get(request.notify).is_none_or(|entry| !entry.has(kind::RECEIVE)) {
        return Err(Code::SEND_INVALID_NOTIFY);
    }
    let message = &buffer[..request.send_size];
    let (header, bits, _) = F::read(message).ok_or(Code::SEND_MSG_TOO_SMALL)?;
    F::check(&header, bits, message)?;
    inner.state.rename_acceptance(space, header.remote, None);
    Ok(())
}
