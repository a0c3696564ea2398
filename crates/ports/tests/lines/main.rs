//! The library at one end of a line, and the test, by hand, at the other: an honest peer whose steps come in an order
//! that two processes come to by chance only.
#![allow(unsafe_code, reason = "the end by hand maps the segment as words")]

mod bundles;
mod ends;
mod moves;
mod promises;
mod queued;
mod remembered;
mod reuse;
#[path = "../support/mod.rs"]
mod support;
mod taken_back;

use rustix::io::Errno;
use slipway_fabric::{
    credit::{Closed, RxCount},
    descriptor::Reserved,
};
use slipway_ports::{
    abi::{Code, kind as types_of, notify, types},
    objects,
    task::Task,
    wire::{ItemHead, Luggage, Record, WireRight, form, item, kind},
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use support::peer::{Line, Port};
use support::*;
use zerocopy::{FromBytes, IntoBytes};

/// The library has made a line to a port of ours with a message that has a right to answer with: the line, the name of
/// the port, and the token of the answer.
fn line_to(port: &Port, answer: u32) -> (Line, u32, u32) {
    let (name, _pipe) = port.give();
    assert_eq!(send(&Msg::new(1, (name, types::COPY_SEND), (answer, types::MAKE_SEND_ONCE))), Code::SUCCESS);
    let mut line = Line::take(&port.r);
    let (record, _, _) = line.read();
    assert_eq!((record.kind, record.id, record.reply.form), (kind::MESSAGE, 1, form::TOKEN));
    (line, name, record.reply.value)
}

/// The port at our slot 0 has received so many messages.
fn receive_from(line: &Line, count: u32) {
    let mut taken = RxCount::default();
    (0..count).for_each(|_| line.credit.take(0, &mut taken));
    line.ring();
}

/// A record with one right in its body.
fn with_right(record: Record, right: WireRight, luggage: &[u8], fds: u16) -> (Record, Vec<u8>) {
    let mut rest = slipway_ports::state::notify::type_word(received(right.form), 64, 1).to_le_bytes().to_vec();
    rest.extend([0; 8]);
    let head = ItemHead { kind: item::PORTS, at: 8, count: 1 };
    rest.extend(head.as_bytes());
    rest.extend(right.as_bytes());
    rest.extend(luggage);
    let items = rest.len() as u32 - 16;
    (Record { body: 16, items, flags: slipway_ports::wire::flag::COMPLEX, fds, ..record }, rest)
}

fn received(form: u32) -> u32 {
    match form {
        form::TOKEN | form::TOKEN_BACK | form::ONCE => types::PORT_SEND_ONCE,
        form::RECEIVE | form::KEPT_RECEIVE => types::PORT_RECEIVE,
        _ => types::PORT_SEND,
    }
}

/// Reads the next record, which is of this kind.
fn next(line: &mut Line, kind: u8) -> (Record, Vec<OwnedFd>) {
    let (record, _, fds) = line.read();
    assert_eq!(record.kind, kind, "{record:?}");
    (record, fds)
}

/// A packet that lies in a socket: the record, and descriptors.
fn packet(socket: impl AsFd) -> (Record, Vec<Reserved>) {
    let (mut bytes, mut fds) = ([0; 4096], Vec::new());
    tools::until("a packet", || objects::receive(socket.as_fd(), &mut bytes, &mut fds).is_ok_and(|n| n > 0));
    (Record::read_from_prefix(&bytes).expect("a record").0, fds)
}

/// What is left when the library gave a token to a port and then the port's receive right to us, over another line.
struct Moved {
    /// The line with the token.
    line: Line,
    /// The library's name for our port at its other end.
    door: u32,
    token: u32,
    /// What the send-once right comes from now.
    socket: OwnedFd,
}

fn moved() -> Moved {
    let (door, other) = (Port::new(), Port::new());
    let own = receive_right();
    let (line, door, token) = line_to(&door, own);
    let (to, _pipe) = other.give();
    assert_eq!(send(&Msg::new(7, (to, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[own])), Code::SUCCESS);
    let (record, mut fds) = next(&mut Line::take(&other.r), kind::MESSAGE);
    // The receiving end, the sending end, and the one send-once right.
    assert_eq!((record.id, fds.len()), (7, 3));
    Moved { line, door, token, socket: fds.remove(2) }
}

fn once(token: u32, id: i32) -> Record {
    Record { kind: kind::ONCE, target: token, id, ..Record::default() }
}

#[test]
fn a_token_is_good_until_its_holder_has_read_that_it_was_rerouted() {
    let Moved { mut line, token, socket, .. } = moved();
    line.write(&once(token, 8), &[], &[]);
    let (record, _) = packet(&socket);
    assert_eq!((record.kind, record.id), (kind::ONCE, 8), "it was passed on");
    // It answers only now.
    assert_eq!(next(&mut line, kind::TOKEN_REROUTED).0.target, token);
    line.write(&Record { kind: kind::TOKEN_SEEN, target: token, ..Record::default() }, &[], &[]);
    assert!(!line.is_closed());
    line.write(&once(token, 8), &[], &[]);
    tools::until("nothing is left of it, so the line ends", || line.is_closed());
}

#[test]
fn a_token_is_used_once_also_when_it_was_rerouted() {
    let Moved { mut line, token, socket, .. } = moved();
    line.write(&once(token, 8), &[], &[]);
    assert_eq!(packet(&socket).0.id, 8);
    line.write(&once(token, 8), &[], &[]);
    tools::until("the line is closed", || line.is_closed());
}

#[test]
fn a_rerouted_token_may_be_passed_on_or_dropped_or_come_back() {
    let Moved { mut line, token, socket, .. } = moved();
    let (_s, r) = objects::socket_pair().expect("sockets");
    line.write(&Record { kind: kind::TOKEN_MOVED, target: token, fds: 1, ..Record::default() }, &[], &[r.as_fd()]);
    let (record, fds) = packet(&socket);
    assert_eq!(record.kind, kind::TOKEN_MOVED);
    assert_eq!(objects::identity(&fds[0]).ok(), objects::identity(&r).ok());

    let Moved { mut line, token, socket, .. } = moved();
    line.write(&Record { kind: kind::TOKEN_DROPPED, target: token, ..Record::default() }, &[], &[]);
    drop(next(&mut line, kind::TOKEN_REROUTED));
    tools::until("the socket hangs up", || objects::hung_up(&socket));

    // Back in a message to a port whose right went over the line, and used.
    let Moved { mut line, door, token, socket } = moved();
    let own = receive_right();
    let gift = Msg::new(10, (door, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &[own]);
    assert_eq!(send(&gift), Code::SUCCESS);
    assert_eq!(next(&mut line, kind::TOKEN_REROUTED).0.target, token);
    let (record, rest, _) = line.read();
    let code = WireRight::read_from_prefix(&rest[32..]).expect("a right").0;
    assert_eq!((record.id, code.form), (10, form::FIRST_LINE_RIGHT));
    let message = Record { kind: kind::MESSAGE, target: code.value, id: 11, ..Record::default() };
    let (record, rest) = with_right(message, WireRight { form: form::TOKEN_BACK, value: token }, &[], 0);
    line.write(&record, &rest, &[]);
    let back = receive(own).u32(40);
    assert_eq!(send(&Msg::new(12, (back, types::MOVE_SEND_ONCE), (0, 0))), Code::SUCCESS);
    assert_eq!(packet(&socket).0.id, 12);
}

#[test]
fn the_holder_of_a_token_learns_of_its_ports_death() {
    let task = Task::current();
    let door = Port::new();
    let (own, told) = (receive_right(), receive_right());
    let (mut line, _, answer) = line_to(&door, own);
    let (record, rest) = with_right(once(answer, 13), WireRight { form: form::TOKEN, value: 77 }, &[], 0);
    line.write(&record, &rest, &[]);
    let name = receive(own).u32(40);
    assert_eq!(task.request_notification(name, notify::DEAD_NAME, 0, told, types::MAKE_SEND_ONCE), Ok(0));
    line.write(&Record { kind: kind::TOKEN_DEAD, target: 77, ..Record::default() }, &[], &[]);
    let msg = receive(told);
    assert_eq!((msg.id(), msg.u32(40)), (notify::DEAD_NAME, name));
    assert_eq!(task.kind(name), Ok(types_of::DEAD_NAME));
    assert_eq!(next(&mut line, kind::TOKEN_SEEN).0.target, 77);
}

/// Its owner closes it on one line after the other.
#[test]
fn a_port_that_died_on_one_line_ends_no_other() {
    let (own, port) = (receive_right(), Port::new());
    let mut lines = [moves::line_of_ours(own), moves::line_of_ours(own)];
    let mut names = Vec::new();
    for line in &mut lines {
        let gift = WireRight { form: form::FIRST_LINE_RIGHT, value: 1 };
        let (record, rest) = with_right(Record { kind: kind::MESSAGE, id: 17, ..Record::default() }, gift, &[], 1);
        line.write(&record, &rest, &[port.s.as_fd()]);
        names.push(receive(own).u32(40));
    }
    assert_eq!(names[0], names[1]);
    let Port { s, r } = port;
    drop((s, r));
    lines[0].credit.close(1, &RxCount::default(), Closed::Dead);
    lines[0].ring();
    let task = Task::current();
    tools::until("it is known to be dead", || task.kind(names[0]) == Ok(types_of::DEAD_NAME));
    task.deallocate(names[0]).and_then(|()| task.deallocate(names[0])).expect("two dead names");
    tools::until("the first is seen", || lines[0].credit.is_seen(1));
    assert!(!lines[1].is_closed());
    lines[1].credit.close(1, &RxCount::default(), Closed::Dead);
    lines[1].ring();
    tools::until("the second is seen", || lines[1].credit.is_seen(1));
    assert!(!lines[1].is_closed());
}

#[test]
fn a_dead_ports_token_is_good_for_nothing_and_no_offence() {
    let door = Port::new();
    let own = receive_right();
    let (mut line, _, token) = line_to(&door, own);
    Task::current().destroy(own).expect("a port of ours");
    line.write(&once(token, 14), &[], &[]);
    assert_eq!(next(&mut line, kind::TOKEN_DEAD).0.target, token);
    line.write(&Record { kind: kind::TOKEN_SEEN, target: token, ..Record::default() }, &[], &[]);
    tools::until("all is taken", || line.unread() == 0);
    assert!(!line.is_closed());
}

/// A receive right's luggage with one send-once right and nothing else.
fn luggage() -> Luggage {
    let none = WireRight::default();
    let (qlimit, seqno, mscount, onces, watches, flags) = (5, 0, 0, 1, 0, 0);
    Luggage { qlimit, seqno, mscount, onces, watches, flags, payload: 0, messages: 0, nsrequest: none, pdrequest: none }
}

#[test]
fn a_send_once_rights_socket_may_go_on_in_another() {
    let (door, port) = (Port::new(), Port::new());
    let own = receive_right();
    let (mut line, _, answer) = line_to(&door, own);
    let ((s, r), (s2, r2)) = (objects::socket_pair().expect("sockets"), objects::socket_pair().expect("sockets"));
    let right = WireRight { form: form::RECEIVE, value: 0 };
    let (record, rest) = with_right(once(answer, 15), right, luggage().as_bytes(), 3);
    line.write(&record, &rest, &[port.r.as_fd(), port.s.as_fd(), r.as_fd()]);
    let name = receive(own).u32(40);
    drop((r, port));
    let on = Record { kind: kind::TOKEN_MOVED, fds: 1, ..Record::default() };
    objects::send(s.as_fd(), &[on.as_bytes()], &[r2.as_fd()]).expect("room");
    drop((s, r2));
    objects::send(s2.as_fd(), &[once(0, 16).as_bytes()], &[]).expect("room");
    assert_eq!(receive(name).id(), 16);
}

#[test]
fn a_right_that_comes_again_by_another_way_is_shown_before_it_is_used() {
    let (door, port) = (Port::new(), Port::new());
    let answer = receive_right();
    let (mut line, _, token) = line_to(&door, answer);
    let once = Record { kind: kind::ONCE, target: token, id: 2, ..Record::default() };
    let (record, rest) = with_right(once, WireRight { form: form::FIRST_LINE_RIGHT, value: 1 }, &[], 1);
    line.write(&record, &rest, &[port.s.as_fd()]);
    let name = receive(answer).u32(40);
    Task::current().deallocate(name).expect("the right");
    let (record, _) = next(&mut line, kind::RELEASE);
    assert_eq!((record.target, record.count), (1, 1));

    // From somebody else this time. Over the line it is not counted any more.
    let (name, _pipe) = port.give();
    std::thread::scope(|scope| {
        let sent = scope.spawn(move || send(&Msg::new(3, (name, types::COPY_SEND), (0, 0))));
        // Two have given it now: the port's owner is asked whether the line is his.
        let (mut ask, mut fds) = ([0; 64], Vec::<Reserved>::new());
        tools::until("a question", || objects::receive(port.r.as_fd(), &mut ask, &mut fds) == Ok(32));
        assert_eq!(u32::from_ne_bytes(ask[4..8].try_into().expect("4 bytes")), 1, "the slot");
        objects::send(fds[0].as_fd(), &[&[1]], &[]).expect("room for the answer");
        assert_eq!(sent.join().expect("no panic"), Code::SUCCESS);
    });
    let (record, fds) = next(&mut line, kind::ATTACH);
    assert_eq!((record.target, objects::identity(&fds[0]).ok()), (1, Some(port.identity())));
    let (record, _) = next(&mut line, kind::MESSAGE);
    assert_eq!((record.target, record.id), (1, 3));
    Task::current().deallocate(name).expect("the right");
    assert_eq!(next(&mut line, kind::DETACH).0.target, 1);
    let nobody = objects::receive(port.r.as_fd(), &mut [0; 8], &mut Vec::<Reserved>::new());
    assert_eq!(nobody, Err(Errno::AGAIN), "no second line");
}

#[test]
fn an_attach_over_a_line_needs_the_sending_end() {
    let own = receive_right();
    let (s, _t) = Task::current().export(own).expect("sockets");
    let mut line = Line::make(&s);
    let message = |id| Record { kind: kind::MESSAGE, id, ..Record::default() };
    line.write(&message(4), &[], &[]);
    assert_eq!(receive(own).id(), 4);
    line.write(&Record { kind: kind::DETACH, ..Record::default() }, &[], &[]);
    line.write(&Record { kind: kind::ATTACH, fds: 1, ..Record::default() }, &[], &[s.as_fd()]);
    line.write(&message(5), &[], &[]);
    assert_eq!(receive(own).id(), 5);
    line.write(&Record { kind: kind::DETACH, ..Record::default() }, &[], &[]);
    let other = Port::new();
    line.write(&Record { kind: kind::ATTACH, fds: 1, ..Record::default() }, &[], &[other.s.as_fd()]);
    tools::until("the line is closed", || line.is_closed());
    assert_eq!(Task::current().kind(own), Ok(types_of::RECEIVE));
}

#[test]
fn a_line_ends_when_both_ends_have_said_that_they_need_it_no_more() {
    let door = Port::new();
    let own = receive_right();
    let (mut line, name, token) = line_to(&door, own);
    let bye = Record { kind: kind::BYE, ..Record::default() };
    Task::current().deallocate(name).expect("the right");
    assert_eq!(next(&mut line, kind::DETACH).0.target, 0);
    line.write(&once(token, 30), &[], &[]);
    assert_eq!(receive(own).id(), 30);
    // What was not received counts for the limit, if only while the line lasts.
    receive_from(&line, 1);
    assert_eq!(next(&mut line, kind::BYE).0.target, 0);
    // A right by another way, before the answer is read: the line goes on.
    let (name, _pipe) = door.give();
    assert_eq!(send(&Msg::new(31, (name, types::MOVE_SEND), (0, 0))), Code::SUCCESS);
    line.write(&bye, &[], &[]);
    assert_eq!(next(&mut line, kind::ATTACH).0.target, 0);
    assert_eq!(next(&mut line, kind::MESSAGE).0.id, 31);
    assert_eq!(next(&mut line, kind::DETACH).0.target, 0);
    receive_from(&line, 2);
    assert_eq!(next(&mut line, kind::BYE).0.target, 0, "it asks again");
    assert!(!line.is_closed());
    line.write(&bye, &[], &[]);
    tools::until("the line is closed", || line.is_closed());
}

#[test]
fn a_client_agrees_to_the_end_of_a_line_that_it_needs_no_more() {
    let own = receive_right();
    let (s, _t) = Task::current().export(own).expect("sockets");
    let mut line = Line::make(&s);
    let token = WireRight { form: form::TOKEN, value: 5 };
    line.write(&Record { kind: kind::MESSAGE, id: 32, reply: token, ..Record::default() }, &[], &[]);
    line.write(&Record { kind: kind::DETACH, ..Record::default() }, &[], &[]);
    line.write(&Record { kind: kind::BYE, ..Record::default() }, &[], &[]);
    let answer = receive(own).reply();
    assert_eq!(send(&Msg::new(33, (answer, types::MOVE_SEND_ONCE), (0, 0))), Code::SUCCESS);
    let (record, _) = next(&mut line, kind::ONCE);
    assert_eq!((record.target, record.id), (5, 33));
    next(&mut line, kind::BYE);
    assert!(!line.is_closed());
}

#[test]
fn a_message_counts_for_the_limit_of_the_line_that_it_came_over() {
    let (first, second) = (receive_right(), receive_right());
    let make = |port, id| {
        let (s, _t) = Task::current().export(port).expect("sockets");
        let mut line = Line::make(&s);
        line.write(&Record { kind: kind::MESSAGE, id, ..Record::default() }, &[], &[]);
        // Out of the ring, into the port's queue.
        tools::until("it waits", || Task::current().receive_status(port).expect("a port of ours").msgcount == 1);
        line
    };
    let lines: Vec<Line> = (0..8).map(|_| make(receive_right(), 34)).collect();
    let line = make(first, 35);
    drop((line, lines));
    // The lines are gone, and their numbers free, when the first port knows no sender over any of them.
    let others: Vec<Line> = (0..16).map(|_| make(receive_right(), 36)).collect();
    let other = make(second, 37);
    assert_eq!(receive(first).id(), 35);
    assert!(others.iter().chain([&other]).all(|line| !line.credit.has_taken(0, 1)));
    assert_eq!(receive(second).id(), 37);
    assert!(other.credit.has_taken(0, 1) && !other.credit.has_taken(0, 2));
}

#[test]
fn the_limit_of_a_queue_holds_over_the_ways_to_it() {
    let door = Port::new();
    let (mut line, name, _) = line_to(&door, receive_right());
    for id in 2..5 {
        assert_eq!(send(&Msg::new(id, (name, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    }
    assert_eq!(send(&Msg::new(5, (name, types::MOVE_SEND), (0, 0))), Code::SUCCESS);
    // Five wait, as many as may. The right comes again by another way.
    let (name, _pipe) = door.give();
    assert_eq!(send_for(&Msg::new(6, (name, types::COPY_SEND), (0, 0)), Some(0)), Code::SEND_TIMED_OUT);
    for id in 2..6 {
        assert_eq!(next(&mut line, kind::MESSAGE).0.id, id);
    }
    receive_from(&line, 1);
    assert_eq!(send_for(&Msg::new(6, (name, types::COPY_SEND), (0, 0)), Some(SOON)), Code::SUCCESS);
}

/// Of two lines that the receiver looks at itself one never runs dry.
#[test]
fn a_busy_line_keeps_no_other_out() {
    let test = "a_busy_line_keeps_no_other_out";
    if role().is_none() {
        // Alone in its process: the lines of other tests would be looked at, too.
        let _dog = tools::watchdog(test, tools::WATCHDOG);
        return well(vec![start(test, "alone", receive_right())]);
    }
    let own = receive_right();
    let [mut quiet, mut busy] = [moves::line_of_ours(own), moves::line_of_ours(own)];
    for line in [&mut quiet, &mut busy] {
        line.write(&moves::message(0, 1), &[], &[]);
        assert_eq!(receive(own).id(), 1);
    }
    // The bells are heard.
    let threads = std::fs::read_dir("/proc/self/task").expect("/proc").flatten();
    let numbers = threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok());
    numbers.filter(|thread| *thread != tools::thread_number()).for_each(tools::until_asleep);
    (0..100).for_each(|_| busy.write_quietly(&moves::message(0, 2), &[], &[]));
    quiet.write_quietly(&moves::message(0, 3), &[], &[]);
    let before = (0..100).take_while(|_| receive(own).id() == 2).count();
    assert!(before < 20, "{before} messages of the other");
}
