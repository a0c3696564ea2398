//! The library at one end of a line, and the test, by hand, at the other: an honest peer whose steps come in an order
//! that two processes come to by chance only.
#![allow(unsafe_code, reason = "the end by hand maps the segment as words")]

#[path = "forgery/peer.rs"]
#[allow(dead_code, reason = "what a hostile end needs")]
mod peer;
mod support;

use peer::Line;
use rustix::io::Errno;
use slipway_fabric::descriptor::Reserved;
use slipway_ports::{
    abi::{Code, kind as types_of, types},
    io::{
        objects,
        wire::{ItemHead, Record, WireRight, form, item, kind},
    },
    task::Task,
};
use std::os::fd::{AsFd, OwnedFd};
use support::*;
use zerocopy::IntoBytes;

/// A port of the end by hand: its sending end, and its receiving end.
struct Port {
    s: OwnedFd,
    r: OwnedFd,
}

impl Port {
    fn new() -> Self {
        let (s, r) = objects::socket_pair().expect("sockets");
        Self { s, r }
    }

    /// Gives the library a right to it, as a third party would: its name there, and the pipe that tells when it is gone.
    fn give(&self) -> (u32, OwnedFd) {
        let (read, write) = objects::holder_pipe().expect("a pipe");
        let s = self.s.try_clone().expect("a copy");
        (Task::current().import(s, write).expect("a right"), read)
    }

    fn identity(&self) -> u64 {
        objects::identity(&self.s).expect("a socket")
    }
}

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

/// A record with one right in its body.
fn with_right(record: Record, right: WireRight, luggage: &[u8], fds: u16) -> (Record, Vec<u8>) {
    let mut rest = slipway_ports::state::notify::type_word(received(right.form), 64, 1).to_le_bytes().to_vec();
    rest.extend([0; 8]);
    let head = ItemHead { kind: item::PORTS, at: 8, count: 1 };
    rest.extend(head.as_bytes());
    rest.extend(right.as_bytes());
    rest.extend(luggage);
    let items = rest.len() as u32 - 16;
    (Record { body: 16, items, flags: slipway_ports::io::wire::flag::COMPLEX, fds, ..record }, rest)
}

fn received(form: u32) -> u32 {
    match form {
        form::TOKEN | form::TOKEN_BACK | form::ONCE => types::PORT_SEND_ONCE,
        form::RECEIVE => types::PORT_RECEIVE,
        _ => types::PORT_SEND,
    }
}

/// Reads the next record, which is of this kind.
fn next(line: &mut Line, kind: u8) -> (Record, Vec<OwnedFd>) {
    let (record, _, fds) = line.read();
    assert_eq!(record.kind, kind, "{record:?}");
    (record, fds)
}

#[test]
fn a_right_that_comes_again_by_another_way_is_shown_before_it_is_used() {
    let (door, port) = (Port::new(), Port::new());
    let answer = receive_right();
    let (mut line, _, token) = line_to(&door, answer);
    let once = Record { kind: kind::ONCE, target: token, id: 2, ..Record::default() };
    let (record, rest) = with_right(once, WireRight { form: form::FIRST_GIFT, value: 1 }, &[], 1);
    line.write(&record, &rest, &[port.s.as_fd()]);
    let name = receive(answer).u32(40);
    Task::current().deallocate(name).expect("the right");
    let (record, _) = next(&mut line, kind::RELEASE);
    assert_eq!((record.target, record.count), (1, 1));

    // From somebody else this time. Over the line it is not counted any more.
    let (name, _pipe) = port.give();
    assert_eq!(send(&Msg::new(3, (name, types::COPY_SEND), (0, 0))), Code::SUCCESS);
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
fn who_attaches_again_must_have_the_sending_end() {
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
