//! What a receive right or a port set has: limits, counts, members.

use crate::{
    abi::{self, Code, call::Status},
    state::{Effect, PortId, Right, SetId, SpaceId, State, space::Object},
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
            local.set_payload(payload);
        }
        self.name_changed(port);
        Ok(())
    }

    /// `mach_port_get_set_status`: the names of a set's members, in no order.
    pub fn port_get_set_status(&self, space: SpaceId, name: u32) -> Result<Vec<u32>, Code> {
        let names = self.set(self.set_of(space, name)?).members.iter().filter_map(|port| self.port(*port).local()?.receiver);
        Ok(names.map(|(_, name)| name).collect())
    }

    /// `mach_port_move_member`: puts a receive right into the set `after`, out of all that it is in; into none if
    /// `after` is NULL.
    ///
    /// `NOT_IN_SET` if it should leave its sets but is in none.
    pub fn port_move_member(&mut self, space: SpaceId, member: u32, after: u32) -> Result<(), Code> {
        let port = self.receive_of(space, member)?;
        let to = if after == abi::NULL { None } else { Some(self.set_of(space, after)?) };
        let old = self.sets_of(port);
        if to.is_none() && old.is_empty() {
            return Err(Code::NOT_IN_SET);
        }
        if to.is_none_or(|to| old.as_slice() != [to]) {
            self.leave_sets(port);
            to.into_iter().for_each(|to| self.join_set(port, to));
        }
        Ok(())
    }

    fn set_of(&self, space: SpaceId, name: u32) -> Result<SetId, Code> {
        match self.entry_of(space, name)?.object {
            Object::Set(set) => Ok(set),
            _ => Err(Code::INVALID_RIGHT),
        }
    }

    /// A receive right, a set, and whether the one is in the other.
    fn membership(&self, space: SpaceId, name: u32, set: u32) -> Result<(PortId, SetId, bool), Code> {
        let (port, set) = (self.receive_of(space, name)?, self.set_of(space, set)?);
        Ok((port, set, self.is_in(port, set)))
    }

    /// `mach_port_insert_member`: puts a receive right into a set, beside those that it is in. `ALREADY_IN_SET`.
    pub fn port_insert_member(&mut self, space: SpaceId, name: u32, set: u32) -> Result<(), Code> {
        let (port, set, is_in) = self.membership(space, name, set)?;
        if is_in {
            return Err(Code::ALREADY_IN_SET);
        }
        self.join_set(port, set);
        Ok(())
    }

    /// `mach_port_extract_member`: takes a receive right out of a set. `NOT_IN_SET` if it is not in that one.
    pub fn port_extract_member(&mut self, space: SpaceId, name: u32, set: u32) -> Result<(), Code> {
        let (port, set, is_in) = self.membership(space, name, set)?;
        if !is_in {
            return Err(Code::NOT_IN_SET);
        }
        self.leave_set(port, set);
        Ok(())
    }

    /// `mach_port_get_receive_status`: what is known of a receive right.
    pub fn port_get_receive_status(&self, space: SpaceId, name: u32) -> Result<Status, Code> {
        let port = self.port(self.receive_of(space, name)?);
        let local = port.local().ok_or(Code::INVALID_RIGHT)?;
        Ok(Status {
            pset: local.set.map_or(abi::NULL, |it| self.set(it.set).holder.1),
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
