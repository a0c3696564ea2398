//! Senders that wait for room: in a queue here, in one of another task, on a line; both ways at once.

mod support;

use slipway_ports::{
    abi::{Code, notify, right, types},
    task::Task,
};
use std::thread::scope;
use support::{tools::*, *};

/// A queue in this process: a blocked sender goes on when there is room, when its time is over, when the port dies.
#[test]
fn room_time_and_death_end_a_local_send() {
    let _dog = watchdog("room_time_and_death_end_a_local_send", WATCHDOG);
    let task = Task::current();
    let port = receive_right();
    let to = task.make_send_name(port);
    let msg = |id| Msg::new(id, (to, types::COPY_SEND), (0, 0)).int(id as u64);
    for id in 1..=5 {
        assert_eq!(send_for(&msg(id), Some(0)), Code::SUCCESS);
    }
    assert_eq!(send_for(&msg(6), Some(0)), Code::SEND_TIMED_OUT);
    assert_eq!(send_for(&msg(6), Some(30)), Code::SEND_TIMED_OUT);
    assert_eq!(woken_by(|| send(&msg(6)), || assert_eq!(receive(port).id(), 1)), Code::SUCCESS);
    assert_eq!(woken_by(|| send(&msg(7)), || task.set_qlimit(port, 6).expect("a limit")), Code::SUCCESS);
    // The message of a sender that waits when the port dies counts as sent.
    assert_eq!(woken_by(|| send(&msg(8)), || task.mod_refs(port, right::RECEIVE, -1).expect("its end")), Code::SUCCESS);
    assert_eq!(send(&msg(9)), Code::SEND_INVALID_DEST);
}

trait MakeSend {
    fn make_send_name(&self, port: u32) -> u32;
}

impl MakeSend for Task {
    fn make_send_name(&self, port: u32) -> u32 {
        self.insert_right(port, *self, port, types::MAKE_SEND).expect("a send right");
        port
    }
}

/// The same with the queue in another process.
#[test]
fn room_time_and_death_end_a_remote_send() {
    let test = "room_time_and_death_end_a_remote_send";
    if role().is_some() {
        let (_, own) = hello();
        let crowd = receive_right();
        let ask = receive(own);
        let given = Msg::new(3, (ask.reply(), types::MOVE_SEND_ONCE), (0, 0)).ports(types::MAKE_SEND, &[crowd]);
        assert_eq!(send(&given), Code::SUCCESS);
        let mut next = 1;
        loop {
            match receive(own).id() {
                0 => return,
                // Takes one.
                1 => {
                    assert_eq!(receive(crowd).id(), next);
                    next += 1;
                }
                2 => Task::current().set_qlimit(crowd, 6).expect("a limit"),
                _ => Task::current().mod_refs(crowd, right::RECEIVE, -1).expect("its end"),
            }
        }
    }
    let _dog = watchdog(test, WATCHDOG);
    let hello = receive_right();
    let child = start(test, "owner", hello);
    let control = receive(hello).reply();
    let reply = receive_right();
    let to = rpc(2, control, reply, |msg| msg).u32(40);
    let tell = |what| assert_eq!(send(&Msg::new(what, (control, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    let msg = |id| Msg::new(id, (to, types::COPY_SEND), (0, 0)).int(id as u64);
    for id in 1..=5 {
        assert_eq!(send(&msg(id)), Code::SUCCESS);
    }
    assert_eq!(send_for(&msg(6), Some(0)), Code::SEND_TIMED_OUT);
    assert_eq!(send_for(&msg(6), Some(30)), Code::SEND_TIMED_OUT);
    assert_eq!(woken_by(|| send(&msg(6)), || tell(1)), Code::SUCCESS);
    assert_eq!(woken_by(|| send(&msg(7)), || tell(2)), Code::SUCCESS);
    assert_eq!(woken_by(|| send(&msg(8)), || tell(3)), Code::SUCCESS);
    assert_eq!(send(&msg(9)), Code::SEND_INVALID_DEST);
    tell(0);
    well(vec![child]);
}

/// Two tasks that fill each other's queues and lines before either receives.
#[test]
fn both_directions_full() {
    const PORTS: usize = 8;
    let test = "both_directions_full";
    let fill = |ports: &[u32]| {
        let mut sent = vec![0u64; ports.len()];
        for (port, sent) in ports.iter().zip(&mut sent) {
            loop {
                let msg = Msg::new(9, (*port, types::COPY_SEND), (0, 0)).int(*sent).bytes(&[5; 50_000]);
                match send_for(&msg, Some(0)) {
                    Code::SUCCESS => *sent += 1,
                    code => break assert_eq!(code, Code::SEND_TIMED_OUT),
                }
            }
        }
        sent
    };
    let empty = |ports: &[u32], sent: &[u64]| {
        for (port, sent) in ports.iter().zip(sent) {
            for i in 0..*sent {
                assert_eq!(receive(*port).u64(40), i);
            }
            assert_eq!(receive_within(*port, 0).map(|msg| msg.id()), Err(Code::RCV_TIMED_OUT));
        }
    };
    let give = |to: u32, how: u32, ports: &[u32]| {
        assert_eq!(send(&Msg::new(3, (to, how), (0, 0)).ports(types::MAKE_SEND, ports)), Code::SUCCESS);
    };
    let tell_sent = |to: u32, sent: &[u64]| {
        let msg = sent.iter().fold(Msg::new(4, (to, types::COPY_SEND), (0, 0)), |msg, n| msg.int(*n));
        assert_eq!(send(&msg), Code::SUCCESS);
    };
    let hear_sent = |from: u32| -> Vec<u64> {
        let msg = receive(from);
        (0..PORTS).map(|i| msg.u64(40 + 16 * i)).collect()
    };
    let names = |msg: &Msg| -> Vec<u32> { (0..PORTS).map(|i| msg.u32(40 + 8 * i)).collect() };
    let ports: Vec<u32> = (0..PORTS).map(|_| receive_right()).collect();
    let (to, own) = if role().is_some() {
        hello()
    } else {
        let own = receive_right();
        (0, own)
    };
    let _dog = watchdog(test, WATCHDOG);
    let mut children = Vec::new();
    let to = if role().is_some() {
        to
    } else {
        children.push(start(test, "other", own));
        receive(own).reply()
    };
    give(to, types::COPY_SEND, &ports);
    let theirs = names(&receive(own));
    for _ in 0..20 {
        let sent = fill(&theirs);
        assert!(sent.iter().all(|n| *n > 0) || sent.iter().sum::<u64>() >= 4, "{sent:?}");
        tell_sent(to, &sent);
        let there = hear_sent(own);
        empty(&ports, &there);
        // The other has emptied its own before it fills these again.
        give(to, types::COPY_SEND, &[]);
        let _done = receive(own);
    }
    well(children);
}

/// The reader of a line stops. A sender waits for room; another thread gives rights back meanwhile, which need room too.
#[test]
fn what_waits_behind_a_full_line_gets_out_when_it_moves() {
    let test = "what_waits_behind_a_full_line_gets_out_when_it_moves";
    const GIVEN: usize = 200;
    if role().is_some() {
        let (parent, own) = hello();
        let task = Task::current();
        for round in 0.. {
            let msg = receive(own);
            if msg.id() == 0 {
                return;
            }
            let given: Vec<u32> = (0..GIVEN).map(|_| receive_right()).collect();
            let answer = Msg::new(3, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0)).ports(types::MAKE_SEND, &given);
            assert_eq!(send(&answer), Code::SUCCESS);
            for port in &given {
                task.request_notification(*port, notify::NO_SENDERS, 0, *port, types::MAKE_SEND_ONCE).expect("a request");
            }
            let crowd = receive(own);
            assert_eq!(crowd.id(), 5);
            let mut next = 1;
            while next <= crowd.u64(40) {
                let msg = receive(own);
                assert_eq!((msg.id(), msg.u64(40)), (6, next), "round {round}");
                next += 1;
            }
            for port in given {
                assert_eq!(receive(port).id(), notify::NO_SENDERS, "round {round}");
                task.mod_refs(port, right::RECEIVE, -1).expect("its end");
            }
            assert_eq!(send(&Msg::new(8, (parent, types::COPY_SEND), (0, 0))), Code::SUCCESS);
        }
        return;
    }
    let _dog = watchdog(test, WATCHDOG);
    let task = Task::current();
    let hello = receive_right();
    let child = start(test, "reader", hello);
    let pid = rustix::process::Pid::from_child(&child);
    let to = receive(hello).reply();
    let reply = receive_right();
    for round in 0..20u64 {
        let given = rpc(2, to, reply, |msg| msg);
        let names: Vec<u32> = (0..GIVEN).map(|i| given.u32(40 + 8 * i)).collect();
        // More than the limit of the queue: the sender of the last ones waits, by time-outs or without.
        const MANY: u64 = 12;
        assert_eq!(send(&Msg::new(5, (to, types::COPY_SEND), (0, 0)).int(MANY)), Code::SUCCESS);
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("it lives");
        let sender = move || {
            for i in 1..=MANY {
                let msg = Msg::new(6, (to, types::COPY_SEND), (0, 0)).int(i).bytes(&vec![1; 60_000]);
                while send_for(&msg, (round % 2 == 0).then_some(5)) == Code::SEND_TIMED_OUT {}
            }
        };
        scope(|scope| {
            let (tell, told) = std::sync::mpsc::channel();
            let sender = scope.spawn(move || {
                tell.send(thread_number()).expect("the test waits");
                sender();
            });
            until_asleep(told.recv().expect("its number"));
            for name in names {
                task.deallocate(name).expect("a right");
            }
            rustix::process::kill_process(pid, rustix::process::Signal::CONT).expect("it lives");
            sender.join().expect("no panic");
        });
        assert_eq!(receive(hello).id(), 8);
    }
    assert_eq!(send(&Msg::new(0, (to, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    well(vec![child]);
}

/// A client takes none of its answers before it has sent all that it asks: neither side's line has room for so much.
#[test]
fn answers_wait_for_nobody() {
    let test = "answers_wait_for_nobody";
    const REQUESTS: i32 = 500;
    let block = [0x5a; 8192];
    if role().is_some() {
        let (_, own) = hello();
        for id in 1..=REQUESTS {
            let asked = receive(own);
            assert_eq!(asked.id(), id);
            let answer = Msg::new(id, (asked.reply(), types::MOVE_SEND_ONCE), (0, 0)).bytes(&block);
            assert_eq!(send(&answer), Code::SUCCESS);
        }
        // What waits for room is this process's until the client has taken it.
        assert_eq!(receive(own).id(), 0);
        return;
    }
    let _dog = watchdog(test, WATCHDOG);
    let hello = receive_right();
    let child = start(test, "server", hello);
    let server = receive(hello).reply();
    let reply = receive_right();
    for id in 1..=REQUESTS {
        let ask = Msg::new(id, (server, types::COPY_SEND), (reply, types::MAKE_SEND_ONCE)).bytes(&block);
        assert_eq!(send(&ask), Code::SUCCESS);
    }
    for id in 1..=REQUESTS {
        assert_eq!(receive(reply).id(), id);
    }
    assert_eq!(send(&Msg::new(0, (server, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    well(vec![child]);
}
