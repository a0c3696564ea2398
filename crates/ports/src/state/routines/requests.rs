//! `mach_port_request_notification`.

use crate::{
    abi::{self, Code, kind, notify},
    state::{
        Effect, PortId, Right, SpaceId, State,
        space::{Entry, Object},
    },
};

impl State {
    /// `mach_port_request_notification`: `to` gets a message when what `id` says happens to the name. NULL takes
    /// back an earlier request. The right of the earlier request comes back, and is the caller's.
    ///
    /// * port-destroyed: the receive right would be destroyed. `sync` is 0, or `INVALID_VALUE`.
    /// * no-senders: the last send right is gone; at once if there is none and `sync` or more were made.
    /// * dead-name: the port died; at once if it has died already and `sync` isn't 0 (else
    ///   `INVALID_ARGUMENT`; `UREFS_OVERFLOW` if the name can't have a reference more).
    ///
    /// `INVALID_VALUE` for another `id`, `INVALID_CAPABILITY` if `to` is dead or no send-once right. `to` is used
    /// up in any case: on an error it is destroyed, as the right in a failed call to the kernel is.
    pub fn port_request_notification(&mut self, space: SpaceId, name: u32, id: i32, sync: u32, to: Right) -> Result<Right, Code> {
        let mut to = to;
        let done = self.request(space, name, id, sync, &mut to);
        if done.is_err() {
            self.destroy_right(to);
        }
        done
    }

    /// As [`State::port_request_notification`], which takes `to` only if it succeeds.
    fn request(&mut self, space: SpaceId, name: u32, id: i32, sync: u32, to: &mut Right) -> Result<Right, Code> {
        match to {
            Right::Null | Right::RemoteSendOnce(_) => {}
            Right::SendOnce(port) if !self.port(*port).is_dead() => {}
            _ => return Err(Code::INVALID_CAPABILITY),
        }
        match id {
            notify::PORT_DESTROYED if sync != 0 => Err(Code::INVALID_VALUE),
            notify::PORT_DESTROYED => {
                let port = self.receive_of(space, name)?;
                let Some(local) = self.port_mut(port).local_mut() else { return Err(Code::INVALID_RIGHT) };
                Ok(std::mem::replace(&mut local.pdrequest, std::mem::take(to)))
            }
            notify::NO_SENDERS => {
                let port = self.receive_of(space, name)?;
                self.request_no_senders(port, sync, std::mem::take(to))
            }
            notify::DEAD_NAME => {
                let entry = self.entry_of(space, name)?;
                match entry.object {
                    Object::Port(_) | Object::Once(_) => Ok(self.request_dead_name(space, name, &entry, std::mem::take(to))),
                    Object::Set(_) => Err(Code::INVALID_RIGHT),
                    Object::None if sync == 0 || *to == Right::Null => Err(Code::INVALID_ARGUMENT),
                    Object::None if entry.urefs >= abi::UREFS_MAX => Err(Code::UREFS_OVERFLOW),
                    Object::None => {
                        if let Some(entry) = self.space_mut(space).get_mut(name) {
                            entry.urefs += 1;
                        }
                        let to = std::mem::take(to);
                        self.notify_dead_name(to, name);
                        Ok(Right::Null)
                    }
                }
            }
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn request_no_senders(&mut self, port: PortId, sync: u32, to: Right) -> Result<Right, Code> {
        let it = self.port_mut(port);
        let srights = it.srights;
        let Some(local) = it.local_mut() else { return Err(Code::INVALID_RIGHT) };
        let (made, abroad) = (local.mscount, local.abroad);
        let previous = std::mem::take(&mut local.nsrequest);
        if srights == 0 && abroad == 0 && sync <= made {
            self.notify_no_senders(to, made);
        } else if to != Right::Null {
            local.nsrequest = to;
            if srights == 0 || abroad > 0 {
                self.effect(Effect::WatchSenders(port));
            }
        }
        Ok(previous)
    }

    /// Asks for the death of a port that lives, as far as is known here.
    fn request_dead_name(&mut self, space: SpaceId, name: u32, entry: &Entry, to: Right) -> Right {
        if to != Right::Null && entry.request == 0 {
            match entry.object {
                Object::Port(port) if self.port(port).local().is_none() && !self.is_watched(port) => {
                    self.effect(Effect::WatchDeath(port))
                }
                Object::Once(once) => self.effect(Effect::WatchOnce(once)),
                _ => {}
            }
        }
        let it = self.space_mut(space);
        let previous = if entry.request == 0 { Right::Null } else { it.requests.remove(entry.request as usize - 1) };
        let request = if to == Right::Null { 0 } else { it.requests.insert(to) as u32 + 1 };
        if let Some(entry) = it.get_mut(name) {
            debug_assert!(entry.kind & kind::PORT_RIGHTS != 0);
            entry.request = request;
        }
        previous
    }

    /// Whether a name of the port has a dead-name request.
    fn is_watched(&self, port: PortId) -> bool {
        let mut names = self.port(port).names.iter();
        names.any(|(space, name)| self.space(*space).get(*name).is_some_and(|entry| entry.request != 0))
    }
}
