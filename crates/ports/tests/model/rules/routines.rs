//! The `mach_port_*` calls.

use super::*;
use slipway_ports::abi::{notify, right, types};

impl Model {
    /// A new right under a name that the subject chose, or that the program chose if `told` is None.
    pub fn allocate(&mut self, task: usize, kind: u32, name: u32, chosen: bool) -> Result<(), Code> {
        if chosen && matches!(name, abi::NULL | abi::DEAD) {
            return Err(Code::INVALID_VALUE);
        }
        let mut entry = Entry::default();
        match kind {
            right::RECEIVE => entry.receive = true,
            right::PORT_SET => entry.set = Some(self.number()),
            right::DEAD_NAME => entry.dead = 1,
            _ => return Err(Code::INVALID_VALUE),
        }
        if self.tasks[task].dead {
            return Err(Code::INVALID_TASK);
        }
        if self.tasks[task].names.contains_key(&name) {
            return Err(Code::NAME_EXISTS);
        }
        if entry.receive {
            entry.port = Some(self.new_port());
        }
        self.tasks[task].names.insert(name, entry);
        Ok(())
    }

    pub fn rename(&mut self, task: usize, old: u32, new: u32) -> Result<(), Code> {
        if matches!(new, abi::NULL | abi::DEAD) {
            return Err(Code::INVALID_VALUE);
        }
        match self.entry(task, new) {
            Ok(_) => return Err(Code::NAME_EXISTS),
            Err(Code::INVALID_TASK) => return Err(Code::INVALID_TASK),
            Err(_) => {}
        }
        let entry = self.tasks[task].names.remove(&old).ok_or(Code::INVALID_NAME)?;
        self.tasks[task].names.insert(new, entry);
        Ok(())
    }

    pub fn destroy_all(&mut self, task: usize, name: u32) -> Result<(), Code> {
        self.entry(task, name)?;
        self.destroy_name(task, name);
        Ok(())
    }

    pub fn deallocate(&mut self, task: usize, name: u32) -> Result<(), Code> {
        let entry = self.entry(task, name)?;
        let right = match entry {
            _ if entry.once => right::SEND_ONCE,
            _ if entry.dead > 0 => right::DEAD_NAME,
            _ if entry.send > 0 => right::SEND,
            _ => return Err(Code::INVALID_RIGHT),
        };
        self.mod_refs(task, name, right, -1)
    }

    /// The user references of a right.
    pub fn refs(&self, task: usize, name: u32, right: u32) -> Result<u32, Code> {
        if right > right::DEAD_NAME {
            return Err(Code::INVALID_VALUE);
        }
        let entry = self.entry(task, name)?;
        Ok(match right {
            right::SEND => entry.send,
            right::RECEIVE => entry.receive.into(),
            right::SEND_ONCE => entry.once.into(),
            right::PORT_SET => entry.set.is_some().into(),
            _ => entry.dead,
        })
    }

    pub fn mod_refs(&mut self, task: usize, name: u32, right: u32, delta: i32) -> Result<(), Code> {
        let refs = self.refs(task, name, right)?;
        if refs == 0 {
            return Err(Code::INVALID_RIGHT);
        }
        let most = match right {
            right::SEND => 65534,
            right::DEAD_NAME => 65535,
            _ => 1,
        };
        let after = i64::from(refs) + i64::from(delta);
        if after < 0 || (most == 1 && after > 1) {
            return Err(Code::INVALID_VALUE);
        }
        if after > most && delta > 0 {
            return Err(Code::UREFS_OVERFLOW);
        }
        let entry = self.entry_mut(task, name);
        match right {
            right::SEND => entry.send = after as u32,
            right::DEAD_NAME => entry.dead = after as u32,
            _ => {}
        }
        if after > 0 {
            return Ok(());
        }
        let port = entry.port;
        let request = entry.request;
        match right {
            right::SEND => {
                // The senders hear first, then those who wait for the name.
                let gone = entry.is_empty();
                if gone {
                    self.tasks[task].names.remove(&name);
                }
                self.sender_gone(port.expect("a send right has a port"));
                self.tell_deleted(request.filter(|_| gone), name);
            }
            right::RECEIVE => {
                let port = port.expect("a receive right has a port");
                entry.receive = false;
                let gone = entry.is_empty();
                if gone {
                    self.tasks[task].names.remove(&name);
                }
                self.forget_receiver(port);
                self.destroy(Right::Receive(port));
                self.tell_deleted(request.filter(|_| gone), name);
            }
            right::DEAD_NAME => self.drop_if_empty(task, name),
            _ => self.destroy_name(task, name),
        }
        Ok(())
    }

    pub fn set_qlimit(&mut self, task: usize, name: u32, limit: u32) -> Result<(), Code> {
        if limit > abi::QLIMIT_MAX {
            return Err(Code::INVALID_VALUE);
        }
        let port = self.receive_right(task, name)?;
        self.port(port).qlimit = limit;
        Ok(())
    }

    pub fn move_member(&mut self, task: usize, member: u32, after: u32) -> Result<(), Code> {
        let port = self.receive_right(task, member)?;
        let set = match after {
            abi::NULL => None,
            _ => Some(self.entry(task, after)?.set.ok_or(Code::INVALID_RIGHT)?),
        };
        let it = self.port(port);
        if set.is_none() && it.set.is_none() {
            return Err(Code::NOT_IN_SET);
        }
        if it.set != set {
            (it.set, it.passed_over) = (set, 0);
        }
        Ok(())
    }

    /// Asks for a notification to `to`. On success, the right of the request before.
    pub fn request(&mut self, task: usize, name: u32, id: i32, sync: u32, to: Right) -> Result<Right, Code> {
        let done = self.try_request(task, name, id, sync, to);
        if done.is_err() {
            self.destroy(to);
        }
        done
    }

    fn try_request(&mut self, task: usize, name: u32, id: i32, sync: u32, to: Right) -> Result<Right, Code> {
        let wanted = match to {
            Right::Once(port) if self.alive(port) => Some(to),
            Right::Null => None,
            _ => return Err(Code::INVALID_CAPABILITY),
        };
        let previous = match id {
            notify::PORT_DESTROYED => {
                if sync != 0 {
                    return Err(Code::INVALID_VALUE);
                }
                let port = self.receive_right(task, name)?;
                std::mem::replace(&mut self.port(port).destroyed, wanted)
            }
            notify::NO_SENDERS => {
                let port = self.receive_right(task, name)?;
                let previous = std::mem::replace(&mut self.port(port).no_senders, wanted);
                if sync <= self.ports[&port].mscount {
                    self.sender_gone(port);
                }
                previous
            }
            notify::DEAD_NAME => {
                let entry = self.entry(task, name)?;
                match (entry.port, entry.dead) {
                    (Some(_), _) => std::mem::replace(&mut self.entry_mut(task, name).request, wanted),
                    (None, 0) => return Err(Code::INVALID_RIGHT),
                    (None, _) if sync == 0 || wanted.is_none() => return Err(Code::INVALID_ARGUMENT),
                    (None, 65535) => return Err(Code::UREFS_OVERFLOW),
                    (None, _) => {
                        self.entry_mut(task, name).dead += 1;
                        self.tell(wanted, notify::DEAD_NAME, Some(name), Vec::new());
                        None
                    }
                }
            }
            _ => return Err(Code::INVALID_VALUE),
        };
        Ok(previous.unwrap_or(Right::Null))
    }

    /// Gives a task a right under a chosen name. It is destroyed if that can't be.
    pub fn insert(&mut self, task: usize, name: u32, right: Right) -> Result<(), Code> {
        let done = self.may_insert(task, name, right);
        match done {
            Ok(()) => self.put_at(task, right, name),
            Err(_) => self.destroy(right),
        }
        done
    }

    fn may_insert(&self, task: usize, name: u32, right: Right) -> Result<(), Code> {
        if matches!(name, abi::NULL | abi::DEAD) {
            return Err(Code::INVALID_VALUE);
        }
        let port = match right {
            Right::Null | Right::Dead => return Err(Code::INVALID_CAPABILITY),
            Right::Send(port) | Right::Once(port) | Right::Receive(port) => port,
        };
        if self.tasks[task].dead {
            return Err(Code::INVALID_TASK);
        }
        let there = self.tasks[task].names.get(&name);
        if self.alive(port) && !matches!(right, Right::Once(_)) {
            match (self.known_name(task, port), there) {
                (Some(known), _) if known != name => return Err(Code::RIGHT_EXISTS),
                (Some(_), Some(entry)) if matches!(right, Right::Send(_)) && entry.send == 65534 => {
                    return Err(Code::UREFS_OVERFLOW);
                }
                (Some(_), _) => return Ok(()),
                (None, _) => {}
            }
        }
        match there {
            Some(_) => Err(Code::NAME_EXISTS),
            None if !self.alive(port) => Err(Code::INVALID_CAPABILITY),
            None => Ok(()),
        }
    }

    fn put_at(&mut self, task: usize, right: Right, name: u32) {
        self.put(task, right, name).expect("the name was looked at");
    }

    /// Takes a right out of a space by name.
    pub fn extract(&mut self, task: usize, name: u32, disposition: u32) -> Result<Right, Code> {
        if !(types::MOVE_RECEIVE..=types::MAKE_SEND_ONCE).contains(&disposition) {
            return Err(Code::INVALID_VALUE);
        }
        self.entry(task, name)?;
        self.take(task, name, disposition)
    }
}
