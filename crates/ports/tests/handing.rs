//! Messages that a sender hands to a waiting thread of its process: they are those that the queue would have given.

mod support;

use slipway_fabric::sync::{AtomicU64, Ordering::SeqCst};
use slipway_ports::{
    abi::{Code, kind, option, right, types},
    msg::Request,
    task::Task,
};
use std::{collections::HashSet, sync::Mutex, thread::scope};
use support::{tools::*, *};

/// How a message is received: all of it but what differs from one to the next.
#[derive(Debug, PartialEq, Eq)]
struct Received {
    bits: u32,
    size: u32,
    /// What the reply right is.
    reply: Result<u32, Code>,
    local: u64,
    id: i32,
    body: Vec<u8>,
}

fn received(msg: Result<Msg, Code>) -> Result<Received, Code> {
    let msg = msg?;
    let task = Task::current();
    let reply = task.kind(msg.reply());
    if reply.is_ok() {
        task.deallocate(msg.reply()).expect("its name");
    }
    let local = u64::from(msg.u32(16)) | u64::from(msg.u32(20)) << 32;
    Ok(Received { bits: msg.u32(0), size: msg.u32(4), reply, local, id: msg.id(), body: msg.0[32..].to_vec() })
}

/// Sends one message to a port whose queue nobody looks at, and one to a port that a thread waits at.
#[test]
fn a_waiting_thread_gets_what_the_queue_would_have_given() {
    let _dog = watchdog("a_waiting_thread_gets_what_the_queue_would_have_given", WATCHDOG);
    let task = Task::current();
    let (port, set, reply) = (receive_right(), task.allocate(right::PORT_SET).expect("a set"), receive_right());
    task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
    let mut seqno = 0;
    let mut check = |from: u32, msg: &dyn Fn() -> Msg, room: usize| {
        let receive = || received(receive_at_most(from, room));
        let first = msg();
        let size = first.0.len();
        assert_eq!(send(&first), Code::SUCCESS);
        let queued = receive();
        let handed = woken_by(receive, || assert_eq!(send(&msg()), Code::SUCCESS));
        assert_eq!(queued, handed, "{size} bytes, room for {room}");
        assert_eq!(queued.is_ok(), size <= room);
        // One that did not fit is not counted.
        seqno += if queued.is_ok() { 2 } else { 0 };
        assert_eq!(task.receive_status(port).expect("a port").seqno, seqno);
        handed
    };
    for in_set in [false, true] {
        let from = if in_set { set } else { port };
        if in_set {
            task.move_member(port, set).expect("a member");
        }
        for payload in [None, Some(0x1234_5678_9abc_def0)] {
            payload.map_or_else(|| task.clear_payload(port), |payload| task.set_payload(port, payload)).expect("a port");
            for local in [(0, 0), (reply, types::MAKE_SEND_ONCE)] {
                for bytes in [0, 8, 200, 300] {
                    let to_port = || Msg::new(7, (port, types::COPY_SEND), local).bytes(&vec![3; bytes]);
                    let got = check(from, &to_port, 1024).expect("a message");
                    assert_eq!(got.reply, if local.0 == 0 { Err(Code::INVALID_NAME) } else { Ok(kind::SEND_ONCE) });
                    let once = || {
                        let name = task.extract_right(port, types::MAKE_SEND_ONCE, task).expect("a right");
                        Msg::new(8, (name, types::MOVE_SEND_ONCE), local).bytes(&vec![3; bytes])
                    };
                    check(from, &once, 1024).expect("a message");
                    assert_eq!(check(from, &to_port, 33), Err(Code::RCV_TOO_LARGE));
                    // The unused rights came back as notifications.
                    while receive_within(reply, 0).is_ok() {}
                }
            }
        }
    }
    let status = task.receive_status(port).expect("a port");
    assert_eq!((status.sorights, status.msgcount), (0, 0));
}

fn receive_at_most(from: u32, room: usize) -> Result<Msg, Code> {
    let mut buffer = vec![0; room.max(1024)];
    let request = Request { option: option::RCV_MSG, receive_size: room, receive_name: from, ..Request::default() };
    match Task::current().mach_msg(&mut buffer, &request) {
        Code::SUCCESS => {
            buffer.truncate(u32::from_le_bytes(buffer[4..8].try_into().expect("4 bytes")) as usize);
            Ok(Msg(buffer))
        }
        code => Err(code),
    }
}

/// Receivers that give up all the time, some at one port, some at a set of it and another: each message comes once, and each caller gets its
/// answer.
#[test]
fn receivers_that_give_up_lose_nothing() {
    let _dog = watchdog("receivers_that_give_up_lose_nothing", WATCHDOG);
    const CALLS: u64 = 4_000;
    let task = Task::current();
    let set = task.allocate(right::PORT_SET).expect("a set");
    let ports = [receive_right(), receive_right(), receive_right()];
    for port in ports {
        task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
    }
    task.move_member(ports[1], set).expect("a member");
    task.move_member(ports[2], set).expect("a member");
    let (left, seen) = (AtomicU64::new(3 * CALLS), Mutex::new(HashSet::new()));
    scope(|scope| {
        for (i, from) in [ports[0], ports[0], set, set].into_iter().enumerate() {
            let (left, seen) = (&left, &seen);
            scope.spawn(move || {
                let mut dice = Dice::new(i as u64);
                while left.load(SeqCst) > 0 {
                    match receive_within(from, dice.below(2) as u32) {
                        Ok(msg) => {
                            assert!(seen.lock().expect("no panic").insert((msg.u32(16), msg.u64(40))), "came twice");
                            left.fetch_sub(1, SeqCst);
                            let answer = Msg::new(2, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0)).int(msg.u64(40) + 1);
                            assert_eq!(send(&answer), Code::SUCCESS);
                        }
                        Err(code) => assert_eq!(code, Code::RCV_TIMED_OUT),
                    }
                }
            });
        }
        for port in ports {
            scope.spawn(move || {
                let reply = receive_right();
                for i in 0..CALLS {
                    assert_eq!(rpc(1, port, reply, |msg| msg.int(i)).u64(40), i + 1);
                }
                assert_eq!(task.receive_status(reply).expect("a port").sorights, 0);
            });
        }
    });
}

/// Threads that get messages now from another process over a line, which one of them looks at, and now from a thread beside them.
#[test]
fn messages_come_over_lines_and_from_threads() {
    let test = "messages_come_over_lines_and_from_threads";
    const CALLS: u64 = 3_000;
    let call = |port: u32, from: u64| {
        let reply = receive_right();
        for i in 0..CALLS {
            assert_eq!(rpc(1, port, reply, |msg| msg.int(from << 32 | i)).u64(40), (from << 32 | i) + 1);
        }
    };
    if role().is_some() {
        let (parent, own) = hello();
        call(receive(own).u32(40), 1);
        assert_eq!(send(&Msg::new(0, (parent, types::COPY_SEND), (0, 0))), Code::SUCCESS);
        return;
    }
    let _dog = watchdog(test, WATCHDOG);
    let task = Task::current();
    let (hello, service) = (receive_right(), receive_right());
    task.insert_right(service, task, service, types::MAKE_SEND).expect("a send right");
    let child = start(test, "caller", hello);
    let go = Msg::new(2, (receive(hello).reply(), types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &[service]);
    scope(|scope| {
        let servers = [(); 2].map(|()| {
            scope.spawn(|| {
                loop {
                    let msg = receive(service);
                    if msg.id() == 0 {
                        return;
                    }
                    let answer = Msg::new(2, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0)).int(msg.u64(40) + 1);
                    assert_eq!(send(&answer), Code::SUCCESS);
                }
            })
        });
        assert_eq!(send(&go), Code::SUCCESS);
        call(service, 2);
        assert_eq!(receive(hello).id(), 0);
        for _ in servers {
            assert_eq!(send(&Msg::new(0, (service, types::COPY_SEND), (0, 0))), Code::SUCCESS);
        }
    });
    well(vec![child]);
}
