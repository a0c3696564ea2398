//! What travels with a message that is being sent.

use super::{
    owned::{ReceiveRight, SendOnceRight, SendRight},
    received::Received,
};
use crate::{
    abi::{Code, MESSAGE_MAX},
    task::Task,
};
use std::any::Any;

/// What must live until the message is sent, and is then the receiver's or given up.
#[derive(Debug)]
#[allow(dead_code, reason = "held for their drop alone")]
pub(crate) enum Carried {
    Send(SendRight),
    SendOnce(SendOnceRight),
    Receive(ReceiveRight),
    Memory(Box<dyn Any + Send>),
}

impl Carried {
    /// The right is not this task's any more; memory still is.
    fn gone(self) {
        match self {
            Self::Send(right) => drop(right.into_name()),
            Self::SendOnce(right) => drop(right.into_name()),
            Self::Receive(right) => drop(right.into_name()),
            Self::Memory(memory) => drop(memory),
        }
    }
}

/// Whether a send of `size` bytes that ended with this code took the rights in the message's header and body out of the task.
/// Every code of the receive's half of a call is behind one of the send's.
pub(crate) fn is_taken(code: Code, size: usize) -> bool {
    // Its size is looked at first.
    if size > MESSAGE_MAX {
        return false;
    }
    let sent = code == Code::SUCCESS || code.0 >= Code::RCV_INVALID_NAME.0 - 1;
    let destroyed = matches!(code, Code::SEND_NO_BUFFER | Code::SEND_INVALID_RIGHT | Code::SEND_INVALID_MEMORY);
    sent || destroyed || is_back(code)
}

/// Whether the rights came back, in the buffer that the message was in.
pub(crate) fn is_back(code: Code) -> bool {
    matches!(code, Code::SEND_TIMED_OUT | Code::SEND_INTERRUPTED)
}

/// After a send that ended with `code`: what the message carried is the receiver's or is given up. `sent` is the buffer
/// as the send left it.
pub(crate) fn settle(task: Task, code: Code, sent: &[u8], carried: Vec<Carried>) {
    if is_taken(code, sent.len()) {
        carried.into_iter().for_each(Carried::gone);
    }
    if is_back(code) {
        Received::taken_back(task, sent);
    }
}
