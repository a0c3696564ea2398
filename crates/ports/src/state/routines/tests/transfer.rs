//! Rights put into a space and taken out of one under a given name.

use super::*;
use crate::abi;

#[test]
fn insert_gives_each_right_its_name() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let name = w.port(a);
    for (at, disposition, kind) in [
        (5, types::MAKE_SEND, kind::SEND),
        (6, types::MAKE_SEND_ONCE, kind::SEND_ONCE),
        (5, types::MOVE_RECEIVE, kind::SEND_RECEIVE),
    ] {
        let right = w.state.copyin(a, name, disposition).expect("a right");
        assert_eq!(w.state.port_insert_right(b, at, right), Ok(()));
        assert_eq!(w.kind(b, at), Ok(kind));
    }
    assert_eq!(w.state.port_set_qlimit(b, 5, 1), Ok(()), "the receive right is there");
    // And once more to the one that is there.
    let right = w.state.copyin(b, 5, types::MAKE_SEND).expect("a right");
    assert_eq!(w.state.port_insert_right(b, 5, right), Ok(()));
    assert_eq!(w.state.port_get_refs(b, 5, right::SEND), Ok(2));
}

#[test]
fn insert_refuses_and_destroys_the_right() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let (name, other) = (w.port(a), w.port(b));
    let send = |w: &mut World| w.state.copyin(a, name, types::MAKE_SEND).expect("a right");
    let right = send(&mut w);
    assert_eq!(w.state.port_insert_right(b, other, right), Err(Code::NAME_EXISTS));
    assert_eq!(w.state.port_get_receive_status(a, name).map(|status| status.srights), Ok(0), "the right is gone");
    for at in [abi::NULL, abi::DEAD] {
        let right = send(&mut w);
        assert_eq!(w.state.port_insert_right(b, at, right), Err(Code::INVALID_VALUE));
    }
    assert_eq!(w.state.port_insert_right(b, 5, Right::Null), Err(Code::INVALID_CAPABILITY));
    assert_eq!(w.state.port_insert_right(b, 5, Right::Dead), Err(Code::INVALID_CAPABILITY));
    let right = send(&mut w);
    assert_eq!(w.state.port_insert_right(b, 5, right), Ok(()));
    for at in [6, other] {
        let right = send(&mut w);
        assert_eq!(w.state.port_insert_right(b, at, right), Err(Code::RIGHT_EXISTS));
    }
    let once = w.once(a, name);
    assert_eq!(w.state.port_insert_right(b, 5, once), Err(Code::NAME_EXISTS));
    assert_eq!(w.told(a, name), Some((notify::SEND_ONCE, None)));
    assert_eq!(w.state.port_mod_refs(b, 5, right::SEND, abi::UREFS_MAX as i32 - 2), Ok(()));
    let right = send(&mut w);
    assert_eq!(w.state.port_insert_right(b, 5, right), Err(Code::UREFS_OVERFLOW));
    let right = send(&mut w);
    assert_eq!(w.state.port_destroy(a, name), Ok(()));
    assert_eq!(w.state.port_insert_right(b, 8, right), Err(Code::INVALID_CAPABILITY));
    w.settle();
    assert_eq!(w.state.ports.len(), 1, "only the other port is left");
}

#[test]
fn extract_takes_what_a_message_would() {
    let mut w = World::new();
    let a = w.a;
    let name = w.port(a);
    let right = w.state.port_extract_right(a, name, types::MAKE_SEND).expect("a right");
    assert!(matches!(right, Right::Send(_)));
    w.state.destroy_right(right);
    for name in [abi::NULL, abi::DEAD, 5] {
        assert_eq!(w.state.port_extract_right(a, name, types::COPY_SEND), Err(Code::INVALID_NAME));
    }
    for disposition in [types::PORT_NAME, types::MAKE_SEND_ONCE + 1, 0] {
        assert_eq!(w.state.port_extract_right(a, 5, disposition), Err(Code::INVALID_VALUE));
    }
    assert_eq!(w.state.port_extract_right(a, name, types::COPY_SEND), Err(Code::INVALID_RIGHT));
    let dead = w.state.port_allocate(a, right::DEAD_NAME).expect("a dead name");
    assert_eq!(w.state.port_extract_right(a, dead, types::MOVE_RECEIVE), Err(Code::INVALID_RIGHT));
    assert_eq!(w.state.port_extract_right(a, dead, types::MOVE_SEND), Ok(Right::Dead));
    assert_eq!(w.kind(a, dead), Err(Code::INVALID_NAME));
}
