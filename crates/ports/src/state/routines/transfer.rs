//! Rights put into a space and taken out of one under a given name.

use super::valid;
use crate::{
    abi::{self, Code, kind, types},
    state::{
        PortId, Right, SpaceId, State,
        space::{Entry, Object},
    },
};

impl State {
    /// `mach_port_insert_right`: gives the space a right under the name that the caller chose, as if it had
    /// received it under that name.
    ///
    /// `INVALID_VALUE` if that can't be a name, `NAME_EXISTS` if it denotes something else, `RIGHT_EXISTS` if the
    /// space has another name for the port, `INVALID_CAPABILITY` if the right is null or dead,
    /// `UREFS_OVERFLOW` if the name can't have a reference more. The right is used up in any case: on an error it
    /// is destroyed, as the right in a failed call to the kernel is.
    pub fn port_insert_right(&mut self, space: SpaceId, name: u32, right: Right) -> Result<(), Code> {
        if let Err(code) = self.may_insert(space, name, &right) {
            self.destroy_right(right);
            return Err(code);
        }
        if self.space(space).get(name).is_none() {
            let entry = match right {
                Right::RemoteSendOnce(once) => Entry::new(kind::SEND_ONCE, 1, Object::Once(once)),
                Right::SendOnce(port) => Entry::new(kind::SEND_ONCE, 1, Object::Port(port)),
                Right::Receive(port) => Entry::new(kind::RECEIVE, 0, Object::Port(port)),
                Right::Send(port) => Entry::new(kind::SEND, 1, Object::Port(port)),
                Right::Null | Right::Dead => return Err(Code::INVALID_CAPABILITY),
            };
            let placed = self.space_mut(space).insert_at(name, entry);
            debug_assert!(placed, "the name is valid and free");
            if let Object::Once(once) = entry.object {
                self.note_once(once, space, name);
            }
            if let Some(port) = entry.port() {
                let it = self.port_mut(port);
                it.names.push((space, name));
                if entry.has(kind::RECEIVE)
                    && let Some(local) = it.local_mut()
                {
                    local.receiver = Some((space, name));
                    local.towards = PortId::NONE;
                }
                self.name_changed(port);
            }
            return Ok(());
        }
        match self.copyout(space, right) {
            Ok(under) => debug_assert_eq!(under, name),
            Err(right) => self.destroy_right(right),
        }
        Ok(())
    }

    fn may_insert(&self, space: SpaceId, name: u32, right: &Right) -> Result<(), Code> {
        if !valid(name) {
            return Err(Code::INVALID_VALUE);
        }
        if matches!(right, Right::Null | Right::Dead) {
            return Err(Code::INVALID_CAPABILITY);
        }
        self.live(space)?;
        let entry = self.space(space).get(name);
        if let Right::Send(port) | Right::Receive(port) = right
            && !self.port(*port).is_dead()
            && let Some(held) = self.name_of(space, *port)
        {
            return match entry {
                _ if held != name => Err(Code::RIGHT_EXISTS),
                Some(entry) if matches!(right, Right::Send(_)) && entry.has(kind::SEND) && entry.urefs + 1 >= abi::UREFS_MAX => {
                    Err(Code::UREFS_OVERFLOW)
                }
                _ => Ok(()),
            };
        }
        if entry.is_some() {
            return Err(Code::NAME_EXISTS);
        }
        match right {
            Right::Send(port) | Right::SendOnce(port) if self.port(*port).is_dead() => Err(Code::INVALID_CAPABILITY),
            _ => Ok(()),
        }
    }

    /// `mach_port_extract_right`: takes a right out of the space, or makes one, as if the task had sent it to the
    /// caller, whose it is.
    ///
    /// `INVALID_VALUE` if `disposition` says no right.
    pub fn port_extract_right(&mut self, space: SpaceId, name: u32, disposition: u32) -> Result<Right, Code> {
        if !(types::MOVE_RECEIVE..=types::MAKE_SEND_ONCE).contains(&disposition) {
            return Err(Code::INVALID_VALUE);
        }
        self.entry_of(space, name)?;
        self.copyin(space, name, disposition)
    }
}
