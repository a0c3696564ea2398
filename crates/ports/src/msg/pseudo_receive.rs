//! What becomes of a message that could not be sent: its sender receives it (Mach's pseudo-receive).

use super::{
    format::{Body, Delivered, Format, Local},
    request::Request,
    typed,
};
use crate::{
    abi::Code,
    lock::Guard,
    state::{Right, SpaceId, message::Message},
};

/// The lock, and what a step of `mach_msg` came to.
pub(super) type Step<'a> = (Guard<'a>, Code);

/// Gives the rights of an unsent message back to its sender, as if it had received the message.
pub(super) fn pseudo_receive<'a, F: Format>(
    mut guard: Guard<'a>,
    space: SpaceId,
    message: Box<Message>,
    buffer: &mut [u8],
    request: &Request,
    code: Code,
) -> Step<'a> {
    let inner = &mut *guard;
    let Message { id, complex, dest, reply, body, short, items, .. } = *message;
    let (dest_type, reply_type) = (dest.received_type(), if reply == Right::Null { 0 } else { reply.received_type() });
    let mut lost = 0;
    let remote = typed::place_right(inner, space, dest, &mut lost, 0);
    let local = typed::place_right(inner, space, reply, &mut lost, 0);
    let _ = F::give(inner, space, 0, complex, Body { bytes: body, short, items }, buffer);
    let delivered = Delivered { size: request.send_size, id, complex, dest_type, reply: remote, reply_type: dest_type };
    F::put_header(buffer, &delivered, &Local { local: u64::from(local), local_type: reply_type, seqno: 0 });
    (guard, code)
}
