//! Slots that keep the ends of their port for the next.

use super::{bundles::hung_up, moves::*, *};
use slipway_ports::wire::{flag, luggage as flags};

/// The right in a message.
fn right_in(record: &Record, rest: &[u8]) -> WireRight {
    WireRight::read_from_prefix(&rest[record.body as usize + size_of::<ItemHead>()..]).expect("a right").0
}

/// The library gives us a right to a new port of its own: the port, the form and the slot, and descriptors.
fn given(line: &mut Line, to: u32) -> (u32, WireRight, Vec<OwnedFd>) {
    let port = receive_right();
    assert_eq!(send(&Msg::new(90, (to, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &[port])), Code::SUCCESS);
    let (record, rest, fds) = line.read();
    assert_eq!((record.kind, record.id), (kind::MESSAGE, 90));
    (port, right_in(&record, &rest), fds)
}

fn die(line: &mut Line, port: u32, slot: u32) {
    Task::current().destroy(port).expect("a port of ours");
    tools::until("the gate is closed", || line.is_dead(slot));
    assert_eq!(next(line, kind::LOOK).0.target, slot);
}

/// Writes that we are done with the slot of a dead port.
fn leave(line: &mut Line, slot: u32, kept: u8) {
    line.credit.see(slot);
    let last = Record { kind: kind::RELEASE, flags: flag::LAST | kept, target: slot, count: 1, ..Record::default() };
    line.write(&last, &[], &[]);
    tools::until("it is free", || line.credit.is_reset(slot));
    line.credit.unsee(slot);
}

#[test]
fn the_next_port_at_a_slot_has_the_ends_that_were_kept() {
    let door = Port::new();
    let (mut line, to, _) = line_to(&door, receive_right());
    let (first, right, fds) = given(&mut line, to);
    assert_eq!(right.form, form::FIRST_LINE_RIGHT);
    let slot = right.value;
    die(&mut line, first, slot);
    assert!(!objects::hung_up(&fds[0]), "the line tells of it");
    leave(&mut line, slot, flag::KEPT);
    let (second, right, none) = given(&mut line, to);
    assert_eq!((right.form, right.value, none.len()), (form::KEPT_LINE_RIGHT, slot, 0));
    // It proves that we have the port's sending end, and messages come.
    let attach = Record { kind: kind::ATTACH, target: slot, fds: 1, ..Record::default() };
    line.write(&attach, &[], &[fds[0].as_fd()]);
    line.write(&message(slot, 91), &[], &[]);
    assert_eq!(receive(second).id(), 91);
    // Who shows it may have given it to others: they learn of the port's death from the socket.
    Task::current().destroy(second).expect("a port of ours");
    hung_up(&fds[0]);
}

#[test]
fn ends_that_are_not_kept_hang_up() {
    let door = Port::new();
    let (mut line, to, _) = line_to(&door, receive_right());
    let (first, right, fds) = given(&mut line, to);
    die(&mut line, first, right.value);
    leave(&mut line, right.value, 0);
    hung_up(&fds[0]);
    let (_, again, others) = given(&mut line, to);
    assert_eq!((again.form, again.value), (form::FIRST_LINE_RIGHT, right.value));
    assert_ne!(objects::identity(&fds[0]).ok(), objects::identity(&others[0]).ok());
}

/// What the sender had written before it knew of the death says that others have the right.
#[test]
fn the_ends_of_a_dead_port_hang_up_when_others_have_them() {
    let door = Port::new();
    let (mut line, to, _) = line_to(&door, receive_right());
    let (first, right, fds) = given(&mut line, to);
    die(&mut line, first, right.value);
    let (pipe, write) = objects::holder_pipe().expect("a pipe");
    let watch = Record { kind: kind::WATCH, target: right.value, fds: 1, ..Record::default() };
    line.write(&watch, &[], &[pipe.as_fd()]);
    hung_up(&fds[0]);
    drop(write);
}

#[test]
fn the_ends_of_a_port_that_many_know_are_not_kept() {
    let (door, other) = (Port::new(), Port::new());
    let (mut line, to, _) = line_to(&door, receive_right());
    let (first, right, fds) = given(&mut line, to);
    let (_other, to_other, _) = line_to(&other, receive_right());
    let give = Msg::new(92, (to_other, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &[first]);
    assert_eq!(send(&give), Code::SUCCESS);
    die(&mut line, first, right.value);
    // The other end of another line has it.
    hung_up(&fds[0]);
}

/// Gives the library a right to our port at the slot: its name there.
fn give(line: &mut Line, own: u32, slot: u32, port: Option<&Port>) -> u32 {
    let form = if port.is_some() { form::FIRST_LINE_RIGHT } else { form::KEPT_LINE_RIGHT };
    let fds: Vec<BorrowedFd<'_>> = port.iter().map(|port| port.s.as_fd()).collect();
    let (record, rest) = with_right(message(0, 93), WireRight { form, value: slot }, &[], fds.len() as u16);
    line.write(&record, &rest, &fds);
    receive(own).u32(40)
}

/// Our port at the slot dies: what the library says of it.
fn close_dead(line: &mut Line, slot: u32, why: Closed) -> u8 {
    line.credit.close(slot, &RxCount::default(), why);
    line.ring();
    loop {
        let (record, _, _) = line.read();
        if record.flags & flag::LAST != 0 {
            assert_eq!((record.kind, record.target), (kind::RELEASE, slot));
            line.credit.reset(slot);
            return record.flags;
        }
        assert!(matches!(record.kind, kind::WATCH | kind::MESSAGE), "{record:?}");
    }
}

#[test]
fn the_library_keeps_the_sending_end_of_a_slot() {
    let own = receive_right();
    let mut line = line_of_ours(own);
    let port = Port::new();
    let name = give(&mut line, own, 1, Some(&port));
    assert_eq!(close_dead(&mut line, 1, Closed::Kept), flag::LAST | flag::KEPT);
    Task::current().deallocate(name).expect("a dead name");
    let name = give(&mut line, own, 1, None);
    assert_eq!(send(&Msg::new(94, (name, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    assert_eq!(next(&mut line, kind::MESSAGE).0.id, 94);
    let (s, _t) = peer::passed_on(name);
    assert_eq!(objects::identity(&s).ok(), Some(port.identity()));
    assert_eq!(close_dead(&mut line, 1, Closed::Kept), flag::LAST, "it has given it to others");
    give(&mut line, own, 1, Some(&Port::new()));
    assert_eq!(close_dead(&mut line, 1, Closed::Dead), flag::LAST, "we keep nothing");
}

#[test]
fn nobody_gives_a_right_by_ends_that_were_not_kept() {
    for (form, slot) in [(form::KEPT_LINE_RIGHT, 1), (form::KEPT_RECEIVE, 2)] {
        let own = receive_right();
        let mut line = line_of_ours(own);
        let luggage = Luggage { onces: 0, ..luggage() };
        let luggage = if form == form::KEPT_RECEIVE { luggage.as_bytes() } else { &[] };
        let (record, rest) = with_right(message(0, 95), WireRight { form, value: slot }, luggage, 0);
        line.write(&record, &rest, &[]);
        tools::until("the line is closed", || line.is_closed());
    }
}

/// The library sends the receive right of a new port: its name for that.
fn moving(to: u32) -> u32 {
    let (task, port) = (Task::current(), receive_right());
    task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
    let moves = Msg::new(96, (to, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[port]);
    assert_eq!(send(&moves), Code::SUCCESS);
    port
}

/// As [`moving`], to us: the right, the luggage, and descriptors too.
fn moved(line: &mut Line, to: u32) -> (u32, WireRight, Luggage, Vec<OwnedFd>) {
    let port = moving(to);
    let (record, rest, fds) = line.read();
    let right = right_in(&record, &rest);
    let at = record.body as usize + size_of::<ItemHead>() + size_of::<WireRight>();
    (port, right, Luggage::read_from_prefix(&rest[at..]).expect("luggage").0, fds)
}

#[test]
fn the_next_receive_right_at_a_slot_has_the_ends_that_were_kept() {
    let door = Port::new();
    let (mut line, to, _) = line_to(&door, receive_right());
    let (port, right, luggage, fds) = moved(&mut line, to);
    assert_eq!((right.form, luggage.flags, fds.len()), (form::RECEIVE, flags::COUNTED, 2));
    let slot = right.value;
    // The right that it has is counted at the slot.
    Task::current().deallocate(port).expect("a send right");
    let released = next(&mut line, kind::RELEASE).0;
    assert_eq!((released.target, released.count), (slot, 1));
    assert_eq!(next(&mut line, kind::DETACH).0.target, slot);
    assert_eq!(close_dead(&mut line, slot, Closed::Kept), flag::LAST | flag::KEPT);

    let (port, right, luggage, none) = moved(&mut line, to);
    assert_eq!((right.form, right.value, luggage.flags, none.len()), (form::KEPT_RECEIVE, slot, flags::COUNTED, 0));
    assert_eq!(send(&Msg::new(97, (port, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    let (record, _) = next(&mut line, kind::MESSAGE);
    assert_eq!((record.id, record.target), (97, slot));
    line.credit.accept_and_take(slot, &mut RxCount::default());
    assert_eq!(close_dead(&mut line, slot, Closed::Kept), flag::LAST | flag::KEPT);

    let port = moving(to);
    assert_eq!(send(&Msg::new(97, (port, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    // The port that the right was sent to has moved: it goes there with its ends, and so does the message.
    close(&line, 0);
    let mut other = Line::take(&door.r);
    let (record, rest, ends) = other.read();
    assert_eq!((record.id, right_in(&record, &rest).form, ends.len() >= 2), (96, form::RECEIVE, true));
    assert_eq!(objects::identity(&ends[1]).ok(), objects::identity(&fds[1]).ok());
    assert_eq!(next(&mut other, kind::MESSAGE).0.id, 97);
}

#[test]
fn a_receive_right_that_others_know_has_ends_of_its_own() {
    let (door, third) = (Port::new(), Port::new());
    let (mut line, to, _) = line_to(&door, receive_right());
    let (_, right, _, _) = moved(&mut line, to);
    let slot = right.value;
    assert_eq!(close_dead(&mut line, slot, Closed::Kept), flag::LAST | flag::KEPT);
    let (_line, to_third, _) = line_to(&third, receive_right());
    let (task, port) = (Task::current(), receive_right());
    let give = Msg::new(92, (to_third, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &[port]);
    assert_eq!(send(&give), Code::SUCCESS);
    task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
    let moves = Msg::new(96, (to, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[port]);
    assert_eq!(send(&moves), Code::SUCCESS);
    let (record, rest, _) = line.read();
    let right = right_in(&record, &rest);
    assert_eq!((right.form, right.value), (form::RECEIVE, slot));
    assert_eq!(close_dead(&mut line, slot, Closed::Kept), flag::LAST, "those that were kept are no more");
}

/// The right that a waiting message was sent with is none that the sender of the receive right goes on with.
#[test]
fn what_waits_at_a_port_that_moves_is_no_holder() {
    let door = Port::new();
    let (mut line, to, _) = line_to(&door, receive_right());
    let port = receive_right();
    assert_eq!(send(&Msg::new(100, (port, types::MAKE_SEND), (0, 0))), Code::SUCCESS);
    let moves = Msg::new(96, (to, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[port]);
    assert_eq!(send(&moves), Code::SUCCESS);
    let (record, rest, _) = line.read();
    assert_eq!(right_in(&record, &rest).value, 0, "no slot for it");
    let at = record.body as usize + size_of::<ItemHead>() + size_of::<WireRight>();
    let luggage = Luggage::read_from_prefix(&rest[at..]).expect("luggage").0;
    assert_eq!((luggage.messages, luggage.flags), (1, 0));
}

#[test]
fn a_receive_right_comes_by_the_ends_that_were_kept() {
    let own = receive_right();
    let mut line = line_of_ours(own);
    let port = Port::new();
    for turn in 0..3 {
        let form = if turn == 0 { form::RECEIVE } else { form::KEPT_RECEIVE };
        let luggage = Luggage { onces: 0, flags: flags::COUNTED, ..luggage() };
        let fds: &[_] = if turn == 0 { &[port.r.as_fd(), port.s.as_fd()] } else { &[] };
        let (record, rest) = with_right(message(0, 98), WireRight { form, value: 2 }, luggage.as_bytes(), fds.len() as u16);
        line.write(&record, &rest, fds);
        line.write(&message(2, 99), &[], &[]);
        let name = receive(own).u32(40);
        assert_eq!(receive(name).id(), 99);
        // Others that get a right get the same sending end.
        if turn == 2 {
            assert_eq!(Task::current().export(name).and_then(|(s, _)| objects::identity(&s)).ok(), Some(port.identity()));
        }
        Task::current().destroy(name).expect("the receive right");
        tools::until("the gate is closed", || line.is_dead(2));
        if turn == 2 {
            hung_up(&port.s);
        } else {
            assert!(!objects::hung_up(&port.s));
            leave(&mut line, 2, flag::KEPT);
        }
    }
    assert!(!line.is_closed());
}

/// The ends are its sender's again, which has taken the right back: the reader has no say in them.
#[test]
fn a_receive_right_that_is_taken_back_leaves_its_ends_alone() {
    let (own, to, port) = (receive_right(), Port::new(), Port::new());
    let mut line = line_of_ours(own);
    let luggage = Luggage { onces: 0, flags: flags::COUNTED, ..luggage() };
    let (record, rest) = with_right(message(0, 98), WireRight { form: form::RECEIVE, value: 2 }, luggage.as_bytes(), 2);
    line.write(&record, &rest, &[port.r.as_fd(), port.s.as_fd()]);
    let name = receive(own).u32(40);
    Task::current().destroy(name).expect("the receive right");
    tools::until("the gate is closed", || line.is_dead(2));
    leave(&mut line, 2, flag::KEPT);
    let (elsewhere, _pipe) = to.give();
    assert_eq!(send(&Msg::new(56, (elsewhere, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[own])), Code::SUCCESS);
    let (record, rest) = with_right(message(0, 98), WireRight { form: form::KEPT_RECEIVE, value: 2 }, luggage.as_bytes(), 0);
    line.write(&record, &rest, &[]);
    let release = Record { kind: kind::RELEASE, target: 2, count: 1, ..Record::default() };
    line.write(&release, &[], &[]);
    line.credit.see(0);
    line.ring();
    tools::until("the slot is closed", || line.credit.closed(2) == Some(Closed::Moved));
    tools::until("all is read", || line.unread() == 0);
    assert!(!line.is_closed() && !objects::hung_up(&port.s));
}

/// Whether they are ends of one pipe.
fn is_same(one: &OwnedFd, other: &OwnedFd) -> bool {
    let file = |fd: &OwnedFd| rustix::fs::fstat(fd).expect("a pipe").st_ino;
    file(one) == file(other)
}

/// The new owner has not read who else has a right, and takes no note of it any more.
#[test]
fn other_holders_are_counted_where_a_right_is_that_was_taken_back() {
    let door = Port::new();
    let (line, to, _) = line_to(&door, receive_right());
    let port = moving(to);
    let (_s, holder) = peer::passed_on(port);
    close(&line, 0);
    let (record, _, fds) = Line::take(&door.r).read();
    assert_eq!(record.id, 96);
    assert!(fds.iter().any(|fd| is_same(fd, &holder)));
}

/// It lies in the line when the port moves on; seldom, a thread of the library has read it before.
#[test]
fn what_counts_other_holders_follows_the_port() {
    let (own, port, to) = (receive_right(), Port::new(), Port::new());
    let mut line = line_of_ours(own);
    let luggage = Luggage { onces: 0, flags: flags::COUNTED, ..luggage() };
    let (record, rest) = with_right(message(0, 98), WireRight { form: form::RECEIVE, value: 2 }, luggage.as_bytes(), 2);
    line.write(&record, &rest, &[port.r.as_fd(), port.s.as_fd()]);
    let name = receive(own).u32(40);
    let (pipe, write) = objects::holder_pipe().expect("a pipe");
    let watch = Record { kind: kind::WATCH, target: 2, fds: 1, ..Record::default() };
    line.write_quietly(&watch, &[], &[pipe.as_fd()]);
    drop(pipe);
    let (elsewhere, _pipe) = to.give();
    let moves = Msg::new(56, (elsewhere, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[name]);
    assert_eq!(send(&moves), Code::SUCCESS);
    let mut next_owner = Line::take(&to.r);
    let (_, _, mut fds) = next_owner.read();
    line.ring();
    if !fds.iter().any(|fd| is_same(fd, &write)) {
        (_, fds) = next(&mut Line::take(&port.r), kind::WATCH);
        assert_eq!(fds.len(), 1);
    }
    assert!(!objects::hung_up(&write) && !line.is_closed());
}

/// It is not to stand for two ports.
#[test]
fn ends_that_came_from_a_peer_as_anothers_are_not_used_again() {
    let door = Port::new();
    let own = receive_right();
    let (mut line, to, token) = line_to(&door, own);
    let (first, right, fds) = given(&mut line, to);
    die(&mut line, first, right.value);
    let (_read, write) = objects::holder_pipe().expect("a pipe");
    let once = Record { kind: kind::ONCE, target: token, id: 93, ..Record::default() };
    let (record, rest) = with_right(once, WireRight { form: form::SEND, value: 0 }, &[], 2);
    line.write(&record, &rest, &[fds[0].as_fd(), write.as_fd()]);
    let name = receive(own).u32(40);
    leave(&mut line, right.value, flag::KEPT);
    let (_, again, others) = given(&mut line, to);
    assert_eq!((again.form, again.value, others.len()), (form::FIRST_LINE_RIGHT, right.value, 1));
    hung_up(&fds[0]);
    assert_ne!(send(&Msg::new(95, (name, types::COPY_SEND), (0, 0))), Code::SUCCESS);
}

/// That others have the port lies behind what the peer has yet to take back, and it is stopped.
#[test]
fn a_peer_that_stops_keeps_no_other_from_a_port() {
    let (door, other) = (Port::new(), Port::new());
    let (mut line, to, _) = line_to(&door, receive_right());
    let (_, right, fds) = given(&mut line, to);
    let (moves_away, second, _) = given(&mut line, to);
    line.write_quietly(&message(second.value, 70), &[], &[]);
    let (elsewhere, _pipe) = other.give();
    let moves = Msg::new(56, (elsewhere, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[moves_away]);
    assert_eq!(send(&moves), Code::SUCCESS);
    let (pipe, _write) = objects::holder_pipe().expect("a pipe");
    line.write(&Record { kind: kind::WATCH, target: right.value, fds: 1, ..Record::default() }, &[], &[pipe.as_fd()]);
    let mut third = Line::make(&fds[0]);
    third.write(&message(0, 71), &[], &[]);
    tools::until("it is taken", || third.unread() == 0);
}

/// A message whose file finds no place is lost: what it says of ends would be true at one end of the line alone.
#[test]
fn a_message_that_may_be_lost_says_nothing_of_ends() {
    let door = Port::new();
    let (mut line, to, _) = line_to(&door, receive_right());
    let (task, port) = (Task::current(), receive_right());
    task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
    let large = Msg::new(96, (to, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[port]).bytes(&[1; 100_000]);
    assert_eq!(send(&large), Code::SUCCESS);
    let (record, _, fds) = line.read();
    assert_ne!(record.flags & flag::SPILLED, 0);
    assert_eq!(fds.len(), 4, "the file, the ends, and a pipe for the send right");
}
