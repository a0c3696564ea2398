//! Connections whose client is in an epoll set before it connects.

use std::time::Duration;

use libc::{EPOLL_CTL_ADD, EPOLLET, EPOLLIN, EPOLLONESHOT, EPOLLOUT, EPOLLRDHUP};
use slipway_test_support::Dice;
use slipway_transport::status::Transport;

use super::{End, How, Life, PATIENCE, Waiter};
use crate::support::{
    Connection, Server,
    calls::{good, set_nonblocking, write_all},
    connection::{connect, socket},
    hooked,
    watchdog::{Step, doing},
};

/// What a client may have registered before it connects.
const EARLY: [i32; 4] = [EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, EPOLLIN, EPOLLIN | EPOLLOUT, EPOLLIN | EPOLLONESHOT];

/// A connection whose client is in a set before it connects.
fn registered(server: &Server, events: i32, waits: bool) -> (End, End, Option<u32>) {
    let client = End::new(socket());
    assert_eq!(client.control(EPOLL_CTL_ADD, events as u32), 0);
    let told = if waits { client.wait(How::Epoll, 0) } else { None };
    good(connect(client.fd, &server.name));
    let accepted = End::new(server.accept());
    let both = std::mem::ManuallyDrop::new(Connection { client: client.fd, server: accepted.fd });
    for fd in [client.fd, accepted.fd] {
        set_nonblocking(fd, false);
    }
    both.exchange();
    for fd in [client.fd, accepted.fd] {
        set_nonblocking(fd, true);
    }
    (client, accepted, told)
}

/// A life of waits of a connection whose client is in an epoll set before it connects.
fn live_early(server: &Server, plain: &Server, seed: u64) {
    let _step = Step::begin("an early registration");
    doing(format!("seed {seed}"));
    let mut dice = Dice::new(seed);
    let (events, waits) = (dice.of(&EARLY), dice.below(2) == 0);
    let [(a, b, told), (c, d, expected)] = [server, plain].map(|server| registered(server, events, waits));
    assert_eq!(told, expected, "before it is connected (seed {seed})");
    let transport = if events & EPOLLONESHOT == 0 { Transport::Ring } else { Transport::Socket };
    assert_eq!(server.transports().last(), Some(&transport), "seed {seed}");
    let worlds = [[a, b], [c, d]];
    if seed.is_multiple_of(3) {
        // What comes wakes a thread that waited from the beginning.
        let waiter = Waiter::new();
        waiter.jobs.send((a, How::Epoll)).expect("the thread waits");
        worlds.iter().for_each(|[_, server]| write_all(server.fd, b"early"));
        let told = waiter.answers.recv_timeout(Duration::from_millis(PATIENCE as u64 + 2000)).expect("an answer");
        assert_ne!(told, None, "it is woken (seed {seed})");
        worlds.iter().for_each(|[client, _]| assert_eq!(client.drain(), 5));
    }
    let registered = [Some(events as u32), None];
    let mut life = Life { seed, dice, worlds, registered, unread: [0; 2], waiter: Waiter::new() };
    // An edge may have been told of.
    life.register(0, Some(events as u32));
    life.go_on(2000);
}

#[test]
fn a_socket_that_is_in_a_set_before_it_connects() {
    hooked(|| {
        let (server, plain) = (Server::listen(), Server::listen_elsewhere());
        (300..324).for_each(|seed| live_early(&server, &plain, seed));
    });
}
