//! Notifications: when they come, to whom, and in which order.

use super::*;
use crate::abi;

#[test]
fn dead_name_takes_a_reference() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let (name, note) = (w.port(a), w.port(b));
    let (send, once) = (w.give(a, name, types::MAKE_SEND, b), w.give(a, name, types::MAKE_SEND_ONCE, b));
    w.request(b, send, notify::DEAD_NAME, note);
    w.request(b, once, notify::DEAD_NAME, note);
    assert_eq!(w.kind(b, send), Ok(kind::SEND | kind::DNREQUEST));
    assert_eq!(w.state.port_destroy(a, name), Ok(()));
    assert_eq!(w.told(b, note), Some((notify::DEAD_NAME, Some(send))));
    assert_eq!(w.told(b, note), Some((notify::DEAD_NAME, Some(once))));
    assert_eq!(w.told(b, note), None);
    for name in [send, once] {
        assert_eq!(w.kind(b, name), Ok(kind::DEAD_NAME));
        assert_eq!(w.state.port_get_refs(b, name, right::DEAD_NAME), Ok(2));
    }
}

#[test]
fn dead_name_of_a_dead_name() {
    let mut w = World::new();
    let a = w.a;
    let (dead, note) = (w.state.port_allocate(a, right::DEAD_NAME).expect("a dead name"), w.port(a));
    let once = w.once(a, note);
    assert_eq!(w.state.port_request_notification(a, dead, notify::DEAD_NAME, 0, once), Err(Code::INVALID_ARGUMENT));
    assert_eq!(w.told(a, note), Some((notify::SEND_ONCE, None)), "the right was destroyed");
    assert_eq!(w.state.port_request_notification(a, dead, notify::DEAD_NAME, 1, Right::Null), Err(Code::INVALID_ARGUMENT));
    let once = w.once(a, note);
    assert_eq!(w.state.port_request_notification(a, dead, notify::DEAD_NAME, 1, once), Ok(Right::Null));
    assert_eq!(w.told(a, note), Some((notify::DEAD_NAME, Some(dead))));
    assert_eq!(w.state.port_get_refs(a, dead, right::DEAD_NAME), Ok(2));
    assert_eq!(w.state.port_mod_refs(a, dead, right::DEAD_NAME, abi::UREFS_MAX as i32 - 2), Ok(()));
    let once = w.once(a, note);
    assert_eq!(w.state.port_request_notification(a, dead, notify::DEAD_NAME, 1, once), Err(Code::UREFS_OVERFLOW));
    let (set, once) = (w.state.port_allocate(a, right::PORT_SET).expect("a set"), w.once(a, note));
    assert_eq!(w.state.port_request_notification(a, set, notify::DEAD_NAME, 1, once), Err(Code::INVALID_RIGHT));
}

#[test]
fn a_name_given_up_tells_that_it_is_deleted() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let (name, note) = (w.port(a), w.port(b));
    let held = w.give(a, name, types::MAKE_SEND, b);
    w.request(b, held, notify::DEAD_NAME, note);
    assert_eq!(w.state.port_deallocate(b, held), Ok(()));
    assert_eq!(w.told(b, note), Some((notify::PORT_DELETED, Some(held))));
    // A right that is moved away is given up as well.
    let held = w.give(a, name, types::MAKE_SEND, b);
    w.request(b, held, notify::DEAD_NAME, note);
    w.give(b, held, types::MOVE_SEND, a);
    assert_eq!(w.told(b, note), Some((notify::PORT_DELETED, Some(held))));
    w.request(a, name, notify::DEAD_NAME, name);
    let moved = w.give(a, name, types::MOVE_RECEIVE, b);
    assert_eq!(w.kind(a, name), Ok(kind::SEND | kind::DNREQUEST), "the send right keeps the request");
    assert_eq!(w.state.port_deallocate(a, name), Ok(()));
    assert_eq!(w.told(b, moved), Some((notify::PORT_DELETED, Some(name))));
}

#[test]
fn a_new_request_gives_the_old_one_back() {
    let mut w = World::new();
    let a = w.a;
    let (name, note) = (w.port(a), w.port(a));
    let port = w.state.space(a).get(note).and_then(|entry| entry.port()).expect("a port");
    for id in [notify::DEAD_NAME, notify::NO_SENDERS, notify::PORT_DESTROYED] {
        // A send right keeps the no-senders notification from coming at once.
        let send = w.state.copyin(a, name, types::MAKE_SEND).expect("a right");
        w.request(a, name, id, note);
        let once = w.once(a, note);
        let previous = w.state.port_request_notification(a, name, id, 0, once).expect("the old request");
        assert_eq!(previous, Right::SendOnce(port));
        w.state.drop_soright(port);
        let previous = w.state.port_request_notification(a, name, id, 0, Right::Null).expect("the old request");
        assert_eq!(previous, Right::SendOnce(port));
        w.state.drop_soright(port);
        assert_eq!(w.state.port_request_notification(a, name, id, 0, Right::Null), Ok(Right::Null));
        w.state.destroy_right(send);
    }
    assert_eq!(w.kind(a, name), Ok(kind::RECEIVE));
    assert_eq!(w.told(a, note), None);
}

#[test]
fn requests_that_are_refused() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let (name, note) = (w.port(a), w.port(a));
    let held = w.give(a, name, types::MAKE_SEND, b);
    for (space, name, id, sync, code) in [
        (a, name, notify::PORT_DESTROYED, 1, Code::INVALID_VALUE),
        (a, 5, notify::PORT_DESTROYED, 1, Code::INVALID_VALUE),
        (a, name, notify::SEND_ONCE, 0, Code::INVALID_VALUE),
        (a, name, notify::PORT_DELETED, 0, Code::INVALID_VALUE),
        (a, 5, notify::PORT_DESTROYED, 0, Code::INVALID_NAME),
        (a, 5, notify::NO_SENDERS, 0, Code::INVALID_NAME),
        (a, 5, notify::DEAD_NAME, 0, Code::INVALID_NAME),
        (b, held, notify::PORT_DESTROYED, 0, Code::INVALID_RIGHT),
        (b, held, notify::NO_SENDERS, 0, Code::INVALID_RIGHT),
    ] {
        let once = w.once(a, note);
        assert_eq!(w.state.port_request_notification(space, name, id, sync, once), Err(code), "{id} on {name}");
        assert_eq!(w.told(a, note), Some((notify::SEND_ONCE, None)));
    }
    let send = w.state.copyin(a, note, types::MAKE_SEND).expect("a right");
    assert_eq!(w.state.port_request_notification(a, name, notify::DEAD_NAME, 0, send), Err(Code::INVALID_CAPABILITY));
    assert_eq!(w.state.port_request_notification(a, name, 0, 0, Right::Dead), Err(Code::INVALID_CAPABILITY));
    let once = w.once(a, note);
    assert_eq!(w.state.port_destroy(a, note), Ok(()));
    assert_eq!(w.state.port_request_notification(a, name, notify::DEAD_NAME, 0, once), Err(Code::INVALID_CAPABILITY));
    w.settle();
    assert_eq!(w.state.ports.len(), 1);
}

#[test]
fn no_senders_comes_at_once_or_when_the_last_goes() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let (name, note) = (w.port(a), w.port(a));
    w.request(a, name, notify::NO_SENDERS, note);
    assert_eq!(w.told(a, note), Some((notify::NO_SENDERS, Some(0))), "there is none");
    let once = w.once(a, note);
    assert_eq!(w.state.port_request_notification(a, name, notify::NO_SENDERS, 1, once), Ok(Right::Null));
    assert_eq!(w.told(a, note), None, "so many weren't made yet");
    let held = w.give(a, name, types::MAKE_SEND, b);
    w.send(b, held, types::MOVE_SEND, 1, Vec::new());
    assert_eq!(w.told(a, note), None, "the message holds a right");
    assert_eq!(w.receive(a, name).map(|got| got.id), Some(1));
    assert_eq!(w.told(a, note), Some((notify::NO_SENDERS, Some(1))));
    w.request(a, name, notify::NO_SENDERS, note);
    assert_eq!(w.told(a, note), Some((notify::NO_SENDERS, Some(1))), "as many were made as it asks for");
}

#[test]
fn no_senders_minds_holders_elsewhere() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let (name, note) = (w.port(a), w.port(a));
    let port = w.state.space(a).get(name).and_then(|entry| entry.port()).expect("a port");
    let held = w.give(a, name, types::MAKE_SEND, b);
    w.state.set_abroad(port, 2);
    w.settle();
    w.request(a, name, notify::NO_SENDERS, note);
    assert!(w.settle().iter().any(|effect| matches!(effect, Effect::WatchSenders(it) if *it == port)));
    assert_eq!(w.state.port_deallocate(b, held), Ok(()));
    w.state.set_abroad(port, 1);
    assert_eq!(w.told(a, note), None);
    assert_eq!(w.state.port_get_receive_status(a, name).map(|status| status.srights), Ok(1));
    w.state.set_abroad(port, 0);
    assert_eq!(w.told(a, note), Some((notify::NO_SENDERS, Some(1))));
    // One that waits for a sender to come isn't told that there is none still.
    let once = w.once(a, note);
    assert_eq!(w.state.port_request_notification(a, name, notify::NO_SENDERS, 2, once), Ok(Right::Null));
    w.state.set_abroad(port, 0);
    assert_eq!(w.told(a, note), None);
}

#[test]
fn port_destroyed_hands_the_right_over() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let (name, note) = (w.port(a), w.port(b));
    let held = w.give(a, name, types::MAKE_SEND, b);
    w.send(b, held, types::COPY_SEND, 7, Vec::new());
    let once = w.once(b, note);
    assert_eq!(w.state.port_request_notification(a, name, notify::PORT_DESTROYED, 0, once), Ok(Right::Null));
    assert_eq!(w.state.port_destroy(a, name), Ok(()));
    assert_eq!(w.kind(b, held), Ok(kind::SEND), "the port lives");
    let got = w.receive(b, note).expect("a notification");
    assert_eq!((got.id, got.names), (notify::PORT_DESTROYED, vec![held]));
    assert_eq!(w.kind(b, held), Ok(kind::SEND_RECEIVE));
    assert_eq!(w.receive(b, held).map(|got| got.id), Some(7), "its queue came along");
    // The request was for one time.
    assert_eq!(w.state.port_mod_refs(b, held, right::RECEIVE, -1), Ok(()));
    assert_eq!(w.kind(b, held), Ok(kind::DEAD_NAME));
}

#[test]
fn port_destroyed_leaves_the_send_right_of_the_name() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let (name, note) = (w.port(a), w.port(b));
    w.give(a, name, types::MAKE_SEND, a);
    let once = w.once(b, note);
    assert_eq!(w.state.port_request_notification(a, name, notify::PORT_DESTROYED, 0, once), Ok(Right::Null));
    assert_eq!(w.state.port_mod_refs(a, name, right::RECEIVE, -1), Ok(()));
    assert_eq!(w.kind(a, name), Ok(kind::SEND));
}

#[test]
fn a_right_to_itself_is_no_backup() {
    let mut w = World::new();
    let a = w.a;
    let name = w.port(a);
    w.request(a, name, notify::PORT_DESTROYED, name);
    assert_eq!(w.state.port_destroy(a, name), Ok(()));
    w.settle();
    assert!(w.state.ports.is_empty(), "the port would wait in its own queue for ever");
}

#[test]
fn cycles_of_ports_in_queues_are_not_made() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let (one, two) = (w.port(a), w.port(a));
    let (to_one, to_two) = (w.give(a, one, types::MAKE_SEND, b), w.give(a, two, types::MAKE_SEND, b));
    let right = w.state.copyin(a, one, types::MOVE_RECEIVE).expect("a right");
    w.send(b, to_two, types::COPY_SEND, 1, vec![right]);
    assert_eq!(w.kind(b, to_one), Ok(kind::SEND), "it waits");
    let right = w.state.copyin(a, two, types::MOVE_RECEIVE).expect("a right");
    w.send(b, to_one, types::COPY_SEND, 2, vec![right]);
    assert_eq!(w.kind(b, to_one), Ok(kind::DEAD_NAME));
    assert_eq!(w.kind(b, to_two), Ok(kind::DEAD_NAME));
    w.state.terminate(b);
    w.settle();
    assert!(w.state.ports.is_empty());
}

#[test]
fn requests_end_with_their_port() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let (name, note) = (w.port(a), w.port(b));
    let held = w.give(a, name, types::MAKE_SEND, b);
    let once = w.once(b, note);
    assert_eq!(w.state.port_request_notification(a, name, notify::NO_SENDERS, 0, once), Ok(Right::Null));
    assert_eq!(w.state.port_destroy(a, name), Ok(()));
    assert_eq!(w.told(b, note), Some((notify::SEND_ONCE, None)));
    assert_eq!(w.kind(b, held), Ok(kind::DEAD_NAME));
}

#[test]
fn the_last_send_right_under_the_name_of_a_dying_port_tells_no_senders() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let (name, note) = (w.port(a), w.port(b));
    w.give(a, name, types::MAKE_SEND, a);
    let once = w.once(b, note);
    assert_eq!(w.state.port_request_notification(a, name, notify::NO_SENDERS, 0, once), Ok(Right::Null));
    assert_eq!(w.state.port_destroy(a, name), Ok(()));
    assert_eq!(w.told(b, note), Some((notify::NO_SENDERS, Some(1))));
}

#[test]
fn what_a_dying_port_does_comes_before_what_is_told_of_its_name() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let (name, note) = (w.port(a), w.port(b));
    let seen = w.give(b, note, types::MAKE_SEND, a);
    let held = w.give(a, name, types::MAKE_SEND, b);
    w.request(b, held, notify::DEAD_NAME, note);
    // A send-once right in its queue, and a request for its own name.
    let once = w.once(b, note);
    w.send(b, held, types::COPY_SEND, 1, vec![once]);
    let once = w.once(b, note);
    assert_eq!(w.state.port_request_notification(a, name, notify::DEAD_NAME, 0, once), Ok(Right::Null));
    assert_eq!(w.state.port_destroy(a, name), Ok(()));
    assert_eq!(w.told(b, note), Some((notify::SEND_ONCE, None)));
    assert_eq!(w.told(b, note), Some((notify::DEAD_NAME, Some(held))));
    assert_eq!(w.told(b, note), Some((notify::PORT_DELETED, Some(name))));
    assert_eq!(w.told(b, note), None);
    assert_eq!(w.kind(a, seen), Ok(kind::SEND));
}

#[test]
fn remote_ports_are_watched_once() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let note = w.port(a);
    let port = w.state.new_remote_port();
    w.state.port_mut(port).srights += 2;
    let name = w.state.copyout(a, Right::Send(port)).expect("a name");
    let other = w.state.copyout(b, Right::Send(port)).expect("a name");
    w.request(a, name, notify::DEAD_NAME, note);
    assert!(matches!(w.settle()[..], [Effect::WatchDeath(it)] if it == port));
    let once = w.once(a, note);
    assert_eq!(w.state.port_request_notification(b, other, notify::DEAD_NAME, 0, once), Ok(Right::Null));
    assert!(w.settle().is_empty());
    w.state.remote_port_died(port);
    assert_eq!(w.told(a, note), Some((notify::DEAD_NAME, Some(name))));
    assert_eq!(w.told(a, note), Some((notify::DEAD_NAME, Some(other))));
    assert_eq!(w.settle().iter().filter(|effect| matches!(effect, Effect::Forgotten(_))).count(), 1);

    let once = crate::state::RemoteSendOnce(3);
    let name = w.state.copyout(a, Right::RemoteSendOnce(once)).expect("a name");
    w.request(a, name, notify::DEAD_NAME, note);
    assert!(matches!(w.settle()[..], [Effect::WatchOnce(it)] if it == once));
    assert!(w.state.remote_send_once_died(once));
    assert_eq!(w.told(a, note), Some((notify::DEAD_NAME, Some(name))));
}

#[test]
fn a_remote_right_given_up_is_forgotten() {
    let mut w = World::new();
    let a = w.a;
    let port = w.state.new_remote_port();
    w.state.port_mut(port).srights += 1;
    let name = w.state.copyout(a, Right::Send(port)).expect("a name");
    assert_eq!(w.state.port_mod_refs(a, name, right::SEND, 1), Ok(()));
    assert_eq!(w.state.port_deallocate(a, name), Ok(()));
    assert!(w.settle().is_empty());
    assert_eq!(w.state.port_deallocate(a, name), Ok(()));
    assert!(matches!(w.settle()[..], [Effect::Forgotten(it)] if it == port));
    let name = w.state.copyout(a, Right::RemoteSendOnce(crate::state::RemoteSendOnce(9))).expect("a name");
    assert_eq!(w.state.port_destroy(a, name), Ok(()));
    assert!(matches!(w.settle()[..], [Effect::OnceDropped(_)]));
}
