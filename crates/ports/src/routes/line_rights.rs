//! Send rights that come over a line as their giver's own: a slot of the giver's, and the first time the port's sending end.

use super::{Remote, Route, Routes, Upcall, corrupt, table::Trust};
use crate::{
    line::{GONE, ends::Ends},
    objects,
    state::{LineId, PortId, Right},
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
        drop(line.out_ends.take(slot));
        if let Some(out) = line.out_slot(slot) {
            (out.closed, out.lost) = (true, true);
        }
        line.post(Record { kind: kind::RELEASE, flags: flag::LOST, target: slot, count: 1, ..Record::default() }, Vec::new());
        Ok(Right::Dead)
    }

    /// The port that stood at a slot of a line's other end is dead: the slot keeps its sending end, if that came over the line alone and went
    /// nowhere from here; or both ends, if the receive right went over the line before any other process had heard of the port.
    pub(super) fn keep_known_ends(&mut self, port: PortId, number: LineId, slot: u32) {
        let line = self.lines.get(number).filter(|_| slot != 0);
        let Some(charge) = line.and_then(|line| line.out_ends.room(&line.account)) else { return };
        let alone = |remote: &&mut Remote| {
            !remote.shared && (remote.giver == Some(number) || remote.r.is_some()) && remote.routes.len() == 1
        };
        let Some(remote) = self.remote_mut(port).filter(alone) else { return };
        let (r, Some(s)) = (remote.r.take(), remote.s.take()) else { return };
        let identity = std::mem::take(&mut remote.identity);
        self.identities.remove(&identity);
        if let Some(line) = self.lines.get_mut(number) {
            line.out_ends.put(slot, Ends { r, s, identity }, charge);
        }
    }

    /// The first right to the port at a slot, with the port's sending end.
    pub(super) fn import_first_line_right(&mut self, number: LineId, slot: u32, s: Reserved) -> Result<Right, Corrupt> {
        let identity = objects::identity(&s).map_err(|_| corrupt())?;
        let kept = self.lines.get_mut(number).and_then(|line| line.out_ends.take(slot));
        drop(kept);
        self.import_new_line_right(number, slot, Ends { r: None, s: Arc::new(s), identity })
    }

    /// The first right to the port at a slot that has kept the sending end.
    pub(super) fn import_kept_line_right(&mut self, number: LineId, slot: u32) -> Result<Right, Corrupt> {
        let kept = self.lines.get_mut(number).and_then(|line| line.out_ends.take(slot));
        self.import_new_line_right(number, slot, kept.ok_or_else(corrupt)?)
    }

    fn import_new_line_right(&mut self, number: LineId, slot: u32, ends: Ends) -> Result<Right, Corrupt> {
        if !self.lines.get(number).is_some_and(|line| line.may_be_offered(slot)) {
            return Err(corrupt());
        }
        let Ends { s, identity, .. } = ends;
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
            None => self.new_remote(identity, Remote { s: Some(s), identity, giver: Some(number), ..Remote::default() }),
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
