//! A hostile peer that speaks the protocol by hand, with an honest client beside it that must not notice: what the peer
//! passes off as something else, what it makes the victim hold, and how long it keeps the victim busy.
#![allow(unsafe_code, reason = "the hostile end maps the segment as words")]
#![allow(clippy::type_complexity, reason = "lists of attacks, each a closure")]

mod support;

use rustix::{
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType},
};
use slipway_fabric::descriptor::Reserved;
use slipway_fabric::sync::{AtomicBool, Ordering::SeqCst};
use slipway_ports::{
    abi::{Code, types},
    objects,
    task::Task,
    wire::{ItemHead, Record, WireRight, flag, form, item, kind},
};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use support::peer::Line;
use support::stage::{ANSWER, Stage, attacked, victim};
use support::{tools::*, *};
use zerocopy::IntoBytes;

fn message(id: i32) -> Record {
    Record { kind: kind::MESSAGE, id, ..Record::default() }
}

fn right(form: u32, value: u32) -> WireRight {
    WireRight { form, value }
}

/// Waits until the victim has taken all of the line, or closed it; whether it is still there.
fn taken(line: &mut Line) -> bool {
    until("the victim takes the records", || line.unread() == 0 || line.is_closed());
    !line.is_closed()
}

fn refused(line: &Line) {
    until("the victim closes the line", || line.is_closed());
}

fn sockets(kind: SocketType) -> (OwnedFd, OwnedFd) {
    rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None).expect("sockets")
}

/// Nothing has come to a socket, and nothing will: its other end is closed, or was never the victim's.
fn is_silent(socket: &OwnedFd) -> bool {
    matches!(objects::receive(socket.as_fd(), &mut [0; 64], &mut Vec::<Reserved>::new()), Ok(0) | Err(Errno::WOULDBLOCK))
}

/// The victim's credentials go with what it sends: it is to be made to speak to nobody but ports.
#[test]
fn an_answer_goes_to_no_socket_that_is_no_port() {
    let connected = || {
        use rustix::net::{SocketAddrUnix, accept, bind, connect, listen, socket};
        let name = format!(
            "slipway-hostile-{}-{}",
            std::process::id(),
            objects::identity(sockets(SocketType::STREAM).0).expect("a socket")
        );
        let at = SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a name");
        let [service, client] = [0, 1].map(|_| socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).expect("a socket"));
        bind(&service, &at).and_then(|()| listen(&service, 1)).and_then(|()| connect(&client, &at)).expect("a service");
        (client, accept(&service).expect("a client"))
    };
    let reply = |form: u32, pair: &dyn Fn() -> (OwnedFd, OwnedFd)| {
        let (given, kept) = pair();
        let pipe = (form == form::SEND).then(|| objects::holder_pipe().expect("a pipe").1);
        move |line: &mut Line, _: &Stage| {
            let fds: Vec<_> = [&given].into_iter().chain(&pipe).map(AsFd::as_fd).collect();
            let record = Record { reply: right(form, 0), fds: fds.len() as u16, ..message(ANSWER) };
            line.write(&record, &[], &fds);
            let bytes = &mut [0; 64];
            let mut spoke =
                || rustix::net::recv(&kept, &mut bytes[..], rustix::net::RecvFlags::DONTWAIT).is_ok_and(|(_, n)| n > 0);
            until("the victim has it", || line.is_closed() || line.unread() == 0);
            if !line.is_closed() {
                // What comes behind it is answered after it.
                line.write(&Record { reply: right(form::TOKEN, 7), ..message(ANSWER) }, &[], &[]);
                assert_eq!(line.read().0.kind, kind::ONCE);
            }
            assert!(!spoke());
        }
    };
    let rerouted = |line: &mut Line, _: &Stage| {
        let (given, kept) = sockets(SocketType::DGRAM);
        let record = Record { kind: kind::TOKEN_REROUTED, target: 5, fds: 1, ..Record::default() };
        line.write(&record, &[], &[given.as_fd()]);
        refused(line);
        assert!(is_silent(&kept));
    };
    let test = "an_answer_goes_to_no_socket_that_is_no_port";
    if role().is_some() {
        return victim();
    }
    attacked(
        test,
        &[
            &reply(form::ONCE, &|| sockets(SocketType::DGRAM)),
            &reply(form::ONCE, &|| sockets(SocketType::STREAM)),
            &reply(form::ONCE, &connected),
            &reply(form::SEND, &|| sockets(SocketType::DGRAM)),
            &reply(form::SEND, &|| sockets(SocketType::STREAM)),
            &reply(form::SEND, &connected),
            &rerouted,
        ],
    );
}

/// A segment can be anybody's: which line a request is for does not hang on it.
#[test]
fn a_request_with_another_lines_segment_ends_nothing() {
    let test = "a_request_with_another_lines_segment_ends_nothing";
    if role().is_some() {
        return victim();
    }
    let _dog = watchdog(test, 2 * WATCHDOG);
    // The victim made the first line, to a port of somebody who has done nothing wrong.
    let (stage, mut other) = Stage::new(test);
    // Nothing comes through a sending end that only the other end of a line has.
    other.write(&Record { kind: kind::ATTACH, target: 1, fds: 1, ..Record::default() }, &[], &[stage.open.as_fd()]);
    let (bell, _fd_socket) = Line::make_over(&stage.open, &other.files);
    // The victim takes requests in their order.
    let mut last = Line::make(&stage.open);
    last.write(&message(1), &[], &[]);
    assert!(taken(&mut last));
    assert!(!other.is_closed(), "the line of another");
    drop((bell, other, last));
    stage.end();
}

/// The threads of a flood, as long as it is there.
fn flood<T>(sockets: &[&OwnedFd], bytes: &'static [u8], body: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for socket in sockets {
            scope.spawn(|| {
                while !over.load(SeqCst) {
                    if matches!(objects::send(socket.as_fd(), &[bytes], &[]), Err(Errno::PIPE | Errno::CONNRESET)) {
                        return;
                    }
                }
            });
        }
        let done = body();
        over.store(true, SeqCst);
        done
    })
}

/// Packets that say nothing keep nobody out, and are not taken for ever.
#[test]
fn packets_without_end_end_a_send_once_right() {
    attacked(
        "packets_without_end_end_a_send_once_right",
        &[&|line, stage| {
            // A token of the victim's, passed on by hand.
            let (s, r) = objects::socket_pair().expect("sockets");
            let (mut giver, _) = Stage::introduce(stage.server, stage.reply);
            let moved = Record { kind: kind::TOKEN_MOVED, target: 0, fds: 1, ..Record::default() };
            giver.write(&moved, &[], &[r.as_fd()]);
            drop(r);
            flood(&[&s, &s, &s], &[0], || until("the right is gone", || objects::hung_up(&s)));
            assert!(taken(&mut giver));
            line.write(&message(1), &[], &[]);
            assert!(taken(line));
        }],
    );
}

/// Packets that have nothing, ahead of what a record claims: their number would be the peer's choice.
#[test]
fn packets_without_descriptors_end_the_line() {
    attacked(
        "packets_without_descriptors_end_the_line",
        &[
            &|line, _| {
                (0..100).for_each(|_| objects::send(line.fd_socket.as_fd(), &[&[0]], &[]).expect("room"));
                let (read, _write) = objects::holder_pipe().expect("a pipe");
                line.write(&Record { kind: kind::WATCH, fds: 1, ..Record::default() }, &[], &[read.as_fd()]);
                refused(line);
            },
            &|line, _| {
                let fd_socket = line.fd_socket.try_clone().expect("a copy");
                flood(&[&fd_socket, &fd_socket], &[0], || {
                    line.write(&Record { fds: 1000, ..message(1) }, &[], &[]);
                    refused(line);
                });
            },
        ],
    );
}

/// A message's items are bounded as its body is.
#[test]
fn a_message_file_is_bounded() {
    attacked(
        "a_message_file_is_bounded",
        &[&|line, _| {
            let (body, count) = (16u64, 65u64 << 20);
            let items = 16 + count;
            let file = objects::memory_file(16 + body + items).expect("a file");
            // Without holes: those are refused for themselves.
            rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 16 + body + items).expect("memory");
            // All is as it should be but the size.
            let head = ItemHead { kind: item::BYTES, at: 8, count };
            let words = [[body, items, 8 << 8 | count << 32, 0].as_bytes(), head.as_bytes()].concat();
            rustix::io::pwrite(&file, &words, 0).expect("room");
            objects::seal(&file).expect("seals");
            let record = Record { flags: flag::SPILLED | flag::COMPLEX, fds: 1, ..message(1) };
            line.write(&record, &[], &[file.as_fd()]);
            refused(line);
        }],
    );
}

/// The descriptors of the victim in the tests of what it holds.
const LIMIT: u64 = 400;
/// The share of one account, and what the library and the program have themselves beside it.
const SHARE: u64 = LIMIT / 4 + 20;

/// The victim holds no more than the share of one peer, and its honest client is served.
fn within_share(stage: &Stage, before: u64) {
    let fds = stage.stats().fds;
    assert!(fds <= before + SHARE, "{fds} descriptors, and {before} before");
}

#[test]
fn holder_pipes_are_charged_to_their_line() {
    attacked(
        "holder_pipes_are_charged_to_their_line",
        &[&|line, stage| {
            stage.limit(LIMIT);
            let before = stage.stats().fds;
            let (read, _write) = objects::holder_pipe().expect("a pipe");
            for _ in 0..2000 {
                line.write(&Record { kind: kind::WATCH, fds: 1, ..Record::default() }, &[], &[read.as_fd()]);
                assert!(taken(line), "those that find no place are counted by the line");
            }
            within_share(stage, before);
        }],
    );
}

#[test]
fn rights_beyond_a_share_arrive_dead() {
    let test = "rights_beyond_a_share_arrive_dead";
    if role().is_some() {
        return victim();
    }
    let _dog = watchdog(test, 2 * WATCHDOG);
    let (stage, line) = Stage::new(test);
    drop(line);
    let mut line = Line::make(&stage.open);
    stage.limit(LIMIT);
    let before = stage.stats().fds;
    stage.leave();
    let mut others = Vec::new();
    for _ in 0..16 {
        // A message with a reply right and as many more descriptors as a packet takes.
        let pairs: Vec<_> = (0..10).map(|_| objects::socket_pair().expect("sockets")).collect();
        let mut rest = slipway_ports::state::notify::type_word(18, 64, 10).to_le_bytes().to_vec();
        rest.resize(88, 0);
        rest.extend_from_slice(ItemHead { kind: item::PORTS, at: 8, count: 10 }.as_bytes());
        (0..10).for_each(|_| rest.extend_from_slice(right(form::ONCE, 0).as_bytes()));
        let items = rest.len() as u32 - 88;
        let record = Record { body: 88, items, flags: flag::COMPLEX, fds: 10, ..message(1) };
        let fds: Vec<_> = pairs.iter().map(|(given, _)| given.as_fd()).collect();
        line.write(&record, &rest, &fds);
        assert!(taken(&mut line));
        others.extend(pairs.into_iter().map(|(_, kept)| kept));
    }
    within_share(&stage, before);
    until("some were closed", || others.iter().any(objects::hung_up));
    assert!(others.iter().any(|kept| !objects::hung_up(kept)));
    stage.end();
}

/// A peer that asks and does not listen.
#[test]
fn answers_that_nobody_reads_are_charged_to_their_line() {
    attacked(
        "answers_that_nobody_reads_are_charged_to_their_line",
        &[&|line, stage| {
            stage.limit(LIMIT);
            let before = stage.stats().fds;
            for token in 0..600 {
                line.write(&Record { reply: right(form::TOKEN, token), ..message(stage::FILE) }, &[], &[]);
                if token % 8 == 0 {
                    // In Mach it would wait for the limit.
                    assert!(taken(line));
                    stage.answered();
                }
            }
            within_share(stage, before);
        }],
    );
}

/// In a process of its own: calls ports that it is given, one message each.
fn client() {
    let (_, own) = hello();
    let reply = receive_right();
    while let Ok(msg) = receive_within(own, 5 * SOON) {
        let id = msg.id();
        if id == 0 {
            return;
        }
        let to = msg.u32(40);
        if id == CALL {
            assert_eq!(rpc(stage::ECHO, to, reply, |msg| msg.int(5)).u64(40), 5);
        } else {
            assert_eq!(send(&Msg::new(1, (to, types::COPY_SEND), (0, 0))), Code::SUCCESS);
        }
        assert_eq!(send(&Msg::new(id + 1, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0))), Code::SUCCESS);
    }
}

const SAY: i32 = 70;
const CALL: i32 = 72;

/// The sockets of a line that the client makes are in the hands of a hostile port's owner, which makes lines of them: they
/// count as its own.
#[test]
fn lines_with_anothers_sockets_do_not_shut_it_out() {
    let test = "lines_with_anothers_sockets_do_not_shut_it_out";
    match role().as_deref() {
        Some("client") => return client(),
        Some(_) => return victim(),
        None => {}
    }
    let _dog = watchdog(test, 2 * WATCHDOG);
    let (stage, line) = Stage::new(test);
    drop(line);
    let from_client = receive_right();
    let child = start(test, "client", from_client);
    let client = receive(from_client).reply();
    stage.limit(160);
    let mut hostile = Vec::new();
    for _ in 0..25 {
        let (s, r) = objects::socket_pair().expect("sockets");
        let (_read, write) = objects::holder_pipe().expect("a pipe");
        let name = Task::current().import(s, write).expect("a right");
        let said = rpc(SAY, client, stage.reply, |msg| msg.ports(types::MOVE_SEND, &[name]));
        assert_eq!(said.id(), SAY + 1);
        let taken = Line::take(&r);
        let fd_socket = taken.fd_socket.try_clone().expect("a copy");
        hostile.push((Line::attach_with(&stage.open, &taken.bell, &fd_socket), taken, r));
    }
    // A line of the client's own, to a port that it has no line to yet.
    let called = rpc(CALL, client, stage.reply, |msg| msg.ports(types::COPY_SEND, &[stage.server]));
    assert_eq!(called.id(), CALL + 1);
    drop(hostile);
    assert_eq!(send(&Msg::new(0, (client, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    support::well(vec![child]);
    stage.end();
}

/// In a process of its own, which is gone at once: asks for a line, and leaves its ends to the process that started it.
fn maker() {
    let fds = std::env::var(MAKER).expect("descriptors");
    let fds: Vec<_> = fds.split(' ').map(|fd| fd.parse().expect("a number")).collect();
    // SAFETY: the process that started this one left them open for it.
    let fds: Vec<_> = fds.into_iter().map(|fd| unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) }).collect();
    let ((bell, their_bell), (fd_socket, their_fd_socket)) = (Line::pair(), Line::pair());
    Line::request(fds[0], &[fds[1], fds[2]], [their_bell.as_fd(), their_fd_socket.as_fd()]);
    objects::send(fds[3], &[&[0]], &[bell.as_fd(), fd_socket.as_fd()]).expect("room");
}

const MAKER: &str = "SLIPWAY_TEST_MAKER";

/// Lines without end, each made by another process that has ended since: the ends are with somebody else.
#[test]
fn lines_of_processes_that_are_gone_make_room() {
    let test = "lines_of_processes_that_are_gone_make_room";
    match role().as_deref() {
        Some("client") => return client(),
        Some(_) => return victim(),
        None if std::env::var(MAKER).is_ok() => return maker(),
        None => {}
    }
    let _dog = watchdog(test, 2 * WATCHDOG);
    let (mut stage, line) = Stage::new(test);
    drop(line);
    let from_client = receive_right();
    let child = start(test, "client", from_client);
    let client = receive(from_client).reply();
    stage.limit(64);
    let mut kept = Vec::new();
    for _ in 0..40 {
        let (segment, [control, area]) = Line::segment();
        let (back, given_back) = Line::pair();
        let given = [&stage.open, &control, &area, &given_back].map(|fd| rustix::io::dup(fd).expect("a descriptor"));
        let numbers: Vec<String> = given.iter().map(|fd| fd.as_raw_fd().to_string()).collect();
        let mut command = std::process::Command::new(std::env::current_exe().expect("the test's own path"));
        command.args([test, "--exact", "--nocapture"]).env(MAKER, numbers.join(" "));
        assert!(command.status().expect("a process").success());
        let mut ends: Vec<Reserved> = Vec::new();
        objects::receive(back.as_fd(), &mut [0], &mut ends).expect("both ends");
        kept.push((segment, ends));
        stage.round_trip();
    }
    let called = rpc(CALL, client, stage.reply, |msg| msg.ports(types::COPY_SEND, &[stage.server]));
    assert_eq!(called.id(), CALL + 1);
    drop(kept);
    assert_eq!(send(&Msg::new(0, (client, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    support::well(vec![child]);
    stage.end();
}
