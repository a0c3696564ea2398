//! Send rights that come over a line as their giver's own: a slot of his, and the first time the port's sending end.

use super::{
    Far, Inner, Route,
    line::SLOTS,
    moves::GONE,
    objects,
    rights::{Incoming, corrupt},
    trust::Trust,
    wire::{Record, WireRight, flag, form, kind},
};
use crate::state::{PortId, Right};
use slipway_fabric::{Corrupt, descriptor::Reserved};
use std::sync::Arc;

impl Inner {
    #[inline]
    pub(super) fn decode_gift(&mut self, coded: WireRight, from: &mut Incoming) -> Result<Right, Corrupt> {
        let number = from.line.ok_or_else(corrupt)?;
        let slot = coded.value;
        if coded.form == form::FIRST_GIFT {
            return match from.fds.next().ok_or_else(corrupt)? {
                Some(s) => self.first_gift(number, slot, s),
                None => self.lost_gift(number, slot, true),
            };
        }
        let line = self.io.lines.get_mut(number as usize).ok_or_else(corrupt)?;
        let out = line.out_slot(slot).ok_or_else(corrupt)?;
        if out.lost {
            return self.lost_gift(number, slot, false);
        }
        let closed = out.closed;
        // The port may have died, or moved on, even to here, since the giver wrote this.
        let Some(port) = self.port_of_out(number, slot).filter(|port| !self.is_gone(*port)) else { return Ok(Right::Dead) };
        self.resume_way(port, (number, slot));
        if let Some(far) = self.io.far_mut(port) {
            match far.routes.iter().position(|r| r.line == number && r.slot == slot) {
                Some(at) => {
                    let mut route = far.routes[at];
                    if !route.is_open() {
                        // After the way that is in use: what went there comes first.
                        far.routes.remove(at);
                        far.routes.push(route);
                    }
                    route.gifts += 1;
                    if let Some(it) = far.routes.iter_mut().find(|r| r.line == number && r.slot == slot) {
                        *it = route;
                    }
                }
                None if closed => {}
                None => return Err(corrupt()),
            }
        }
        self.state.port_mut(port).srights += 1;
        Ok(Right::Send(port))
    }

    /// Whether nothing is known of the port any more, or that it is dead.
    pub(crate) fn is_gone(&self, port: PortId) -> bool {
        self.state.ports.get(port.0 as usize).is_none_or(|it| it.is_dead())
    }

    /// A right of which the port's sending end did not arrive, now or with the first. It is given back, and the next
    /// comes with the sending end again.
    fn lost_gift(&mut self, number: u32, slot: u32, first: bool) -> Result<Right, Corrupt> {
        let line = self.io.lines.get_mut(number as usize).ok_or_else(corrupt)?;
        if first && (line.out_slot(slot).is_some() || !line.learn(slot, GONE)) {
            return Err(corrupt());
        }
        if let Some(out) = line.out_slot(slot) {
            (out.closed, out.lost) = (true, true);
        }
        line.post(Record { kind: kind::RELEASE, flags: flag::LOST, target: slot, count: 1, ..Record::default() }, Vec::new());
        Ok(Right::Dead)
    }

    fn first_gift(&mut self, number: u32, slot: u32, s: Reserved) -> Result<Right, Corrupt> {
        let new = self.io.lines.get_mut(number as usize).is_some_and(|line| line.out_slot(slot).is_none());
        if !new || slot as usize >= SLOTS || !objects::is_socket(&s) {
            return Err(corrupt());
        }
        let identity = objects::identity(&s).map_err(|_| corrupt())?;
        let known = self.identified(identity, &s);
        if known.is_none() && !objects::leads_to_a_port(&s) {
            return self.lost_gift(number, slot, true);
        }
        let port = match known {
            // The other end's it was when this was written; the receive right has come here by another way since. Who
            // only says so has a right to the port, and gives that: nothing is ever sent to the slot.
            Some(port) if self.io.far(port).is_none() => {
                let line = self.io.lines.get_mut(number as usize).ok_or_else(corrupt)?;
                if !line.learn(slot, port) {
                    return Err(corrupt());
                }
                self.gate_closed(number, slot, false);
                self.state.port_mut(port).srights += 1;
                return Ok(Right::Send(port));
            }
            Some(port) => {
                self.also_given(port, Some(number));
                port
            }
            None => {
                let port = self.state.new_far_port();
                self.io.set_far(port, Far { s: Some(Arc::new(s)), identity, giver: Some(number), ..Far::default() });
                self.io.identities.insert(identity, port);
                port
            }
        };
        let line = self.io.lines.get_mut(number as usize).ok_or_else(corrupt)?;
        if line.out_slot(slot).is_some() || !line.learn(slot, port) {
            return Err(corrupt());
        }
        self.resume_way(port, (number, slot));
        if let Some(far) = self.io.far_mut(port) {
            let trust = if far.giver == Some(number) { Trust::Given } else { Trust::Contested };
            far.routes.push(Route { line: number, slot, gifts: 1, attached: false, trust });
        }
        self.state.port_mut(port).srights += 1;
        Ok(Right::Send(port))
    }
}
