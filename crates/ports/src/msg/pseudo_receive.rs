//! What becomes of a message that could not be sent: its sender receives it (Mach's pseudo-receive).

use super::{
    header::{self, Delivered},
    request::Request,
    typed,
};
use crate::{
    abi::{Code, HEADER},
    lock::Guard,
    state::{Right, SpaceId, message::Message},
};

/// The lock, and what a step of `mach_msg` came to.
pub(super) type Step<'a> = (Guard<'a>, Code);

/// Gives the rights of an unsent message back to its sender, as if it had received the message.
pub(super) fn pseudo_receive<'a>(
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
