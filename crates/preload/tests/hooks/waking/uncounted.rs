//! Waits of which the set in question doesn't know: by another number, or from before it had a stream.

use std::time::Duration;

use libc::{EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLLET, EPOLLIN, EPOLLONESHOT, EPOLLRDHUP};

use super::{End, How, NEVER, PATIENCE, Waiter};
use crate::support::{
    Fd, Server,
    calls::{call, good, read_once, write_all},
    hooked, hooked_with,
    watchdog::Step,
};

/// The kernel waits for a set that has no stream yet when another thread adds one.
#[test]
fn a_wait_that_began_before_the_first_stream_came() {
    hooked(|| {
        let _step = Step::begin("an early wait");
        let server = Server::listen();
        for ready in [false, true] {
            let c = server.connection();
            let end = End::new(c.server);
            let waiter = Waiter::new();
            waiter.jobs.send((end, How::Epoll)).expect("the thread waits");
            waiter.until_asleep();
            if ready {
                write_all(c.client, b"before");
            }
            assert_eq!(end.control(EPOLL_CTL_ADD, EPOLLIN as u32), 0);
            if !ready {
                write_all(c.client, b"behind");
            }
            let answer = waiter.answers.recv_timeout(Duration::from_millis(PATIENCE as u64 + 2000));
            assert_eq!(answer, Ok(Some(EPOLLIN as u32)));
            assert_eq!(read_once(c.server, 10).bytes.len(), 6);
        }
    });
}

/// As in MariaDB's pool: of several threads that wait, one that is woken does not wait again.
#[test]
fn each_of_the_waits_that_began_before_the_first_stream_came() {
    hooked(|| {
        let _step = Step::begin("several early waits");
        let server = Server::listen();
        let c = server.connection();
        let end = End::new(c.server);
        let mut waiters: Vec<_> = (0..4).map(|_| Waiter::new()).collect();
        for waiter in &waiters {
            waiter.jobs.send((end, How::Epoll)).expect("the thread waits");
            waiter.until_asleep();
        }
        let once = (EPOLLIN | EPOLLET | EPOLLONESHOT) as u32;
        assert_eq!(end.control(EPOLL_CTL_ADD, once), 0);
        while !waiters.is_empty() {
            write_all(c.client, b"?");
            let answered = |waiter: &Waiter| waiter.answers.recv_timeout(Duration::from_millis(1)).ok();
            let (at, answer) = loop {
                if let Some(found) = waiters.iter().enumerate().find_map(|(at, waiter)| Some((at, answered(waiter)?))) {
                    break found;
                }
            };
            assert_eq!(answer, Some(EPOLLIN as u32));
            waiters.remove(at);
            assert_eq!(read_once(c.server, 10).bytes.len(), 1);
            assert_eq!(end.control(EPOLL_CTL_MOD, once), 0);
        }
    });
}

/// It is told of changes, too, while the connection is on its socket.
#[test]
fn a_wait_that_is_not_counted_hears_of_changes() {
    hooked_with(&[("SLIPWAY_X11_AFTER", NEVER)], || {
        let _step = Step::begin("an uncounted wait");
        let server = Server::listen();
        const BEGAN: &str = "began before the stream came";
        const DUPLICATE: &str = "is by a duplicate";
        for wait in [BEGAN, DUPLICATE, "is by a duplicate from before the stream came"] {
            let c = server.fresh_connection();
            let end = End::new(c.server);
            let add = || assert_eq!(end.control(EPOLL_CTL_ADD, EPOLLRDHUP as u32), 0);
            let duplicate = || good(call!(dup(end.set))) as Fd;
            let set = match wait {
                BEGAN => end.set,
                DUPLICATE => {
                    add();
                    duplicate()
                }
                _ => {
                    let set = duplicate();
                    add();
                    set
                }
            };
            let waiter = Waiter::new();
            waiter.jobs.send((End { set, ..end }, How::Epoll)).expect("the thread waits");
            waiter.until_asleep();
            if wait == BEGAN {
                add();
            }
            write_all(c.client, b"there");
            assert_eq!(end.control(EPOLL_CTL_MOD, EPOLLIN as u32), 0);
            let answer = waiter.answers.recv_timeout(Duration::from_millis(PATIENCE as u64 + 2000));
            assert_eq!(answer, Ok(Some(EPOLLIN as u32)), "a wait that {wait}");
            assert_eq!(read_once(c.server, 10).bytes.len(), 5);
        }
    });
}
