//! Many ports, many rights, many tasks; and what happens when descriptors run out. Prints what each costs.

mod support;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use slipway_ports::{
    abi::{Code, kind, notify, right, types},
    task::Task,
};
use std::{
    process::Child,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use support::{
    nursery::{Nursery, bootstrap, serve},
    tools::*,
    *,
};

/// One at a time: they measure the process.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The memory of this process that is in use, in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("/proc");
    text.split(' ').nth(1).and_then(|n| n.parse::<usize>().ok()).expect("a number") * 4096
}

#[test]
fn a_hundred_thousand_ports_in_one_space() {
    const MANY: usize = 100_000;
    let _one = alone();
    let _dog = watchdog("a_hundred_thousand_ports_in_one_space", WATCHDOG);
    let task = Task::new();
    let (before, fds, start) = (resident(), descriptors(), Instant::now());
    let ports: Vec<u32> = (0..MANY).map(|_| task.allocate(right::RECEIVE).expect("a port")).collect();
    let each = (resident().saturating_sub(before + 4 * MANY)) / MANY;
    eprintln!("{MANY} ports: {each} bytes and {:?} each", start.elapsed() / MANY as u32);
    assert_eq!(task.names().expect("a live task").len(), MANY + 1);
    assert!(each <= 512, "{each} bytes a port");
    // What the test before this one held may be closed only now.
    assert!(descriptors() <= fds, "a port that never leaves its task has no descriptor");
    // All are there, and apart.
    let _before = task.enter();
    for port in ports.iter().step_by(997) {
        assert_eq!(send(&Msg::new(*port as i32, (*port, types::MAKE_SEND), (0, 0))), Code::SUCCESS);
    }
    for port in ports.iter().step_by(997) {
        assert_eq!(receive(*port).id(), *port as i32);
    }
    for port in ports {
        task.mod_refs(port, right::RECEIVE, -1).expect("a port of ours");
    }
    assert_eq!(task.names().expect("a live task").len(), 1);
    _before.enter();
}

/// Gives rights to as many ports as it is asked for, and waits for the news that nobody has them any more.
fn giver() {
    let parent = inherited();
    let own = receive_right();
    assert_eq!(send(&Msg::new(1, (parent, types::COPY_SEND), (own, types::MAKE_SEND))), Code::SUCCESS);
    let many = receive(own).u64(40) as usize;
    let ports: Vec<u32> = (0..many).map(|_| receive_right()).collect();
    for some in ports.chunks(100) {
        assert_eq!(send(&Msg::new(2, (parent, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, some)), Code::SUCCESS);
    }
    for port in &ports {
        let asked = Task::current().request_notification(*port, notify::NO_SENDERS, 0, *port, types::MAKE_SEND_ONCE);
        assert_eq!(asked, Ok(0));
    }
    for port in ports {
        assert_eq!(receive_within(port, 3 * SOON).map(|msg| msg.id()), Ok(notify::NO_SENDERS));
    }
    let held = Msg::new(3, (parent, types::COPY_SEND), (0, 0)).int(descriptors() as u64);
    assert_eq!(send(&held), Code::SUCCESS);
}

#[test]
fn ten_thousand_rights_from_other_tasks() {
    const TASKS: usize = 10;
    const EACH: usize = 1_000;
    let test = "ten_thousand_rights_from_other_tasks";
    if role().is_some() {
        return giver();
    }
    let _one = alone();
    let _dog = watchdog(test, 2 * WATCHDOG);
    let task = Task::current();
    let before = holdings();
    let hello = receive_right();
    let mut helpers: Vec<Child> = (0..TASKS).map(|_| start(test, "giver", hello)).collect();
    let controls: Vec<u32> = helpers.iter().map(|_| receive(hello).reply()).collect();
    let (memory, fds, begin) = (resident(), descriptors(), Instant::now());
    for control in &controls {
        assert_eq!(send(&Msg::new(2, (*control, types::COPY_SEND), (0, 0)).int(EACH as u64)), Code::SUCCESS);
    }
    let mut rights = Vec::new();
    while rights.len() < TASKS * EACH {
        let msg = receive(hello);
        rights.extend((0..100).map(|i| msg.u32(40 + 8 * i)));
    }
    let many = rights.len();
    eprintln!(
        "{many} rights from {TASKS} tasks: {} bytes, {:.2} descriptors and {:?} each",
        resident().saturating_sub(memory) / many,
        descriptors().saturating_sub(fds) as f64 / many as f64,
        begin.elapsed() / many as u32,
    );
    for name in &rights {
        assert_eq!(task.kind(*name), Ok(kind::SEND), "every right is alive");
    }
    for name in rights {
        task.deallocate(name).expect("a right");
    }
    for _ in 0..TASKS {
        let msg = receive_within(hello, 3 * SOON).expect("a giver's end");
        assert_eq!(msg.id(), 3);
        eprintln!("a giver of {EACH}: {} descriptors", msg.u64(40));
    }
    for helper in &mut helpers {
        assert!(helper.wait().expect("a giver's end").success());
    }
    destroy_all_but(&[]);
    until_held(Holdings { fds: before.fds + 8, ..before });
}

const ASKER: i32 = 20;

/// One of very many tasks: asks once, and waits for the answer until it is told to end.
fn asker(part: i32, seed: u64) {
    assert_eq!(part, ASKER);
    let reply = receive_right();
    let boot = bootstrap();
    let msg = Msg::new(ASKER, (boot, types::COPY_SEND), (reply, types::MAKE_SEND_ONCE)).int(seed);
    assert_eq!(send(&msg), Code::SUCCESS);
    let answer = receive_within(reply, 6 * SOON).expect("an answer");
    assert_eq!((answer.id(), answer.u64(40)), (ASKER + 1, seed));
}

#[test]
fn a_thousand_tasks_send_to_one_port() {
    const TASKS: usize = 1_000;
    let test = "a_thousand_tasks_send_to_one_port";
    if role().is_some() {
        return serve(asker);
    }
    let _one = alone();
    let _dog = watchdog(test, 2 * WATCHDOG);
    let hello = receive_right();
    let port = hello;
    let nursery = Nursery::start(test, hello);
    let before = holdings();
    let (memory, begin) = (resident(), Instant::now());
    for i in 0..TASKS {
        nursery.spawn(ASKER, i as u64);
    }
    // All have sent before the first is answered.
    let asked: Vec<(u32, u64)> = (0..TASKS)
        .map(|_| {
            let msg = receive(port);
            (msg.reply(), msg.u64(40))
        })
        .collect();
    let now = holdings();
    eprintln!(
        "{TASKS} tasks at one port: {} bytes, {:.2} descriptors and {:.2} mappings each, all asked after {:?}",
        resident().saturating_sub(memory) / TASKS,
        (now.fds - before.fds) as f64 / TASKS as f64,
        (now.maps - before.maps) as f64 / TASKS as f64,
        begin.elapsed(),
    );
    let mut numbers: Vec<u64> = asked.iter().map(|(_, number)| *number).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..TASKS as u64), "each has asked once");
    for (reply, number) in asked {
        assert_eq!(send(&Msg::new(ASKER + 1, (reply, types::MOVE_SEND_ONCE), (0, 0)).int(number)), Code::SUCCESS);
    }
    until_held(before);
    nursery.end();
}

/// Few descriptors for a helper.
const FEW: u64 = 160;

/// With few descriptors: gives more rights than they allow, and must go on answering.
fn poor() {
    let task = Task::current();
    let old = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(FEW), maximum: old.maximum }).expect("a lower limit");
    let parent = inherited();
    let own = receive_right();
    assert_eq!(send(&Msg::new(1, (parent, types::COPY_SEND), (own, types::MAKE_SEND))), Code::SUCCESS);
    let mut held = Vec::new();
    loop {
        let msg = receive_within(own, 3 * SOON).expect("something to do");
        let mut codes = Vec::new();
        match msg.id() {
            0 => return,
            // Gives rights to new ports, some at a time.
            2 => {
                for _ in 0..16 {
                    let ports: Vec<u32> = (0..12).map(|_| receive_right()).collect();
                    let gift = Msg::new(3, (parent, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &ports);
                    codes.push(send(&gift));
                    held.extend(ports);
                }
            }
            // Destroys these ports.
            4 => held.drain(..).for_each(|port| task.mod_refs(port, right::RECEIVE, -1).expect("a port of ours")),
            other => panic!("message {other}"),
        }
        assert!(codes.iter().all(|code| matches!(*code, Code::SUCCESS | Code::SEND_NO_BUFFER)), "{codes:?}");
        if msg.reply() != 0 {
            let refused = codes.iter().filter(|code| **code != Code::SUCCESS).count() as u64;
            let answer = Msg::new(9, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0)).int(codes.len() as u64 - refused);
            assert_eq!(send(&answer), Code::SUCCESS);
        }
    }
}

#[test]
fn without_descriptors_there_is_a_code_and_no_end() {
    let test = "without_descriptors_there_is_a_code_and_no_end";
    if role().is_some() {
        return poor();
    }
    let _one = alone();
    let _dog = watchdog(test, 2 * WATCHDOG);
    let task = Task::current();
    let hello = receive_right();
    let mut helper = start(test, "poor", hello);
    let server = receive(hello).reply();
    let reply = receive_right();
    // All that it gives can wait.
    task.set_qlimit(hello, 16).expect("a limit");
    for round in 0..3 {
        // It gives more than it can.
        let sent = rpc(2, server, reply, |msg| msg).u64(40);
        let (mut alive, mut dead) = (0, 0);
        for _ in 0..sent {
            let msg = receive(hello);
            for i in 0..12 {
                let name = msg.u32(40 + 8 * i);
                if name == !0 {
                    dead += 1;
                } else {
                    alive += 1;
                    task.deallocate(name).expect("a right");
                }
            }
        }
        eprintln!("round {round}: of 192 rights {alive} came alive, {dead} dead, {} not at all", 192 - alive - dead);
        assert!(alive > 0 && alive < 192);
        assert_eq!(rpc(4, server, reply, |msg| msg).id(), 9);
    }
    assert_eq!(send(&Msg::new(0, (server, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    assert!(helper.wait().expect("the helper's end").success());
}
