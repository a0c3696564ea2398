//! The victim, with its honest client beside the hostile one.

use super::{peer::Line, tools::*, *};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use slipway_ports::{
    abi::{Code, right, types},
    line::INLINE,
    objects,
    task::Task,
    wire::{form, kind},
};
use std::{os::fd::OwnedFd, process::Child, time::Instant};

const GIVE: i32 = 50;
const GAVE: i32 = 51;
pub const ECHO: i32 = 52;
const STATS: i32 = 54;
/// The open port is received from no more.
const LEAVE: i32 = 55;
/// As many descriptors as this and no more.
const LIMIT: i32 = 56;
/// At the open port: to be answered.
pub const ANSWER: i32 = 57;
/// At the open port: to be answered with more than a ring takes as it is.
pub const FILE: i32 = 58;

/// The victim: serves an honest client on one port and whoever has a right to on another; a third is nobody's.
pub fn victim() {
    let task = Task::current();
    let parent = inherited();
    let (own, open, secret) = (receive_right(), receive_right(), receive_right());
    let set = task.allocate(right::PORT_SET).expect("a set");
    [own, open, secret].iter().for_each(|port| task.move_member(*port, set).expect("a member"));
    // It is known to the kernel, and held by this task alone.
    let _held = task.export(secret).expect("sockets");
    assert_eq!(send(&Msg::new(1, (parent, types::COPY_SEND), (own, types::MAKE_SEND))), Code::SUCCESS);
    loop {
        let Ok(msg) = receive_within(set, 5 * SOON) else { return };
        let port = msg.u32(16);
        assert_ne!(port, secret, "a message came to a port that nobody has a right to");
        let reply = |build: Msg| assert_eq!(send(&build), Code::SUCCESS);
        let answer = || Msg::new(msg.id() + 1, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0));
        match msg.id() {
            0 if port == own => return,
            GIVE if port == own => {
                let to = msg.u32(40);
                let given =
                    Msg::new(GAVE, (to, types::MOVE_SEND), (open, types::MAKE_SEND_ONCE)).ports(types::MAKE_SEND, &[open]);
                reply(given);
                reply(answer());
            }
            LEAVE if port == own => {
                task.move_member(open, slipway_ports::abi::NULL).expect("a member");
                reply(answer());
            }
            LIMIT if port == own => {
                let limit = Rlimit { current: Some(msg.u64(40)), maximum: getrlimit(Resource::Nofile).maximum };
                setrlimit(Resource::Nofile, limit).expect("a limit");
                reply(answer());
            }
            ECHO if port == own => reply(answer().int(msg.u64(40))),
            STATS if port == own => {
                destroy_all_but(&[own, open, secret, set, parent, msg.reply()]);
                let held = holdings();
                let status = std::fs::read_to_string("/proc/self/statm").expect("/proc");
                let pages = status.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0u64);
                reply(answer().int(held.fds as u64).int(held.maps as u64).int(held.names as u64).int(pages * 4096));
            }
            ANSWER if port == open => {
                // With the right that came, of either type.
                let _ = send_for(&Msg::new(msg.id() + 1, (msg.reply(), msg.u32(0) & 0xff), (0, 0)), Some(0));
            }
            FILE if port == open => {
                let _ = send_for(&answer().bytes(&[7; 2 * INLINE]), Some(0));
            }
            _ => {
                assert_eq!(port, open, "only the open port is open to it");
                destroy_all_but(&[own, open, secret, set, parent]);
            }
        }
    }
}

#[allow(dead_code, reason = "each test uses some of it")]
/// The victim, its honest client, and what the hostile peer was given.
pub struct Stage {
    pub child: Child,
    pub server: u32,
    pub reply: u32,
    pub hello: u32,
    /// The sending end of the victim's open port.
    pub open: OwnedFd,
    pub count: u64,
}

/// What the victim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    pub fds: u64,
    pub maps: u64,
    pub names: u64,
    pub resident: u64,
}

impl Stage {
    pub fn new(test: &str) -> (Self, Line) {
        let hello = receive_right();
        let child = start(test, "victim", hello);
        let server = receive(hello).reply();
        let reply = receive_right();
        let (line, open) = Self::introduce(server, reply);
        let stage = Self { child, server, reply, hello, open, count: 0 };
        (stage, line)
    }

    /// The victim makes a line to a hostile port, and gives a right to its open one over it.
    pub fn introduce(server: u32, reply: u32) -> (Line, OwnedFd) {
        let (s, r) = objects::socket_pair().expect("sockets");
        let (_read, write) = objects::holder_pipe().expect("a pipe");
        let name = Task::current().import(s, write).expect("a right");
        let done = rpc(GIVE, server, reply, |msg| msg.ports(types::MOVE_SEND, &[name]));
        assert_eq!(done.id(), GIVE + 1);
        let mut line = Line::take(&r);
        let (record, _, mut fds) = line.read();
        assert_eq!((record.kind, record.id, record.reply.form), (kind::MESSAGE, GAVE, form::TOKEN));
        // The sending end of the open port is the one descriptor of the first line right.
        assert_eq!(fds.len(), 1);
        (line, fds.remove(0))
    }

    /// The honest client is served as ever.
    pub fn round_trip(&mut self) {
        self.count += 1;
        let answer = rpc(ECHO, self.server, self.reply, |msg| msg.int(self.count));
        assert_eq!((answer.id(), answer.u64(40)), (ECHO + 1, self.count));
    }

    /// The victim receives nothing from its open port any more.
    pub fn leave(&self) {
        assert_eq!(rpc(LEAVE, self.server, self.reply, |msg| msg).id(), LEAVE + 1);
    }

    /// The victim has so many descriptors at most.
    pub fn limit(&self, many: u64) {
        assert_eq!(rpc(LIMIT, self.server, self.reply, |msg| msg.int(many)).id(), LIMIT + 1);
    }

    /// The victim has received what came before: it has answered the honest client since.
    pub fn answered(&self) {
        assert_eq!(rpc(ECHO, self.server, self.reply, |msg| msg.int(1)).u64(40), 1);
    }

    pub fn stats(&self) -> Stats {
        let answer = rpc(STATS, self.server, self.reply, |msg| msg);
        assert_eq!(answer.id(), STATS + 1);
        Stats { fds: answer.u64(40), maps: answer.u64(56), names: answer.u64(72), resident: answer.u64(88) }
    }

    /// With all hostile lines closed the victim holds what it held before.
    pub fn until_clean(&mut self, before: Stats) {
        let start = Instant::now();
        loop {
            let now = self.stats();
            if now.fds <= before.fds && now.maps <= before.maps && now.names <= before.names {
                return;
            }
            let list = || descriptor_list(&self.child.id().to_string());
            assert!(start.elapsed() < WATCHDOG / 3, "the victim holds {now:?}, and before {before:?}: {:#?}", list());
        }
    }

    pub fn end(mut self) {
        self.round_trip();
        assert_eq!(send(&Msg::new(0, (self.server, types::COPY_SEND), (0, 0))), Code::SUCCESS);
        assert!(self.child.wait().expect("the victim's end").success());
        let task = Task::current();
        task.mod_refs(self.hello, right::RECEIVE, -1).expect("a port of ours");
    }
}

/// Runs `attack` on a new line to the victim's open port and checks that the victim does as ever.
pub fn attacked(test: &str, attacks: &[&dyn Fn(&mut Line, &Stage)]) {
    if role().is_some() {
        return victim();
    }
    let _dog = watchdog(test, 2 * WATCHDOG);
    let (mut stage, line) = Stage::new(test);
    drop(line);
    stage.round_trip();
    let mut before = stage.stats();
    for (i, attack) in attacks.iter().enumerate() {
        let mut line = Line::make(&stage.open);
        attack(&mut line, &stage);
        stage.round_trip();
        drop(line);
        if i == 0 {
            // The first time makes what later ones need too.
            before.names = before.names.max(stage.stats().names);
        }
        stage.until_clean(before);
    }
    stage.end();
}
