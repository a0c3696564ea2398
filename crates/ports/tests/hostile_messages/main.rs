//! A peer that speaks the line protocol by hand, and uses it against what others have: the test is its victim, and
//! beside it an honest task, which must not notice.
#![allow(unsafe_code, reason = "the end by hand maps the segment as words")]

mod closed;
mod deaths;
mod files;
mod numbers;
#[path = "../support/mod.rs"]
mod support;

use slipway_ports::{
    abi::{Code, types},
    objects,
    task::Task,
    wire::{ItemHead, Luggage, Record, WireRight, flag, form, item, kind},
};
use std::{
    os::fd::{AsFd, OwnedFd},
    process::Child,
};
use support::peer::{Line, Port};
use support::{tools::*, *};
use zerocopy::IntoBytes;

const ECHO: i32 = 90;
const ASK: i32 = 91;

fn message(target: u32) -> Record {
    Record { kind: kind::MESSAGE, target, id: 9000, ..Record::default() }
}

fn right(form: u32, value: u32) -> WireRight {
    WireRight { form, value }
}

/// A message with one right inline: record, and body and items.
fn one_right(record: Record, name: u32, right: WireRight) -> (Record, Vec<u8>) {
    let mut rest = slipway_ports::state::notify::type_word(name, 64, 1).to_le_bytes().to_vec();
    rest.resize(16, 0);
    rest.extend_from_slice(ItemHead { kind: item::PORTS, at: 8, count: 1 }.as_bytes());
    rest.extend_from_slice(right.as_bytes());
    (Record { body: 16, items: rest.len() as u32 - 16, flags: record.flags | flag::COMPLEX, ..record }, rest)
}

/// Runs a test in a process of its own, so that what that holds and numbers is the test's alone; its helpers play `part`.
fn alone(test: &str, part: fn(), victim: fn(&str)) {
    match role().as_deref() {
        None => well(vec![start(test, "victim", receive_right())]),
        Some("victim") => {
            let _dog = watchdog(test, 2 * WATCHDOG);
            victim(test);
        }
        Some(_) => part(),
    }
}

/// An honest task beside the victim.
struct Friend {
    child: Child,
    /// The victim's right to its port.
    server: u32,
    reply: u32,
    count: u64,
}

impl Friend {
    /// Starts it. The test calls [`friend`] when it has a role.
    fn new(test: &str) -> Self {
        let hello = receive_right();
        let child = start(test, "friend", hello);
        Self { child, server: receive(hello).reply(), reply: receive_right(), count: 0 }
    }

    /// It is served, and serves, as ever.
    fn round_trip(&mut self) {
        self.count += 1;
        let answer = rpc(ECHO, self.server, self.reply, |msg| msg.int(self.count));
        assert_eq!((answer.id(), answer.u64(40)), (ECHO + 1, self.count));
    }

    fn end(mut self) {
        self.round_trip();
        assert_eq!(send(&Msg::new(0, (self.server, types::COPY_SEND), (0, 0))), Code::SUCCESS);
        assert!(self.child.wait().expect("the friend's end").success());
    }
}

/// The honest task: echoes.
fn friend() {
    let (_, own) = hello();
    loop {
        let Ok(msg) = receive_within(own, 5 * SOON) else { return };
        if msg.id() == 0 {
            return;
        }
        let answer = Msg::new(msg.id() + 1, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0)).int(msg.u64(40));
        assert_eq!(send(&answer), Code::SUCCESS);
    }
}
