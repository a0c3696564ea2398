//! Names and user references.

use super::*;
use crate::abi;

#[test]
fn allocate_makes_what_is_asked_for() {
    let mut w = World::new();
    for (right, kind) in [(right::RECEIVE, kind::RECEIVE), (right::PORT_SET, kind::PORT_SET), (right::DEAD_NAME, kind::DEAD_NAME)]
    {
        let name = w.state.port_allocate(w.a, right).expect("a name");
        assert_eq!(w.kind(w.a, name), Ok(kind));
        assert_eq!(w.state.port_get_refs(w.a, name, right), Ok(1));
        let chosen = 77 + right;
        assert_eq!(w.state.port_allocate_name(w.a, right, chosen), Ok(()));
        assert_eq!(w.kind(w.a, chosen), Ok(kind));
        assert_eq!(w.state.port_allocate_name(w.a, right, chosen), Err(Code::NAME_EXISTS));
    }
    for right in [right::SEND, right::SEND_ONCE, right::NUMBER, !0] {
        assert_eq!(w.state.port_allocate(w.a, right), Err(Code::INVALID_VALUE));
        assert_eq!(w.state.port_allocate_name(w.a, right, 99), Err(Code::INVALID_VALUE));
    }
    for name in [abi::NULL, abi::DEAD] {
        assert_eq!(w.state.port_allocate_name(w.a, right::RECEIVE, name), Err(Code::INVALID_VALUE));
    }
    let name = w.state.reply_port(w.a).expect("a reply port");
    assert_eq!(w.kind(w.a, name), Ok(kind::RECEIVE));
    assert_eq!(w.state.port_names(w.a).map(|names| names.len()), Ok(7));
}

#[test]
fn names_the_program_took_are_passed_over() {
    let mut w = World::new();
    // All names of the first two places that the space would use.
    for name in 0x100..0x300 {
        assert_eq!(w.state.port_allocate_name(w.a, right::DEAD_NAME, name), Ok(()));
    }
    let name = w.port(w.a);
    assert!(name >= 0x300, "{name:#x}");
    assert_eq!(w.state.port_destroy(w.a, 0x140), Ok(()));
    assert_eq!(w.port(w.a), 0x140, "the only free name of its place");
    assert_eq!(w.state.port_allocate_name(w.a, right::DEAD_NAME, 0x140), Err(Code::NAME_EXISTS));
}

#[test]
fn rename_moves_all_that_a_name_denotes() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let name = w.port(a);
    let set = w.state.port_allocate(a, right::PORT_SET).expect("a set");
    assert_eq!(w.state.port_move_member(a, name, set), Ok(()));
    assert_eq!(w.state.port_rename(a, name, 5), Ok(()));
    assert_eq!(w.state.port_rename(a, set, 6), Ok(()));
    assert_eq!(w.kind(a, name), Err(Code::INVALID_NAME));
    assert_eq!(w.state.port_get_set_status(a, 6), Ok(vec![5]));
    assert_eq!(w.state.port_get_receive_status(a, 5).map(|status| status.pset), Ok(6));

    // A dead-name request follows the name.
    let held = w.give(a, 5, types::MAKE_SEND, b);
    let note = w.port(b);
    w.request(b, held, notify::DEAD_NAME, note);
    assert_eq!(w.state.port_rename(b, held, 7), Ok(()));
    assert_eq!(w.give(a, 5, types::MAKE_SEND, b), 7, "the port is known under the new name");
    assert_eq!(w.state.port_destroy(a, 5), Ok(()));
    assert_eq!(w.told(b, note), Some((notify::DEAD_NAME, Some(7))));
    assert_eq!(w.state.port_get_refs(b, 7, right::DEAD_NAME), Ok(3));
}

#[test]
fn rename_refuses() {
    let mut w = World::new();
    let (one, two) = (w.port(w.a), w.port(w.a));
    assert_eq!(w.state.port_rename(w.a, one, abi::NULL), Err(Code::INVALID_VALUE));
    assert_eq!(w.state.port_rename(w.a, one, abi::DEAD), Err(Code::INVALID_VALUE));
    assert_eq!(w.state.port_rename(w.a, one, two), Err(Code::NAME_EXISTS));
    assert_eq!(w.state.port_rename(w.a, one, one), Err(Code::NAME_EXISTS));
    assert_eq!(w.state.port_rename(w.a, 5, 6), Err(Code::INVALID_NAME));
    assert_eq!(w.state.port_rename(w.a, 5, 5), Err(Code::INVALID_NAME));
}

#[test]
fn deallocate_takes_one_reference() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let name = w.port(a);
    let held = w.give(a, name, types::MAKE_SEND, b);
    assert_eq!(w.give(a, name, types::MAKE_SEND, b), held);
    assert_eq!(w.state.port_get_refs(b, held, right::SEND), Ok(2));
    assert_eq!(w.state.port_deallocate(b, held), Ok(()));
    assert_eq!(w.state.port_deallocate(b, held), Ok(()));
    assert_eq!(w.state.port_deallocate(b, held), Err(Code::INVALID_NAME));

    // With the receive right under the same name, that stays.
    assert_eq!(w.give(a, name, types::MAKE_SEND, a), name);
    assert_eq!(w.kind(a, name), Ok(kind::SEND_RECEIVE));
    assert_eq!(w.state.port_deallocate(a, name), Ok(()));
    assert_eq!(w.kind(a, name), Ok(kind::RECEIVE));
    assert_eq!(w.state.port_deallocate(a, name), Err(Code::INVALID_RIGHT));
    let set = w.state.port_allocate(a, right::PORT_SET).expect("a set");
    assert_eq!(w.state.port_deallocate(a, set), Err(Code::INVALID_RIGHT));

    // A send-once right tells its port.
    let once = w.give(a, name, types::MAKE_SEND_ONCE, b);
    assert_eq!(w.state.port_deallocate(b, once), Ok(()));
    assert_eq!(w.told(a, name), Some((notify::SEND_ONCE, None)));
    assert_eq!(w.state.port_get_receive_status(a, name).map(|status| status.sorights), Ok(0));
}

#[test]
fn get_refs_tells_of_one_right() {
    let mut w = World::new();
    let name = w.port(w.a);
    assert_eq!(w.give(w.a, name, types::MAKE_SEND, w.a), name);
    assert_eq!(w.state.port_get_refs(w.a, name, right::RECEIVE), Ok(1));
    assert_eq!(w.state.port_get_refs(w.a, name, right::SEND), Ok(1));
    assert_eq!(w.state.port_get_refs(w.a, name, right::SEND_ONCE), Ok(0));
    assert_eq!(w.state.port_get_refs(w.a, name, right::NUMBER), Err(Code::INVALID_VALUE));
    assert_eq!(w.state.port_get_refs(w.a, 5, right::NUMBER), Err(Code::INVALID_VALUE));
    assert_eq!(w.state.port_get_refs(w.a, 5, right::SEND), Err(Code::INVALID_NAME));
}

#[test]
fn mod_refs_keeps_to_the_limits() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let name = w.port(a);
    let held = w.give(a, name, types::MAKE_SEND, b);
    let max = abi::UREFS_MAX as i32;
    assert_eq!(w.state.port_mod_refs(b, held, right::SEND, -2), Err(Code::INVALID_VALUE));
    assert_eq!(w.state.port_mod_refs(b, held, right::SEND, i32::MIN), Err(Code::INVALID_VALUE));
    assert_eq!(w.state.port_mod_refs(b, held, right::SEND, max - 1), Err(Code::UREFS_OVERFLOW));
    assert_eq!(w.state.port_mod_refs(b, held, right::SEND, i32::MAX), Err(Code::UREFS_OVERFLOW));
    assert_eq!(w.state.port_mod_refs(b, held, right::SEND, max - 2), Ok(()));
    assert_eq!(w.give(a, name, types::MAKE_SEND, b), held);
    assert_eq!(w.state.port_get_refs(b, held, right::SEND), Ok(abi::UREFS_MAX - 1), "it stays at the limit");
    assert_eq!(w.state.port_mod_refs(b, held, right::DEAD_NAME, 0), Err(Code::INVALID_RIGHT));
    let dead = w.state.port_allocate(a, right::DEAD_NAME).expect("a dead name");
    assert_eq!(w.state.port_mod_refs(a, dead, right::DEAD_NAME, max), Err(Code::UREFS_OVERFLOW));
    assert_eq!(w.state.port_mod_refs(a, dead, right::DEAD_NAME, max - 1), Ok(()));
    assert_eq!(w.state.port_mod_refs(a, dead, right::DEAD_NAME, -max), Ok(()));
    assert_eq!(w.kind(a, dead), Err(Code::INVALID_NAME));
    assert_eq!(w.state.port_mod_refs(a, dead, right::NUMBER, 0), Err(Code::INVALID_VALUE));

    for right in [right::RECEIVE, right::PORT_SET] {
        let name = w.state.port_allocate(a, right).expect("a name");
        for delta in [1, -2, i32::MIN] {
            assert_eq!(w.state.port_mod_refs(a, name, right, delta), Err(Code::INVALID_VALUE));
        }
        assert_eq!(w.state.port_mod_refs(a, name, right, 0), Ok(()));
        assert_eq!(w.state.port_mod_refs(a, name, right, -1), Ok(()));
        assert_eq!(w.kind(a, name), Err(Code::INVALID_NAME));
    }
    let once = w.give(a, name, types::MAKE_SEND_ONCE, b);
    assert_eq!(w.state.port_mod_refs(b, once, right::SEND, -1), Err(Code::INVALID_RIGHT));
    assert_eq!(w.state.port_mod_refs(b, once, right::SEND_ONCE, 1), Err(Code::INVALID_VALUE));
    assert_eq!(w.state.port_mod_refs(b, once, right::SEND_ONCE, -1), Ok(()));
    assert_eq!(w.told(a, name), Some((notify::SEND_ONCE, None)));
}

#[test]
fn a_dying_receive_right_leaves_dead_names() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let name = w.port(a);
    assert_eq!(w.give(a, name, types::MAKE_SEND, a), name);
    let (send, once) = (w.give(a, name, types::MAKE_SEND, b), w.give(a, name, types::MAKE_SEND_ONCE, b));
    assert_eq!(w.state.port_mod_refs(a, name, right::RECEIVE, -1), Ok(()));
    for (space, name) in [(a, name), (b, send), (b, once)] {
        assert_eq!(w.kind(space, name), Ok(kind::DEAD_NAME));
        assert_eq!(w.state.port_get_refs(space, name, right::DEAD_NAME), Ok(1));
    }
    assert_eq!(w.state.port_destroy(b, send), Ok(()));
    assert_eq!(w.state.port_destroy(b, send), Err(Code::INVALID_NAME));
    w.settle();
    assert!(w.state.ports.is_empty());
}

#[test]
fn a_dead_task_has_no_names() {
    let mut w = World::new();
    let (a, b) = (w.a, w.b);
    let name = w.port(a);
    let held = w.give(a, name, types::MAKE_SEND, b);
    w.state.terminate(a);
    assert_eq!(w.kind(b, held), Ok(kind::DEAD_NAME));
    assert_eq!(w.kind(a, name), Err(Code::INVALID_TASK));
    assert_eq!(w.state.port_names(a), Err(Code::INVALID_TASK));
    assert_eq!(w.state.port_allocate(a, right::RECEIVE), Err(Code::INVALID_TASK));
    assert_eq!(w.state.port_allocate_name(a, right::RECEIVE, 5), Err(Code::INVALID_TASK));
    assert_eq!(w.state.port_rename(a, name, 5), Err(Code::INVALID_TASK));
    assert_eq!(w.state.port_destroy(a, name), Err(Code::INVALID_TASK));
    let port = w.port(b);
    let right = w.state.copyin(b, port, types::MAKE_SEND).expect("a right");
    let back = w.state.copyout(a, right).expect_err("no names");
    w.state.destroy_right(back);
}
