//! Ports for the exceptions of a task or a thread.

use super::{ids::SpaceId, right::Right};

/// How many kinds of exceptions there are numbers for, `EXC_*`, with the one below the first.
pub const KINDS: usize = 14;
/// All of them, as a mask.
pub const ALL: u32 = (1 << KINDS) - 2;

/// In which form an exception is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Form {
    /// `EXCEPTION_*`, with Darwin's flags.
    pub behavior: u32,
    /// The flavor of the thread's state that goes with it.
    pub flavor: i32,
    /// Whether the message is of Darwin's dialect.
    pub darwin: bool,
}

/// Whose exceptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// All threads of a task, after their own ports.
    Task(SpaceId),
    /// A thread, by its number in the system.
    Thread(u32),
}

/// Where the exceptions of a task or thread are told.
#[derive(Debug, Default)]
pub struct Exceptions {
    /// A port for each kind, and the form.
    pub ports: [(Right, Form); KINDS],
    /// The special port of a thread, which is asked after those. A task's is among its special ports.
    pub general: Right,
}

impl Exceptions {
    /// The rights to all of them.
    pub fn rights(&mut self) -> impl Iterator<Item = &mut Right> {
        self.ports.iter_mut().map(|(right, _)| right).chain([&mut self.general])
    }
}

/// The kinds in a mask.
pub fn kinds(mask: u32) -> impl Iterator<Item = usize> {
    (1..KINDS).filter(move |kind| mask & 1 << kind != 0)
}
