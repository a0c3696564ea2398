//! Receive rights on the move, and messages that are taken back because of it.

use super::*;
use slipway_ports::{
    state::notify::type_word,
    wire::{ItemHead, Luggage, flag, item},
};

/// A port of the library's that we may send to over a line of our own making.
pub fn line_of_ours(own: u32) -> Line {
    let (s, _t) = Task::current().export(own).expect("sockets");
    Line::make(&s)
}

pub fn message(slot: u32, id: i32) -> Record {
    Record { kind: kind::MESSAGE, target: slot, id, ..Record::default() }
}

/// Says that the port at our slot moved away, with nothing accepted.
pub fn close(line: &Line, slot: u32) {
    line.credit.close(slot, &RxCount::default(), Closed::Moved);
    line.ring();
}

#[test]
fn what_was_sent_with_the_last_right_follows_the_port() {
    let door = Port::new();
    let own = receive_right();
    let (mut line, name, _) = line_to(&door, own);
    assert_eq!(send(&Msg::new(21, (name, types::MOVE_SEND), (0, 0))), Code::SUCCESS);
    close(&line, 0);
    let mut other = Line::take(&door.r);
    assert_eq!(next(&mut other, kind::MESSAGE).0.id, 21);
    assert_eq!(next(&mut line, kind::MESSAGE).0.id, 21);
}

/// The library gives us send rights to two ports over a line, as slots 1 and 3: the line, and the second's sending end.
fn given_two(door: &Port, ports: &[u32; 2]) -> (Line, OwnedFd) {
    let (mut line, name, _) = line_to(door, receive_right());
    let gift = Msg::new(60, (name, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, ports);
    assert_eq!(send(&gift), Code::SUCCESS);
    let (_, mut fds) = next(&mut line, kind::MESSAGE);
    (line, fds.remove(1))
}

/// The library sends rights to the port, over a line that is not read.
fn give_to(door: &Port, disposition: u32, ports: &[u32]) {
    let (to, _pipe) = door.give();
    assert_eq!(send(&Msg::new(61, (to, types::COPY_SEND), (0, 0)).ports(disposition, ports)), Code::SUCCESS);
}

/// One that is told earlier, and has no right any more, has nothing to take back yet, and lets the pipe go that counts it.
#[test]
fn a_sender_is_told_that_a_port_moved_when_its_slot_is_closed() {
    for _ in 0..20 {
        let ports = [receive_right(), receive_right()];
        let (doors, other) = ([Port::new(), Port::new()], Port::new());
        let (mut line, _s) = given_two(&doors[0], &ports);
        // Rights that have to be made sockets of, so that it takes its time.
        give_to(&doors[1], types::MAKE_SEND_ONCE, &[ports[0]; 200]);
        std::thread::scope(|scope| {
            scope.spawn(|| give_to(&other, types::MOVE_RECEIVE, &ports[..1]));
            tools::until("a record", || line.has_come());
            assert_eq!(line.credit.closed(1), Some(Closed::Moved));
            let (record, fds) = next(&mut line, kind::MOVED);
            assert_eq!((record.target, fds.len()), (1, 1));
        });
    }
}

/// Its own pipe may hang up before it looks at the slot again.
#[test]
fn what_a_sender_left_unread_counts_as_a_holder_of_the_port() {
    let ports = [receive_right(), receive_right()];
    let (door, others) = (Port::new(), [Port::new(), Port::new()]);
    let (mut line, s) = given_two(&door, &ports);
    // The second right is counted over the line no more, but by a pipe.
    line.write(&Record { kind: kind::ATTACH, target: 3, fds: 1, ..Record::default() }, &[], &[s.as_fd()]);
    line.write(&Record { kind: kind::RELEASE, target: 3, count: 1, ..Record::default() }, &[], &[]);
    tools::until("all is taken", || line.unread() == 0);
    give_to(&others[0], types::MOVE_RECEIVE, &ports[..1]);
    assert_eq!(next(&mut line, kind::MOVED).0.target, 1);
    // What we have yet to take back keeps the library from all that is behind it.
    line.write(&message(1, 63), &[], &[]);
    line.write(&message(3, 64), &[], &[]);
    give_to(&others[1], types::MOVE_RECEIVE, &ports[1..]);
    let (record, fds) = next(&mut line, kind::MOVED);
    assert_eq!((record.target, fds.len()), (3, 1));
}

#[test]
fn what_lies_behind_a_closed_slot_comes_before_the_news_that_there_are_no_senders() {
    let ports = [receive_right(), receive_right()];
    let (door, other) = (Port::new(), Port::new());
    let (mut line, _) = given_two(&door, &ports);
    let task = Task::current();
    let (s, holder) = task.export(ports[1]).expect("sockets");
    line.write(&Record { kind: kind::ATTACH, target: 3, fds: 1, ..Record::default() }, &[], &[s.as_fd()]);
    line.write(&Record { kind: kind::RELEASE, target: 3, count: 1, ..Record::default() }, &[], &[]);
    tools::until("all is taken", || line.unread() == 0);
    give_to(&other, types::MOVE_RECEIVE, &ports[..1]);
    next(&mut line, kind::MOVED);
    line.write(&message(1, 65), &[], &[]);
    line.write(&message(3, 66), &[], &[]);
    // From the first request on the library holds no pipe of its own, and at the next it knows that ours is closed.
    let ask = || task.request_notification(ports[1], notify::NO_SENDERS, 0, ports[1], types::MAKE_SEND_ONCE);
    assert_eq!(ask(), Ok(0));
    drop(holder);
    assert!(ask().is_ok());
    line.credit.see(1);
    line.ring();
    assert_eq!((receive(ports[1]).id(), receive(ports[1]).id()), (66, notify::NO_SENDERS));
}

#[test]
fn what_a_sender_that_is_gone_sent_behind_a_message_to_a_dead_port_is_not_lost() {
    let (door, ports) = (Port::new(), [receive_right(), receive_right()]);
    let (mut line, _) = given_two(&door, &ports);
    Task::current().destroy(ports[0]).expect("a port of ours");
    line.write(&message(1, 67), &[], &[]);
    line.write(&message(3, 68), &[], &[]);
    drop(line);
    assert_eq!(receive(ports[1]).id(), 68);
}

#[test]
fn a_receive_right_that_is_taken_back_has_its_queue() {
    let door = Port::new();
    let (own, port, other) = (receive_right(), receive_right(), receive_right());
    let (mut old, name, _) = line_to(&door, own);
    let waits = Msg::new(22, (port, types::MAKE_SEND_ONCE), (0, 0)).ports(types::MAKE_SEND, &[other]).int(5);
    assert_eq!(send(&waits), Code::SUCCESS);
    assert_eq!(send(&Msg::new(23, (name, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[port])), Code::SUCCESS);
    close(&old, 0);

    let mut line = Line::take(&door.r);
    let (record, rest, fds) = line.read();
    assert_eq!((record.kind, record.id, fds.len()), (kind::MESSAGE, 23, 3));
    let (code, rest) = WireRight::read_from_prefix(&rest[32..]).expect("a right");
    let (luggage, rest) = Luggage::read_from_prefix(rest).expect("luggage");
    let (waiting, rest) = Record::read_from_prefix(rest).expect("a message");
    assert_eq!((code.form, luggage.messages, waiting.id), (form::RECEIVE, 1, 22));
    let (head, rest) = ItemHead::read_from_prefix(&rest[waiting.body as usize..]).expect("an item");
    let right = WireRight::read_from_prefix(rest).expect("a right").0;
    assert_eq!((head.kind, right.form), (item::PORTS, form::FIRST_LINE_RIGHT), "over this line now");

    // Who reads a message that was taken back gives back what was given with it; and so do we now.
    let release = |target| Record { kind: kind::RELEASE, target, count: 1, ..Record::default() };
    old.write(&release(1), &[], &[]);
    line.write(&release(right.value), &[], &[]);
    let task = Task::current();
    assert_eq!(task.request_notification(other, notify::NO_SENDERS, 0, own, types::MAKE_SEND_ONCE), Ok(0));
    assert_eq!(receive(own).id(), notify::NO_SENDERS);
    assert!(!old.is_closed() && !line.is_closed());
}

#[test]
fn all_rights_of_a_message_that_was_taken_back_are_given_back() {
    let (port, to, gift) = (receive_right(), Port::new(), Port::new());
    let mut line = line_of_ours(port);
    line.write(&message(0, 24), &[], &[]);
    assert_eq!(receive(port).id(), 24);
    let (name, _pipe) = to.give();
    assert_eq!(send(&Msg::new(25, (name, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[port])), Code::SUCCESS);

    // A receive right, in whose queue a message waits, with a line right; and another to answer with.
    let inner =
        [ItemHead { kind: item::PORTS, at: 8, count: 1 }.as_bytes(), WireRight { form: form::LINE_RIGHT, value: 1 }.as_bytes()];
    let items = inner.concat().len() as u32;
    let waiting = Record { kind: kind::ONCE, flags: flag::COMPLEX, body: 16, items, ..Record::default() };
    let body = [type_word(types::PORT_SEND, 64, 1).to_le_bytes(), [0; 8]].concat();
    let luggage = Luggage { messages: 1, onces: 0, ..luggage() };
    let luggage = [luggage.as_bytes(), waiting.as_bytes(), &body, &inner.concat()].concat();
    let late = Record { reply: WireRight { form: form::FIRST_LINE_RIGHT, value: 1 }, ..message(0, 26) };
    let (record, rest) = with_right(late, WireRight { form: form::RECEIVE, value: 0 }, &luggage, 3);
    let moving = Port::new();
    line.write(&record, &rest, &[gift.s.as_fd(), moving.r.as_fd(), moving.s.as_fd()]);
    line.credit.see(0);
    line.ring();
    let mut back = 0;
    while back < 2 {
        let (record, _) = next(&mut line, kind::RELEASE);
        assert_eq!(record.target, 1);
        back += record.count;
    }
    assert_eq!(back, 2);
    drop(moving.r);
    // The library closes them after it has given the rights back.
    tools::until("nothing of it is kept", || objects::hung_up(&moving.s));
    assert!(!line.is_closed());
}

#[test]
fn a_port_that_came_here_may_still_be_given_by_its_earlier_owner() {
    let (own, port) = (receive_right(), Port::new());
    let (mut line, mut other) = (line_of_ours(own), line_of_ours(own));
    let right = WireRight { form: form::RECEIVE, value: 0 };
    let (record, rest) = with_right(message(0, 27), right, Luggage { onces: 0, ..luggage() }.as_bytes(), 2);
    line.write(&record, &rest, &[port.r.as_fd(), port.s.as_fd()]);
    let name = receive(own).u32(40);

    // Written before the port moved, as far as its reader can know.
    let (record, rest) = with_right(message(0, 28), WireRight { form: form::FIRST_LINE_RIGHT, value: 1 }, &[], 1);
    other.write(&record, &rest, &[port.s.as_fd()]);
    assert_eq!(receive(own).u32(40), name);
    assert_eq!(Task::current().kind(name), Ok(types_of::SEND_RECEIVE));
    let (_read, write) = objects::holder_pipe().expect("a pipe");
    other.write(&Record { kind: kind::MOVED, target: 1, fds: 1, ..Record::default() }, &[], &[write.as_fd()]);
    tools::until("all is taken", || other.unread() == 0);
    assert!(!other.is_closed());
    assert!(other.credit.is_seen(1));
    assert_eq!(send(&Msg::new(29, (name, types::MOVE_SEND), (0, 0))), Code::SUCCESS);
    assert_eq!(receive(name).id(), 29);
}

#[test]
fn a_receive_right_on_its_way_to_itself_goes_where_it_is_wanted_instead() {
    let task = Task::current();
    let (own, port) = (receive_right(), Port::new());
    let mut line = line_of_ours(own);
    let (s, r) = objects::socket_pair().expect("sockets");
    let right = WireRight { form: form::RECEIVE, value: 0 };
    let (record, rest) = with_right(message(0, 40), right, luggage().as_bytes(), 3);
    line.write(&record, &rest, &[port.r.as_fd(), port.s.as_fd(), r.as_fd()]);
    let name = receive(own).u32(40);
    let (record, rest) = with_right(message(0, 41), WireRight { form: form::ONCE, value: 0 }, &[], 1);
    line.write(&record, &rest, &[s.as_fd()]);
    let once = receive(own).u32(40);
    drop((s, r));
    // The send-once right is to the port itself, which only the kernel knows.
    assert_eq!(task.request_notification(name, notify::PORT_DESTROYED, 0, own, types::MAKE_SEND_ONCE), Ok(0));
    let circle = Msg::new(42, (once, types::MOVE_SEND_ONCE), (0, 0)).ports(types::MOVE_RECEIVE, &[name]);
    assert_eq!(send(&circle), Code::SUCCESS);
    let msg = receive(own);
    assert_eq!(msg.id(), notify::PORT_DESTROYED);
    task.destroy(msg.u32(40)).expect("the receive right");
    let Port { s, r } = port;
    drop(r);
    tools::until("the port is dead", || objects::hung_up(&s));
}

/// Its owner shut it down before the descriptors hung up: it was not killed, and no right comes back.
#[test]
fn a_receive_right_that_is_wanted_back_and_dies_in_order_is_dead() {
    let (task, door, own, port) = (Task::current(), Port::new(), receive_right(), receive_right());
    let (mut line, to, _) = line_to(&door, receive_right());
    task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
    assert_eq!(task.request_notification(port, notify::PORT_DESTROYED, 0, own, types::MAKE_SEND_ONCE), Ok(0));
    let moves = Msg::new(44, (to, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[port]);
    assert_eq!(send(&moves), Code::SUCCESS);
    let (record, fds) = next(&mut line, kind::MESSAGE);
    assert_eq!(record.id, 44);
    rustix::net::shutdown(&fds[0], rustix::net::Shutdown::Both).expect("the receiving end");
    drop(fds);
    // The watcher, which comes to this last, has seen the pipe hang up.
    let mut last = line_of_ours(own);
    last.write(&message(0, 45), &[], &[]);
    assert_eq!(receive(own).id(), 45);
    line.credit.close(2, &RxCount::default(), Closed::Dead);
    line.ring();
    tools::until("the port is dead", || tools::is_dead(port));
}

/// The queue that a thread waits at with a reply right of `port`, which has moved to us meanwhile: the right's socket. `then` is what becomes of the
/// queue.
fn moved_while_a_sender_waits(port: u32, then: impl FnOnce(u32)) -> Reserved {
    let (full, door) = (receive_right(), Port::new());
    let task = Task::current();
    task.insert_right(full, task, full, types::MAKE_SEND).expect("a send right");
    (0..5).for_each(|id| assert_eq!(send(&Msg::new(id, (full, types::COPY_SEND), (0, 0))), Code::SUCCESS));
    let mut socket = None;
    let call = || send(&Msg::new(77, (full, types::COPY_SEND), (port, types::MAKE_SEND_ONCE)));
    let moves = || {
        let (to, _pipe) = door.give();
        assert_eq!(send(&Msg::new(7, (to, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[port])), Code::SUCCESS);
        let (record, mut fds) = next(&mut Line::take(&door.r), kind::MESSAGE);
        assert_eq!(record.id, 7);
        // The last: the receiving end, the sending end and perhaps a pipe come before it.
        socket = fds.pop().map(|fd| Reserved::new(fd).expect("a descriptor"));
        then(full);
    };
    assert_eq!(tools::woken_by(call, moves), Code::SUCCESS);
    socket.expect("the send-once right")
}

#[test]
fn a_reply_right_that_waits_with_its_sender_follows_its_port() {
    let socket = moved_while_a_sender_waits(receive_right(), |full| {
        (0..5).for_each(|id| assert_eq!(receive(full).id(), id));
        let reply = receive(full).reply();
        // The number of the port that moved may be another's.
        let _other = receive_right();
        assert_eq!(send(&Msg::new(78, (reply, types::MOVE_SEND_ONCE), (0, 0))), Code::SUCCESS);
    });
    let (record, _) = packet(&socket);
    assert_eq!((record.kind, record.id), (kind::ONCE, 78));
}

#[test]
fn a_reply_right_that_waits_with_its_sender_is_given_up_with_the_queue() {
    let port = receive_right();
    let task = Task::current();
    task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
    let socket = moved_while_a_sender_waits(port, |full| task.destroy(full).expect("a port of ours"));
    tools::until("the right is gone", || objects::hung_up(&socket));
}

/// Its holder, who is killed after that, has used up the request's right, so that nothing refers to the port of the request any more.
#[test]
fn a_receive_right_whose_request_is_for_nobody_dies_with_its_holder_and_comes_to_no_other_port() {
    let test = "moves::a_receive_right_whose_request_is_for_nobody_dies_with_its_holder_and_comes_to_no_other_port";
    if role().is_none() {
        // In a process of its own no other test takes the number of the port that is gone.
        return well(vec![start(test, "giver", receive_right())]);
    }
    let (task, door, own, port) = (Task::current(), Port::new(), receive_right(), receive_right());
    let (mut line, to, _) = line_to(&door, receive_right());
    task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
    assert_eq!(task.request_notification(port, notify::PORT_DESTROYED, 0, own, types::MAKE_SEND_ONCE), Ok(0));
    let moves = Msg::new(46, (to, types::COPY_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[port]);
    assert_eq!(send(&moves), Code::SUCCESS);
    let (record, rest, fds) = line.read();
    let (right, rest) = WireRight::read_from_prefix(&rest[32..]).expect("a right");
    let request = Luggage::read_from_prefix(rest).expect("luggage").0.pdrequest;
    assert_eq!((record.id, right.form, request.form), (46, form::RECEIVE, form::TOKEN));
    line.write(&Record { kind: kind::ONCE, target: request.value, id: 47, ..Record::default() }, &[], &[]);
    assert_eq!(receive(own).id(), 47);
    task.destroy(own).expect("a port of ours");
    let other = receive_right();
    drop((line, fds));
    let mut came = None;
    tools::until("the port is dead", || {
        came = receive_within(other, 0).ok().map(|msg| msg.id());
        came.is_some() || tools::is_dead(port)
    });
    assert_eq!(came, None);
}
