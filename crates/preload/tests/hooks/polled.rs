//! Epoll sets that others wait for by their descriptors: ready for what is there, and for nothing else, as with plain sockets.

use crate::support::{
    Connection, Fd, Server,
    calls::{call, errno, good, poll, read_up_to, ready, set_nonblocking, until_asleep, write_all},
    connection::watch,
    hooked,
    watchdog::{Step, doing},
};
use crate::waiting::{epoll, epoll_set};
use libc::{EPOLL_CTL_DEL, EPOLL_CTL_MOD, EPOLLIN, EPOLLONESHOT, EPOLLOUT, EPOLLPRI, POLLIN, POLLOUT, SHUT_WR};
use std::{sync::mpsc, thread};

fn modify(set: Fd, fd: Fd, events: i32) {
    let mut event = libc::epoll_event { events: events as u32, u64: 1 };
    good(call!(epoll_ctl(set, EPOLL_CTL_MOD, fd, &raw mut event)));
}

fn fill(fd: Fd) {
    set_nonblocking(fd, true);
    // It may move to its ring when its socket is full.
    while call!(write(fd, [7; 4096].as_ptr().cast(), 4096)) > 0 || ready(fd, POLLOUT) != 0 {}
}

fn drain(fd: Fd) {
    set_nonblocking(fd, true);
    while call!(read(fd, [0_u8; 4096].as_mut_ptr().cast(), 4096)) > 0 {}
    assert_eq!(errno(), libc::EAGAIN);
}

/// A set in which nothing is ready, which has been found so by others.
fn polled(fd: Fd, events: i32) -> Fd {
    let set = epoll_set();
    watch(set, fd, events as u32, 1);
    assert_eq!(ready(set, POLLIN), 0);
    set
}

#[test]
fn room_that_another_thread_asks_for_ends_a_wait() {
    hooked(|| {
        let server = Server::listen();
        let waits: [fn(Fd) -> bool; 2] = [
            |set| epoll(set, -1) == [(1, EPOLLOUT as u32)],
            |set| poll(&[(set, POLLIN)], -1) == Ok(vec![POLLIN]) && epoll(set, 0) == [(1, EPOLLOUT as u32)],
        ];
        for (connection, wait) in
            [Server::fresh_connection, Server::connection].iter().zip([waits; 2]).flat_map(|(c, w)| w.map(|w| (c, w)))
        {
            let _step = Step::begin("room in a set that was polled");
            let c = connection(&server);
            let set = polled(c.server, EPOLLIN | EPOLLONESHOT);
            fill(c.server);
            let (tell, told) = mpsc::channel();
            let sleeper = thread::spawn(move || {
                tell.send(call!(syscall(libc::SYS_gettid))).expect("the test waits");
                wait(set)
            });
            until_asleep(told.recv().expect("its number"));
            modify(set, c.server, EPOLLOUT | EPOLLONESHOT);
            drain(c.client);
            assert!(sleeper.join().expect("wakes"));
            call!(close(set));
        }
    });
}

type Act = fn(Fd, &Connection);

/// What a program does, after which nothing is to be reported.
const QUIET: [(&str, Act); 9] = [
    ("nothing is asked for, and the peer ends", |set, c| {
        watch(set, c.server, 0, 1);
        good(call!(shutdown(c.client, SHUT_WR)));
    }),
    ("nothing is asked for any more, and the peer ends", |set, c| {
        watch(set, c.server, EPOLLIN as u32, 1);
        assert_eq!(epoll(set, 0), []);
        modify(set, c.server, 0);
        write_all(c.client, b"x");
        good(call!(shutdown(c.client, SHUT_WR)));
    }),
    ("urgent bytes are asked for, and the peer ends", |set, c| {
        watch(set, c.server, EPOLLPRI as u32, 1);
        good(call!(shutdown(c.client, SHUT_WR)));
    }),
    ("room is asked for, and the peer ends", |set, c| {
        fill(c.server);
        watch(set, c.server, EPOLLOUT as u32, 1);
        good(call!(shutdown(c.client, SHUT_WR)));
        fill(c.server);
    }),
    ("one report is asked for", |set, c| watch(set, c.server, (EPOLLIN | EPOLLONESHOT) as u32, 1)),
    ("one report is asked for after a poll", |set, c| {
        watch(set, c.server, EPOLLIN as u32, 1);
        assert_eq!(ready(set, POLLIN), 0);
        modify(set, c.server, EPOLLIN | EPOLLONESHOT);
    }),
    ("there was one report, and more comes", |set, c| {
        spend(set, c);
        write_all(c.client, b"x");
    }),
    ("there was one report, and the peer closes", |set, c| {
        spend(set, c);
        good(call!(shutdown(c.client, SHUT_WR)));
        good(call!(shutdown(c.server, SHUT_WR)));
    }),
    ("taken out, and the peer ends", |set, c| {
        watch(set, c.server, EPOLLIN as u32, 1);
        assert_eq!(epoll(set, 0), []);
        good(call!(epoll_ctl(set, EPOLL_CTL_DEL, c.server, std::ptr::null_mut())));
        good(call!(shutdown(c.client, SHUT_WR)));
    }),
];

/// EPOLLONESHOT reports.
fn spend(set: Fd, c: &Connection) {
    watch(set, c.server, (EPOLLIN | EPOLLONESHOT) as u32, 1);
    write_all(c.client, b"x");
    assert_eq!((ready(set, POLLIN), epoll(set, -1)), (POLLIN, vec![(1, EPOLLIN as u32)]));
    assert_eq!(read_up_to(c.server, 1), b"x");
}

#[test]
fn a_set_is_ready_for_nothing_that_it_does_not_report() {
    hooked(|| {
        let _step = Step::begin("a set with nothing to report");
        let server = Server::listen();
        for (kind, begin) in [|_: &Server| Connection::plain(), Server::fresh_connection, Server::connection].iter().enumerate() {
            for (what, act) in QUIET {
                let what = format!("connection {kind}: {what}");
                doing(what.clone());
                let (set, c) = (epoll_set(), begin(&server));
                act(set, &c);
                assert_eq!([ready(set, POLLIN), ready(set, POLLIN)], [0, 0], "{what}");
                assert_eq!(epoll(set, 0), [], "{what}");
                assert_eq!(ready(set, POLLIN), 0, "{what}");
                call!(close(set));
            }
        }
    });
}

#[test]
fn what_has_reported_once_is_asked_for_again() {
    hooked(|| {
        let _step = Step::begin("a hang-up after one report");
        let server = Server::listen();
        for begin in [|_: &Server| Connection::plain(), Server::fresh_connection, Server::connection] {
            let (set, c) = (epoll_set(), begin(&server));
            spend(set, &c);
            write_all(c.client, b"y");
            assert_eq!(ready(set, POLLIN), 0);
            let (tell, told) = mpsc::channel();
            let sleeper = thread::spawn(move || {
                tell.send(call!(syscall(libc::SYS_gettid))).expect("the test waits");
                poll(&[(set, POLLIN)], -1)
            });
            until_asleep(told.recv().expect("its number"));
            modify(set, c.server, EPOLLIN | EPOLLONESHOT);
            assert_eq!(sleeper.join().expect("wakes"), Ok(vec![POLLIN]));
            assert_eq!(epoll(set, 0), [(1, EPOLLIN as u32)]);
            assert_eq!((read_up_to(c.server, 1), ready(set, POLLIN)), (b"y".to_vec(), 0));
            modify(set, c.server, EPOLLIN | EPOLLONESHOT);
            assert_eq!(ready(set, POLLIN), 0);
            good(call!(shutdown(c.client, SHUT_WR)));
            assert_eq!(poll(&[(set, POLLIN)], -1), Ok(vec![POLLIN]));
            assert_eq!(epoll(set, 0), [(1, EPOLLIN as u32)]);
            call!(close(set));
        }
    });
}
