//! What a full ring does, where a socket's buffer has another size.

use std::thread;

use libc::{EAGAIN, EPOLLET, EPOLLONESHOT, EPOLLOUT, MSG_DONTWAIT, POLLIN, POLLOUT};

use crate::support::{
    Fd, Server,
    calls::{call, good, outcome, poll, read_once, read_up_to, readable_bytes, ready, set_nonblocking, write_all},
    connection::watch,
    hooked, messages,
    watchdog::Step,
};

/// Bytes a direction of the rings in these tests.
const RING: usize = 4096;

/// A byte that tells its place.
fn pattern(from: usize, length: usize) -> Vec<u8> {
    (from..from + length).map(|i| (i % 251) as u8).collect()
}

#[test]
fn a_full_ring_refuses_and_recovers() {
    hooked(|| {
        let _step = Step::begin("a full ring");
        let server = Server::listen();
        let c = server.connection();
        set_nonblocking(c.client, true);
        let data = pattern(0, 3 * RING);
        let sent = outcome(call!(write(c.client, data.as_ptr().cast(), data.len()))).value as usize;
        assert_eq!(sent, RING, "a write that is cut short says so");
        let refused = outcome(call!(write(c.client, data.as_ptr().cast(), 1)));
        assert_eq!((refused.value, refused.errno), (-1, EAGAIN));
        assert_eq!(ready(c.client, POLLOUT), 0);
        assert_eq!(readable_bytes(c.server) as usize, RING);
        // A little room is none for one who waits, as with a socket.
        assert_eq!(read_up_to(c.server, 1), data[..1]);
        assert_eq!(ready(c.client, POLLOUT), 0);
        assert_eq!(read_up_to(c.server, RING - 1), data[1..RING]);
        assert_eq!(ready(c.client, POLLOUT), POLLOUT);
        write_all(c.client, &data[RING..2 * RING]);
        assert_eq!(read_up_to(c.server, RING), data[RING..2 * RING]);
        assert_eq!(read_up_to(c.client, 0), b"");
    });
}

#[test]
fn a_short_write_is_whole_or_refused() {
    hooked(|| {
        let _step = Step::begin("short writes");
        let server = Server::listen();
        let c = server.connection();
        set_nonblocking(c.client, true);
        let data = pattern(0, 100);
        for _ in 0..2 {
            let mut sent = 0;
            let refused = loop {
                let answer = outcome(call!(write(c.client, data.as_ptr().cast(), data.len())));
                if answer.value < 0 {
                    break answer.errno;
                }
                assert_eq!(answer.value as usize, data.len(), "not a part");
                sent += data.len();
            };
            assert_eq!((sent, refused), (RING / 100 * 100, EAGAIN));
            assert_eq!(ready(c.client, POLLOUT), 0);
            assert_eq!(read_up_to(c.server, sent).len(), sent);
            assert_eq!(ready(c.client, POLLOUT), POLLOUT);
        }
    });
}

#[test]
fn what_poll_calls_writable_takes_a_short_write() {
    hooked(|| {
        let _step = Step::begin("writable");
        let server = Server::listen();
        let c = server.connection();
        set_nonblocking(c.client, true);
        // Of no size that divides the ring.
        let data = pattern(0, 1000);
        let mut sent = 0;
        while ready(c.client, POLLOUT) == POLLOUT {
            assert_eq!(outcome(call!(write(c.client, data.as_ptr().cast(), data.len()))).value as usize, data.len());
            sent += data.len();
        }
        assert!(sent > RING / 2, "{sent}");
        assert_eq!(read_up_to(c.server, sent).len(), sent);
        assert_eq!(ready(c.client, POLLOUT), POLLOUT);
    });
}

/// A program that asks once more for an edge has one as soon as there is room, though no send of it has failed.
#[test]
fn room_is_an_edge_for_one_that_asks_again() {
    hooked(|| {
        let _step = Step::begin("EPOLLET and EPOLLOUT");
        let server = Server::listen();
        for once in [0, EPOLLONESHOT] {
            let c = server.connection();
            set_nonblocking(c.client, true);
            let set = good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd;
            let mut event = libc::epoll_event { events: (EPOLLOUT | EPOLLET | once) as u32, u64: 1 };
            let mut asked = event;
            watch(set, c.client, event.events, 1);
            let mut edges = |time| call!(epoll_wait(set, &raw mut event, 1, time));
            assert_eq!(edges(0), 1);
            // The first is told of twice.
            while edges(0) == 1 {}
            let mut sent = 0;
            while ready(c.client, POLLOUT) == POLLOUT {
                write_all(c.client, &[1; 1000]);
                sent += 1000;
            }
            assert_eq!(call!(epoll_ctl(set, libc::EPOLL_CTL_MOD, c.client, &raw mut asked)), 0);
            assert_eq!(edges(0), 0);
            thread::scope(|scope| {
                scope.spawn(|| assert_eq!(read_up_to(c.server, sent).len(), sent));
                assert_eq!(edges(-1), 1);
            });
            call!(close(set));
        }
    });
}

#[test]
fn a_blocked_writer_is_released_by_the_reader() {
    hooked(|| {
        let _step = Step::begin("a blocked writer");
        let server = Server::listen();
        let c = server.connection();
        let data = pattern(0, 50 * RING + 17);
        for (from, to) in [(c.client, c.server), (c.server, c.client)] {
            let expected = data.clone();
            let writer = thread::spawn({
                let data = data.clone();
                move || outcome(call!(write(from, data.as_ptr().cast(), data.len())))
            });
            assert!(read_up_to(to, expected.len()) == expected, "the bytes differ");
            assert_eq!(writer.join().expect("the writer").value as usize, expected.len(), "a blocking write writes all");
        }
    });
}

#[test]
fn a_writer_that_polls_is_woken() {
    hooked(|| {
        let _step = Step::begin("a polling writer");
        let server = Server::listen();
        let c = server.connection();
        set_nonblocking(c.client, true);
        let data = pattern(0, 40 * RING);
        let reader = thread::spawn({
            let (fd, length) = (c.server, data.len());
            move || read_up_to(fd, length)
        });
        let mut rest = &data[..];
        while !rest.is_empty() {
            assert_eq!(poll(&[(c.client, POLLOUT)], -1), Ok(vec![POLLOUT]));
            let n = outcome(call!(write(c.client, rest.as_ptr().cast(), rest.len())));
            assert!(n.value > 0, "poll promised room: {n:?}");
            rest = &rest[n.value as usize..];
        }
        assert!(reader.join().expect("the reader") == data);
    });
}

#[test]
fn both_ends_write_at_once() {
    hooked(|| {
        let _step = Step::begin("both write");
        let server = Server::listen();
        let c = server.connection();
        let data = pattern(0, 60 * RING);
        let ends = [(c.client, 0), (c.server, 1)];
        let threads: Vec<_> = ends
            .into_iter()
            .map(|(fd, _)| {
                let data = data.clone();
                thread::spawn(move || {
                    // As Xlib does: read whenever a write would block.
                    set_nonblocking(fd, true);
                    let (mut sent, mut received) = (0, Vec::new());
                    while sent < data.len() || received.len() < data.len() {
                        let events = POLLIN | if sent < data.len() { POLLOUT } else { 0 };
                        let now = poll(&[(fd, events)], -1).expect("poll")[0];
                        if now & POLLOUT != 0 {
                            let part = &data[sent..];
                            sent += outcome(call!(write(fd, part.as_ptr().cast(), part.len()))).value.max(0) as usize;
                        }
                        if now & POLLIN != 0 {
                            received.extend(read_once(fd, 1500).bytes);
                        }
                    }
                    assert!(received == data);
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("an end");
        }
    });
}

#[test]
fn descriptors_wait_their_turn_in_a_full_ring() {
    hooked(|| {
        let _step = Step::begin("descriptors in a full ring");
        let server = Server::listen();
        let c = server.connection();
        let file = call!(memfd_create(c"passed".as_ptr(), libc::MFD_CLOEXEC));
        write_all(c.client, &pattern(0, RING - 2));
        let answer = messages::send(c.client, vec![pattern(0, RING / 2)], &[file], MSG_DONTWAIT);
        assert_eq!(answer.value, 2, "cut short");
        let refused = messages::send(c.client, vec![pattern(0, RING / 2)], &[file], MSG_DONTWAIT);
        assert_eq!((refused.value, refused.errno), (-1, EAGAIN));
        let got = messages::receive(c.server, &[RING - 3], messages::space(1), 0);
        assert_eq!((got.value as usize, got.files.len()), (RING - 3, 0));
        let got = messages::receive(c.server, &[RING], messages::space(1), 0);
        assert_eq!((got.value, got.files.len()), (3, 1));
        call!(close(file));
    });
}

#[test]
fn an_edge_for_a_writer_comes_when_there_is_room() {
    hooked(|| {
        let _step = Step::begin("a writer's edge");
        let server = Server::listen();
        let c = server.connection();
        set_nonblocking(c.client, true);
        let set = call!(epoll_create1(libc::EPOLL_CLOEXEC));
        crate::support::connection::watch(set, c.client, (libc::EPOLLOUT | libc::EPOLLET) as u32, 7);
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        let mut wait = |timeout| outcome(call!(epoll_wait(set, &raw mut event, 1, timeout))).value;
        let data = pattern(0, RING);
        for _ in 0..20 {
            while outcome(call!(write(c.client, data.as_ptr().cast(), data.len()))).value > 0 {}
            // What was true before the ring was full may be told once more.
            for _ in 0..3 {
                wait(0);
            }
            assert_eq!(wait(0), 0, "no room, no event");
            let mut left = readable_bytes(c.server) as usize;
            while left > 0 {
                left -= read_once(c.server, 1000).bytes.len();
            }
            assert_eq!(wait(-1), 1);
        }
        call!(close(set));
    });
}
