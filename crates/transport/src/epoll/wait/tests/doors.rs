//! Doorbells, as a set hears them.

use super::*;
use crate::line::send_doorbell;
use rustix::event::{EventfdFlags, eventfd};

#[test]
fn a_set_that_is_rung_often_is_given_a_doorbell() {
    let _guard = unforked();
    let [client, server] = pair();
    let (_epfd, set) = set();
    set.add(server.1.as_raw_fd(), &server.0, IN, 7).expect("room");
    // Whether the line's socket stirs when a byte comes to the set at rest, which hears of it.
    let rings_line = |sleeps: bool| {
        while !set.lie_down(&mut locked(&set.state)) {
            assert!(ask(&set).is_empty());
        }
        server.0.attend();
        if sleeps {
            server.0.arm(PollFlags::IN);
        }
        assert_eq!(send(&client, b"b"), Ok(1));
        let rings = ask_kernel(server.0.line_socket().as_fd(), PollFlags::IN).contains(PollFlags::IN);
        assert!(locked(&set.state).active.is_empty());
        assert_eq!(ask(&set), [Event { events: IN, data: 7 }]);
        assert_eq!(read(&server), Ok(1));
        rings
    };
    let before = (0..1000).take_while(|_| rings_line(false)).count();
    assert!((64..200).contains(&before), "{before}");
    assert!((0..1000).all(|_| !rings_line(false)), "nothing is left to be drained");
    assert!(rings_line(true), "another thread sleeps in poll");
    assert!(!rings_line(false));
    // What a client sends to a server that has gone is refused, as ever.
    set.closing(server.1.as_raw_fd());
    drop(server);
    age(&client.0, true);
    assert_eq!(send(&client, b"b"), Err(Errno::PIPE));
}

#[test]
fn a_writer_is_told_of_space_by_its_doorbell() {
    let [client, server] = pair();
    let (_epfd, set) = set();
    set.add(server.1.as_raw_fd(), &server.0, IN, 7).expect("room");
    for _ in 0..200 {
        while !set.lie_down(&mut locked(&set.state)) {
            ask(&set);
        }
        assert_eq!(send(&client, b"b"), Ok(1));
        assert_eq!((ask(&set).len(), read(&server)), (1, Ok(1)));
    }
    assert!(server.0.hears_door());
    set.modify(server.1.as_raw_fd(), OUT, 8);
    assert_eq!(send(&server, &[0; 5000]), Ok(4096));
    while !set.lie_down(&mut locked(&set.state)) {
        assert!(ask(&set).is_empty());
    }
    server.0.attend();
    assert_eq!(read(&client), Ok(4096));
    assert!(!ask_kernel(server.0.line_socket().as_fd(), PollFlags::IN).contains(PollFlags::IN));
    assert_eq!(ask(&set), [Event { events: OUT, data: 8 }]);
}

#[test]
fn what_is_no_eventfd_is_no_doorbell() {
    let [client, server] = pair();
    let (pipe, _writes) = rustix::pipe::pipe().expect("a pipe");
    let eventfd = eventfd(0, EventfdFlags::CLOEXEC).expect("an eventfd");
    let give = |door: &OwnedFd| {
        send_doorbell(client.0.line_socket().as_fd(), door.as_fd()).expect("room");
        server.0.attend();
        (server.0.hears_door(), server.0.line_alive())
    };
    for (door, is_one) in [(&pipe, false), (&eventfd, true)] {
        assert!(server.0.expects_door(64));
        assert_eq!(give(door), (is_one, true));
    }
    assert_eq!(give(&eventfd), (true, false), "it was not asked for");
}
