//! Contexts and guards: a guarded receive right is ended only by a call that names its guard.

use crate::{
    abi::{Code, kind, right},
    state::{
        PortId, SpaceId, State,
        port::{Guard, Local},
        space::Entry,
    },
};

impl State {
    fn guard_of(&self, port: PortId) -> Guard {
        self.port(port).local().map_or(Guard::No, |local| local.guard)
    }

    /// The receive right leaves its space: its next holder finds no guard and no context, whatever they were.
    pub(crate) fn end_guard(&mut self, port: PortId) {
        if let Some(local) = self.port_mut(port).local_mut() {
            (local.guard, local.context) = (Guard::No, 0);
        }
    }

    /// `INVALID_RIGHT` if the entry has a receive right that is guarded.
    pub(super) fn check_unguarded(&self, entry: &Entry) -> Result<(), Code> {
        let guarded = |port| self.guard_of(port) != Guard::No;
        if entry.has(kind::RECEIVE) && entry.port().is_some_and(guarded) { Err(Code::INVALID_RIGHT) } else { Ok(()) }
    }

    fn receiver_of(&mut self, space: SpaceId, name: u32) -> Result<&mut Local, Code> {
        let port = self.receive_of(space, name)?;
        self.port_mut(port).local_mut().ok_or(Code::INVALID_RIGHT)
    }

    /// `mach_port_get_context`: the context; 0 if it is a strict guard, which is not told.
    pub fn port_context(&mut self, space: SpaceId, name: u32) -> Result<u64, Code> {
        let local = self.receiver_of(space, name)?;
        Ok(if local.guard == Guard::Strict { 0 } else { local.context })
    }

    /// `mach_port_set_context`; of a loose guard, too. `INVALID_ARGUMENT` if the context is a strict guard.
    pub fn port_set_context(&mut self, space: SpaceId, name: u32, context: u64) -> Result<(), Code> {
        let local = self.receiver_of(space, name)?;
        if local.guard == Guard::Strict {
            return Err(Code::INVALID_ARGUMENT);
        }
        local.context = context;
        Ok(())
    }

    /// `mach_port_guard`. `INVALID_ARGUMENT` if the receive right has a guard, or a context.
    pub fn port_guard(&mut self, space: SpaceId, name: u32, guard: u64, strict: bool) -> Result<(), Code> {
        let local = self.receiver_of(space, name)?;
        if local.guard != Guard::No || local.context != 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        local.context = guard;
        local.guard = if strict { Guard::Strict } else { Guard::Loose };
        Ok(())
    }

    /// `mach_port_unguard`. `INVALID_ARGUMENT` if it is not the guard, or there is none.
    pub fn port_unguard(&mut self, space: SpaceId, name: u32, guard: u64) -> Result<(), Code> {
        let local = self.receiver_of(space, name)?;
        if local.guard == Guard::No || local.context != guard {
            return Err(Code::INVALID_ARGUMENT);
        }
        (local.guard, local.context) = (Guard::No, 0);
        Ok(())
    }

    /// `mach_port_destruct`: the receive right ends, and `delta` is added to the user references of the send right.
    ///
    /// `INVALID_ARGUMENT` if another guard is there, `INVALID_VALUE` if `delta` is above 0 or takes more references than there are.
    pub fn port_destruct(&mut self, space: SpaceId, name: u32, delta: i32, guard: u64) -> Result<(), Code> {
        let local = self.receiver_of(space, name)?;
        if local.guard != Guard::No && local.context != guard {
            return Err(Code::INVALID_ARGUMENT);
        }
        if delta > 0 {
            return Err(Code::INVALID_VALUE);
        }
        if delta < 0 {
            self.port_mod_refs(space, name, right::SEND, delta)?;
        }
        self.receiver_of(space, name)?.guard = Guard::No;
        self.port_mod_refs(space, name, right::RECEIVE, -1)
    }
}
