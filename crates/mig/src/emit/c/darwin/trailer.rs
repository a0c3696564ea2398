//! What arguments get out of the trailer behind a message.

use super::super::view::Side;
use crate::model::{Arg, Role, Routine, Token};

/// A part of a trailer.
#[derive(Clone, Copy)]
pub struct Part {
    member: &'static str,
    /// The trailer that ends with it.
    structure: &'static str,
    /// What it is called among the options of a receive.
    pub element: &'static str,
    /// Bytes of the trailer.
    pub size: u32,
}

/// The part that an argument is; None if it is none.
pub fn part(arg: &Arg) -> Option<Part> {
    let (member, structure, element, size) = match arg.role {
        Role::MsgSeqno => ("msgh_seqno", "mach_msg_seqno_trailer_t", "SEQNO", 12),
        Role::Token { of: Token::Security, .. } => ("msgh_sender", "mach_msg_security_trailer_t", "SENDER", 20),
        Role::Token { of: Token::Audit, .. } => ("msgh_audit", "mach_msg_audit_trailer_t", "AUDIT", 52),
        Role::Token { of: Token::Context, .. } => ("msgh_context", "mach_msg_context_trailer_t", "CTX", 60),
        _ => return None,
    };
    Some(Part { member, structure, element, size })
}

/// The last part that a side needs, with which it has the others, too.
pub fn largest(routine: &Routine, side: Side) -> Option<Part> {
    routine.args.iter().filter(|arg| side.has(arg)).filter_map(part).max_by_key(|part| part.size)
}

impl Part {
    /// The trailer behind a message.
    fn behind(self, head: &str) -> String {
        format!("(({} *) (void *) ((char *) {head} + round_msg({head}->msgh_size)))", self.structure)
    }

    /// The condition under which the trailer behind a message ends before the part does.
    pub fn is_missing(self, head: &str) -> String {
        format!("{}->msgh_trailer_size < sizeof({})", self.behind(head), self.structure)
    }

    /// The part behind a message.
    pub fn value(self, head: &str) -> String {
        format!("{}->{}", self.behind(head), self.member)
    }
}
