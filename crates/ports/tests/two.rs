//! Two processes: the ways that messages and rights go between them.

mod support;

use slipway_ports::{
    abi::{Code, DEAD, NULL, kind, notify, option, right, types},
    msg::Request,
    task::Task,
};
use support::*;

/// Answers each message to the port it makes with its id plus one and the same integer, until id 0.
fn echo() {
    let parent = inherited();
    let own = receive_right();
    assert_eq!(send(&Msg::new(1, (parent, types::COPY_SEND), (own, types::MAKE_SEND))), Code::SUCCESS);
    loop {
        let msg = receive(own);
        if msg.id() == 0 {
            return;
        }
        let answer = Msg::new(msg.id() + 1, (msg.reply(), types::MOVE_SEND_ONCE), (0, 0)).int(msg.u64(40));
        assert_eq!(send(&answer), Code::SUCCESS);
    }
}

#[test]
fn requests_are_answered() {
    if role().is_some() {
        return echo();
    }
    let hello = receive_right();
    let mut child = start("requests_are_answered", "echo", hello);
    let server = receive(hello).reply();
    let reply = receive_right();
    for i in 0..20_000u64 {
        let answer = rpc(100, server, reply, |msg| msg.int(i));
        assert_eq!((answer.id(), answer.u64(40)), (101, i));
    }
    assert_eq!(send(&Msg::new(0, (server, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    assert!(child.wait().expect("the child's end").success());
}

/// What the last message's names meant says nothing of other names, nor of the same ones after a change.
#[test]
fn names_are_not_taken_for_those_of_the_last_message() {
    if role().is_some() {
        let (parent, own) = (inherited(), receive_right());
        assert_eq!(send(&Msg::new(1, (parent, types::COPY_SEND), (own, types::MAKE_SEND))), Code::SUCCESS);
        loop {
            let msg = receive(own);
            match (msg.id(), msg.reply()) {
                (LAST, _) => return,
                (_, NULL) => {}
                (id, reply) => assert_eq!(send(&Msg::new(id, (reply, types::MOVE_SEND_ONCE), (0, 0))), Code::SUCCESS),
            }
        }
    }
    const LAST: i32 = 9;
    let hello = receive_right();
    let mut child = start("names_are_not_taken_for_those_of_the_last_message", "child", hello);
    let server = receive(hello).reply();
    let task = Task::current();
    let reply = receive_right();
    // Only sends, receives, and both, so that nothing else happens between them.
    let call = |option, remote: u32, from: u32| {
        let mut buffer = Msg::new(1, (remote, types::COPY_SEND), (0, 0)).0;
        let receive_size = buffer.len();
        let request = Request { option, send_size: receive_size, receive_size, receive_name: from, ..Request::default() };
        task.mach_msg(&mut buffer, &request)
    };
    let (sends, receives) = (option::SEND_MSG, option::RCV_MSG);
    let asks = || assert_eq!(rpc(2, server, reply, |msg| msg).id(), 2);
    asks();
    assert_eq!(call(sends, server, 0), Code::SUCCESS);
    assert_eq!(call(sends, NULL, 0), Code::SEND_INVALID_DEST);
    assert_eq!(call(sends, server, 0), Code::SUCCESS);
    assert_eq!(call(sends, DEAD, 0), Code::SEND_INVALID_DEST);
    assert_eq!(call(sends, reply, 0), Code::SEND_INVALID_DEST);

    asks();
    for name in [NULL, DEAD, server] {
        assert_eq!(call(receives, NULL, name), Code::RCV_INVALID_NAME, "{name:#x}");
    }
    // The same number in another task is another name.
    let other = Task::new();
    let before = other.enter();
    let mut buffer = Msg::new(1, (server, types::COPY_SEND), (0, 0)).0;
    let request = Request { option: sends, send_size: buffer.len(), ..Request::default() };
    let there = other.kind(server).is_ok_and(|kind| kind & kind::SEND != 0);
    assert!(there || other.mach_msg(&mut buffer, &request) == Code::SEND_INVALID_DEST);
    before.enter();

    asks();
    let set = task.allocate(right::PORT_SET).expect("a set");
    task.move_member(reply, set).expect("a member");
    assert_eq!(call(receives, NULL, reply), Code::RCV_IN_SET);
    assert_eq!(send(&Msg::new(LAST, (server, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    task.deallocate(server).expect("the right");
    assert_eq!(call(sends, server, 0), Code::SEND_INVALID_DEST);
    assert!(child.wait().expect("the child").success());
}

#[test]
fn rights_come_and_go() {
    if role().is_some() {
        let parent = inherited();
        let ports: Vec<u32> = (0..256).map(|_| receive_right()).collect();
        for _ in 0..10 {
            assert_eq!(send(&Msg::new(7, (parent, types::COPY_SEND), (0, 0)).ports(types::MAKE_SEND, &ports)), Code::SUCCESS);
        }
        for port in &ports {
            let old = Task::current().request_notification(*port, notify::NO_SENDERS, 0, *port, types::MAKE_SEND_ONCE);
            assert_eq!(old, Ok(0));
        }
        for port in ports {
            let msg = receive(port);
            assert_eq!((msg.id(), msg.u32(40)), (notify::NO_SENDERS, 10));
        }
        return;
    }
    let hello = receive_right();
    let mut child = start("rights_come_and_go", "giver", hello);
    let mut first = Vec::new();
    for round in 0..10 {
        let msg = receive(hello);
        let names: Vec<u32> = (0..256).map(|i| msg.u32(40 + 8 * i)).collect();
        if round == 0 {
            first = names;
        } else {
            assert_eq!(names, first, "one name for one port");
        }
    }
    for name in first {
        assert_eq!(Task::current().get_refs(name, right::SEND), Ok(10));
        Task::current().mod_refs(name, right::SEND, -10).expect("the references");
    }
    assert!(child.wait().expect("the child's end").success());
}

#[test]
fn a_dead_server_leaves_dead_names_and_notifications() {
    if role().is_some() {
        let parent = inherited();
        let own = receive_right();
        assert_eq!(send(&Msg::new(1, (parent, types::COPY_SEND), (own, types::MAKE_SEND))), Code::SUCCESS);
        let _request = receive(own);
        std::process::abort();
    }
    let hello = receive_right();
    let mut child = start("a_dead_server_leaves_dead_names_and_notifications", "victim", hello);
    let server = receive(hello).reply();
    let task = Task::current();
    assert_eq!(task.request_notification(server, notify::DEAD_NAME, 0, hello, types::MAKE_SEND_ONCE), Ok(0));
    let reply = receive_right();
    let answer = rpc(5, server, reply, |msg| msg);
    assert_eq!(answer.id(), notify::SEND_ONCE);
    let msg = receive(hello);
    assert_eq!((msg.id(), msg.u32(40)), (notify::DEAD_NAME, server));
    assert_eq!(task.kind(server), Ok(kind::DEAD_NAME));
    assert_eq!(send(&Msg::new(5, (server, types::COPY_SEND), (0, 0))), Code::SEND_INVALID_DEST);
    assert!(!child.wait().expect("the child's end").success());
}

#[test]
fn a_receive_right_takes_its_queue_and_senders_along() {
    let test = "a_receive_right_takes_its_queue_and_senders_along";
    match role().as_deref() {
        // Holds the port first, lets messages wait, and gives it away.
        Some("first") => {
            let parent = inherited();
            let own = receive_right();
            assert_eq!(send(&Msg::new(1, (parent, types::COPY_SEND), (own, types::MAKE_SEND))), Code::SUCCESS);
            let control = receive_right();
            assert_eq!(send(&Msg::new(2, (parent, types::COPY_SEND), (control, types::MAKE_SEND))), Code::SUCCESS);
            let msg = receive(own);
            assert_eq!(msg.u64(40), 0);
            let go = receive(control);
            let moved = Msg::new(3, (go.reply(), types::MOVE_SEND_ONCE), (0, 0)).ports(types::MOVE_RECEIVE, &[own]);
            assert_eq!(send(&moved), Code::SUCCESS);
            let _end = receive(control);
            return;
        }
        // Sends numbers without an end in sight.
        Some("sender") => {
            let parent = inherited();
            let own = receive_right();
            let port = rpc(4, parent, own, |msg| msg).u32(40);
            for i in 0..2_000 {
                assert_eq!(send(&Msg::new(9, (port, types::COPY_SEND), (0, 0)).int(i)), Code::SUCCESS);
            }
            return;
        }
        _ => {}
    }
    let hello = receive_right();
    let mut first = start(test, "first", hello);
    let port = receive(hello).reply();
    let control = receive(hello).reply();
    let mut sender = start(test, "sender", hello);
    let ask = receive(hello);
    assert_eq!(send(&Msg::new(5, (ask.reply(), types::MOVE_SEND_ONCE), (0, 0)).ports(types::COPY_SEND, &[port])), Code::SUCCESS);
    let reply = receive_right();
    let moved = rpc(6, control, reply, |msg| msg);
    assert_eq!(moved.u32(40), port, "the receive right joins the send right's name");
    for i in 1..2_000 {
        assert_eq!(receive(port).u64(40), i);
    }
    assert!(sender.wait().expect("the sender's end").success());
    assert_eq!(send(&Msg::new(0, (control, types::COPY_SEND), (0, 0))), Code::SUCCESS);
    assert!(first.wait().expect("the first owner's end").success());
}

#[test]
fn large_messages_and_third_parties() {
    let test = "large_messages_and_third_parties";
    match role().as_deref() {
        Some("owner") => {
            let parent = inherited();
            let own = receive_right();
            assert_eq!(send(&Msg::new(1, (parent, types::COPY_SEND), (own, types::MAKE_SEND))), Code::SUCCESS);
            let old = Task::current().request_notification(own, notify::NO_SENDERS, 0, own, types::MAKE_SEND_ONCE);
            assert_eq!(old, Ok(0));
            let big = receive(own);
            assert!(big.0.len() > 500_000 && big.0[40..500_040].iter().all(|b| *b == 7));
            // Answered through two hands.
            assert_eq!(send(&Msg::new(8, (big.reply(), types::MOVE_SEND_ONCE), (0, 0))), Code::SUCCESS);
            assert_eq!(receive(own).id(), notify::NO_SENDERS);
            return;
        }
        Some("third") => {
            let parent = inherited();
            let own = receive_right();
            let given = rpc(2, parent, own, |msg| msg);
            let (port, once) = (given.u32(40), given.u32(56));
            let big = Msg::new(3, (port, types::MOVE_SEND), (once, types::MOVE_SEND_ONCE)).bytes(&vec![7; 500_000]);
            assert_eq!(send(&big), Code::SUCCESS);
            return;
        }
        _ => {}
    }
    let hello = receive_right();
    let mut owner = start(test, "owner", hello);
    let port = receive(hello).reply();
    let mut third = start(test, "third", hello);
    let ask = receive(hello);
    let answer = receive_right();
    let given = Msg::new(5, (ask.reply(), types::MOVE_SEND_ONCE), (0, 0))
        .ports(types::MOVE_SEND, &[port])
        .ports(types::MAKE_SEND_ONCE, &[answer]);
    assert_eq!(send(&given), Code::SUCCESS);
    assert_eq!(receive(answer).id(), 8);
    assert!(third.wait().expect("the third party's end").success());
    assert!(owner.wait().expect("the owner's end").success());
}
