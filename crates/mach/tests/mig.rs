//! What stubs in Rust are made of: replies that do not fit, and what becomes of rights and memory when something fails.

use mach as _;
use slipway_mach::{
    abi::{notify, right},
    mig::{self, Code, INTEGER_32, Lend, ReceiveRight, Request, SendRight},
    rights::Outgoing,
    task::Task,
};
use std::time::Duration;

const SOON: Option<Duration> = Some(Duration::from_secs(60));
const NOW: Option<Duration> = Some(Duration::ZERO);

/// A port that is told when the last send right of `port` is gone.
fn watch(port: &ReceiveRight) -> ReceiveRight {
    let told = ReceiveRight::new().expect("a port");
    port.notify_no_senders(told.make_send_once().expect("a right")).expect("the request");
    told
}

fn must_be_told(told: &ReceiveRight) {
    assert!(told.receive(SOON).expect("the notification").is_notification(notify::NO_SENDERS));
}

/// Calls a server that answers just so; None for no answer.
fn answered_with(reply: Option<Outgoing>) -> Result<i32, Code> {
    let port = ReceiveRight::new().expect("a port");
    let to = port.make_send().expect("a send right");
    let server = std::thread::spawn(move || {
        let mut request = port.receive(SOON).expect("the request");
        let right = request.take_reply().expect("a reply right");
        if let Some(reply) = reply {
            right.send(reply).expect("the reply is sent");
        }
    });
    let result = Request::new(100, "the call").call(&to, 4096, |reply| reply.value(INTEGER_32));
    server.join().expect("the server ends");
    result.map_err(|error| error.code)
}

#[test]
fn a_reply_must_fit() {
    let reply = |id| Some(Outgoing::new(id));
    assert_eq!(answered_with(reply(200).map(|r| r.ints(&[0]).ints(&[7]))), Ok(7));
    assert_eq!(answered_with(None), Err(Code::MIG_SERVER_DIED));
    assert_eq!(answered_with(reply(201).map(|r| r.ints(&[0]).ints(&[7]))), Err(Code::MIG_REPLY_MISMATCH));
    assert_eq!(answered_with(reply(200).map(|r| r.ints(&[5]))), Err(Code(5)), "the routine's own error");
    for (what, bad) in [
        ("an error with values", reply(200).map(|r| r.ints(&[5]).ints(&[7]))),
        ("no value", reply(200).map(|r| r.ints(&[0]))),
        ("nothing", reply(200)),
        ("two values for one", reply(200).map(|r| r.ints(&[0]).ints(&[7, 8]))),
        ("another type", reply(200).map(|r| r.ints(&[0]).longs(&[7]))),
        ("another type of the code", reply(200).map(|r| r.longs(&[0]).ints(&[7]))),
        ("one value more", reply(200).map(|r| r.ints(&[0]).ints(&[7]).ints(&[8]))),
        ("a right for a value", reply(200).map(|r| r.ints(&[0]).no_right())),
    ] {
        assert_eq!(answered_with(bad), Err(Code::MIG_TYPE_ERROR), "{what}");
    }
    for len in [1000, 4096, 100_000] {
        let long = reply(200).map(|r| r.ints(&[0]).bytes(&vec![0; len]));
        let code = if len < 4096 { Code::MIG_TYPE_ERROR } else { Code::RCV_TOO_LARGE };
        assert_eq!(answered_with(long), Err(code), "{len} bytes more");
    }
    assert_eq!(answered_with(reply(200).map(|r| r.ints(&[0]).ints(&[7]))), Ok(7), "and then a good one");
}

#[test]
fn what_a_refused_reply_holds_is_given_up() {
    let held = ReceiveRight::new().expect("a port");
    let right = held.make_send().expect("a send right");
    let told = watch(&held);
    let reply = Outgoing::new(200).ints(&[0]).ints(&[7]).memory(vec![1; 100_000]).send_right(right);
    assert_eq!(answered_with(Some(reply)), Err(Code::MIG_TYPE_ERROR));
    must_be_told(&told);
}

#[test]
fn what_a_refused_request_holds_is_given_up() {
    let (port, held) = (ReceiveRight::new().expect("a port"), ReceiveRight::new().expect("a port"));
    let (to, right) = (port.make_send().expect("a right"), held.make_send().expect("a right"));
    let told = watch(&held);
    to.send(Outgoing::new(100).send_right(right).memory(vec![2; 100_000]).ints(&[1]), SOON).expect("there is room");
    let answer = mig::answer(port.receive(SOON).expect("the request"), &mut (), |(), request, _| {
        request.value::<u32>(INTEGER_32).map(drop)
    });
    answer.send().expect("nobody waits for an answer");
    must_be_told(&told);
}

#[test]
fn what_a_server_returns_in_place_of_a_reply_is_not_sent() {
    for (returned, seen) in [
        (Code::MIG_DESTROY_REQUEST, Code::MIG_SERVER_DIED),
        (Code::MIG_NO_REPLY, Code::MIG_SERVER_DIED),
        (Code::MIG_REMOTE_ERROR, Code::MIG_REMOTE_ERROR),
        (Code(77), Code(77)),
    ] {
        let port = ReceiveRight::new().expect("a port");
        let to = port.make_send().expect("a send right");
        let server = std::thread::spawn(move || {
            mig::serve_one(&port, SOON, |request| Ok(mig::answer(request, &mut { returned }, |code, _, _| Err(*code))))
        });
        let result = Request::new(100, "the call").call(&to, 4096, |_| Ok(()));
        assert_eq!(result.map_err(|error| error.code), Err(seen), "{returned}");
        server.join().expect("the server ends").expect("the request is served");
    }
}

/// How many references of a send right this task has.
fn references(to: &SendRight) -> u32 {
    Task::current().get_refs(to.name(), right::SEND).expect("a name")
}

#[test]
fn a_send_that_fails_gives_up_what_was_given_and_nothing_else() {
    let (port, held) = (ReceiveRight::new().expect("a port"), ReceiveRight::new().expect("a port"));
    let to = port.make_send().expect("a right");
    port.set_queue_limit(1).expect("a limit");
    to.send(Outgoing::new(1), NOW).expect("there is room");
    let before = references(&to);
    for too_long in [false, true] {
        let right = held.make_send().expect("a right");
        let told = watch(&held);
        let mut request = Request::new(100, "the call");
        request.send_time(Duration::ZERO);
        request.right(mig::MOVE_SEND, Some(right));
        request.memory(INTEGER_32, u32::MAX, Lend::from(vec![3; 100_000]));
        if too_long {
            request.list(INTEGER_32, 2, &[1, 2, 3]);
        }
        let failed = if too_long { request.send(&to) } else { request.call(&to, 4096, |_| Ok(())) };
        let code = failed.expect_err("no room").code;
        assert_eq!(code, if too_long { Code::MIG_ARRAY_TOO_LARGE } else { Code::SEND_TIMED_OUT });
        must_be_told(&told);
        assert_eq!(references(&to), before, "the destination is the caller's, as it was");
    }
    // The thread's next call has a reply port on which nothing else comes.
    assert_eq!(answered_with(Some(Outgoing::new(200).ints(&[0]).ints(&[9]))), Ok(9));
}

#[test]
fn a_late_reply_has_nowhere_to_go() {
    let port = ReceiveRight::new().expect("a port");
    let to = port.make_send().expect("a right");
    let mut request = Request::new(100, "the call");
    request.wait_time(Duration::from_millis(1));
    let late = request.call(&to, 4096, |reply| reply.value::<i32>(INTEGER_32));
    assert!(late.expect_err("nobody answers").is_timeout());
    // The port that it named died with the call.
    assert!(port.receive(SOON).expect("the request").take_reply().is_none());
    assert_eq!(answered_with(Some(Outgoing::new(200).ints(&[0]).ints(&[2]))), Ok(2));
}

/// The right of a name that is to move stays the task's if its message can't be sent, as a C program's does.
#[test]
fn a_named_right_stays_with_an_unsent_request() {
    let (port, gone) = (ReceiveRight::new().expect("a port"), ReceiveRight::new().expect("a port"));
    let to = gone.make_send().expect("a send right");
    drop(gone);
    let mut request = Request::new(100, "the call");
    request.any_right(mig::Carry::Named(mig::MOVE_RECEIVE, port.name()));
    assert_eq!(request.call(&to, 4096, |_| Ok(())).map_err(|error| error.code), Err(Code::SEND_INVALID_DEST));
    port.make_send().expect("the port is still here");
}
