//! Rights in messages.

use crate::{
    abi::{NULL, types},
    rights::{Carried, ReceiveRight, SendOnceRight, SendRight},
    task::Task,
};

/// A right as it is received: it belongs to the owner of the value.
pub trait Right: Sized {
    /// `MACH_MSG_TYPE_PORT_*`.
    const KIND: u32;

    /// Takes over a name that was received.
    #[doc(hidden)]
    fn received(task: Task, name: u32) -> Self;
}

/// A right, or none, that is added to a message: lent, or given away.
pub trait Give {
    /// Its name; null for none.
    #[doc(hidden)]
    fn name(&self) -> u32;

    /// What goes with the message.
    #[doc(hidden)]
    fn given(self) -> Given;
}

/// What goes with a message.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Given(pub(super) Option<Carried>);

macro_rules! rights {
    ($($type:ident $kind:ident $carried:ident)*) => {
        $(impl Right for $type {
            const KIND: u32 = types::$kind;

            fn received(task: Task, name: u32) -> Self {
                Self::from_name(task, name)
            }
        }

        impl Give for Option<$type> {
            fn name(&self) -> u32 {
                self.as_ref().map_or(NULL, $type::name)
            }

            fn given(self) -> Given {
                Given(self.map(Carried::$carried))
            }
        }

        impl Give for Option<&$type> {
            fn name(&self) -> u32 {
                self.map_or(NULL, $type::name)
            }

            fn given(self) -> Given {
                Given::default()
            }
        }

        impl Give for &Option<&$type> {
            fn name(&self) -> u32 {
                self.map_or(NULL, $type::name)
            }

            fn given(self) -> Given {
                Given::default()
            }
        }

        impl From<$type> for Carry<'_> {
            fn from(right: $type) -> Self {
                Self::$carried(Some(right))
            }
        })*
    };
}

rights! {
    SendRight PORT_SEND Send
    SendOnceRight PORT_SEND_ONCE SendOnce
    ReceiveRight PORT_RECEIVE Receive
}

/// A received right of which the sender said what it is; None in it if it was null. If its port was dead it has the name `MACH_PORT_DEAD`.
#[derive(Debug)]
pub enum AnyRight {
    /// A send right.
    Send(Option<SendRight>),
    /// A send-once right.
    SendOnce(Option<SendOnceRight>),
    /// A receive right.
    Receive(Option<ReceiveRight>),
}

/// A right to send where any can be: how it is passed.
#[derive(Debug)]
pub enum Carry<'a> {
    /// The send right itself (`MACH_MSG_TYPE_MOVE_SEND`).
    Send(Option<SendRight>),
    /// The send-once right itself (`MACH_MSG_TYPE_MOVE_SEND_ONCE`).
    SendOnce(Option<SendOnceRight>),
    /// The receive right itself (`MACH_MSG_TYPE_MOVE_RECEIVE`).
    Receive(Option<ReceiveRight>),
    /// A copy of a send right (`MACH_MSG_TYPE_COPY_SEND`).
    Copy(&'a SendRight),
    /// A new send right (`MACH_MSG_TYPE_MAKE_SEND`).
    Make(&'a ReceiveRight),
    /// A new send-once right (`MACH_MSG_TYPE_MAKE_SEND_ONCE`).
    MakeOnce(&'a ReceiveRight),
    /// What a disposition says, of a name of the current task. It stays the task's if the message is not sent.
    Named(u32, u32),
}

impl Carry<'_> {
    /// The disposition, the name, and what goes with the message.
    pub(super) fn parts(self) -> (u32, u32, Given) {
        match self {
            Self::Send(right) => (types::MOVE_SEND, right.name(), right.given()),
            Self::SendOnce(right) => (types::MOVE_SEND_ONCE, right.name(), right.given()),
            Self::Receive(right) => (types::MOVE_RECEIVE, right.name(), right.given()),
            Self::Copy(right) => (types::COPY_SEND, right.name(), Given::default()),
            Self::Make(port) => (types::MAKE_SEND, port.name(), Given::default()),
            Self::MakeOnce(port) => (types::MAKE_SEND_ONCE, port.name(), Given::default()),
            Self::Named(disposition, name) => (disposition, name, Given::default()),
        }
    }
}

impl<'a> From<&'a SendRight> for Carry<'a> {
    fn from(right: &'a SendRight) -> Self {
        Self::Copy(right)
    }
}

impl From<AnyRight> for Carry<'_> {
    fn from(right: AnyRight) -> Self {
        match right {
            AnyRight::Send(right) => Self::Send(right),
            AnyRight::SendOnce(right) => Self::SendOnce(right),
            AnyRight::Receive(right) => Self::Receive(right),
        }
    }
}

/// How a right in a message is called at the sender's: `MACH_MSG_TYPE_*`.
pub use crate::abi::types::{COPY_SEND, MAKE_SEND, MAKE_SEND_ONCE, MOVE_RECEIVE, MOVE_SEND, MOVE_SEND_ONCE};
