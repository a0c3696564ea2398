//! Receive rights that come back when the process that has them is killed.
//!
//! Who gives a receive right away with a port-destroyed request to a port of his own wants it back. A holder that
//! gives it up sends it; one that was killed can't. So the giver's process keeps a copy of the receiving end, and
//! a pipe of which the read end goes with the right: a pipe without readers tells that the right is nowhere any more.
//! The senders' sockets never hung up in between, so they attach again, and send again what the dead process had
//! not taken.

use super::{Far, Inner, objects};
use crate::{
    abi::right,
    state::{Effect, Home, PortId, Right, port::Local},
};
use slipway_fabric::descriptor::Reserved;
use std::os::fd::AsFd;

/// What is kept of a receive right that was given away and is wanted back.
#[derive(Debug)]
pub struct Spare {
    /// A copy of the receiving end.
    r: Reserved,
    /// The port that gets the right.
    to: PortId,
    /// The queue limit as it was.
    qlimit: u32,
}

impl Inner {
    /// The process ends in order: receive rights with a port-destroyed request go where it says, with what waits in
    /// their queues.
    pub(crate) fn give_back(&mut self) {
        let wanted = self.state.ports.iter().filter_map(|(_, port)| {
            let local = port.local()?;
            local.receiver.filter(|_| local.pdrequest != Right::Null)
        });
        for (space, name) in wanted.collect::<Vec<_>>() {
            // Nobody is left to be told of an error.
            let _ = self.state.port_mod_refs(space, name, right::RECEIVE, -1);
            self.settle();
        }
    }

    /// A spare for a receive right that is about to travel, if a port here wants it back.
    pub(crate) fn spare_of(&self, local: &Local, r: &Reserved) -> Option<Spare> {
        let Right::SendOnce(to) = local.pdrequest else { return None };
        if !matches!(self.state.port(to).home, Home::Here(_)) {
            return None;
        }
        let r = Reserved::new(rustix::io::fcntl_dupfd_cloexec(r.as_fd(), 0).ok()?).ok()?;
        Some(Spare { r, to, qlimit: local.qlimit })
    }

    /// The holder of a port's receive right may be gone: if it is, the right is here again, and on its way to who
    /// asked for it.
    pub(crate) fn regain(&mut self, port: PortId) {
        let lost = |far: &Far| far.spare.is_some() && far.t.as_ref().is_some_and(|t| objects::hung_up(&**t));
        if !self.io.far(port).is_some_and(lost) {
            return;
        }
        let Some(far) = self.io.far_mut(port) else { return };
        let identity = far.identity;
        let (Some(spare), Some(s)) = (far.spare.take(), far.s.clone()) else { return };
        // Not before the send-once right is there: the last right may be the one in the notification.
        let to = if self.state.ports.contains(spare.to.0 as usize) { self.state.make_send_once(spare.to) } else { None };
        if self.adopt_receiving_end(port, spare.r, s, identity).is_err() {
            // With the last copy of its receiving end the port is dead.
            self.state.far_port_died(port);
            self.bury_far(port);
            return self.state.destroy_right(to.unwrap_or_default());
        }
        let Some(mut far) = self.io.take_far(port) else { return };
        self.state.port_mut(port).home = Home::Here(Local { qlimit: spare.qlimit, ..Local::default() });
        for route in std::mem::take(&mut far.routes) {
            self.gate_closed(route.line, route.slot, false);
        }
        for message in std::mem::take(&mut far.stranded) {
            let _ = self.send(message);
        }
        self.state.effects.push_back(Effect::Changed(port));
        self.accept_lines(port);
        match to {
            Some(to) => self.state.notify_port_destroyed(to, port),
            None => self.state.destroy_right(Right::Receive(port)),
        }
    }
}
