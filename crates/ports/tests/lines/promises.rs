//! Slots that the sender of a receive right names for its port.

use super::{moves::*, *};

/// A message of ours with the receive right of a port of ours, which names the slot for it.
pub(super) fn with_receive_right(line: &mut Line, port: &Port, id: i32, slot: u32) {
    let right = WireRight { form: form::RECEIVE, value: slot };
    let (record, rest) = with_right(message(0, id), right, Luggage { onces: 0, ..luggage() }.as_bytes(), 2);
    line.write(&record, &rest, &[port.r.as_fd(), port.s.as_fd()]);
}

/// The library has sent us the receive right of a port that it has a send right to, and a message behind it.
pub(super) struct Sent {
    pub door: Port,
    pub line: Line,
    /// The library's name for our port.
    pub name: u32,
    /// Its name for the port that moved.
    pub port: u32,
}

pub(super) fn sent() -> Sent {
    let door = Port::new();
    let (own, port) = (receive_right(), receive_right());
    let (line, name, _) = line_to(&door, own);
    let task = Task::current();
    task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
    let moves = Msg::new(50, (name, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[port]);
    assert_eq!(send(&moves), Code::SUCCESS);
    assert_eq!(send(&Msg::new(51, (port, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    Sent { door, line, name, port }
}

/// Reads a message with a receive right: the slot that is named for it, and the port.
pub(super) fn receive_right_of(line: &mut Line) -> (u32, Port) {
    let (record, rest, mut fds) = line.read();
    assert_eq!((record.kind, record.id), (kind::MESSAGE, 50));
    let right = WireRight::read_from_prefix(&rest[32..]).expect("a right").0;
    assert_eq!(right.form, form::RECEIVE);
    let s = fds.remove(1);
    (right.value, Port { r: fds.remove(0), s })
}

#[test]
fn what_follows_a_receive_right_goes_over_the_same_line() {
    let Sent { mut line, port, name, .. } = sent();
    let (slot, moved) = receive_right_of(&mut line);
    let (record, _) = next(&mut line, kind::MESSAGE);
    assert_eq!((record.target, record.id), (slot, 51));
    // Such a slot is no number for a right: it would be void if the receive right were taken back.
    let give = Msg::new(52, (name, types::COPY_SEND), (0, 0)).ports(types::COPY_SEND, &[port]);
    assert_eq!(send(&give), Code::SUCCESS);
    assert_eq!(next(&mut line, kind::WATCH).0.target, slot);
    let (record, rest, _) = line.read();
    let items = &rest[record.body as usize..];
    let right = WireRight::read_from_prefix(&items[size_of::<ItemHead>()..]).expect("a right").0;
    assert_eq!((record.id, right.form), (52, form::BUNDLED));
    let nobody = objects::receive(moved.r.as_fd(), &mut [0; 64], &mut Vec::<Reserved>::new());
    assert_eq!(nobody, Err(Errno::AGAIN), "no line of its own");
    Task::current().deallocate(port).expect("the right");
    assert_eq!(next(&mut line, kind::RELEASE).0.target, slot);
    assert_eq!(next(&mut line, kind::DETACH).0.target, slot);
}

#[test]
fn what_is_sent_to_a_slot_that_was_named_is_for_the_port() {
    let (own, port) = (receive_right(), Port::new());
    let mut line = line_of_ours(own);
    with_receive_right(&mut line, &port, 52, 2);
    line.write(&message(2, 53), &[], &[]);
    let name = receive(own).u32(40);
    assert_eq!(receive(name).id(), 53);
    assert!(!line.is_closed());
    // A port that is destroyed closes the slot.
    Task::current().destroy(name).expect("the receive right");
    tools::until("the gate is closed", || line.is_dead(2));
}

#[test]
fn a_slot_is_named_once_and_by_the_one_that_may() {
    for slots in [&[1][..], &[3], &[2048], &[!0], &[2, 2]] {
        let own = receive_right();
        let mut line = line_of_ours(own);
        for slot in slots {
            with_receive_right(&mut line, &Port::new(), 54, *slot);
        }
        tools::until("the line is closed", || line.is_closed());
    }
}

#[test]
fn what_follows_a_receive_right_is_taken_back_with_it() {
    let Sent { door, line, port, .. } = sent();
    let task = Task::current();
    assert_eq!(task.kind(port), Ok(types_of::SEND));
    // The port that the right was sent to has moved: both go there.
    close(&line, 0);
    let mut other = Line::take(&door.r);
    let (slot, _moved) = receive_right_of(&mut other);
    let (record, _) = next(&mut other, kind::MESSAGE);
    assert_eq!((record.target, record.id), (slot, 51));
    tools::until("the slot is not used any more", || line.credit.is_seen(2));
}

#[test]
fn what_follows_a_right_that_was_withdrawn_is_dropped() {
    let (own, to, port) = (receive_right(), Port::new(), Port::new());
    let mut line = line_of_ours(own);
    line.write(&message(0, 55), &[], &[]);
    assert_eq!(receive(own).id(), 55);
    let (name, _pipe) = to.give();
    assert_eq!(send(&Msg::new(56, (name, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[own])), Code::SUCCESS);
    // Written before we see that the port moved, and taken back.
    with_receive_right(&mut line, &port, 57, 2);
    line.write(&message(2, 58), &[], &[]);
    line.credit.see(0);
    line.ring();
    // It tells us, so that nothing waits for us to find that out.
    tools::until("the slot is closed", || line.credit.closed(2) == Some(Closed::Moved));
    line.credit.see(2);
    line.ring();
    tools::until("both are read", || line.unread() == 0);
    assert!(!line.is_closed());
    let Port { s, r } = port;
    drop(r);
    tools::until("nothing is kept of the port", || objects::hung_up(&s));
}

#[test]
fn a_right_to_a_port_that_goes_with_it_is_no_number() {
    let door = Port::new();
    let (own, port) = (receive_right(), receive_right());
    let (mut line, name, _) = line_to(&door, own);
    let give = Msg::new(60, (name, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &[port]);
    assert_eq!(send(&give), Code::SUCCESS);
    assert_eq!(next(&mut line, kind::MESSAGE).0.id, 60);
    line.write(&Record { kind: kind::RELEASE, target: 1, count: 1, ..Record::default() }, &[], &[]);
    tools::until("the right is back", || line.unread() == 0);
    let both =
        Msg::new(61, (name, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &[port]).ports(types::MOVE_RECEIVE, &[port]);
    assert_eq!(send(&both), Code::SUCCESS);
    let (record, rest, _) = line.read();
    assert_eq!((record.kind, record.id), (kind::MESSAGE, 61));
    let items = &rest[record.body as usize..];
    let right = WireRight::read_from_prefix(&items[size_of::<ItemHead>()..]).expect("a right").0;
    assert_eq!(right.form, form::SEND);
}

/// The reader had no place for the file with the message, and so never learned which slots it names.
#[test]
fn what_follows_a_right_that_was_lost_ends_no_line() {
    let own = receive_right();
    let mut line = line_of_ours(own);
    // One descriptor goes with the packet, as its byte says, and none arrives.
    objects::send(line.fd_socket.as_fd(), &[&[1]], &[]).expect("room");
    let lost = Record { flags: slipway_ports::wire::flag::SPILLED, fds: 1, ..message(0, 62) };
    line.write(&lost, &[], &[]);
    line.write(&message(2, 63), &[], &[]);
    tools::until("the slot is closed", || line.credit.closed(2) == Some(Closed::Moved));
    line.credit.see(2);
    line.ring();
    tools::until("both are read", || line.unread() == 0);
    // Nobody has named this one.
    line.write(&message(3, 64), &[], &[]);
    tools::until("the line is closed", || line.is_closed());
}
