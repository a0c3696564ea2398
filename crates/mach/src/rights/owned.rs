//! Rights as owned values, and what is said when a call with one fails.

use crate::{
    abi::{self, Code, right},
    task::Task,
};
use std::fmt;

/// A call that failed: what was tried, and Mach's code for why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{tried}: {code}")]
pub struct Error {
    /// What was tried.
    pub tried: &'static str,
    /// Why it failed.
    pub code: Code,
}

impl Error {
    /// Whether a time-out ended the call.
    pub fn is_timeout(&self) -> bool {
        matches!(self.code, Code::SEND_TIMED_OUT | Code::RCV_TIMED_OUT)
    }

    /// Whether the port that was sent to is dead.
    pub fn is_dead(&self) -> bool {
        self.code == Code::SEND_INVALID_DEST
    }
}

/// Says what was tried when a call fails.
pub(super) fn trying<T>(tried: &'static str, result: Result<T, Code>) -> Result<T, Error> {
    result.map_err(|code| Error { tried, code })
}

/// Whether a name in a message stands for a right that is there.
pub(super) fn is_right(name: u32) -> bool {
    name != abi::NULL && name != abi::DEAD
}

/// A name in a task, and which right of it is owned.
pub(super) struct Name {
    pub task: Task,
    pub name: u32,
}

macro_rules! owned {
    ($(#[$doc:meta])* $type:ident, $give_up:expr) => {
        $(#[$doc])*
        pub struct $type(pub(super) Name);

        impl $type {
            /// Takes over one reference of `name` in `task`, which the caller owns.
            pub fn from_name(task: Task, name: u32) -> Self {
                Self(Name { task, name })
            }

            /// The name, which stays this value's.
            pub fn name(&self) -> u32 {
                self.0.name
            }

            /// The task that has the right.
            pub(crate) fn task(&self) -> Task {
                self.0.task
            }

            /// Gives the reference to the caller: nothing is given up.
            pub fn into_name(self) -> u32 {
                let name = self.0.name;
                std::mem::forget(self);
                name
            }
        }

        impl Drop for $type {
            fn drop(&mut self) {
                let give_up: fn(&Task, u32) -> Result<(), Code> = $give_up;
                // A name that somebody else removed is nothing to report.
                let _ = give_up(&self.0.task, self.0.name);
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($type), "({:#x})"), self.0.name)
            }
        }
    };
}

owned! {
    /// The right to receive from a port: there is one for each port. Dropped, the port dies.
    ReceiveRight, |task, name| task.mod_refs(name, right::RECEIVE, -1)
}
owned! {
    /// The right to send any number of messages to a port.
    SendRight, |task, name| task.deallocate(name)
}
owned! {
    /// The right to send one message to a port. Dropped unused, the port gets a send-once notification.
    SendOnceRight, |task, name| task.deallocate(name)
}
owned! {
    /// Ports to receive from together.
    PortSet, |task, name| task.destroy(name)
}
