//! Rights as owned values: what is dropped is given up, what is sent is moved, what is received is owned.

use mach as _;
use slipway_mach::{
    abi::{Code, MESSAGE_MAX, kind, notify, types},
    rights::{Outgoing, Part, PortSet, ReceiveRight, SendRight},
    task::Task,
};
use std::time::Duration;

const SOON: Option<Duration> = Some(Duration::from_secs(60));
const NOW: Option<Duration> = Some(Duration::ZERO);

#[test]
fn drops_give_up() {
    let port = ReceiveRight::new().expect("a port");
    let send = port.make_send().expect("a send right");
    let told = ReceiveRight::new().expect("a port");
    port.notify_no_senders(told.make_send_once().expect("a right")).expect("the request");
    let second = send.try_clone().expect("a copy");
    drop(send);
    assert!(told.receive(NOW).expect_err("a right is left").is_timeout());
    drop(second);
    assert!(told.receive(SOON).expect("the notification").is_notification(notify::NO_SENDERS));
}

#[test]
fn the_death_of_a_port_is_told() {
    let port = ReceiveRight::new().expect("a port");
    let send = port.make_send().expect("a send right");
    let told = ReceiveRight::new().expect("a port");
    send.notify_death(told.make_send_once().expect("a right")).expect("the request");
    drop(port);
    assert!(told.receive(SOON).expect("the notification").is_notification(notify::DEAD_NAME));
    assert!(send.send(Outgoing::new(1), None).expect_err("dead").is_dead());
    assert_eq!(Task::current().kind(send.name()), Ok(kind::DEAD_NAME));
}

#[test]
fn messages_carry_everything() {
    let port = ReceiveRight::new().expect("a port");
    let send = port.make_send().expect("a send right");
    let moved = ReceiveRight::new().expect("a port");
    let to_moved = moved.make_send().expect("a send right");
    to_moved.send(Outgoing::new(77), None).expect("there is room");
    let big = vec![5; 300_000];
    let message = Outgoing::new(3)
        .ints(&[42])
        .longs(&[1 << 40])
        .bytes(b"hello")
        .make_send(&port)
        .receive_right(moved)
        .memory(big.clone())
        .bytes(&vec![9; 200_000]);
    send.send(message, SOON).expect("there is room");
    let mut got = port.receive(SOON).expect("the message");
    assert_eq!((got.id(), got.port(), got.is_by_send_once()), (3, port.name(), false));
    assert_eq!(got.next_int(), Some(42));
    assert_eq!(got.next_long(), Some(1 << 40));
    assert_eq!(got.next_bytes().as_deref(), Some(&b"hello"[..]));
    assert_eq!(got.next_send().map(SendRight::into_name), Some(port.name()));
    let Some(Part::Receive(Some(moved))) = got.next_part() else { panic!("a receive right") };
    assert_eq!(moved.receive(SOON).expect("what was in its queue").id(), 77);
    let Some(Part::Memory(_, region)) = got.next_part() else { panic!("memory") };
    assert!(*region == *big);
    assert_eq!(got.next_bytes().map(|bytes| bytes.len()), Some(200_000));
    assert!(got.next_part().is_none());
}

#[test]
fn calls_are_answered_and_dropped_requests_are_told() {
    let port = ReceiveRight::new().expect("a port");
    let send = port.make_send().expect("a send right");
    let server = std::thread::spawn(move || {
        for _ in 0..100 {
            let mut request = port.receive(SOON).expect("a request");
            let n = request.next_int().expect("a number");
            request
                .take_reply()
                .expect("a reply right")
                .send(Outgoing::new(request.id() + 100).ints(&[n * 2]))
                .expect("the answer");
        }
        drop(port.receive(SOON).expect("a request, not answered"));
    });
    for n in 0..100 {
        let mut answer = send.call(Outgoing::new(1).ints(&[n]), SOON).expect("an answer");
        assert_eq!((answer.id(), answer.next_int()), (101, Some(n * 2)));
    }
    let answer = send.call(Outgoing::new(1), SOON).expect("a notification");
    assert!(answer.is_notification(notify::SEND_ONCE));
    server.join().expect("the server");
}

#[test]
fn what_could_not_be_sent_is_given_up() {
    let port = ReceiveRight::new().expect("a port");
    let send = port.make_send().expect("a send right");
    port.set_queue_limit(1).expect("a limit");
    send.send(Outgoing::new(1), None).expect("there is room");
    let inner = ReceiveRight::new().expect("a port");
    let right = inner.make_send().expect("a send right");
    let told = ReceiveRight::new().expect("a port");
    inner.notify_no_senders(told.make_send_once().expect("a right")).expect("the request");
    assert!(send.send(Outgoing::new(2).send_right(right), NOW).expect_err("full").is_timeout());
    assert!(told.receive(SOON).expect("the right is gone").is_notification(notify::NO_SENDERS));
}

#[test]
fn sets_receive_for_their_members() {
    let set = PortSet::new().expect("a set");
    let ports: Vec<ReceiveRight> = (0..3).map(|_| ReceiveRight::new().expect("a port")).collect();
    for port in &ports {
        set.add(port).expect("a member");
        port.make_send().expect("a right").send(Outgoing::new(5), None).expect("there is room");
    }
    let mut from: Vec<u32> = ports.iter().map(|_| set.receive(SOON).expect("a message").port()).collect();
    let mut all: Vec<u32> = ports.iter().map(ReceiveRight::name).collect();
    from.sort_unstable();
    all.sort_unstable();
    assert_eq!(from, all);
    assert!(set.receive(NOW).expect_err("nothing is left").is_timeout());
}

#[tokio::test(flavor = "current_thread")]
async fn an_event_loop_waits_on_the_descriptor() {
    let port = ReceiveRight::new().expect("a port");
    #[allow(deprecated, reason = "safe here: the descriptor stays open as long as it is registered")]
    let events = tokio::io::unix::AsyncFd::new(port.descriptor().expect("a descriptor")).expect("a reactor");
    let send = port.make_send().expect("a send right");
    let sender = std::thread::spawn(move || {
        for i in 0..500 {
            send.send(Outgoing::new(i), None).expect("a message");
        }
    });
    let mut next = 0;
    while next < 500 {
        let mut ready =
            tokio::time::timeout(Duration::from_secs(60), events.readable()).await.expect("in time").expect("no error");
        while let Ok(message) = port.receive(NOW) {
            assert_eq!(message.id(), next);
            next += 1;
        }
        ready.clear_ready();
    }
    sender.join().expect("the sender");
}

/// Whoever has the port of a task that ended learns of it, also where the library had begun to serve the port.
#[test]
fn a_tasks_port_dies_with_it() {
    let task = Task::new();
    let own = task.self_right().expect("a right");
    let name = task.extract_right(own, types::COPY_SEND, Task::current()).expect("a right");
    let port = SendRight::from_name(Task::current(), name);
    let answer = port.call(Outgoing::new(3201), SOON).expect("an answer");
    assert_eq!(answer.id(), 3301);
    task.terminate();
    assert_eq!(Task::current().kind(port.name()), Ok(kind::DEAD_NAME));
}

/// Nothing of it is taken, and all of it given up.
#[test]
fn a_message_that_is_too_large_keeps_nothing() {
    let port = ReceiveRight::new().expect("a port");
    let once = port.make_send_once().expect("a right");
    let bytes = vec![0; MESSAGE_MAX + 1];
    let error = once.send(Outgoing::new(1).bytes(&bytes)).expect_err("it is too large");
    assert_eq!(error.code, Code::SEND_NO_BUFFER);
    assert!(port.receive(SOON).expect("the notification").is_notification(notify::SEND_ONCE));
    let dest = port.make_send().expect("a send right");
    let carried = ReceiveRight::new().expect("a port");
    let to_carried = carried.make_send().expect("a send right");
    dest.send(Outgoing::new(2).receive_right(carried).bytes(&bytes), None).expect_err("it is too large");
    assert_eq!(Task::current().kind(to_carried.name()), Ok(kind::DEAD_NAME));
}
