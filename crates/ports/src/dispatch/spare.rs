//! Receive rights that come back when the process that has them is killed.
//!
//! A task that gives a receive right away with a port-destroyed request to a port of its own wants it back. A holder that
//! gives it up sends it; one that was killed can't. So the giver's process keeps a copy of the receiving end, and
//! a pipe of which the read end goes with the right: a pipe without readers tells that the right is nowhere any more.
//! The senders' sockets never hung up in between, so they attach again, and send again what the dead process had
//! not taken.

use super::Inner;
use crate::{
    abi::right,
    line::ends::Ends,
    objects,
    routes::{Remote, Upcall},
    state::{Effect, Home, PortId, Right, port::Local},
};
use slipway_fabric::descriptor::Reserved;
use std::sync::Arc;

impl Inner {
    /// The process ends in order: receive rights with a port-destroyed request go where it says, with what waits in
    /// their queues.
    pub(crate) fn give_back(&mut self) {
        let wanted = self.state.ports.iter().filter_map(|(_, port)| {
            let local = port.local()?;
            local.receiver.filter(|_| local.pdrequest != Right::Null)
        });
        for (space, name) in wanted.collect::<Vec<_>>() {
            // No caller is left to be told of an error.
            let _ = self.state.port_mod_refs(space, name, right::RECEIVE, -1);
            self.settle();
        }
    }

    /// The process ends in order: what others have left here for ports that moved, and what this process sent itself, is not lost.
    pub(crate) fn leave(&mut self) {
        self.await_leavers().into_iter().for_each(|line| self.end_line(line));
        self.routes.leave();
        self.settle();
    }

    /// The holder of a port's receive right may be gone: if it is, the right is here again, and on its way to the
    /// port of the request. Of a port that died in order the receiving end was shut down first, and its senders are told of that.
    pub(crate) fn regain(&mut self, port: PortId) {
        let hung_up = |fd: &Option<Arc<Reserved>>| fd.as_ref().is_some_and(|fd| objects::hung_up(&**fd));
        let lost = |remote: &Remote| remote.spare.is_some() && hung_up(&remote.t) && !hung_up(&remote.s);
        if !self.remote(port).is_some_and(lost) {
            return;
        }
        let Some(remote) = self.remote_mut(port) else { return };
        let identity = remote.identity;
        let (Some(spare), Some(s)) = (remote.spare.take(), remote.s.clone()) else { return };
        // Not before the send-once right is there: the last right may be the one in the notification.
        let is_there = self.state.ports.get(spare.to.0 as usize).is_some_and(|it| it.serial.made == spare.made);
        let to = if is_there { self.state.make_send_once(spare.to) } else { None };
        if self.adopt_receiving_end(port, Ends { r: Some(Arc::new(spare.r)), s, identity }).is_err() {
            // With the last copy of its receiving end the port is dead.
            self.state.remote_port_died(port);
            self.bury_remote(port);
            return self.state.destroy_right(to.unwrap_or_default());
        }
        let Some(mut remote) = self.take_remote(port) else { return };
        self.state.port_mut(port).home = Home::Here(Local { qlimit: spare.qlimit, ..Local::default() });
        remote.routes.iter().for_each(|route| self.routes.upcall(Upcall::Close(route.line, route.slot)));
        self.routes.upcall(Upcall::PutBack(port, std::mem::take(&mut remote.stranded)));
        self.make_upcalls();
        self.state.effects.push_back(Effect::Changed(port));
        self.accept_lines(port);
        match to {
            Some(to) => self.state.notify_port_destroyed(to, port),
            None => self.state.destroy_right(Right::Receive(port)),
        }
    }
}
