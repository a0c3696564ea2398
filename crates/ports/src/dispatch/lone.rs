//! Rights that are all there is of their port in this process, given up in few steps: nothing is left to be carried out, no descriptor is dropped, and no
//! thread is to hear of it.

use super::Inner;
use crate::{abi::kind, state::SpaceId, waiting::For};

impl Inner {
    /// Ends the receive right of a name, if no thread waits there, and no other process knows of the port. False, and nothing has changed, if not.
    pub(crate) fn end_lone_port(&mut self, space: SpaceId, name: u32) -> bool {
        let Some(port) = self.state.lone(space, name, kind::RECEIVE) else { return false };
        let waits = |what| matches!(what, For::Port(it) | For::NotFull(it) if it == port);
        if self.exported(port).is_some() || self.remote(port).is_some() || self.waiting.awaited().any(waits) {
            return false;
        }
        self.state.remove_lone(space, name, port);
        true
    }

    /// Gives a send right back to its owner, if it came over a line, and nothing but what that knows of the port is kept. False, and nothing has changed, if
    /// not.
    pub(crate) fn drop_lone_right(&mut self, space: SpaceId, name: u32) -> bool {
        let Some(port) = self.state.lone(space, name, kind::SEND) else { return false };
        let Some(remote) = self.remote(port).filter(|remote| remote.t.is_none() && remote.stranded.is_empty()) else {
            return false;
        };
        let [route] = remote.routes[..] else { return false };
        let Some(line) = self.lines.get_mut(route.line).filter(|line| line.kept.is_empty() && line.keeps(route.slot)) else {
            return false;
        };
        line.release_slot(route.slot, route.line_rights, route.attached);
        if let Some([route]) = self.remote_mut(port).map(|remote| &mut remote.routes[..]) {
            (route.line_rights, route.attached) = (0, false);
        }
        self.state.remove_lone(space, name, port);
        self.retire_line(route.line);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        abi::{notify, right, types},
        state::{PortId, Right, port::Kernel},
        waiting::Wait,
    };

    fn one_port() -> (Inner, SpaceId, u32, PortId) {
        let mut inner = Inner::default();
        let space = inner.state.new_space();
        let name = inner.state.port_allocate(space, right::RECEIVE).expect("a port");
        let port = inner.own_port(space, name).expect("a receive right");
        (inner, space, name, port)
    }

    #[test]
    fn a_port_that_only_its_name_knows_leaves_nothing() {
        let (mut inner, space, name, _) = one_port();
        assert!(inner.end_lone_port(space, name));
        assert!(!inner.is_unsettled() && inner.state.ports.is_empty());
        assert!(inner.state.space(space).get(name).is_none());
        assert!(!inner.end_lone_port(space, name), "the name denotes nothing");
    }

    /// Whatever its end has to be told to, or has to wake: each of these does one thing to a new port.
    #[test]
    fn a_port_that_anything_else_knows_is_ended_in_order() {
        type Does = fn(&mut Inner, SpaceId, u32, PortId);
        let others: [(&str, Does); 13] = [
            ("a send right under the name", |inner, space, name, port| {
                let right = inner.state.make_send(port).expect("a right");
                inner.state.port_insert_right(space, name, right).expect("a send right");
            }),
            ("a send right elsewhere", |inner, space, name, _| {
                let _ = inner.state.copyin(space, name, types::MAKE_SEND).expect("a right");
            }),
            ("a send-once right", |inner, space, name, _| {
                let _ = inner.state.copyin(space, name, types::MAKE_SEND_ONCE).expect("a right");
            }),
            ("a message", |inner, _, _, port| {
                inner.state.port_mut(port).sorights += 1;
                inner.state.destroy_right(Right::SendOnce(port));
                // The message alone.
                inner.state.port_mut(port).sorights = 0;
            }),
            ("a set", |inner, space, name, _| {
                let set = inner.state.port_allocate(space, right::PORT_SET).expect("a set");
                inner.state.port_move_member(space, name, set).expect("a member");
            }),
            ("a no-senders request", |inner, space, name, _| asks(inner, space, name, notify::NO_SENDERS)),
            ("a port-destroyed request", |inner, space, name, _| asks(inner, space, name, notify::PORT_DESTROYED)),
            ("a guard", |inner, space, name, _| inner.state.port_guard(space, name, 1, false).expect("a guard")),
            ("the library", |inner, _, _, port| {
                inner.state.port_mut(port).local_mut().expect("a port here").kernel = Kernel::Host;
            }),
            ("a receiver", |inner, _, _, port| inner.waiting.list.push(Wait::of_nothing(0, For::Port(port)))),
            ("a leader", |inner, _, _, port| inner.waiting.leader = Some(Wait::of_nothing(0, For::Port(port)))),
            ("a sender", |inner, _, _, port| inner.waiting.list.push(Wait::of_nothing(0, For::NotFull(port)))),
            ("another process", |inner, _, _, port| inner.export(port).expect("sockets")),
        ];
        for (what, does) in others {
            let (mut inner, space, name, port) = one_port();
            does(&mut inner, space, name, port);
            assert!(!inner.end_lone_port(space, name), "{what}");
            assert_eq!(inner.own_port(space, name), Some(port), "{what}");
        }
    }

    fn asks(inner: &mut Inner, space: SpaceId, name: u32, what: i32) {
        let to = inner.state.port_allocate(space, right::RECEIVE).expect("a port");
        let once = inner.state.copyin(space, to, types::MAKE_SEND_ONCE).expect("a right");
        // Not due as long as no send right was made.
        let sync = u32::from(what == notify::NO_SENDERS);
        let _ = inner.state.port_request_notification(space, name, what, sync, once).expect("a request");
    }
}
