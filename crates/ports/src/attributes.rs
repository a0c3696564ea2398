//! `mach_port_*` calls on receive rights beyond Mach 3.0's: contexts, guards, looking at what waits.

use crate::{abi::Code, task::Task};

/// What [`Task::peek`] tells of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// The number that it will be received with.
    pub seqno: u32,
    /// Its size in bytes, with the header.
    pub size: u32,
    /// Its `msgh_id`.
    pub id: i32,
}

impl Task {
    /// `mach_port_get_context`: 0 while it is a strict guard.
    ///
    /// # Errors
    /// `INVALID_NAME`, `INVALID_RIGHT` if the name has no receive right.
    pub fn context(&self, name: u32) -> Result<u64, Code> {
        self.lock().state.port_context(self.space(), name)
    }

    /// `mach_port_set_context`.
    ///
    /// # Errors
    /// As [`Self::context`]; `INVALID_ARGUMENT` if the context is a strict guard.
    pub fn set_context(&self, name: u32, context: u64) -> Result<(), Code> {
        self.lock().state.port_set_context(self.space(), name, context)
    }

    /// `mach_port_guard`: from now on only [`Self::destruct`] and [`Self::unguard`] with the guard end the receive right or its guard, or its
    /// move to another task. `strict`: the guard, which is the context, is neither told nor changed.
    ///
    /// # Errors
    /// As [`Self::context`]; `INVALID_ARGUMENT` if it has a guard or a context.
    pub fn guard(&self, name: u32, guard: u64, strict: bool) -> Result<(), Code> {
        self.lock().state.port_guard(self.space(), name, guard, strict)
    }

    /// `mach_port_unguard`.
    ///
    /// # Errors
    /// As [`Self::context`]; `INVALID_ARGUMENT` if that is not its guard.
    pub fn unguard(&self, name: u32, guard: u64) -> Result<(), Code> {
        self.lock().state.port_unguard(self.space(), name, guard)
    }

    /// `mach_port_destruct`: ends the receive right, and adds `delta`, 0 or less, to the send right's user references.
    ///
    /// # Errors
    /// As [`Self::context`]; `INVALID_ARGUMENT` if it has another guard, `INVALID_VALUE` if `delta` takes more references than there are.
    pub fn destruct(&self, name: u32, delta: i32, guard: u64) -> Result<(), Code> {
        self.lock().state.port_destruct(self.space(), name, delta, guard)
    }

    /// `mach_port_insert_member`: puts a port into a set, beside those that it is in.
    ///
    /// # Errors
    /// As [`Self::context`], for both names; `ALREADY_IN_SET`.
    pub fn insert_member(&self, name: u32, set: u32) -> Result<(), Code> {
        self.lock().state.port_insert_member(self.space(), name, set)
    }

    /// `mach_port_extract_member`.
    ///
    /// # Errors
    /// As [`Self::context`], for both names; `NOT_IN_SET` if the port is not in that set.
    pub fn extract_member(&self, name: u32, set: u32) -> Result<(), Code> {
        self.lock().state.port_extract_member(self.space(), name, set)
    }

    /// `mach_port_peek`: the message with the number `seqno`, or for 0 the next one.
    ///
    /// # Errors
    /// As [`Self::context`]; `FAILURE` if no such message waits.
    pub fn peek(&self, name: u32, seqno: u32) -> Result<Waiting, Code> {
        let mut guard = self.lock();
        // What lies in lines goes to the queues.
        guard.catch_up();
        let port = guard.state.receive_of(self.space(), name)?;
        let local = guard.state.port(port).local().ok_or(Code::INVALID_RIGHT)?;
        let index = if seqno == 0 { 0 } else { seqno.wrapping_sub(local.seqno) };
        let message = local.queue.get(index as usize).ok_or(Code::FAILURE)?;
        Ok(Waiting { seqno: local.seqno.wrapping_add(index), size: message.size() as u32, id: message.id })
    }
}
