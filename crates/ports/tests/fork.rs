//! fork and exec: a child begins with an empty space, its special ports and none of its parent's descriptors, and the
//! parent goes on undisturbed.
#![allow(unsafe_code, reason = "fork has no safe face")]

mod support;

use slipway_fabric::sync::{AtomicBool, Ordering::SeqCst};
use slipway_ports::{
    abi::{Code, kind, right, types},
    task::Task,
};
use slipway_test_support::forked;
use std::{
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::scope,
};
use support::{tools::*, *};

/// One at a time: what one leaves open for its helper is open in the others' children too.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The descriptors of sockets, pipes and the like that are open here.
fn special_descriptors() -> Vec<String> {
    descriptor_list("self")
        .into_iter()
        .filter(|it| ["socket:", "pipe:", "memfd:", "eventpoll"].iter().any(|kind| it.contains(kind)))
        .collect()
}

/// A helper that answers with the same number plus one, until the message 0.
fn echo() {
    let parent = inherited();
    let own = receive_right();
    assert_eq!(send(&Msg::new(1, (parent, types::COPY_SEND), (own, types::MAKE_SEND))), Code::SUCCESS);
    while let Ok(msg) = receive_within(own, 3 * SOON) {
        if msg.id() == 0 {
            return;
        }
        let answer = Msg::new(msg.id() + 1, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0)).int(msg.u64(40) + 1);
        assert_eq!(send(&answer), Code::SUCCESS);
    }
}

#[test]
fn a_child_begins_anew() {
    let test = "a_child_begins_anew";
    if role().is_some() {
        return echo();
    }
    let _one = alone();
    let _dog = watchdog(test, WATCHDOG);
    let before = special_descriptors();
    let task = Task::current();
    let hello = receive_right();
    let mut helper = start(test, "echo", hello);
    let server = receive(hello).reply();
    let reply = receive_right();
    assert_eq!(rpc(7, server, reply, |msg| msg.int(1)).u64(40), 2);
    // Much of all kinds is open: a port that others know, a dead-name request, memory that waits in a queue.
    let known = receive_right();
    let _exported = task.export(known).expect("sockets");
    let crowded = receive_right();
    task.insert_right(crowded, task, crowded, types::MAKE_SEND).expect("a right");
    let memory = vec![3u8; 200_000];
    let mut large = Msg::new(3, (crowded, types::COPY_SEND), (0, 0));
    large.0[3] |= 0x80;
    large.0.extend((9u64 | 8 << 8 | 200_000 << 32).to_le_bytes());
    large.0.extend((memory.as_ptr() as u64).to_le_bytes());
    assert_eq!(send(&large), Code::SUCCESS);
    task.set_bootstrap(server).expect("a send right");
    let names = task.names().expect("a live task").len();
    assert!(names >= 6);

    let plain: Vec<String> = before;
    let exported = _exported;
    let code = forked(|| {
        let task = Task::current();
        let own = task.self_name();
        let names = task.names().expect("a live task");
        if names != vec![(own, kind::SEND)] {
            return 1;
        }
        // The two that the test itself exported are not the library's.
        drop(exported);
        let held = special_descriptors();
        // What the child's own bootstrap right needs.
        let more: Vec<&String> = held.iter().filter(|it| !plain.contains(it)).collect();
        if more.len() > 2 {
            eprintln!("open in the child: {more:#?}");
            return 2;
        }
        let boot = task.bootstrap().expect("a right");
        let reply = receive_right();
        if rpc(20, boot, reply, |msg| msg.int(4)).u64(40) != 5 {
            return 3;
        }
        // A fork of the fork.
        forked(|| {
            if rpc(20, Task::current().bootstrap().expect("a right"), receive_right(), |msg| msg.int(6)).u64(40) == 7 {
                0
            } else {
                4
            }
        })
    });
    assert_eq!(code, 0);

    // The parent's line, names and waiting message are as they were.
    assert_eq!(task.names().expect("a live task").len(), names);
    assert_eq!(rpc(7, server, reply, |msg| msg.int(8)).u64(40), 9);
    assert_eq!(receive(crowded).id(), 3);
    assert_eq!(send(&Msg::new(0, (server, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    assert!(helper.wait().expect("the helper's end").success());
}

#[test]
fn a_child_of_a_thread_with_another_task_has_one_of_its_own() {
    let _one = alone();
    let _dog = watchdog("a_child_of_a_thread_with_another_task_has_one_of_its_own", WATCHDOG);
    std::thread::spawn(|| {
        let second = Task::new();
        second.enter();
        let _port = receive_right();
        let code = forked(|| {
            let task = Task::current();
            let port = receive_right();
            assert_eq!(send(&Msg::new(5, (port, types::MAKE_SEND), (0, 0))), Code::SUCCESS);
            assert_eq!(receive(port).id(), 5);
            i32::from(task.names().expect("a live task").len() != 2)
        });
        assert_eq!(code, 0);
    })
    .join()
    .expect("no panic");
}

/// What a child still has of its parent's tasks is no task any more, and its lines' memory is not there.
#[test]
fn a_parents_task_has_ended_in_its_child() {
    let test = "a_parents_task_has_ended_in_its_child";
    if role().is_some() {
        return echo();
    }
    let _one = alone();
    let _dog = watchdog(test, WATCHDOG);
    let (task, second) = (Task::current(), Task::new());
    let hello = receive_right();
    let mut helper = start(test, "echo", hello);
    let server = receive(hello).reply();
    assert_eq!(rpc(7, server, receive_right(), |msg| msg.int(1)).u64(40), 2);
    // Not the memory that messages bring, which is the program's.
    let lines = || {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("/proc");
        maps.lines().filter(|line| line.contains("memfd:slipway (deleted)")).count()
    };
    assert!(lines() > 0);
    let code = forked(|| {
        assert_eq!(lines(), 0, "the parent's lines");
        let own = Task::current();
        let port = receive_right();
        for left in [task, second] {
            assert_ne!(left, own);
            assert_eq!(left.allocate(right::RECEIVE), Err(Code::INVALID_TASK));
            assert_eq!(left.destroy(port), Err(Code::INVALID_TASK));
            assert!(left.kind(server).is_err() && left.names().is_err_and(|code| code == Code::INVALID_TASK));
            let before = left.enter();
            assert_eq!(send(&Msg::new(5, (port, types::MAKE_SEND), (0, 0))), Code::SEND_INVALID_DEST);
            before.enter();
            left.terminate();
        }
        assert_eq!(own.kind(port), Ok(kind::RECEIVE));
        0
    });
    assert_eq!(code, 0);
    assert_eq!(rpc(7, server, receive_right(), |msg| msg.int(8)).u64(40), 9);
    assert_eq!(send(&Msg::new(0, (server, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    assert!(helper.wait().expect("the helper's end").success());
}

/// Threads send and receive all the while others fork.
#[test]
fn threads_fork_under_load() {
    let test = "threads_fork_under_load";
    if role().is_some() {
        return echo();
    }
    let _one = alone();
    let _dog = watchdog(test, 2 * WATCHDOG);
    let task = Task::current();
    let hello = receive_right();
    let mut helper = start(test, "echo", hello);
    let server = receive(hello).reply();
    task.set_bootstrap(server).expect("a send right");
    let done = AtomicBool::new(false);
    scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let reply = receive_right();
                let mut i = 0;
                while !done.load(SeqCst) {
                    assert_eq!(rpc(7, server, reply, |msg| msg.int(i)).u64(40), i + 1);
                    i += 1;
                }
            });
        }
        let forkers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for i in 0..40u64 {
                        let code = forked(|| {
                            let boot = Task::current().bootstrap().expect("a right");
                            i32::from(rpc(7, boot, receive_right(), |msg| msg.int(i)).u64(40) != i + 1)
                        });
                        assert_eq!(code, 0);
                    }
                })
            })
            .collect();
        for forker in forkers {
            forker.join().expect("no panic");
        }
        done.store(true, SeqCst);
    });
    assert_eq!(send(&Msg::new(0, (server, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    assert!(helper.wait().expect("the helper's end").success());
}

/// What is executed has none of the library's descriptors, and a port whose only holder it was is dead.
#[test]
fn exec_closes_everything() {
    let test = "exec_closes_everything";
    if role().is_some() {
        use std::os::unix::process::CommandExt;
        let parent = inherited();
        let own = receive_right();
        assert_eq!(send(&Msg::new(1, (parent, types::COPY_SEND), (own, types::MAKE_SEND))), Code::SUCCESS);
        let _request = receive(own);
        panic!("exec: {}", Command::new("sh").args(["-c", "ls -l /proc/self/fd; read line"]).exec());
    }
    let _one = alone();
    let _dog = watchdog(test, WATCHDOG);
    let task = Task::current();
    let hello = receive_right();
    let (s, t) = task.export(hello).expect("sockets");
    drop((s, t));
    let mut helper = start_piped(test, "runner", hello);
    let server = receive(hello).reply();
    let reply = receive_right();
    // The request is never answered: its reply right dies with the old program.
    let answer = rpc(7, server, reply, |msg| msg);
    assert_eq!(answer.id(), slipway_ports::abi::notify::SEND_ONCE);
    until("the port of the old program is dead", || is_dead(server));
    drop(helper.stdin.take());
    let output = helper.wait_with_output().expect("its output");
    let text = String::from_utf8_lossy(&output.stdout);
    let listed: Vec<&str> = text.lines().filter(|line| line.contains(" -> ")).collect();
    assert!(!listed.is_empty(), "{text}");
    assert!(!listed.iter().any(|line| line.contains("socket:") || line.contains("eventpoll")), "{text}");
    task.mod_refs(reply, right::RECEIVE, -1).expect("a port of ours");
}
