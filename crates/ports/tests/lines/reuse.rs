//! Slots that stand for one port after another.

use super::{moves::*, *};
use slipway_ports::wire::flag;

fn last(slot: u32, count: u32) -> Record {
    Record { kind: kind::RELEASE, flags: flag::LAST, target: slot, count, ..Record::default() }
}

/// The library gives us a right to its port, which is new to the line: the slot.
fn offered(line: &mut Line, to: u32, port: u32) -> u32 {
    assert_eq!(send(&Msg::new(60, (to, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &[port])), Code::SUCCESS);
    let (record, rest) = loop {
        let (record, rest, _) = line.read();
        if record.kind != kind::LOOK {
            break (record, rest);
        }
    };
    let right = WireRight::read_from_prefix(&rest[32..]).expect("a right").0;
    assert_eq!((record.id, right.form), (60, form::FIRST_LINE_RIGHT));
    right.value
}

/// A port of the library's that died, and its slot on a line to us.
fn died() -> (Port, Line, u32, u32) {
    let door = Port::new();
    let (mut line, to, _) = line_to(&door, receive_right());
    let port = receive_right();
    let slot = offered(&mut line, to, port);
    Task::current().destroy(port).expect("a port of ours");
    tools::until("the gate is closed", || line.is_dead(slot));
    (door, line, to, slot)
}

/// Writes that we are done with the slot, and waits until that is read.
fn done(line: &mut Line, slot: u32, count: u32) {
    line.credit.see(slot);
    line.write(&last(slot, count), &[], &[]);
    tools::until("it is read", || line.unread() == 0);
}

#[test]
fn a_slot_is_offered_again_when_nothing_more_comes_of_it() {
    let (_door, mut line, to, slot) = died();
    let other = offered(&mut line, to, receive_right());
    assert_ne!(other, slot, "we may still send there");
    // One of its rights is still on its way to us, for all that we have read.
    done(&mut line, slot, 0);
    assert!(!line.credit.is_reset(slot));
    done(&mut line, slot, 1);
    tools::until("it is free", || line.credit.is_reset(slot));
    let own = receive_right();
    assert_eq!(offered(&mut line, to, own), slot);
    line.credit.unsee(slot);
    for id in 61..64 {
        line.write(&message(slot, id), &[], &[]);
        assert_eq!(receive(own).id(), id);
    }
    Task::current().destroy(own).expect("a port of ours");
    tools::until("the gate is closed", || line.is_dead(slot));
    assert!(!line.is_closed());
}

#[test]
fn only_a_dead_ports_slot_is_left_and_with_the_rights_that_there_are() {
    let (door, mut line, _, slot) = died();
    line.write(&last(slot, 2), &[], &[]);
    tools::until("the line is closed", || line.is_closed());
    drop(door);

    let door = Port::new();
    let (mut line, to, _) = line_to(&door, receive_right());
    let slot = offered(&mut line, to, receive_right());
    line.write(&last(slot, 1), &[], &[]);
    tools::until("the line is closed", || line.is_closed());

    let (_door, mut line, _, slot) = died();
    done(&mut line, slot, 1);
    line.write(&last(slot, 0), &[], &[]);
    tools::until("the line is closed", || line.is_closed());

    let own = receive_right();
    let mut line = line_of_ours(own);
    line.write(&message(0, 61), &[], &[]);
    assert_eq!(receive(own).id(), 61);
    Task::current().destroy(own).expect("a port of ours");
    tools::until("the gate is closed", || line.is_dead(0));
    line.write(&last(0, 0), &[], &[]);
    tools::until("the line is closed", || line.is_closed());
}

#[test]
fn a_port_whose_senders_have_left_dies_quietly() {
    let door = Port::new();
    let (mut line, to, _) = line_to(&door, receive_right());
    let release = |slot| Record { kind: kind::RELEASE, target: slot, count: 1, ..Record::default() };
    let destroy = |port| Task::current().destroy(port).expect("a port of ours");
    let port = receive_right();
    let held = offered(&mut line, to, port);
    assert!(line.is_rung_by(|| destroy(port)), "we have a right");
    assert!(line.is_dead(held));
    assert_eq!(next(&mut line, kind::LOOK).0.target, held);
    // An end that only sends would never hear that it can use its slots again.
    let (mut rung, mut accepted) = (0, RxCount::default());
    line.credit.accept_and_take(0, &mut accepted);
    for _ in 0..64 {
        let port = receive_right();
        let slot = offered(&mut line, to, port);
        line.credit.accept_and_take(0, &mut accepted);
        // The library reads this when the port is to die, and not before.
        line.write_quietly(&release(slot), &[], &[]);
        rung += u32::from(line.is_rung_by(|| destroy(port)));
        assert!(line.is_dead(slot));
        assert_eq!(next(&mut line, kind::LOOK).0.target, slot);
    }
    assert_eq!(rung, 1);
    assert!(!line.is_closed());
}

/// Gives the library a right to our port at the slot, which is new to it: its name there.
fn give(line: &mut Line, own: u32, slot: u32, port: &Port) -> u32 {
    let right = WireRight { form: form::FIRST_LINE_RIGHT, value: slot };
    let (record, rest) = with_right(message(0, 62), right, &[], 1);
    line.write(&record, &rest, &[port.s.as_fd()]);
    receive(own).u32(40)
}

/// As [`give`], of one more right to the port at the slot.
fn give_again(line: &mut Line, own: u32, slot: u32) -> u32 {
    let (record, rest) = with_right(message(0, 62), WireRight { form: form::LINE_RIGHT, value: slot }, &[], 0);
    line.write(&record, &rest, &[]);
    receive(own).u32(40)
}

#[test]
fn a_right_goes_back_with_all_that_its_name_stood_for() {
    let own = receive_right();
    let mut line = line_of_ours(own);
    let port = Port::new();
    let task = Task::current();
    let name = give(&mut line, own, 1, &port);
    assert_eq!(give_again(&mut line, own, 1), name);
    // One of two references goes, and nothing is written of it.
    assert_eq!((task.deallocate(name), task.deallocate(name)), (Ok(()), Ok(())));
    assert_eq!(task.deallocate(name), Err(Code::INVALID_NAME));
    let (record, _) = next(&mut line, kind::RELEASE);
    assert_eq!((record.flags, record.target, record.count), (0, 1, 2));
    for ask in [false, true] {
        let name = give_again(&mut line, own, 1);
        assert_eq!(send(&Msg::new(63, (name, types::COPY_SEND), (0, 0))), Code::SUCCESS);
        assert_eq!(next(&mut line, kind::MESSAGE).0.target, 1, "what was known of the slot is good for the next right");
        if ask {
            assert_eq!(task.request_notification(name, notify::DEAD_NAME, 0, own, types::MAKE_SEND_ONCE), Ok(0));
        }
        assert_eq!(task.deallocate(name), Ok(()));
        let (record, _) = next(&mut line, kind::RELEASE);
        assert_eq!((record.target, record.count), (1, 1));
    }
    assert_eq!(receive(own).id(), notify::PORT_DELETED);
    assert!(!line.is_closed());
}

#[test]
fn the_library_is_done_with_a_dead_ports_slot() {
    let own = receive_right();
    let mut line = line_of_ours(own);
    let (first, second) = (Port::new(), Port::new());
    let name = give(&mut line, own, 1, &first);
    drop(first);
    line.credit.close(1, &RxCount::default(), Closed::Dead);
    line.ring();
    let (record, _) = next(&mut line, kind::RELEASE);
    assert_eq!((record.flags, record.target, record.count), (flag::LAST, 1, 1));
    assert!(line.credit.is_seen(1));
    // Written before the port died.
    let (record, rest) = with_right(message(0, 63), WireRight { form: form::LINE_RIGHT, value: 1 }, &[], 0);
    line.write(&record, &rest, &[]);
    assert_eq!(receive(own).u32(40), slipway_ports::abi::DEAD);
    assert_eq!(next(&mut line, kind::RELEASE).0.count, 1);
    line.credit.reset(1);
    let other = give(&mut line, own, 1, &second);
    assert_ne!(other, name);
    assert!(!line.credit.is_seen(1));
    assert_eq!(send(&Msg::new(64, (other, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    let (record, _) = next(&mut line, kind::MESSAGE);
    assert_eq!((record.target, record.id), (1, 64));
    Task::current().deallocate(name).expect("a dead name");
}

#[test]
fn a_slot_that_the_library_is_not_done_with_is_no_slot_for_another_port() {
    for why in [None, Some(Closed::Moved)] {
        let own = receive_right();
        let mut line = line_of_ours(own);
        let port = Port::new();
        give(&mut line, own, 1, &port);
        if let Some(why) = why {
            line.credit.close(1, &RxCount::default(), why);
            line.ring();
            tools::until("it is seen", || line.credit.is_seen(1));
        }
        let right = WireRight { form: form::FIRST_LINE_RIGHT, value: 1 };
        let (record, rest) = with_right(message(0, 65), right, &[], 1);
        line.write(&record, &rest, &[Port::new().s.as_fd()]);
        tools::until("the line is closed", || line.is_closed());
    }
}

#[test]
fn a_slot_that_was_named_is_named_again() {
    let promises::Sent { mut line, name, door: _door, .. } = promises::sent();
    let (slot, moved) = promises::receive_right_of(&mut line);
    assert_eq!(next(&mut line, kind::MESSAGE).0.target, slot);
    drop(moved);
    line.credit.close(slot, &RxCount::default(), Closed::Dead);
    line.ring();
    // Its message comes back, and is destroyed.
    let (record, _) = next(&mut line, kind::RELEASE);
    assert_eq!((record.flags, record.target, record.count), (flag::LAST, slot, 1));
    for reset in [false, true] {
        if reset {
            line.credit.reset(slot);
        }
        let (task, port) = (Task::current(), receive_right());
        task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
        let moves = Msg::new(50, (name, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[port]);
        assert_eq!(send(&moves), Code::SUCCESS);
        let (record, rest, _) = line.read();
        let again = WireRight::read_from_prefix(&rest[32..]).expect("a right").0;
        assert_eq!((record.id, again.form, again.value == slot), (50, form::RECEIVE, reset));
    }
    assert!(!line.credit.is_seen(slot));
}

#[test]
fn the_library_keeps_a_slot_for_the_port_after_the_one_that_died() {
    let own = receive_right();
    let mut line = line_of_ours(own);
    for _ in 0..3 {
        let port = Port::new();
        promises::with_receive_right(&mut line, &port, 66, 2);
        line.write(&message(2, 67), &[], &[]);
        let name = receive(own).u32(40);
        assert_eq!(receive(name).id(), 67);
        Task::current().destroy(name).expect("the receive right");
        tools::until("the gate is closed", || line.is_dead(2));
        done(&mut line, 2, 0);
        tools::until("it is free", || line.credit.is_reset(2));
        line.credit.unsee(2);
    }
    assert!(!line.is_closed());
}

/// Lines of this process.
fn segments() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
    maps.lines().filter(|map| map.contains("/memfd:slipway")).count()
}

/// Gives rights to ports of its own, one after the other, over which an answer comes.
fn caller() {
    let (task, server) = (Task::current(), inherited());
    let give = |port, how| send(&Msg::new(68, (server, types::COPY_SEND), (0, 0)).ports(how, &[port]));
    let mut lines = None;
    for turn in 0..4_500 {
        let port = receive_right();
        if turn % 3 == 0 {
            task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
            assert_eq!(give(port, types::MOVE_RECEIVE), Code::SUCCESS);
            assert_eq!(send(&Msg::new(70, (port, types::MOVE_SEND), (0, 0))), Code::SUCCESS);
            continue;
        }
        assert_eq!(give(port, types::MAKE_SEND), Code::SUCCESS);
        assert_eq!(receive(port).id(), 69);
        let before = *lines.get_or_insert_with(segments);
        assert!(turn % 100 != 1 || segments() == before, "a line of its own after {turn}");
        task.destroy(port).expect("a port of ours");
    }
    assert_eq!(send(&Msg::new(71, (server, types::COPY_SEND), (0, 0))), Code::SUCCESS);
}

/// More than a line has slots.
#[test]
fn one_line_serves_any_number_of_ports() {
    if role().is_some() {
        return caller();
    }
    let (task, own) = (Task::current(), receive_right());
    let mut child = start("reuse::one_line_serves_any_number_of_ports", "caller", own);
    let mut kept = std::collections::VecDeque::new();
    loop {
        let got = receive(own);
        if got.id() == 71 {
            break;
        }
        let name = got.u32(40);
        if task.kind(name) == Ok(types_of::RECEIVE) {
            assert_eq!(receive(name).id(), 70);
            task.destroy(name).expect("the receive right");
            continue;
        }
        assert_eq!(send(&Msg::new(69, (name, types::COPY_SEND), (0, 0))), Code::SUCCESS);
        // Some are given up before the port dies, some after.
        kept.push_back(name);
        if kept.len() > 7 || name.is_multiple_of(2) {
            kept.pop_front().into_iter().for_each(|name| task.deallocate(name).expect("a right"));
        }
    }
    assert!(child.wait().expect("its end").success());
}

/// The numbers that an end names itself are not the other's to offer: two ports would share a slot, and a send to one of them would look
/// for a way for ever.
#[test]
fn an_end_offers_none_of_the_slots_that_the_other_names() {
    for slot in [0, 2, 4] {
        let own = receive_right();
        let mut line = line_of_ours(own);
        let port = Port::new();
        let right = WireRight { form: form::FIRST_LINE_RIGHT, value: slot };
        let (record, rest) = with_right(message(0, 62), right, &[], 1);
        line.write(&record, &rest, &[port.s.as_fd()]);
        tools::until("the line is closed", || line.is_closed());
    }
}

/// A port dies quietly when its owner knows of no holder. What a sender wrote that had got another right meanwhile keeps nothing behind it
/// waiting.
#[test]
fn a_sender_that_attached_again_hears_of_a_quiet_death() {
    let door = Port::new();
    let (mut line, to, _) = line_to(&door, receive_right());
    let (port, other) = (receive_right(), receive_right());
    let slot_of_other = offered(&mut line, to, other);
    assert_eq!(send(&Msg::new(60, (to, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &[port])), Code::SUCCESS);
    let (_, rest, fds) = line.read();
    let slot = WireRight::read_from_prefix(&rest[32..]).expect("a right").0.value;
    line.write(&Record { kind: kind::RELEASE, target: slot, count: 1, ..Record::default() }, &[], &[]);
    tools::until("it is read", || line.unread() == 0);
    // A right from a third task, and a message: the owner has not read them when the port dies.
    line.write_quietly(&Record { kind: kind::ATTACH, target: slot, fds: 1, ..Record::default() }, &[], &[fds[0].as_fd()]);
    line.write_quietly(&message(slot, 80), &[], &[]);
    // Not after its death, of which it may ring at once.
    while line.take_bell() {}
    Task::current().destroy(port).expect("a port of ours");
    assert!(line.is_dead(slot));
    line.write(&message(slot_of_other, 81), &[], &[]);
    tools::until("a bell", || line.take_bell());
    // As a sender does that is rung.
    line.credit.see(slot);
    line.ring();
    assert_eq!(receive(other).id(), 81);
}
