//! A hostile holder of a send right gives the port away as its own: what others send to the port must not come to it
//! once anybody else has given them the port too.
#![allow(unsafe_code, reason = "the hostile end maps the segment as words")]

mod support;

use slipway_fabric::credit::{Closed, RxCount};
use slipway_ports::{
    abi::{Code, kind as names, types},
    objects,
    task::Task,
    wire::{ItemHead, Record, WireRight, flag, form, item, kind},
};
use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    process::Child,
};
use support::peer::{Line, passed_on};
use support::{tools::*, *};
use zerocopy::IntoBytes;

const KEEP: i32 = 60;
const USE: i32 = 61;
const LEAVE: i32 = 62;
const COUNT: i32 = 63;
const PARK: i32 = 64;
/// What the victim sends to the port in question.
const SECRET: i32 = 70;

/// Keeps the rights it is given, tells how it calls them, and sends to them when it is told to.
fn victim() {
    let (_, own) = hello();
    loop {
        let Ok(msg) = receive_within(own, 5 * SOON) else { return };
        let answer = |value: u64| {
            let answer = Msg::new(msg.id() + 1, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0)).int(value);
            assert_eq!(send(&answer), Code::SUCCESS);
        };
        match msg.id() {
            0 => return,
            KEEP if msg.reply() != 0 => answer(u64::from(msg.u32(40))),
            // From the hostile peer, which has no use for an answer: the name is told to whoever asks.
            KEEP => {
                let name = u64::from(msg.u32(40));
                let asked = receive_within(own, 5 * SOON).expect("a question");
                let answer = Msg::new(USE, (asked.reply(), types::MOVE_SEND_ONCE), (0, 0)).int(name);
                assert_eq!(send(&answer), Code::SUCCESS);
            }
            USE => {
                let (name, number) = (msg.u64(40) as u32, msg.u64(56));
                let secret = Msg::new(SECRET, (name, types::COPY_SEND), (0, 0)).int(number);
                // No time to wait: what has room must go, as soon as the port's owner has said whose the line is.
                let mut code = Code::SEND_TIMED_OUT;
                until("the owner has answered", || {
                    code = send_for(&secret, Some(0));
                    code != Code::SEND_TIMED_OUT
                });
                answer(code.0 as u64);
            }
            LEAVE => {
                let name = msg.u64(40) as u32;
                until("the name dies", || is_dead(name));
                answer(0);
            }
            COUNT => answer(holdings().maps as u64),
            // A port that nobody receives from.
            PARK => {
                let answer = Msg::new(PARK, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0));
                assert_eq!(send(&answer.ports(types::MAKE_SEND, &[receive_right()])), Code::SUCCESS);
            }
            other => panic!("message {other}"),
        }
    }
}

/// The victim, the port in question, and a hostile line.
struct Stage {
    child: Child,
    server: u32,
    reply: u32,
    port: u32,
    s: OwnedFd,
    t: OwnedFd,
    /// Another port of the same owner.
    second: u32,
    other: OwnedFd,
}

impl Stage {
    fn new(test: &str) -> Self {
        let hello = receive_right();
        let child = start(test, "victim", hello);
        let server = receive(hello).reply();
        let port = receive_right();
        let (s, t) = Task::current().export(port).expect("sockets");
        let second = receive_right();
        let (other, _t) = Task::current().export(second).expect("sockets");
        Self { child, server, reply: receive_right(), port, s, t, second, other }
    }

    /// A hostile line to the victim: the hostile peer is given a right to the victim's port and attaches.
    fn line(&self) -> Line {
        Line::make(passed_on(self.server).0)
    }

    /// The hostile peer sends one right.
    fn forge(&self, line: &mut Line, right: WireRight, fds: &[BorrowedFd<'_>]) {
        let mut rest = slipway_ports::state::notify::type_word(types::PORT_SEND, 64, 1).to_le_bytes().to_vec();
        rest.resize(16, 0);
        rest.extend_from_slice(ItemHead { kind: item::PORTS, at: 8, count: 1 }.as_bytes());
        rest.extend_from_slice(right.as_bytes());
        let (body, items) = (16, rest.len() as u32 - 16);
        let record = Record {
            kind: kind::MESSAGE,
            id: KEEP,
            body,
            items,
            flags: flag::COMPLEX,
            fds: fds.len() as u16,
            ..Record::default()
        };
        line.write(&record, &rest, fds);
        until("the victim takes the record", || line.unread() == 0);
    }

    /// As [`Stage::forge`], and the victim tells how it calls it.
    fn forged(&self, line: &mut Line, right: WireRight, fds: &[BorrowedFd<'_>]) -> u32 {
        self.forge(line, right, fds);
        rpc(KEEP, self.server, self.reply, |msg| msg).u64(40) as u32
    }

    /// The hostile peer gives the port away as its own, at its slot 5.
    fn hijack(&self, line: &mut Line) -> u32 {
        self.forged(line, WireRight { form: form::FIRST_LINE_RIGHT, value: 5 }, &[self.s.as_fd()])
    }

    /// The owner gives the port to the victim.
    fn give(&self) -> u32 {
        rpc(KEEP, self.server, self.reply, |msg| msg.ports(types::MAKE_SEND, &[self.port])).u64(40) as u32
    }

    /// Somebody gives the port to the victim as it is passed on, over a line of his own.
    fn pass_on(&self) -> u32 {
        let mut line = self.line();
        self.forged(&mut line, WireRight { form: form::SEND, value: 0 }, &[self.s.as_fd(), self.t.as_fd()])
    }

    /// The victim sends to the name.
    fn have_used(&self, name: u32, number: u64) {
        let code = rpc(USE, self.server, self.reply, |msg| msg.int(u64::from(name)).int(number));
        assert_eq!(code.u64(40), 0, "the code of its send");
    }

    fn arrives(&self, number: u64) {
        let secret = receive(self.port);
        assert_eq!((secret.id(), secret.u64(40)), (SECRET, number));
    }

    fn end(mut self) {
        assert_eq!(send(&Msg::new(0, (self.server, types::COPY_SEND), (0, 0))), Code::SUCCESS);
        assert!(self.child.wait().expect("the victim's end").success());
    }
}

macro_rules! stage {
    ($test:literal) => {{
        if role().is_some() {
            return victim();
        }
        (watchdog($test, WATCHDOG), Stage::new($test))
    }};
}

#[test]
fn a_forged_gift_before_the_owners() {
    let (_dog, stage) = stage!("a_forged_gift_before_the_owners");
    let mut line = stage.line();
    let forged = stage.hijack(&mut line);
    let given = stage.give();
    assert_eq!(forged, given, "one port, one name");
    stage.have_used(given, 1);
    stage.arrives(1);
    stage.have_used(given, 2);
    stage.arrives(2);
    stage.end();
}

/// The right that the owner gave, and that is passed on, has no line yet when the forged one comes.
#[test]
fn a_forged_gift_after_a_right_that_was_passed_on() {
    let (_dog, stage) = stage!("a_forged_gift_after_a_right_that_was_passed_on");
    let given = stage.pass_on();
    let mut line = stage.line();
    assert_eq!(stage.hijack(&mut line), given);
    stage.have_used(given, 1);
    stage.arrives(1);
    stage.end();
}

/// Whoever says that he is the owner can't say that the port is dead, either.
#[test]
fn a_forged_death() {
    let (_dog, stage) = stage!("a_forged_death");
    let die = |line: &Line| {
        line.credit.close(5, &RxCount::default(), Closed::Dead);
        line.ring();
    };
    // What nobody else gave is his.
    let mut line = stage.line();
    let forged = stage.hijack(&mut line);
    die(&line);
    rpc(LEAVE, stage.server, stage.reply, |msg| msg.int(u64::from(forged)));
    let given = stage.give();
    assert_ne!(given, forged);
    stage.have_used(given, 1);
    stage.arrives(1);
    // Also as long as it waits in a message.
    let parked = rpc(PARK, stage.server, stage.reply, |msg| msg).u32(40);
    let mut line = Line::make(passed_on(parked).0);
    stage.forge(&mut line, WireRight { form: form::FIRST_LINE_RIGHT, value: 5 }, &[stage.other.as_fd()]);
    die(&line);
    until("the victim has seen it", || line.credit.is_seen(5));
    let name = stage.forged(&mut stage.line(), WireRight { form: form::SEND, value: 0 }, &[stage.other.as_fd(), stage.t.as_fd()]);
    assert_eq!(rpc(USE, stage.server, stage.reply, |msg| msg.int(u64::from(name)).int(9)).u64(40), 0);
    assert_eq!(receive(stage.second).id(), SECRET);
    // And what others gave is not.
    let mut line = stage.line();
    assert_eq!(stage.hijack(&mut line), given);
    die(&line);
    stage.have_used(given, 2);
    stage.arrives(2);
    stage.end();
}

/// The victim's question comes to the true owner, who has a line with the very bell that is asked about: the hostile
/// peer made both.
#[test]
fn one_bell_for_two_lines() {
    let (_dog, stage) = stage!("one_bell_for_two_lines");
    let (bell, theirs) = objects::socket_pair().expect("sockets");
    let copy = |fd: &OwnedFd| fd.try_clone().expect("a copy");
    let mut line = Line::make_with(passed_on(stage.server).0, (copy(&bell), copy(&theirs)));

    // A line to the owner, with a slot for the port: the owner gives it over the line.
    let open = receive_right();
    let (s_open, _t_open) = Task::current().export(open).expect("sockets");
    let mut other = Line::make_with(&s_open, (bell, theirs));
    let (s, _r) = objects::socket_pair().expect("sockets");
    let mut rest = slipway_ports::state::notify::type_word(types::PORT_SEND, 64, 1).to_le_bytes().to_vec();
    rest.resize(16, 0);
    rest.extend_from_slice(ItemHead { kind: item::PORTS, at: 8, count: 1 }.as_bytes());
    rest.extend_from_slice(WireRight { form: form::FIRST_LINE_RIGHT, value: 3 }.as_bytes());
    let record = Record { kind: kind::MESSAGE, body: 16, items: 24, flags: flag::COMPLEX, fds: 1, ..Record::default() };
    other.write(&record, &rest, &[s.as_fd()]);
    let to = receive(open).u32(40);
    assert_eq!(send(&Msg::new(9, (to, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &[stage.port])), Code::SUCCESS);
    let (_, rest, fds) = other.read();
    let slot = u32::from_le_bytes(rest[36..40].try_into().expect("4 bytes"));
    assert_eq!(fds.len(), 1);

    let forged = stage.forged(&mut line, WireRight { form: form::FIRST_LINE_RIGHT, value: slot }, &[stage.s.as_fd()]);
    let given = stage.pass_on();
    assert_eq!(forged, given);
    stage.have_used(given, 1);
    stage.arrives(1);
    stage.end();
}

/// A port that its owner gave over a line and that somebody passed on too: it stays on its line, and in order.
#[test]
fn an_honest_gift_stays_on_its_line() {
    let (_dog, stage) = stage!("an_honest_gift_stays_on_its_line");
    let count = || rpc(COUNT, stage.server, stage.reply, |msg| msg).u64(40);
    let given = stage.give();
    (1..=2).for_each(|number| stage.have_used(given, number));
    let maps = count();
    assert_eq!(stage.pass_on(), given);
    (3..=5).for_each(|number| stage.have_used(given, number));
    until("the line of who passed it on is gone", || count() <= maps);
    (1..=5).for_each(|number| stage.arrives(number));
    assert_eq!(Task::current().kind(stage.port).map(|it| it & names::RECEIVE), Ok(names::RECEIVE));
    stage.end();
}
