//! What a receive right or a port set has.

use super::*;
use crate::abi;

#[test]
fn status_tells_all() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let (name, note) = (w.port(a), w.port(a));
    let status = w.state.port_get_receive_status(a, name).expect("a status");
    assert_eq!((status.qlimit, status.msgcount, status.srights, status.nsrequest), (abi::QLIMIT_DEFAULT, 0, 0, 0));
    let held = w.give(a, name, types::MAKE_SEND, b);
    w.give(a, name, types::MAKE_SEND_ONCE, b);
    w.request(a, name, notify::NO_SENDERS, note);
    w.request(a, name, notify::PORT_DESTROYED, note);
    w.send(b, held, types::COPY_SEND, 1, Vec::new());
    let status = w.state.port_get_receive_status(a, name).expect("a status");
    assert_eq!((status.mscount, status.sorights, status.msgcount, status.srights), (1, 1, 1, 1));
    assert_eq!((status.nsrequest, status.pdrequest), (1, 1));
    assert_eq!(w.state.port_get_receive_status(b, held), Err(Code::INVALID_RIGHT));
    assert_eq!(w.state.port_get_receive_status(b, 5), Err(Code::INVALID_NAME));
}

#[test]
fn counts_can_be_set_and_begin_anew_when_the_right_moves() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let name = w.port(a);
    assert_eq!(w.state.port_set_mscount(a, name, 7), Ok(()));
    assert_eq!(w.state.port_set_seqno(a, name, 8), Ok(()));
    assert_eq!(w.state.port_set_qlimit(a, name, 9), Ok(()));
    assert_eq!(w.state.port_set_protected_payload(a, name, 10), Ok(()));
    let status = w.state.port_get_receive_status(a, name).expect("a status");
    assert_eq!((status.mscount, status.seqno, status.qlimit), (7, 8, 9));
    let moved = w.give(a, name, types::MOVE_RECEIVE, b);
    let status = w.state.port_get_receive_status(b, moved).expect("a status");
    assert_eq!((status.mscount, status.seqno, status.qlimit), (0, 0, 9));
    let port = w.state.space(b).get(moved).and_then(|entry| entry.port()).expect("a port");
    assert_eq!(w.state.port(port).local().map(|local| local.payload()), Some(None));
    for code in [
        w.state.port_set_mscount(a, name, 1),
        w.state.port_set_seqno(a, name, 1),
        w.state.port_set_qlimit(a, name, 1),
        w.state.port_set_protected_payload(a, name, 1),
        w.state.port_clear_protected_payload(a, name),
    ] {
        assert_eq!(code, Err(Code::INVALID_NAME));
    }
}

#[test]
fn a_raised_limit_wakes_senders() {
    let mut w = World::new();
    let name = w.port(w.a);
    assert_eq!(w.state.port_set_qlimit(w.a, 5, abi::QLIMIT_MAX + 1), Err(Code::INVALID_VALUE));
    assert_eq!(w.state.port_set_qlimit(w.a, name, abi::QLIMIT_MAX), Ok(()));
    assert!(matches!(w.settle()[..], [Effect::NotFull(_)]));
    assert_eq!(w.state.port_set_qlimit(w.a, name, 0), Ok(()));
    assert!(w.settle().is_empty());
}

#[test]
fn members_move_between_sets() {
    let mut w = World::new();
    let a = w.a;
    let (name, other) = (w.port(a), w.port(a));
    let one = w.state.port_allocate(a, right::PORT_SET).expect("a set");
    let two = w.state.port_allocate(a, right::PORT_SET).expect("a set");
    assert_eq!(w.state.port_move_member(a, name, abi::NULL), Err(Code::NOT_IN_SET));
    assert_eq!(w.state.port_move_member(a, name, other), Err(Code::INVALID_RIGHT));
    assert_eq!(w.state.port_move_member(a, name, 5), Err(Code::INVALID_NAME));
    assert_eq!(w.state.port_move_member(a, one, two), Err(Code::INVALID_RIGHT));
    assert_eq!(w.state.port_move_member(a, 5, two), Err(Code::INVALID_NAME));
    assert_eq!(w.state.port_move_member(a, name, one), Ok(()));
    assert_eq!(w.state.port_move_member(a, name, one), Ok(()));
    assert_eq!(w.state.port_get_set_status(a, one), Ok(vec![name]));
    assert_eq!(w.state.port_move_member(a, name, two), Ok(()));
    assert_eq!(w.state.port_get_set_status(a, one), Ok(vec![]));
    assert_eq!(w.state.port_get_receive_status(a, name).map(|status| status.pset), Ok(two));
    assert_eq!(w.state.port_get_set_status(a, name), Err(Code::INVALID_RIGHT));
    w.settle();
    assert_eq!(w.state.port_destroy(a, two), Ok(()));
    assert!(w.settle().iter().any(|effect| matches!(effect, Effect::SetGone(_))));
    assert_eq!(w.state.port_get_receive_status(a, name).map(|status| status.pset), Ok(abi::NULL));
    assert_eq!(w.state.port_move_member(a, name, abi::NULL), Err(Code::NOT_IN_SET));
}

#[test]
fn a_receive_right_leaves_its_set_when_it_moves() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let name = w.port(a);
    let set = w.state.port_allocate(a, right::PORT_SET).expect("a set");
    assert_eq!(w.state.port_move_member(a, name, set), Ok(()));
    w.give(a, name, types::MOVE_RECEIVE, b);
    assert_eq!(w.state.port_get_set_status(a, set), Ok(vec![]));
}

#[test]
fn members_of_a_set_take_turns() {
    let mut w = World::new();
    let a = w.a;
    let set = w.state.port_allocate(a, right::PORT_SET).expect("a set");
    let names: Vec<u32> = (0..3).map(|_| w.port(a)).collect();
    for name in &names[..2] {
        // The first has its messages before it joins, the others after.
        if *name != names[0] {
            assert_eq!(w.state.port_move_member(a, *name, set), Ok(()));
        }
        for id in 1..=3 {
            w.send(a, *name, types::MAKE_SEND, id, Vec::new());
        }
        assert_eq!(w.state.port_move_member(a, *name, set), Ok(()));
    }
    assert_eq!(w.state.port_move_member(a, names[2], set), Ok(()));
    let Some(crate::state::space::Object::Set(id)) = w.state.space(a).get(set).map(|entry| entry.object) else {
        panic!("no set")
    };
    let mut turns = Vec::new();
    while let Some(port) = w.state.next_ready(id) {
        let name = w.state.port(port).local().and_then(|local| local.receiver).map(|(_, name)| name).expect("a name");
        turns.push((name, w.receive(a, name).expect("a message").id));
    }
    let (one, two) = (names[0], names[1]);
    assert_eq!(turns, [(one, 1), (two, 1), (one, 2), (two, 2), (one, 3), (two, 3)]);
    // One whose message was looked at and left is next.
    for _ in 0..2 {
        w.send(a, one, types::MAKE_SEND, 4, Vec::new());
        w.send(a, two, types::MAKE_SEND, 4, Vec::new());
        let port = w.state.next_ready(id).expect("a member");
        w.state.still_ready(id, port);
        assert_eq!(w.state.next_ready(id), Some(port));
        w.state.still_ready(id, port);
    }
}

#[test]
fn a_port_in_several_sets_is_received_from_any_of_them() {
    let mut w = World::new();
    let a = w.a;
    let name = w.port(a);
    let sets = [0; 2].map(|_| w.state.port_allocate(a, right::PORT_SET).expect("a set"));
    for set in sets {
        assert_eq!(w.state.port_insert_member(a, name, set), Ok(()));
        assert_eq!(w.state.port_insert_member(a, name, set), Err(Code::ALREADY_IN_SET));
    }
    let ids = sets.map(|set| match w.state.space(a).get(set).map(|entry| entry.object) {
        Some(crate::state::space::Object::Set(id)) => id,
        other => panic!("no set: {other:?}"),
    });
    // What one set receives leaves nothing for the other, and no mark in its list for each message.
    for id in 0..100 {
        w.send(a, name, types::MAKE_SEND, id, Vec::new());
        assert!(w.state.next_ready(ids[0]).is_some());
        assert_eq!(w.receive(a, name).expect("a message").id, id);
    }
    assert_eq!(w.state.set(ids[1]).ready.len(), 1);
    assert_eq!(w.state.next_ready(ids[1]), None);
    w.send(a, name, types::MAKE_SEND, 7, Vec::new());
    assert!(ids.iter().all(|id| w.state.next_ready(*id).is_some()));
    // Out of one, out of all, into another alone.
    assert_eq!(w.state.port_extract_member(a, name, sets[0]), Ok(()));
    assert_eq!(w.state.port_extract_member(a, name, sets[0]), Err(Code::NOT_IN_SET));
    assert_eq!(w.state.port_get_set_status(a, sets[1]), Ok(vec![name]));
    assert_eq!(w.state.port_insert_member(a, name, sets[0]), Ok(()));
    assert_eq!(w.state.port_move_member(a, name, sets[0]), Ok(()));
    assert_eq!(w.state.port_get_set_status(a, sets[1]), Ok(vec![]));
    assert_eq!(w.state.port_insert_member(a, name, sets[1]), Ok(()));
    assert_eq!(w.state.port_move_member(a, name, abi::NULL), Ok(()));
    assert_eq!(w.state.port_get_set_status(a, sets[0]), Ok(vec![]));
    // A set that goes leaves the other; a port that goes leaves both.
    sets.iter().for_each(|set| assert_eq!(w.state.port_insert_member(a, name, *set), Ok(())));
    assert_eq!(w.state.port_destroy(a, sets[0]), Ok(()));
    assert!(w.state.next_ready(ids[1]).is_some());
    assert_eq!(w.state.port_destroy(a, name), Ok(()));
    assert_eq!(w.state.port_get_set_status(a, sets[1]), Ok(vec![]));
}
