//! Send rights that come over a line as their giver's own: a slot of the giver's, and the first time the port's sending end.

use super::{Remote, Route, Routes, Upcall, corrupt, table::Trust};
use crate::{
    line::GONE,
    objects,
    state::{LineId, Right},
    wire::{Record, flag, kind},
};
use slipway_fabric::{Corrupt, descriptor::Reserved};
use std::sync::Arc;

/// How many routes to a remote port are kept. A right that is given over one more is given back.
const ROUTES: usize = 64;

impl Routes {
    /// One more right to the port at a slot that is known.
    #[inline]
    pub(super) fn import_line_right(&mut self, number: LineId, slot: u32) -> Result<Right, Corrupt> {
        let line = self.lines.get_mut(number).ok_or_else(corrupt)?;
        let out = line.out_slot(slot).ok_or_else(corrupt)?;
        if out.lost {
            return self.import_lost_line_right(number, slot, false);
        }
        let closed = out.closed;
        if out.done {
            line.leave_slot(slot, 1);
            return Ok(Right::Dead);
        }
        // The port may have died, or moved on, even to here, since the giver wrote this.
        let Some(port) = self.port_of_out(number, slot).filter(|port| !self.is_gone(*port)) else { return Ok(Right::Dead) };
        if let Some([route]) = self.remote_mut(port).map(|remote| &mut remote.routes[..])
            && route.line_and_slot() == (number, slot)
        {
            // There is no other way to the port.
            route.line_rights += 1;
            self.state.port_mut(port).srights += 1;
            return Ok(Right::Send(port));
        }
        self.resume_way(port, (number, slot));
        if let Some(remote) = self.remote_mut(port) {
            match remote.routes.iter().position(|r| r.line == number && r.slot == slot) {
                Some(at) => {
                    let was_open = remote.routes[at].is_open();
                    remote.routes[at].line_rights += 1;
                    if !was_open {
                        // After the route that is in use: what went there comes first.
                        remote.routes[at..].rotate_left(1);
                    }
                }
                None if closed => {}
                None => return Err(corrupt()),
            }
        }
        self.state.port_mut(port).srights += 1;
        Ok(Right::Send(port))
    }

    /// A right of which the port's sending end did not arrive, now or with the first. It is given back, and the next
    /// comes with the sending end again.
    pub(super) fn import_lost_line_right(&mut self, number: LineId, slot: u32, first: bool) -> Result<Right, Corrupt> {
        let line = self.lines.get_mut(number).ok_or_else(corrupt)?;
        if first && !(line.may_be_offered(slot) && line.learn(slot, GONE)) {
            return Err(corrupt());
        }
        if let Some(out) = line.out_slot(slot) {
            (out.closed, out.lost) = (true, true);
        }
        line.post(Record { kind: kind::RELEASE, flags: flag::LOST, target: slot, count: 1, ..Record::default() }, Vec::new());
        Ok(Right::Dead)
    }

    /// The first right to the port at a slot, with the port's sending end.
    pub(super) fn import_first_line_right(&mut self, number: LineId, slot: u32, s: Reserved) -> Result<Right, Corrupt> {
        if !self.lines.get(number).is_some_and(|line| line.may_be_offered(slot)) {
            return Err(corrupt());
        }
        let identity = objects::identity(&s).map_err(|_| corrupt())?;
        let known = self.identified(identity, &s);
        let port = match known {
            // The port was the other end's when this was written; its receive right has come here over another line since.
            // A peer for which that isn't true has a right to the port, and gives that: nothing is ever sent to the slot.
            Some(port) if self.remote(port).is_none() => {
                let line = self.lines.get_mut(number).ok_or_else(corrupt)?;
                if !line.learn(slot, port) {
                    return Err(corrupt());
                }
                self.upcall(Upcall::Close(number, slot));
                self.state.port_mut(port).srights += 1;
                return Ok(Right::Send(port));
            }
            // Each route is looked through with each right.
            Some(port) if self.remote(port).is_some_and(|remote| remote.routes.len() >= ROUTES) => {
                return self.import_lost_line_right(number, slot, true);
            }
            Some(port) => {
                self.also_given(port, Some(number));
                port
            }
            None => {
                self.new_remote(identity, Remote { s: Some(Arc::new(s)), identity, giver: Some(number), ..Remote::default() })
            }
        };
        let line = self.lines.get_mut(number).ok_or_else(corrupt)?;
        if !(line.may_be_offered(slot) && line.learn(slot, port)) {
            return Err(corrupt());
        }
        self.resume_way(port, (number, slot));
        if let Some(remote) = self.remote_mut(port) {
            let trust = if remote.giver == Some(number) { Trust::Given } else { Trust::Contested };
            remote.routes.push(Route { line: number, slot, line_rights: 1, attached: false, trust });
        }
        self.state.port_mut(port).srights += 1;
        Ok(Right::Send(port))
    }
}
