//! Threads that sleep at a connection, or in a set, while others change it; and what a child keeps of them: nothing.

use crate::support::{
    Server,
    calls::{call, child, close_all, join, pipe, poll, read_up_to, until_asleep, write_all},
    connection::watch,
    hooked, hooked_with,
    watchdog::Step,
};
use crate::waiting::{MESSAGES, epoll, epoll_set};
use libc::{EPOLLIN, EPOLLOUT, EPOLLRDHUP, POLLIN};
use slipway_transport::status::Transport;
use std::{sync::mpsc, thread};

#[test]
fn a_connection_moves_when_nobody_sleeps_on_its_socket() {
    hooked_with(&[("SLIPWAY_X11_AFTER", "5")], || {
        let _step = Step::begin("poll, while another thread writes");
        let server = Server::listen();
        let c = server.fresh_connection();
        let (tell, told) = mpsc::channel();
        let sleeper = thread::spawn(move || {
            tell.send(call!(syscall(libc::SYS_gettid))).expect("the test waits");
            poll(&[(c.client, POLLIN)], -1)
        });
        until_asleep(told.recv().expect("its number"));
        for _ in 0..100 {
            write_all(c.client, b"?");
            assert_eq!(read_up_to(c.server, 1), b"?");
        }
        assert_eq!(server.transports(), [Transport::Socket]);
        write_all(c.server, b"!");
        assert_eq!(sleeper.join().expect("wakes"), Ok(vec![POLLIN]));
        assert_eq!(read_up_to(c.client, 1), b"!");
        (0..1000).for_each(|_| c.exchange());
        assert_eq!(server.transports(), [Transport::Ring]);
    });
}

#[test]
fn a_change_shows_in_poll_of_the_set() {
    hooked(|| {
        let _step = Step::begin("poll of a set that another thread changes");
        let server = Server::listen();
        let c = server.connection();
        let set = epoll_set();
        watch(set, c.server, EPOLLIN as u32, 7);
        assert!(epoll(set, 0).is_empty());
        let (tell, told) = mpsc::channel();
        let sleeper = thread::spawn(move || {
            tell.send(call!(syscall(libc::SYS_gettid))).expect("the test waits");
            poll(&[(set, POLLIN)], -1)
        });
        until_asleep(told.recv().expect("its number"));
        let change = |events: i32| {
            let mut event = libc::epoll_event { events: events as u32, u64: 8 };
            assert_eq!(call!(epoll_ctl(set, libc::EPOLL_CTL_MOD, c.server, &raw mut event)), 0);
        };
        // Of what is not there it does not wake.
        change(EPOLLIN | EPOLLRDHUP);
        assert_eq!(poll(&[(set, POLLIN)], 0), Ok(vec![0]));
        change(EPOLLIN | EPOLLOUT);
        assert_eq!(sleeper.join().expect("wakes"), Ok(vec![POLLIN]));
        assert_eq!(poll(&[(set, libc::POLLRDNORM)], -1), Ok(vec![libc::POLLRDNORM]));
        assert_eq!(epoll(set, 0), [(8, EPOLLOUT as u32)]);
        call!(close(set));
    });
}

#[test]
fn a_child_has_no_waits_of_its_parents_threads() {
    hooked(|| {
        let _step = Step::begin("a fork while another thread waits");
        let (output, input) = pipe();
        let set = epoll_set();
        watch(set, output, EPOLLIN as u32, 1);
        let (tell, told) = mpsc::channel();
        let waits = thread::spawn(move || {
            tell.send(call!(syscall(libc::SYS_gettid))).expect("the test waits");
            epoll(set, -1)
        });
        until_asleep(told.recv().expect("its number"));
        join(child(|| {
            call!(close(set));
            let own = epoll_set();
            assert_eq!(own, set);
            let server = Server::listen();
            let c = server.connection();
            watch(own, c.server, EPOLLIN as u32, 2);
            thread::scope(|scope| {
                scope.spawn(|| {
                    for _ in 0..MESSAGES {
                        assert_eq!(epoll(own, -1), [(2, EPOLLIN as u32)]);
                        assert_eq!(read_up_to(c.server, 1), b"?");
                        write_all(c.server, b"!");
                    }
                });
                for _ in 0..MESSAGES {
                    write_all(c.client, b"?");
                    assert_eq!(read_up_to(c.client, 1), b"!");
                }
            });
            true
        }));
        write_all(input, b"x");
        assert_eq!(waits.join().expect("wakes"), [(1, EPOLLIN as u32)]);
        close_all([set, output, input]);
    });
}
