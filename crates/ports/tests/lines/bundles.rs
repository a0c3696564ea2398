//! Send rights to third parties' ports that come and go as one descriptor.

use super::*;
use slipway_ports::{abi::DEAD, state::notify::type_word, wire::flag};

/// Rights that go as a bundle.
const MANY: usize = 20;

/// A port of somebody's, and the pipe that counts who holds a right to it.
pub(super) struct Held {
    pub port: Port,
    pub read: OwnedFd,
    pub write: OwnedFd,
}

pub(super) fn held() -> Held {
    let (read, write) = objects::holder_pipe().expect("a pipe");
    Held { port: Port::new(), read, write }
}

fn many() -> Vec<Held> {
    (0..MANY).map(|_| held()).collect()
}

pub(super) fn identities(of: &[Held]) -> Vec<u64> {
    of.iter().map(|it| it.port.identity()).collect()
}

/// The socket of a bundle. We keep nothing of what is in it but the ports.
fn bundle(of: Vec<Held>) -> (OwnedFd, Vec<(Port, OwnedFd)>) {
    let (sender, receiver) = objects::socket_pair().expect("sockets");
    let fds: Vec<_> = of.iter().flat_map(|it| [it.port.s.as_fd(), it.write.as_fd()]).collect();
    for some in fds.chunks(objects::FD_BATCH) {
        objects::send(sender.as_fd(), &[&[some.len() as u8]], some).expect("room");
    }
    (receiver, of.into_iter().map(|it| (it.port, it.read)).collect())
}

/// A message with the rights of these numbers of a bundle with these identities.
pub(super) fn message(token: u32, numbers: &[u32], identities: &[u64]) -> (Record, Vec<u8>) {
    let mut rest = type_word(types::PORT_SEND, 64, numbers.len() as u32).to_le_bytes().to_vec();
    rest.resize(8 + 8 * numbers.len(), 0);
    let body = rest.len();
    rest.extend(ItemHead { kind: item::PORTS, at: 8, count: numbers.len() as u64 }.as_bytes());
    numbers.iter().for_each(|value| rest.extend(WireRight { form: form::BUNDLED, value: *value }.as_bytes()));
    rest.extend(ItemHead { kind: item::BUNDLE, at: 0, count: identities.len() as u64 }.as_bytes());
    rest.extend(identities.as_bytes());
    let (body, items) = (body as u32, (rest.len() - body) as u32);
    (Record { body, items, flags: flag::COMPLEX, fds: 1, ..once(token, 9) }, rest)
}

fn all() -> Vec<u32> {
    (0..MANY as u32).collect()
}

/// Has the library receive the message: the names of its rights.
fn delivered(numbers: &[u32], identities: &[u64], socket: OwnedFd) -> Vec<u32> {
    let (door, own) = (Port::new(), receive_right());
    let (mut line, _, token) = line_to(&door, own);
    let (record, rest) = message(token, numbers, identities);
    line.write(&record, &rest, &[socket.as_fd()]);
    drop(socket);
    let msg = receive(own);
    (0..numbers.len()).map(|at| msg.u32(40 + 8 * at)).collect()
}

/// An honest bundle has come: the names of its rights, and the ports.
fn came() -> (Vec<u32>, Vec<(Port, OwnedFd)>) {
    let ports = many();
    let claims = identities(&ports);
    let (socket, ports) = bundle(ports);
    (delivered(&all(), &claims, socket), ports)
}

/// Whether a right that came is one to a dead port: it may have died before the message was received.
pub(super) fn is_dead(name: u32) -> bool {
    name == DEAD || tools::is_dead(name)
}

/// Not at once: until it runs a program, a child of another test has copies of all descriptors.
pub(super) fn hung_up(pipe: &OwnedFd) {
    tools::until("the right is given up", || objects::hung_up(pipe));
}

/// A message that the library sends to a name comes to the port.
pub(super) fn reaches(name: u32, port: &Port) {
    assert_eq!(send(&Msg::new(77, (name, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    assert_eq!(next(&mut Line::take(&port.r), kind::MESSAGE).0.id, 77);
}

#[test]
fn rights_of_a_bundle_are_used_and_given_up() {
    let (names, ports) = came();
    reaches(names[3], &ports[3].0);
    Task::current().deallocate(names[3]).expect("a right");
    hung_up(&ports[3].1);
    assert!(ports.iter().enumerate().all(|(at, (_, pipe))| at == 3 || !objects::hung_up(pipe)));
    reaches(names[4], &ports[4].0);
    names.iter().filter(|name| **name != names[3]).for_each(|name| Task::current().deallocate(*name).expect("a right"));
    ports.iter().for_each(|(_, pipe)| hung_up(pipe));
}

#[test]
fn rights_that_are_never_used_are_given_up_one_by_one_or_all_at_once() {
    for keep in [0, MANY - 1] {
        let (names, ports) = came();
        names[keep..].iter().for_each(|name| Task::current().deallocate(*name).expect("a right"));
        ports[keep..].iter().for_each(|(_, pipe)| hung_up(pipe));
        assert!(ports[..keep].iter().all(|(_, pipe)| !objects::hung_up(pipe)));
        names[..keep].iter().for_each(|name| Task::current().deallocate(*name).expect("a right"));
        ports.iter().for_each(|(_, pipe)| hung_up(pipe));
    }
}

/// Two rights to one port have one name, whichever way they come.
#[test]
fn a_port_that_is_known_is_the_same_port() {
    let ports = many();
    let claims = identities(&ports);
    let (first, _pipe) = ports[1].port.give();
    let (socket, ports) = bundle(ports);
    let names = delivered(&[0, 0, 1, 2, 2], &claims, socket);
    assert_eq!((names[0], names[2], names[3]), (names[1], first, names[4]));
    let (again, _pipe) = ports[2].0.give();
    assert_eq!(again, names[3]);
    assert_eq!(Task::current().get_refs(again, slipway_ports::abi::right::SEND), Ok(3));
    reaches(again, &ports[2].0);
}

#[test]
fn a_port_of_a_bundle_that_was_not_opened_is_known_when_it_comes_again() {
    let (names, ports) = came();
    // Over a line, as its owner's.
    let (door, own) = (Port::new(), receive_right());
    let (mut line, _, token) = line_to(&door, own);
    let (record, rest) = with_right(once(token, 8), WireRight { form: form::FIRST_LINE_RIGHT, value: 1 }, &[], 1);
    line.write(&record, &rest, &[ports[6].0.s.as_fd()]);
    assert_eq!(receive(own).u32(40), names[6]);
    let (again, _pipe) = ports[5].0.give();
    assert_eq!(again, names[5]);
    reaches(names[7], &ports[7].0);
}

/// What a record says of rights is a word that only these rights hang on.
#[test]
fn a_false_identity_makes_nobody_elses_right_another() {
    let (honest, ports) = (Port::new(), many());
    let mut claims = identities(&ports);
    claims[0] = honest.identity();
    let (socket, ports) = bundle(ports);
    let names = delivered(&all(), &claims, socket);
    let (name, _pipe) = honest.give();
    assert!(!names.contains(&name) && is_dead(names[0]) && !is_dead(names[1]));
    reaches(name, &honest);
    hung_up(&ports[0].1);
    // Of a port that is known already: the right is what it is.
    let ports = many();
    let mut claims = identities(&ports);
    claims[0] = honest.identity();
    let (socket, ports) = bundle(ports);
    let names = delivered(&all(), &claims, socket);
    assert_ne!(names[0], name);
    reaches(names[0], &ports[0].0);
    reaches(names[1], &ports[1].0);
}

/// Also of a port of the library's own.
#[test]
fn a_false_identity_is_no_right_to_our_own_port() {
    let own = receive_right();
    let (s, _t) = Task::current().export(own).expect("sockets");
    let ports = many();
    let mut claims = identities(&ports);
    claims[0] = objects::identity(&s).expect("a socket");
    let (socket, ports) = bundle(ports);
    let names = delivered(&all(), &claims, socket);
    assert_ne!(names[0], own);
    reaches(names[0], &ports[0].0);
}

#[test]
fn rights_of_an_empty_bundle_are_dead() {
    let ports = many();
    let claims = identities(&ports);
    let (sender, receiver) = objects::socket_pair().expect("sockets");
    drop(sender);
    let names = delivered(&all(), &claims, receiver);
    assert!(names.iter().all(|name| is_dead(*name)));
    // With other descriptors than those that belong there.
    let (sender, receiver) = objects::socket_pair().expect("sockets");
    let fds = [ports[0].port.s.as_fd(); 2 * MANY];
    objects::send(sender.as_fd(), &[&[2 * MANY as u8]], &fds).expect("room");
    let names = delivered(&all(), &claims, receiver);
    assert!(names.iter().all(|name| is_dead(*name)));
}

#[test]
fn a_wrong_bundle_ends_its_line() {
    let claims = vec![1 << 60; 513];
    let socket = || objects::socket_pair().expect("sockets").0;
    let pipe = || objects::holder_pipe().expect("a pipe").0;
    type Change = fn(&mut Record, &mut Vec<u8>);
    let none: Change = |_, _| {};
    let twice: Change = |record, rest| {
        let more = [ItemHead { kind: item::BUNDLE, at: 0, count: 1 }.as_bytes(), &[0; 8]].concat();
        rest.extend(&more);
        (record.items, record.fds) = (record.items + more.len() as u32, 2);
    };
    let reply: Change = |record, _| record.reply = WireRight { form: form::BUNDLED, value: 0 };
    let short: Change = |record, rest| {
        rest.truncate(rest.len() - 8);
        record.items -= 8;
    };
    let cases: [(u32, usize, OwnedFd, Change); 6] = [
        (MANY as u32, MANY, socket(), none),
        (0, MANY, pipe(), none),
        (0, 513, socket(), none),
        (0, MANY, socket(), twice),
        (0, MANY, socket(), reply),
        (0, MANY, socket(), short),
    ];
    for (number, count, fd, change) in cases {
        let door = Port::new();
        let (mut line, _, token) = line_to(&door, receive_right());
        let (mut record, mut rest) = message(token, &[number], &claims[..count]);
        change(&mut record, &mut rest);
        let fds = vec![fd.as_fd(); record.fds as usize];
        line.write(&record, &rest, &fds);
        tools::until("the line is closed", || line.is_closed());
    }
}

#[test]
fn many_rights_are_passed_on_as_one_descriptor() {
    let (door, ports) = (Port::new(), many());
    let (mut line, to, _) = line_to(&door, receive_right());
    let mut names: Vec<u32> = Vec::new();
    let ports: Vec<(Port, OwnedFd)> = ports
        .into_iter()
        .map(|it| {
            let (name, read) = it.port.give();
            names.push(name);
            (it.port, read)
        })
        .collect();
    let msg = |names: &[u32]| Msg::new(10, (to, types::COPY_SEND), (0, 0)).ports(types::COPY_SEND, names);
    assert_eq!(send(&msg(&names[..3])), Code::SUCCESS);
    assert_eq!(next(&mut line, kind::MESSAGE).1.len(), 6);
    assert_eq!(send(&msg(&names)), Code::SUCCESS);
    let (record, rest, fds) = line.read();
    let [socket] = <[OwnedFd; 1]>::try_from(fds).expect("one descriptor");
    let items = &rest[record.body as usize..];
    assert!(items[16..16 + 8 * MANY].chunks_exact(8).zip(0..).all(|(code, at)| {
        WireRight::read_from_bytes(code).expect("a right") == WireRight { form: form::BUNDLED, value: at }
    }));
    let said = items[32 + 8 * MANY..].chunks_exact(8).map(|it| u64::from_ne_bytes(it.try_into().expect("8 bytes")));
    assert!(said.eq(ports.iter().map(|(port, _)| port.identity())));
    // It counts as a holder, as long as it lies there.
    names.iter().for_each(|name| Task::current().deallocate(*name).expect("a right"));
    assert!(ports.iter().all(|(_, pipe)| !objects::hung_up(pipe)));
    drop(socket);
    ports.iter().for_each(|(_, pipe)| hung_up(pipe));
}

/// The port moved before the message was accepted: its rights go to the new owner, whatever became of the bundle.
#[test]
fn a_bundle_that_is_taken_back_is_whole() {
    let (door, ports) = (Port::new(), many());
    let (mut line, to, _) = line_to(&door, receive_right());
    let given: Vec<(u32, OwnedFd)> = ports.iter().map(|it| it.port.give()).collect();
    let names: Vec<u32> = given.iter().map(|it| it.0).collect();
    let msg = Msg::new(12, (to, types::COPY_SEND), (0, 0)).ports(types::MOVE_SEND, &names);
    assert_eq!(send(&msg), Code::SUCCESS);
    let packet_of = |socket: &OwnedFd| {
        let mut inside = Vec::new();
        objects::receive(socket.as_fd(), &mut [0], &mut inside).expect("a packet");
        inside
    };
    let take_out = |socket: &OwnedFd| {
        packet_of(socket).iter().step_by(2).map(|s| objects::identity(s).expect("a socket")).collect::<Vec<_>>()
    };
    // The record stays in the ring, and its descriptor has come.
    tools::until("a record", || line.has_come());
    let socket: Reserved = packet_of(&line.fd_socket).remove(0);
    assert_eq!(take_out(&socket.into_owned()), identities(&ports));
    // What the old owner accepted is the first message.
    let mut accepted = RxCount::default();
    line.credit.accept(0, &mut accepted);
    line.credit.close(0, &accepted, Closed::Moved);
    line.ring();
    let (record, fds) = next(&mut Line::take(&door.r), kind::MESSAGE);
    assert_eq!((record.id, take_out(&fds[0])), (12, identities(&ports)));
}

/// Rights that came in one bundle and go on in another, or alone.
#[test]
fn rights_of_a_bundle_are_passed_on() {
    let (names, ports) = came();
    let door = Port::new();
    let (mut line, to, _) = line_to(&door, receive_right());
    let msg = |of: u32, names: &[u32]| Msg::new(11, (to, types::COPY_SEND), (0, 0)).ports(of, names);
    assert_eq!(send(&msg(types::COPY_SEND, &names[..1])), Code::SUCCESS);
    let (_, fds) = next(&mut line, kind::MESSAGE);
    assert_eq!(objects::identity(&fds[0]).ok(), Some(ports[0].0.identity()));
    assert_eq!(send(&msg(types::MOVE_SEND, &names)), Code::SUCCESS);
    let (_, last) = next(&mut line, kind::MESSAGE);
    assert_eq!((fds.len(), last.len()), (2, 1));
    drop(fds);
    assert!(ports.iter().all(|(_, pipe)| !objects::hung_up(pipe)));
    drop(last);
    ports.iter().for_each(|(_, pipe)| hung_up(pipe));
}

/// The end of a port is heard of also while a bundle has its right.
#[test]
fn a_port_of_a_bundle_dies() {
    let ((names, mut ports), told) = (came(), receive_right());
    let task = Task::current();
    task.request_notification(names[0], notify::DEAD_NAME, 0, told, types::MAKE_SEND_ONCE).expect("a request");
    drop(ports.remove(0));
    let msg = receive(told);
    assert_eq!((msg.id(), msg.u32(40)), (notify::DEAD_NAME, names[0]));
    drop(ports.remove(0));
    tools::until("the port is dead", || is_dead(names[1]));
}
