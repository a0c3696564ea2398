//! What one peer can make a task hold or do is bounded, and a task that has no descriptors left goes on when it has
//! some again.
#![allow(unsafe_code, reason = "the end by hand maps the segment as words")]

mod support;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::{
    io::Errno,
    process::{Resource, Rlimit, getrlimit, setrlimit},
    thread::{CapabilitySet, CapabilitySets, set_capabilities},
};
use slipway_fabric::descriptor::Reserved;
use slipway_ports::{
    abi::{Code, types},
    line::{HELD, REFUSED},
    objects,
    task::Task,
    wire::{ItemHead, Luggage, Record, WireRight, flag, form, item, kind},
};
use std::{
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    process::Child,
};
use support::peer::{Line, passed_on};
use support::{tools::*, *};
use zerocopy::{FromBytes, IntoBytes};

const LIMIT: i32 = 80;
const ECHO: i32 = 81;
/// A message to the victim's own port that it keeps to itself.
const KEPT: i32 = 82;
const COUNT: i32 = 83;

/// A task that has as few descriptors as it is told.
fn victim() {
    let (_, own) = hello();
    // How many messages, how many with a dead name, how many with memory that is not there.
    let mut kept = 0u64;
    loop {
        let msg = match receive_within(own, 5 * SOON) {
            Ok(msg) => msg,
            Err(Code::RCV_TIMED_OUT) => return,
            Err(_) => {
                kept += 0x10001;
                continue;
            }
        };
        match msg.id() {
            0 => return,
            KEPT => {
                let dead = msg.0.len() >= 48 && msg.u32(40) == !0;
                kept += 1 + if dead { 0x100 } else { 0 };
                continue;
            }
            // Room for so many descriptors more than there are.
            LIMIT => {
                let free = || rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 0).expect("a descriptor").as_raw_fd();
                let maximum = getrlimit(Resource::Nofile).maximum;
                let current = Some(if msg.u64(40) == 0 { free() as u64 } else { msg.u64(40) });
                setrlimit(Resource::Nofile, Rlimit { current, maximum }).expect("a limit");
            }
            _ => {}
        }
        let value = if msg.id() == COUNT { kept } else { msg.u64(40) };
        let answer = Msg::new(msg.id() + 1, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0)).int(value);
        assert_eq!(send(&answer), Code::SUCCESS);
    }
}

struct Stage {
    child: Child,
    server: u32,
    reply: u32,
    /// The sending end of the victim's port.
    s: OwnedFd,
}

impl Stage {
    fn new(test: &str) -> Self {
        let hello = receive_right();
        let child = start(test, "victim", hello);
        let server = receive(hello).reply();
        Self { child, server, reply: receive_right(), s: passed_on(server).0 }
    }

    fn ask(&self, id: i32, value: u64) -> u64 {
        rpc(id, self.server, self.reply, |msg| msg.int(value)).u64(40)
    }

    /// What the victim's watcher listens to.
    fn heard(&self) -> Vec<String> {
        let folder = format!("/proc/{}", self.child.id());
        let is_set =
            |fd: &std::fs::DirEntry| std::fs::read_link(fd.path()).is_ok_and(|it| it.to_string_lossy().contains("eventpoll"));
        let mut sets = std::fs::read_dir(format!("{folder}/fd")).expect("/proc").flatten().filter(is_set);
        let set = sets.next().expect("an epoll set").file_name();
        let info = std::fs::read_to_string(format!("{folder}/fdinfo/{}", set.to_string_lossy())).expect("/proc");
        let mut heard: Vec<String> = info.lines().filter(|line| line.starts_with("tfd:")).map(str::to_owned).collect();
        heard.sort();
        heard
    }

    fn end(mut self) {
        assert_eq!(self.ask(ECHO, 7), 7, "it goes on");
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

fn message(id: i32) -> Record {
    Record { kind: kind::MESSAGE, id, ..Record::default() }
}

/// Whether the other end says that it has no resources, and closes.
fn is_refused(line: &Line) -> bool {
    until("an end of it", || line.is_closed());
    let mut byte = [0; 8];
    let mut heard = || objects::receive(line.bell.as_fd(), &mut byte, &mut Vec::<Reserved>::new());
    // Bells of ours that it has not read are reported first.
    let heard = heard().or_else(|_| heard());
    heard == Ok(1) && byte[0] == REFUSED
}

/// What a peer has a copy of would be reported for ever, with nobody to hear of it.
#[test]
fn a_socket_that_others_have_copies_of_is_not_heard_when_it_is_closed() {
    let (_dog, stage) = stage!("a_socket_that_others_have_copies_of_is_not_heard_when_it_is_closed");
    stage.ask(ECHO, 1);
    let before = stage.heard();
    let (bell, theirs) = objects::socket_pair().expect("sockets");
    let copy = theirs.try_clone().expect("a copy");
    let mut line = Line::make_with(&stage.s, (bell, theirs));
    line.write(&message(KEPT), &[], &[]);
    until("it takes the message", || line.unread() == 0);
    assert_eq!(stage.heard().len(), before.len() + 1);
    line.write(&Record { kind: 255, ..Record::default() }, &[], &[]);
    until("nobody hears of it any more", || stage.heard() == before);
    drop(copy);
    stage.end();
}

#[test]
fn lines_of_one_process_are_bounded() {
    let (_dog, stage) = stage!("lines_of_one_process_are_bounded");
    stage.ask(LIMIT, 160);
    let make = || {
        let mut line = Line::make(&stage.s);
        line.write(&message(KEPT), &[], &[]);
        line
    };
    // Three descriptors of each, a quarter of all: the victim never writes there.
    let mut lines: Vec<Line> = (0..160 / 4 / 3).map(|_| make()).collect();
    lines.iter_mut().for_each(|line| until("it is taken", || line.unread() == 0));
    assert!(is_refused(&make()) && is_refused(&make()));
    assert!(lines.iter().all(|line| !line.is_closed()));
    lines.truncate(3);
    let mut last = make();
    until("there is room again", || {
        if last.is_closed() {
            last = make();
        }
        last.unread() == 0
    });
    stage.end();
}

/// Whoever is refused sends again later, and the program is told meanwhile.
#[test]
fn what_was_refused_is_sent_again() {
    let _dog = watchdog("what_was_refused_is_sent_again", WATCHDOG);
    let (s, r) = objects::socket_pair().expect("sockets");
    let (_read, write) = objects::holder_pipe().expect("a pipe");
    let name = Task::current().import(s, write).expect("a right");
    let hello = |id| send_for(&Msg::new(id, (name, types::COPY_SEND), (0, 0)), Some(0));
    assert_eq!(hello(1), Code::SUCCESS);
    for _ in 0..3 {
        let line = Line::take(&r);
        objects::send(line.bell.as_fd(), &[&[REFUSED]], &[]).expect("room");
        drop(line);
        // The next line may be on its way before this thread has asked.
        let offered = || poll(&mut [PollFd::new(&r, PollFlags::IN)], Some(&Timespec::default())) == Ok(1);
        until("the sender is told, or has tried again", || offered() || hello(2) == Code::SEND_NO_BUFFER);
    }
    let mut line = Line::take(&r);
    assert_eq!(line.read().0.id, 1, "the first comes first");
    // Its queue takes more than there can be of the second.
    line.credit.open(0, 1000);
    assert_eq!(hello(3), Code::SUCCESS);
    let mut last = line.read().0.id;
    while last == 2 {
        last = line.read().0.id;
    }
    assert_eq!(last, 3);
}

#[test]
fn an_owner_without_descriptors_takes_lines_when_there_are_some() {
    let (_dog, stage) = stage!("an_owner_without_descriptors_takes_lines_when_there_are_some");
    let many = getrlimit(Resource::Nofile).current.expect("a limit");
    stage.ask(LIMIT, 0);
    let mut lines: Vec<Line> = (0..5).map(|_| Line::make(&stage.s)).collect();
    lines.iter_mut().for_each(|line| line.write(&message(KEPT), &[], &[]));
    assert_eq!(stage.ask(COUNT, 0), 0);
    assert!(lines.iter_mut().all(|line| !line.is_closed() && line.unread() > 0));
    stage.ask(LIMIT, many);
    lines.iter_mut().for_each(|line| until("it is taken", || line.unread() == 0));
    stage.end();
}

fn with_right(right: WireRight, luggage: &[u8], fds: u16) -> (Record, Vec<u8>) {
    let name = match right.form {
        form::RECEIVE => types::PORT_RECEIVE,
        form::ONCE => types::PORT_SEND_ONCE,
        _ => types::PORT_SEND,
    };
    let mut rest = slipway_ports::state::notify::type_word(name, 64, 1).to_le_bytes().to_vec();
    rest.resize(16, 0);
    rest.extend_from_slice(ItemHead { kind: item::PORTS, at: 8, count: 1 }.as_bytes());
    rest.extend_from_slice(right.as_bytes());
    rest.extend_from_slice(luggage);
    let items = rest.len() as u32 - 16;
    (Record { body: 16, items, flags: flag::COMPLEX, fds, ..message(KEPT) }, rest)
}

/// Others than those that are remembered have the other half.
#[test]
fn no_more_than_half_of_a_limit_is_remembered() {
    let (_dog, stage) = stage!("no_more_than_half_of_a_limit_is_remembered");
    stage.ask(LIMIT, 160);
    let mut line = Line::make(&stage.s);
    let (s, _r) = objects::socket_pair().expect("sockets");
    let (_read, t) = objects::holder_pipe().expect("a pipe");
    let mut remembers = |index: u32| {
        let (mut record, mut rest) = with_right(WireRight { form: form::BUNDLED, value: 0 }, &[], 2);
        rest.extend(ItemHead { kind: item::REMEMBER, at: 0, count: 1 }.as_bytes());
        rest.extend(u64::from(index).to_ne_bytes());
        record.items += 24;
        line.write(&record, &rest, &[s.as_fd(), t.as_fd()]);
        let (answer, ..) = line.read();
        assert_eq!((answer.kind, answer.target), (kind::REMEMBERS, index));
        answer.flags == 0
    };
    let many = (0..20).take_while(|index| remembers(*index)).count();
    assert!((4..10).contains(&many), "{many}");
    // None was dead.
    until("all are received", || stage.ask(COUNT, 0) == many as u64 + 1);
    stage.end();
}

/// Nothing but a dead name comes of a right that there was no descriptor for, and nothing but a code of memory.
#[test]
fn an_owner_without_descriptors_keeps_its_lines() {
    let (_dog, stage) = stage!("an_owner_without_descriptors_keeps_its_lines");
    let many = getrlimit(Resource::Nofile).current.expect("a limit");
    let mut line = Line::make(&stage.s);
    line.write(&message(KEPT), &[], &[]);
    until("it is taken", || line.unread() == 0);
    stage.ask(LIMIT, 0);
    let right = |form, value| WireRight { form, value };
    let (s, r) = objects::socket_pair().expect("sockets");
    let (_read, t) = objects::holder_pipe().expect("a pipe");
    let give = |line: &mut Line, right: WireRight, fds: &[BorrowedFd<'_>], luggage: &[u8]| {
        let (record, rest) = with_right(right, luggage, fds.len() as u16);
        line.write(&record, &rest, fds);
        until("it is taken", || line.unread() == 0 || line.is_closed());
    };
    give(&mut line, right(form::SEND, 0), &[s.as_fd(), t.as_fd()], &[]);
    give(&mut line, right(form::ONCE, 0), &[s.as_fd()], &[]);
    give(&mut line, right(form::FIRST_LINE_RIGHT, 1), &[s.as_fd()], &[]);
    give(&mut line, right(form::LINE_RIGHT, 1), &[], &[]);
    // A receive right, with a message that has a right.
    let none = WireRight::default();
    let (qlimit, seqno, mscount, onces, watches, flags) = (5, 0, 0, 1, 1, 0);
    let luggage =
        Luggage { qlimit, seqno, mscount, onces, watches, flags, payload: 0, messages: 1, nsrequest: none, pdrequest: none };
    let (record, rest) = with_right(right(form::SEND, 0), &[], 2);
    let luggage = [luggage.as_bytes(), record.as_bytes(), &rest].concat();
    let fds = [r.as_fd(), s.as_fd(), _read.as_fd(), s.as_fd(), s.as_fd(), t.as_fd()];
    give(&mut line, right(form::RECEIVE, 0), &fds, &luggage);
    // Memory.
    let file = objects::memory_file(100_000).expect("a file");
    objects::seal(&file).expect("seals");
    let mut rest = (8u64 << 8 | 100_000 << 32).to_le_bytes().to_vec();
    rest.resize(16, 0);
    rest.extend_from_slice(ItemHead { kind: item::PAGES, at: 8, count: 100_000 }.as_bytes());
    let record = Record { body: 16, items: 16, flags: flag::COMPLEX, fds: 1, ..message(KEPT) };
    line.write(&record, &rest, &[file.as_fd()]);
    // All of a message.
    let record = Record { flags: flag::SPILLED, fds: 1, reply: right(form::TOKEN, 9), ..message(KEPT) };
    line.write(&record, &[], &[file.as_fd()]);
    line.write(&message(KEPT), &[], &[]);
    until("all is taken", || line.unread() == 0 || line.is_closed());
    assert!(!line.is_closed(), "the line goes on");
    until("all is received", || stage.ask(COUNT, 0) == 0x10508);
    for _ in 0..2 {
        let (record, ..) = line.read();
        assert_eq!((record.kind, record.flags, record.target, record.count), (kind::RELEASE, flag::LOST, 1, 1));
    }
    let (record, ..) = line.read();
    assert_eq!((record.kind, record.target), (kind::TOKEN_DROPPED, 9));

    stage.ask(LIMIT, many);
    give(&mut line, right(form::FIRST_LINE_RIGHT, 3), &[s.as_fd()], &[]);
    until("it is received", || stage.ask(COUNT, 0) == 0x10509);
    stage.end();
}

#[test]
fn a_sending_end_that_did_not_arrive_comes_again() {
    let _dog = watchdog("a_sending_end_that_did_not_arrive_comes_again", WATCHDOG);
    let (s, r) = objects::socket_pair().expect("sockets");
    let (_read, write) = objects::holder_pipe().expect("a pipe");
    let name = Task::current().import(s, write).expect("a right");
    let own = receive_right();
    let give = || {
        let msg = Msg::new(1, (name, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &[own]);
        assert_eq!(send(&msg), Code::SUCCESS);
    };
    let code = |rest: &[u8]| WireRight::read_from_bytes(&rest[32..40]).expect("a right");
    give();
    let mut line = Line::take(&r);
    let (_, rest, fds) = line.read();
    let first = code(&rest);
    assert_eq!((first.form, fds.len()), (form::FIRST_LINE_RIGHT, 1));
    give();
    assert_eq!(code(&line.read().1), WireRight { form: form::LINE_RIGHT, value: first.value });
    let lost = Record { kind: kind::RELEASE, flags: flag::LOST, target: first.value, count: 2, ..Record::default() };
    line.write(&lost, &[], &[]);
    until("it is taken", || line.unread() == 0);
    give();
    let (_, rest, fds) = line.read();
    let next = code(&rest);
    assert_eq!((next.form, fds.len()), (form::FIRST_LINE_RIGHT, 1));
    assert_ne!(next.value, first.value);
    line.write(&Record { target: next.value, ..message(7) }, &[], &[]);
    assert_eq!(receive(own).id(), 7);
}

/// Send-once rights without an end: what is too many arrives dead, and is given back.
#[test]
fn send_once_rights_of_one_line_are_bounded() {
    let _dog = watchdog("send_once_rights_of_one_line_are_bounded", 2 * WATCHDOG);
    let own = receive_right();
    let (s, _t) = Task::current().export(own).expect("sockets");
    let mut line = Line::make(&s);
    for token in 0..HELD as u32 + 3 {
        let record = Record { reply: WireRight { form: form::TOKEN, value: token }, ..message(1) };
        line.write(&record, &[], &[]);
        let name = receive(own).reply();
        assert_eq!(name == !0, token >= HELD as u32, "{token}");
    }
    for token in HELD as u32..HELD as u32 + 3 {
        let (record, ..) = line.read();
        assert_eq!((record.kind, record.target), (kind::TOKEN_DROPPED, token));
    }
    assert!(!line.is_closed());
}

/// A task for which the kernel queues no more descriptors until it gives some up.
fn crammed() {
    let none = CapabilitySet::empty();
    // A privileged thread may queue as many as it likes. The library's thread, which begins later, has what this one has.
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none }).expect("no capabilities");
    let (parent, own) = hello();
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(objects::FD_BATCH as u64 - 1), maximum }).expect("a limit");
    let (hoard, end) = objects::socket_pair().expect("sockets");
    let batch = [end.as_fd(); objects::FD_BATCH];
    let full = (0..3).find_map(|_| objects::send(hoard.as_fd(), &[&[0]], &batch).err());
    assert_eq!(full, Some(Errno::TOOMANYREFS));
    let port = receive_right();
    assert_eq!(send(&Msg::new(2, (parent, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &[port])), Code::SUCCESS);
    // What comes over the line meanwhile has it tried again.
    assert_eq!(receive(own).id(), ECHO);
    // No bell for it is left, and nothing that this thread does is to help.
    let threads = std::fs::read_dir("/proc/self/task").expect("/proc").flatten();
    let numbers = threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok());
    numbers.filter(|thread| *thread != thread_number()).for_each(until_asleep);
    drop((hoard, end));
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).expect("the end of the input");
    assert_eq!(receive(port).id(), 0);
}

/// Whatever fills the queues of its user, a line does not end for it, and nothing is lost.
#[test]
fn a_right_goes_when_the_kernel_queues_its_descriptors() {
    const TEST: &str = "a_right_goes_when_the_kernel_queues_its_descriptors";
    if role().is_some() {
        return crammed();
    }
    let _dog = watchdog(TEST, WATCHDOG);
    let own = receive_right();
    let mut child = start_piped(TEST, "crammed", own);
    let server = receive(own).reply();
    assert_eq!(send(&Msg::new(ECHO, (server, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    let right = receive(own);
    assert_eq!(right.id(), 2);
    drop(child.stdin.take());
    assert_eq!(send(&Msg::new(0, (right.u32(40), types::COPY_SEND), (0, 0))), Code::SUCCESS);
    well(vec![child]);
}
