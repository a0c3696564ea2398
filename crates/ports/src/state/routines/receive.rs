//! What a receive right or a port set has: limits, counts, members.

use crate::{
    abi::{self, Code, call::Status},
    state::{Effect, Right, SetId, SpaceId, State, space::Object},
};

impl State {
    /// `mach_port_set_qlimit`: how many messages wait before senders do; senders that may now send are woken.
    ///
    /// `INVALID_VALUE` above [`abi::QLIMIT_MAX`].
    pub fn port_set_qlimit(&mut self, space: SpaceId, name: u32, limit: u32) -> Result<(), Code> {
        if limit > abi::QLIMIT_MAX {
            return Err(Code::INVALID_VALUE);
        }
        let port = self.receive_of(space, name)?;
        if let Some(local) = self.port_mut(port).local_mut()
            && std::mem::replace(&mut local.qlimit, limit) < limit
        {
            self.effect(Effect::NotFull(port));
        }
        Ok(())
    }

    /// `mach_port_set_mscount`: sets the make-send count.
    pub fn port_set_mscount(&mut self, space: SpaceId, name: u32, count: u32) -> Result<(), Code> {
        let port = self.receive_of(space, name)?;
        if let Some(local) = self.port_mut(port).local_mut() {
            local.mscount = count;
        }
        Ok(())
    }

    /// `mach_port_set_seqno`: sets the number of the next message.
    pub fn port_set_seqno(&mut self, space: SpaceId, name: u32, seqno: u32) -> Result<(), Code> {
        let port = self.receive_of(space, name)?;
        if let Some(local) = self.port_mut(port).local_mut() {
            local.set_seqno(seqno);
        }
        Ok(())
    }

    /// `mach_port_set_protected_payload`: received messages show the payload in place of the port's name.
    pub fn port_set_protected_payload(&mut self, space: SpaceId, name: u32, payload: u64) -> Result<(), Code> {
        self.put_payload(space, name, Some(payload))
    }

    /// `mach_port_clear_protected_payload`: received messages show the port's name again.
    pub fn port_clear_protected_payload(&mut self, space: SpaceId, name: u32) -> Result<(), Code> {
        self.put_payload(space, name, None)
    }

    fn put_payload(&mut self, space: SpaceId, name: u32, payload: Option<u64>) -> Result<(), Code> {
        let port = self.receive_of(space, name)?;
        if let Some(local) = self.port_mut(port).local_mut() {
            local.payload = payload;
        }
        self.name_changed(port);
        Ok(())
    }

    /// `mach_port_get_set_status`: the names of a set's members, in no order.
    pub fn port_get_set_status(&self, space: SpaceId, name: u32) -> Result<Vec<u32>, Code> {
        let Object::Set(set) = self.entry_of(space, name)?.object else { return Err(Code::INVALID_RIGHT) };
        let names = self.set(set).members.iter().filter_map(|port| self.port(*port).local()?.receiver);
        Ok(names.map(|(_, name)| name).collect())
    }

    /// `mach_port_move_member`: puts a receive right into the set `after`, out of the one that it is in; into none if
    /// `after` is NULL.
    ///
    /// `NOT_IN_SET` if it should leave a set but is in none.
    pub fn port_move_member(&mut self, space: SpaceId, member: u32, after: u32) -> Result<(), Code> {
        let port = self.receive_of(space, member)?;
        let set = match after {
            abi::NULL => None,
            _ => match self.entry_of(space, after)?.object {
                Object::Set(set) => Some(set),
                _ => return Err(Code::INVALID_RIGHT),
            },
        };
        let old = self.port(port).local().and_then(|local| local.set);
        match set {
            None if old.is_none() => return Err(Code::NOT_IN_SET),
            None => self.leave_set(port),
            Some(set) if old == Some(set) => {}
            Some(set) => {
                self.leave_set(port);
                self.join_set(port, set);
            }
        }
        Ok(())
    }

    /// The set that a receive right is in, and the set that `set` names.
    fn membership(&self, space: SpaceId, name: u32, set: u32) -> Result<(Option<SetId>, SetId), Code> {
        let port = self.receive_of(space, name)?;
        let Object::Set(named) = self.entry_of(space, set)?.object else { return Err(Code::INVALID_RIGHT) };
        Ok((self.port(port).local().and_then(|local| local.set), named))
    }

    /// `mach_port_insert_member`: puts a receive right that is in no set into one. `ALREADY_IN_SET`; `FAILURE` if it is in another.
    pub fn port_insert_member(&mut self, space: SpaceId, name: u32, set: u32) -> Result<(), Code> {
        match self.membership(space, name, set)? {
            (Some(now), named) if now == named => Err(Code::ALREADY_IN_SET),
            (Some(_), _) => Err(Code::FAILURE),
            (None, _) => self.port_move_member(space, name, set),
        }
    }

    /// `mach_port_extract_member`: takes a receive right out of a set. `NOT_IN_SET` if it is not in that one.
    pub fn port_extract_member(&mut self, space: SpaceId, name: u32, set: u32) -> Result<(), Code> {
        match self.membership(space, name, set)? {
            (Some(now), named) if now == named => self.port_move_member(space, name, abi::NULL),
            _ => Err(Code::NOT_IN_SET),
        }
    }

    /// `mach_port_get_receive_status`: what is known of a receive right.
    pub fn port_get_receive_status(&self, space: SpaceId, name: u32) -> Result<Status, Code> {
        let port = self.port(self.receive_of(space, name)?);
        let local = port.local().ok_or(Code::INVALID_RIGHT)?;
        Ok(Status {
            pset: local.set.map_or(abi::NULL, |set| self.set(set).holder.1),
            seqno: local.seqno,
            mscount: local.mscount,
            qlimit: local.qlimit,
            msgcount: local.queue.len() as u32,
            sorights: port.sorights,
            srights: (port.srights > 0 || local.abroad > 0).into(),
            pdrequest: (local.pdrequest != Right::Null).into(),
            nsrequest: (local.nsrequest != Right::Null).into(),
        })
    }
}
