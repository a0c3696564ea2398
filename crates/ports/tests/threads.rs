//! Many threads of one task at once: waiting for messages, for room, and being woken by what happens to the port.

mod support;

use rustix::event::{PollFd, PollFlags, Timespec};
use slipway_fabric::sync::{AtomicU64, Ordering::SeqCst};
use slipway_ports::{
    abi::{Code, option, right, types},
    exceptions::{ALL, Form, Whose},
    msg::Request,
    task::Task,
};
use std::{
    collections::HashMap,
    process::Child,
    sync::Mutex,
    thread::{scope, spawn},
};
use support::{tools::*, *};

/// Which thread of which task a number comes from, and its place there.
fn number(task: u64, thread: u64, at: u64) -> u64 {
    task << 48 | thread << 40 | at
}

/// What several receivers got: every number once, and those of each sender in order, by the port's own count.
#[derive(Default)]
struct Got(Mutex<HashMap<u32, Vec<(u32, u64)>>>);

impl Got {
    fn add(&self, msg: &Msg) {
        let port = msg.u32(16);
        self.0.lock().expect("no panic").entry(port).or_default().push((msg.u32(24), msg.u64(40)));
    }

    fn check(self, ports: usize, senders: usize, each: u64) {
        let by_port = self.0.into_inner().expect("no panic");
        assert_eq!(by_port.len(), ports);
        let mut next: HashMap<(u32, u64), u64> = HashMap::new();
        for (port, mut messages) in by_port {
            messages.sort_unstable();
            for (i, (seqno, number)) in messages.into_iter().enumerate() {
                assert_eq!(seqno as usize, i, "a number of the port's count is missing or double");
                let expected = next.entry((port, number >> 40)).or_default();
                assert_eq!(number & 0xff_ffff, *expected, "port {port:#x}, sender {:#x}", number >> 40);
                *expected += 1;
            }
        }
        assert_eq!(next.len(), ports * senders);
        assert!(next.values().all(|n| *n == each));
    }
}

const EACH: u64 = 1_500;

/// A helper with threads that all send to the port that it was given, and to those in the answer.
fn senders(threads: u64) {
    let (parent, own) = hello();
    let start = receive(own);
    let ports: Vec<u32> = (0..start.u64(40)).map(|i| start.u32(56 + 8 * i as usize)).collect();
    let ports = if ports.is_empty() { vec![parent] } else { ports };
    let task = u64::from(std::process::id());
    scope(|scope| {
        for thread in 0..threads {
            let ports = &ports;
            scope.spawn(move || {
                for at in 0..EACH {
                    for port in ports {
                        let msg = Msg::new(9, (*port, types::COPY_SEND), (0, 0)).int(number(task, thread, at));
                        assert_eq!(send(&msg), Code::SUCCESS);
                    }
                }
            });
        }
    });
    let _end = receive(own);
}

/// Receives on several threads until all has come.
fn receive_all(from: u32, threads: usize, total: u64, got: &Got) {
    let count = AtomicU64::new(0);
    let stop = receive_right();
    scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while count.load(SeqCst) < total {
                    // The last to come may go to others: so not without an end.
                    match receive_within(from, 200) {
                        Ok(msg) => {
                            got.add(&msg);
                            count.fetch_add(1, SeqCst);
                        }
                        Err(code) => assert_eq!(code, Code::RCV_TIMED_OUT),
                    }
                }
            });
        }
    });
    assert_eq!(Task::current().mod_refs(stop, right::RECEIVE, -1), Ok(()));
}

#[test]
fn one_port_many_receivers_and_senders() {
    let test = "one_port_many_receivers_and_senders";
    if role().is_some() {
        return senders(3);
    }
    let _dog = watchdog(test, WATCHDOG);
    let hello = receive_right();
    let port = receive_right();
    let children: Vec<Child> = (0..2).map(|_| start(test, "senders", hello)).collect();
    let controls: Vec<u32> = children.iter().map(|_| receive(hello).reply()).collect();
    for control in &controls {
        let go = Msg::new(2, (*control, types::COPY_SEND), (0, 0)).int(1).ports(types::MAKE_SEND, &[port]);
        assert_eq!(send(&go), Code::SUCCESS);
    }
    let got = Got::default();
    receive_all(port, 4, 2 * 3 * EACH, &got);
    got.check(1, 6, EACH);
    for control in controls {
        assert_eq!(send(&Msg::new(0, (control, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    }
    well(children);
}

#[test]
fn one_set_many_receivers_lines_and_ports() {
    let test = "one_set_many_receivers_lines_and_ports";
    if role().is_some() {
        return senders(2);
    }
    let _dog = watchdog(test, WATCHDOG);
    let task = Task::current();
    let hello = receive_right();
    let set = task.allocate(right::PORT_SET).expect("a set");
    let ports: Vec<u32> = (0..3).map(|_| receive_right()).collect();
    for port in &ports {
        assert_eq!(task.move_member(*port, set), Ok(()));
    }
    // More lines than receivers look at themselves.
    let children: Vec<Child> = (0..6).map(|_| start(test, "senders", hello)).collect();
    let controls: Vec<u32> = children.iter().map(|_| receive(hello).reply()).collect();
    for control in &controls {
        let go = Msg::new(2, (*control, types::COPY_SEND), (0, 0)).int(3).ports(types::MAKE_SEND, &ports);
        assert_eq!(send(&go), Code::SUCCESS);
    }
    let got = Got::default();
    receive_all(set, 3, 6 * 2 * 3 * EACH, &got);
    got.check(3, 12, EACH);
    for control in controls {
        assert_eq!(send(&Msg::new(0, (control, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    }
    well(children);
}

/// Threads that each wait for the answers to their own requests, all over one line, to a server with several threads.
#[test]
fn callers_share_a_line() {
    let test = "callers_share_a_line";
    if role().is_some() {
        let (_, own) = hello();
        scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    loop {
                        let msg = receive(own);
                        if msg.id() == 0 {
                            return;
                        }
                        let answer = Msg::new(msg.id() + 1, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0)).int(msg.u64(40));
                        assert_eq!(send(&answer), Code::SUCCESS);
                    }
                });
            }
        });
        return;
    }
    let _dog = watchdog(test, WATCHDOG);
    let hello = receive_right();
    let child = start(test, "server", hello);
    let server = receive(hello).reply();
    scope(|scope| {
        for thread in 0..5 {
            scope.spawn(move || {
                let reply = receive_right();
                for i in 0..2_000 {
                    let answer = rpc(10, server, reply, |msg| msg.int(number(0, thread, i)));
                    assert_eq!((answer.id(), answer.u64(40)), (11, number(0, thread, i)));
                }
            });
        }
    });
    for _ in 0..3 {
        assert_eq!(send(&Msg::new(0, (server, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    }
    well(vec![child]);
}

/// The thread that looks at the lines for all gives up: the others still hear of what comes.
#[test]
fn a_leader_that_times_out_leaves_nobody_behind() {
    let test = "a_leader_that_times_out_leaves_nobody_behind";
    if role().is_some() {
        let (parent, own) = hello();
        loop {
            let msg = receive(own);
            if msg.id() == 0 {
                return;
            }
            // Not over the reply right: to the port that the message tells of, unasked.
            assert_eq!(send(&Msg::new(msg.id(), (parent, types::COPY_SEND), (0, 0)).int(msg.u64(40))), Code::SUCCESS);
        }
    }
    let _dog = watchdog(test, WATCHDOG);
    let hello = receive_right();
    let child = start(test, "sender", hello);
    let remote = receive(hello).reply();
    for round in 0..50u64 {
        let other = receive_right();
        let (tell, told) = std::sync::mpsc::channel();
        let leader = spawn(move || {
            tell.send(thread_number()).expect("the test waits");
            receive_within(other, 20).map(|msg| msg.id())
        });
        until_asleep(told.recv().expect("its number"));
        let follower = spawn(move || receive(hello));
        assert_eq!(leader.join().expect("no panic"), Err(Code::RCV_TIMED_OUT));
        assert_eq!(send(&Msg::new(7, (remote, types::COPY_SEND), (0, 0)).int(round)), Code::SUCCESS);
        assert_eq!(follower.join().expect("no panic").u64(40), round);
        assert_eq!(Task::current().mod_refs(other, right::RECEIVE, -1), Ok(()));
    }
    assert_eq!(send(&Msg::new(0, (remote, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    well(vec![child]);
}

#[test]
fn changes_wake_the_threads_that_wait() {
    let _dog = watchdog("changes_wake_the_threads_that_wait", WATCHDOG);
    let task = Task::current();
    let set = task.allocate(right::PORT_SET).expect("a set");
    let code = |from: u32, change: &dyn Fn()| woken_by(move || receive_within(from, SOON).map(|msg| msg.id()), change);

    let port = receive_right();
    assert_eq!(code(port, &|| task.mod_refs(port, right::RECEIVE, -1).expect("its end")), Err(Code::RCV_PORT_DIED));

    let port = receive_right();
    assert_eq!(code(port, &|| task.move_member(port, set).expect("a member")), Err(Code::RCV_PORT_CHANGED));
    assert_eq!(receive_within(port, 0).map(|msg| msg.id()), Err(Code::RCV_IN_SET));

    // A member's end is nothing to who waits on the set, and a message at a member is.
    let second = receive_right();
    task.move_member(second, set).expect("a member");
    let woken = code(set, &|| {
        task.mod_refs(port, right::RECEIVE, -1).expect("its end");
        assert_eq!(send(&Msg::new(33, (second, types::MAKE_SEND), (0, 0))), Code::SUCCESS);
    });
    assert_eq!(woken, Ok(33));

    // A port that joins the set with a message in its queue.
    let third = receive_right();
    assert_eq!(send(&Msg::new(34, (third, types::MAKE_SEND), (0, 0))), Code::SUCCESS);
    assert_eq!(code(set, &|| task.move_member(third, set).expect("a member")), Ok(34));

    assert_eq!(code(set, &|| task.mod_refs(set, right::PORT_SET, -1).expect("its end")), Err(Code::RCV_PORT_DIED));

    // A receive right that goes away in a message.
    let port = receive_right();
    let carrier = receive_right();
    let away = Msg::new(35, (carrier, types::MAKE_SEND), (0, 0)).ports(types::MOVE_RECEIVE, &[port]);
    assert_eq!(code(port, &|| assert_eq!(send(&away), Code::SUCCESS)), Err(Code::RCV_PORT_DIED));
}

#[test]
fn every_waiter_hears_of_the_end() {
    let _dog = watchdog("every_waiter_hears_of_the_end", WATCHDOG);
    let task = Task::current();
    let port = receive_right();
    scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let waiters: Vec<_> = (0..8)
            .map(|_| {
                let tell = tell.clone();
                scope.spawn(move || {
                    tell.send(thread_number()).expect("the test waits");
                    receive_within(port, SOON).map(|msg| msg.id())
                })
            })
            .collect();
        for _ in 0..8 {
            until_asleep(told.recv().expect("its number"));
        }
        task.mod_refs(port, right::RECEIVE, -1).expect("its end");
        for waiter in waiters {
            assert_eq!(waiter.join().expect("no panic"), Err(Code::RCV_PORT_DIED));
        }
    });
}

/// Ports go in and out of a set under load, which costs no message and no waiter.
#[test]
fn a_set_that_changes_under_load() {
    let test = "a_set_that_changes_under_load";
    if role().is_some() {
        return senders(2);
    }
    let _dog = watchdog(test, WATCHDOG);
    let task = Task::current();
    let hello = receive_right();
    let set = task.allocate(right::PORT_SET).expect("a set");
    let ports: Vec<u32> = (0..4).map(|_| receive_right()).collect();
    ports.iter().for_each(|port| task.move_member(*port, set).expect("a member"));
    let child = start(test, "senders", hello);
    let control = receive(hello).reply();
    let go = Msg::new(2, (control, types::COPY_SEND), (0, 0)).int(4).ports(types::MAKE_SEND, &ports);
    assert_eq!(send(&go), Code::SUCCESS);
    let got = Got::default();
    let total = 2 * 4 * EACH;
    let count = AtomicU64::new(0);
    let mut dice = Dice::new(seed());
    scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while count.load(SeqCst) < total {
                    match receive_within(set, 200) {
                        Ok(msg) => {
                            got.add(&msg);
                            count.fetch_add(1, SeqCst);
                        }
                        Err(code) => assert_eq!(code, Code::RCV_TIMED_OUT),
                    }
                }
            });
        }
        while count.load(SeqCst) < total {
            let port = dice.of(&ports);
            task.move_member(port, 0).expect("it leaves");
            std::thread::yield_now();
            task.move_member(port, set).expect("it comes back");
        }
    });
    got.check(4, 2, EACH);
    assert_eq!(send(&Msg::new(0, (control, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    well(vec![child]);
}

/// Receives a message of at most `size` bytes, whenever it comes.
fn receive_at_most(port: u32, size: usize, options: u32) -> Code {
    let mut buffer = vec![0; size];
    let request = Request { option: option::RCV_MSG | options, receive_size: size, receive_name: port, ..Request::default() };
    Task::current().mach_msg(&mut buffer, &request)
}

/// Its sender wakes one thread, which leaves it where it is.
#[test]
fn a_message_that_is_too_large_for_one_receiver_wakes_another() {
    let test = "a_message_that_is_too_large_for_one_receiver_wakes_another";
    if role().is_none() {
        // In a process of its own no thread waits but its two.
        return well(vec![start(test, "receivers", receive_right())]);
    }
    let _dog = watchdog(test, WATCHDOG);
    let (task, port) = (Task::current(), receive_right());
    task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
    scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        // The first looks at lines, and is woken last.
        let [large, small] = [(1024, 0), (64, option::RCV_LARGE)].map(|(size, options)| {
            let tell = tell.clone();
            let waiter = scope.spawn(move || {
                tell.send(thread_number()).expect("the test waits");
                receive_at_most(port, size, options)
            });
            until_asleep(told.recv().expect("its number"));
            waiter
        });
        assert_eq!(send(&Msg::new(1, (port, types::COPY_SEND), (0, 0)).bytes(&[7; 600])), Code::SUCCESS);
        assert_eq!(small.join().expect("no panic"), Code::RCV_TOO_LARGE);
        assert_eq!(large.join().expect("no panic"), Code::SUCCESS);
    });
}

/// The process's lock is held where the library drains it.
#[test]
fn what_a_program_does_to_a_polled_descriptor_keeps_nobody() {
    let _dog = watchdog("what_a_program_does_to_a_polled_descriptor_keeps_nobody", WATCHDOG);
    let (task, port) = (Task::current(), receive_right());
    task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
    let polled = task.pollable(port).expect("a descriptor");
    let readable = || {
        let mut polled = [PollFd::new(&polled, PollFlags::IN)];
        rustix::event::poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).expect("a descriptor") > 0
    };
    assert!(readable(), "there may be something");
    rustix::fs::fcntl_setfl(&polled, rustix::fs::OFlags::empty()).expect("flags of ours");
    rustix::io::read(&polled, &mut [0; 8]).expect("it was readable");
    for _ in 0..2 {
        assert_eq!(receive_within(port, 0).err(), Some(Code::RCV_TIMED_OUT));
        assert!(!readable());
        assert_eq!(send(&Msg::new(1, (port, types::COPY_SEND), (0, 0))), Code::SUCCESS);
        assert_eq!(send(&Msg::new(2, (port, types::COPY_SEND), (0, 0))), Code::SUCCESS);
        assert!(readable());
        assert_eq!([receive(port).id(), receive(port).id()], [1, 2]);
    }
    task.destroy(port).expect("it lives until now");
    assert!(readable(), "the next receive tells why");
}

/// A thread that ended without asking for its own port is not known to have ended until another has its number.
#[test]
fn a_thread_with_the_number_of_another_has_nothing_of_that_one() {
    // No thread has it: it is beyond the system's.
    const NUMBER: u32 = 0x7fff_0000;
    let task = Task::current();
    let own = receive_right();
    task.insert_right(own, task, own, types::MAKE_SEND).expect("a send right");
    let first = task.name_of_thread(NUMBER, 100);
    let form = Form::default();
    task.set_exceptions(Whose::Thread(NUMBER), ALL, own, form).expect("a port for exceptions");
    assert_eq!([100, 0].map(|start| task.name_of_thread(NUMBER, start)), [first; 2]);
    let told = |start| task.exception_handlers(task, (NUMBER, start), 1, form);
    assert_eq!(told(100), [(own, form)]);
    assert_eq!(told(200), []);
    assert!(is_dead(first));
    assert_ne!(task.name_of_thread(NUMBER, 200), first);
}
