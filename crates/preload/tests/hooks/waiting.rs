//! Threads that share a connection, time-outs, signals, and epoll in its variants.

use std::{
    sync::{Arc, Barrier, mpsc},
    thread,
    time::{Duration, Instant},
};

use libc::{EAGAIN, EINTR, EPOLLET, EPOLLIN, EPOLLOUT, EPOLLRDHUP, POLLIN, POLLOUT, SO_RCVTIMEO, SOL_SOCKET};

use slipway_transport::status::Transport;

use crate::support::{
    Fd, Server,
    calls::{
        Answer, call, errno, good, outcome, pipe, poll, read_once, read_up_to, ready, set_nonblocking, until_asleep, write_all,
    },
    connection::watch,
    hooked,
    watchdog::Step,
};

/// Messages through a connection that many threads watch.
pub const MESSAGES: u32 = 10_000;

pub fn epoll(set: Fd, timeout: i32) -> Vec<(u64, u32)> {
    epoll_some(set, 8, timeout)
}

/// With room for so many events, eight at most.
fn epoll_some(set: Fd, most: i32, timeout: i32) -> Vec<(u64, u32)> {
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 8];
    let count = loop {
        let n = call!(epoll_wait(set, events.as_mut_ptr(), most, timeout));
        if n >= 0 || errno() != EINTR {
            break good(n);
        }
    };
    events[..count as usize].iter().map(|e| (e.u64, e.events)).collect()
}

pub fn epoll_set() -> Fd {
    good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd
}

#[test]
fn a_connection_that_hung_up_is_no_exception() {
    hooked(|| {
        let _step = Step::begin("select for exceptions");
        let server = Server::listen();
        let c = std::mem::ManuallyDrop::new(server.connection());
        call!(close(c.server));
        assert!(read_up_to(c.client, 1).is_empty());
        let (output, input) = pipe();
        let ready = |time: Option<Duration>| {
            // SAFETY: sets of zeros are empty.
            let [mut read, mut except]: [libc::fd_set; 2] = unsafe { std::mem::zeroed() };
            call!(FD_SET(output, &raw mut read));
            for fd in [output, c.client] {
                call!(FD_SET(fd, &raw mut except));
            }
            let mut time = time.map(|time| libc::timeval { tv_sec: 0, tv_usec: i64::from(time.subsec_micros()) });
            let time = time.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
            let count = good(call!(select(output.max(c.client) + 1, &raw mut read, std::ptr::null_mut(), &raw mut except, time)));
            (count, [&read, &except].map(|set| [output, c.client].map(|fd| call!(FD_ISSET(fd, set)))))
        };
        let (start, time) = (Instant::now(), Duration::from_millis(50));
        assert_eq!(ready(Some(time)), (0, [[false; 2]; 2]));
        assert!(start.elapsed() >= time, "{:?}", start.elapsed());
        let writer = thread::spawn(move || write_all(input, b"!"));
        assert_eq!(ready(None), (1, [[true, false], [false; 2]]));
        writer.join().expect("writes");
    });
}

#[test]
fn nobody_loses_a_wake_up() {
    hooked(|| {
        let _step = Step::begin("many threads wait");
        let server = Server::listen();
        let c = server.connection();
        set_nonblocking(c.client, true);
        let set = epoll_set();
        watch(set, c.client, EPOLLIN as u32, 0);
        // Each waits in its way, and whoever is woken reads what is there: the sum must come out.
        let (sender, received) = mpsc::channel::<usize>();
        let fd = c.client;
        let wait_by_poll = move || {
            poll(&[(fd, POLLIN)], -1).expect("poll");
        };
        let wait_by_epoll = move || {
            epoll(set, -1);
        };
        let wait_by_select = move || {
            poll(&[(fd, POLLIN), (set, POLLIN)], -1).expect("poll");
        };
        let waits: [Box<dyn Fn() + Send>; 4] =
            [Box::new(wait_by_poll), Box::new(wait_by_poll), Box::new(wait_by_epoll), Box::new(wait_by_select)];
        let threads: Vec<_> = waits
            .into_iter()
            .map(|wait| {
                let sender = sender.clone();
                thread::spawn(move || {
                    loop {
                        wait();
                        let got = read_once(fd, 64);
                        if got.value == 0 {
                            return;
                        }
                        assert!(got.value > 0 || got.errno == EAGAIN, "{got:?}");
                        let _ = sender.send(got.bytes.len());
                    }
                })
            })
            .collect();
        for _ in 0..MESSAGES {
            write_all(c.server, b"message!");
            let mut left = 8;
            while left > 0 {
                left -= received.recv().expect("somebody is awake");
            }
        }
        good(call!(shutdown(c.server, libc::SHUT_WR)));
        for thread in threads {
            thread.join().expect("all see the end");
        }
        call!(close(set));
    });
}

#[test]
fn two_blocking_readers_share() {
    hooked(|| {
        let _step = Step::begin("two readers");
        let server = Server::listen();
        let c = server.connection();
        let fd = c.client;
        let readers: Vec<_> = (0..2)
            .map(|_| {
                thread::spawn(move || {
                    let mut sum = 0;
                    loop {
                        match read_once(fd, 100).bytes.len() {
                            0 => return sum,
                            n => sum += n,
                        }
                    }
                })
            })
            .collect();
        for _ in 0..MESSAGES {
            write_all(c.server, b"0123456789");
        }
        good(call!(shutdown(c.server, libc::SHUT_WR)));
        let sum: usize = readers.into_iter().map(|r| r.join().expect("a reader")).sum();
        assert_eq!(sum, 10 * MESSAGES as usize);
    });
}

#[test]
fn requests_and_replies_by_every_way_of_waiting() {
    hooked(|| {
        let _step = Step::begin("requests and replies");
        let server = Server::listen();
        let c = server.connection();
        let fd = c.server;
        let answering = thread::spawn(move || {
            let set = epoll_set();
            watch(set, fd, (EPOLLIN | EPOLLET) as u32, 0);
            set_nonblocking(fd, true);
            loop {
                epoll(set, -1);
                loop {
                    let got = read_once(fd, 1000);
                    match got.value {
                        0 => return,
                        n if n > 0 => write_all(fd, &got.bytes),
                        _ => break,
                    }
                }
            }
        });
        for i in 0..5000_u32 {
            write_all(c.client, &i.to_ne_bytes());
            if i % 3 == 0 {
                assert_eq!(poll(&[(c.client, POLLIN)], -1), Ok(vec![POLLIN]));
            }
            assert_eq!(read_up_to(c.client, 4), i.to_ne_bytes());
        }
        good(call!(shutdown(c.client, libc::SHUT_WR)));
        answering.join().expect("the server's thread");
    });
}

fn set_receive_timeout(fd: Fd, micros: i64) {
    set_timeout(fd, SO_RCVTIMEO, libc::timeval { tv_sec: 0, tv_usec: micros });
}

fn set_timeout(fd: Fd, name: i32, time: libc::timeval) {
    good(call!(setsockopt(fd, SOL_SOCKET, name, (&raw const time).cast(), size_of_val(&time) as u32)));
}

#[test]
fn a_time_that_is_over_and_the_options_newer_number() {
    hooked(|| {
        let _step = Step::begin("other time-outs");
        let server = Server::listen();
        let c = server.connection();
        for (name, time) in [
            (SO_RCVTIMEO, libc::timeval { tv_sec: -1, tv_usec: 0 }),
            (libc::SO_RCVTIMEO_NEW, libc::timeval { tv_sec: 0, tv_usec: 1000 }),
        ] {
            set_receive_timeout(c.client, 0);
            set_timeout(c.client, name, time);
            let nothing = read_once(c.client, 10);
            assert_eq!((nothing.value, nothing.errno), (-1, EAGAIN));
        }
    });
}

#[test]
fn a_blocking_read_times_out() {
    hooked(|| {
        let _step = Step::begin("a time-out");
        let server = Server::listen();
        let c = server.connection();
        set_receive_timeout(c.client, 30_000);
        let start = Instant::now();
        let nothing = read_once(c.client, 10);
        assert_eq!((nothing.value, nothing.errno), (-1, EAGAIN));
        assert!(start.elapsed() >= Duration::from_millis(29), "{:?}", start.elapsed());
        write_all(c.server, b"abc");
        // MSG_WAITALL gives what came in time.
        let mut bytes = [0_u8; 8];
        let got = outcome(call!(recv(c.client, bytes.as_mut_ptr().cast(), 8, libc::MSG_WAITALL)));
        assert_eq!((got.value, &bytes[..3]), (3, &b"abc"[..]));
        set_receive_timeout(c.client, 0);
        let (waits, fd) = (Arc::new(Barrier::new(2)), c.client);
        let reader = thread::spawn({
            let waits = Arc::clone(&waits);
            move || {
                waits.wait();
                read_once(fd, 10)
            }
        });
        waits.wait();
        write_all(c.server, b"later");
        assert_eq!(reader.join().expect("the reader").bytes, b"later");
    });
}

extern "C" fn nothing(_: i32) {}

pub fn handle(signal: i32, flags: i32) {
    // SAFETY: an action of zeros is valid, and gets a handler.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as *const () as usize;
    action.sa_flags = flags;
    good(call!(sigaction(signal, &raw const action, std::ptr::null_mut())));
}

/// Runs `work` in a thread that gets `signal` again and again until `enough` says so or it ends.
pub fn disturbed(signal: i32, work: impl FnOnce() -> Answer + Send + 'static, mut meanwhile: impl FnMut(u32)) -> Answer {
    let (sender, thread_id) = mpsc::channel();
    let worker = thread::spawn(move || {
        sender.send(call!(pthread_self())).expect("the test waits");
        work()
    });
    let id = thread_id.recv().expect("the thread runs");
    for i in 0.. {
        if worker.is_finished() {
            break;
        }
        call!(pthread_kill(id, signal));
        meanwhile(i);
        thread::park_timeout(Duration::from_millis(1));
    }
    worker.join().expect("the worker")
}

#[test]
fn a_signal_interrupts_a_blocking_read() {
    hooked(|| {
        let _step = Step::begin("EINTR");
        let server = Server::listen();
        let c = server.connection();
        handle(libc::SIGUSR1, 0);
        let fd = c.client;
        let read = disturbed(libc::SIGUSR1, move || read_once(fd, 10), |_| {});
        assert_eq!((read.value, read.errno), (-1, EINTR));
        let polled = disturbed(
            libc::SIGUSR1,
            move || Answer { errno: poll(&[(fd, POLLIN)], -1).expect_err("a signal"), ..Answer::default() },
            |_| {},
        );
        assert_eq!(polled.errno, EINTR);
        let set = epoll_set();
        watch(set, fd, EPOLLIN as u32, 0);
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        let waited = disturbed(libc::SIGUSR1, move || outcome(call!(epoll_wait(set, &raw mut event, 1, -1))), |_| {});
        assert_eq!((waited.value, waited.errno), (-1, EINTR));
        call!(close(set));
    });
}

#[test]
fn a_blocking_read_goes_on_after_a_restarting_handler() {
    hooked(|| {
        let _step = Step::begin("SA_RESTART");
        let server = Server::listen();
        let c = server.connection();
        handle(libc::SIGUSR1, libc::SA_RESTART);
        let (fd, other) = (c.client, c.server);
        let read = disturbed(
            libc::SIGUSR1,
            move || read_once(fd, 10),
            |i| {
                if i == 20 {
                    write_all(other, b"at last");
                }
            },
        );
        assert_eq!(read.bytes, b"at last");
    });
}

/// As epoll(7) allows, a program that is told by edges takes a write of a part for one that finds no space, and waits for its edge at once.
#[test]
fn a_write_of_a_part_is_followed_by_an_edge() {
    hooked(|| {
        let _step = Step::begin("a write of a part");
        let server = Server::listen();
        let c = server.connection();
        set_nonblocking(c.client, true);
        let set = epoll_set();
        watch(set, c.client, (EPOLLIN | EPOLLOUT | EPOLLET) as u32, 1);
        assert_eq!(epoll(set, -1), [(1, EPOLLOUT as u32)]);
        let bytes = vec![7; 4 << 20];
        for _ in 0..3 {
            let written = good(call!(write(c.client, bytes.as_ptr().cast(), bytes.len()))) as usize;
            assert!(written < bytes.len());
            let fd = c.server;
            let reader = thread::spawn(move || read_up_to(fd, written).len());
            while epoll(set, -1) != [(1, EPOLLOUT as u32)] {}
            assert_eq!(reader.join().expect("the reader"), written);
        }
        call!(close(set));
    });
}

#[test]
fn an_epoll_set_can_be_polled() {
    hooked(|| {
        let _step = Step::begin("a polled set");
        let server = Server::listen();
        let c = server.connection();
        let set = epoll_set();
        watch(set, c.client, EPOLLIN as u32, 1);
        assert_eq!(ready(set, POLLIN), 0);
        for _ in 0..300 {
            let fd = c.server;
            let writer = thread::spawn(move || write_all(fd, b"x"));
            assert_eq!(poll(&[(set, POLLIN)], -1), Ok(vec![POLLIN]));
            while epoll(set, 0).is_empty() {
                poll(&[(set, POLLIN)], -1).expect("poll");
            }
            assert_eq!(read_up_to(c.client, 1), b"x");
            writer.join().expect("the writer");
        }
        call!(close(set));
    });
}

#[test]
fn a_polled_set_is_ready_only_for_what_is_there() {
    hooked(|| {
        let _step = Step::begin("a polled set in which nothing is");
        let server = Server::listen();
        let c = server.connection();
        let set = epoll_set();
        watch(set, c.client, EPOLLIN as u32, 1);
        for events in [EPOLLIN, EPOLLIN | EPOLLET, EPOLLIN | libc::EPOLLONESHOT] {
            let mut event = libc::epoll_event { events: events as u32, u64: 1 };
            good(call!(epoll_ctl(set, libc::EPOLL_CTL_MOD, c.client, &raw mut event)));
            assert_eq!(ready(set, POLLIN), 0);
            write_all(c.server, b"x");
            assert_eq!(ready(set, POLLIN), POLLIN);
            // Read without a word from the set.
            assert_eq!((read_up_to(c.client, 1), ready(set, POLLIN)), (b"x".to_vec(), 0));
        }
        let ((tell, told), (go, wait)) = (mpsc::channel(), mpsc::channel::<()>());
        let sleeper = thread::spawn(move || {
            tell.send(call!(syscall(libc::SYS_gettid))).expect("a listener");
            let told = poll(&[(set, POLLIN)], -1);
            tell.send(0).expect("a listener");
            let _ = wait.recv();
            told
        });
        let thread = told.recv().expect("its number");
        until_asleep(thread);
        good(call!(epoll_ctl(set, libc::EPOLL_CTL_DEL, c.client, std::ptr::null_mut())));
        write_all(c.server, b"x");
        until_asleep(thread);
        assert_eq!(told.try_recv(), Err(mpsc::TryRecvError::Empty), "of a connection that was taken out");
        watch(set, c.client, EPOLLIN as u32, 2);
        assert_eq!(told.recv(), Ok(0));
        drop(go);
        assert_eq!(sleeper.join().expect("the sleeper"), Ok(vec![POLLIN]));
        assert_eq!(epoll(set, 0), [(2, EPOLLIN as u32)]);
        call!(close(set));
    });
}

/// Through a set in a set: what an outer wait says, an inner one explains.
/// Registered by one number, waited for by the other, as mio does it (and so tokio).
#[test]
fn an_epoll_set_with_two_numbers() {
    hooked(|| {
        let _step = Step::begin("an epoll set with two numbers");
        let server = Server::listen();
        for early in [true, false] {
            let first = epoll_set();
            let copy = || good(call!(fcntl(first, libc::F_DUPFD_CLOEXEC, 3))) as Fd;
            let mut second = if early { copy() } else { -1 };
            let c = server.connection();
            watch(if early { second } else { first }, c.client, EPOLLIN as u32, 7);
            if !early {
                second = copy();
            }
            let turns = |set: Fd| {
                for i in 0..200_u32 {
                    write_all(c.server, &i.to_ne_bytes());
                    assert_eq!(epoll(set, -1), [(7, EPOLLIN as u32)]);
                    assert_eq!(read_up_to(c.client, 4), i.to_ne_bytes());
                }
                assert_eq!(epoll(set, 0), []);
            };
            [first, second, first].into_iter().for_each(turns);
            assert_eq!(server.transports(), [Transport::Ring]);
            // The number that the set was known by first is another file's.
            good(call!(close(first)));
            let other = good(call!(eventfd(0, 0))) as Fd;
            turns(second);
            let mut event = libc::epoll_event { events: EPOLLOUT as u32, u64: 8 };
            good(call!(epoll_ctl(second, libc::EPOLL_CTL_MOD, c.client, &raw mut event)));
            assert_eq!(epoll(second, -1), [(8, EPOLLOUT as u32)]);
            [other, second].into_iter().for_each(|fd| _ = good(call!(close(fd))));
            drop(c);
        }
    });
}

fn through(outer: Fd, inner: Fd, c: &crate::support::Connection) {
    assert_eq!(epoll(outer, 0), []);
    for _ in 0..300 {
        let fd = c.server;
        let writer = thread::spawn(move || write_all(fd, b"y"));
        assert_eq!(epoll(outer, -1), [(2, EPOLLIN as u32)]);
        assert_eq!(epoll(inner, 0), [(1, EPOLLIN as u32)]);
        assert_eq!(read_up_to(c.client, 1), b"y");
        writer.join().expect("the writer");
    }
}

#[test]
fn an_epoll_set_can_be_in_another() {
    hooked(|| {
        let _step = Step::begin("a set in a set");
        let server = Server::listen();
        for connected_first in [false, true] {
            let c = server.connection();
            let (inner, outer) = (epoll_set(), epoll_set());
            if connected_first {
                watch(inner, c.client, EPOLLIN as u32, 1);
                write_all(c.server, b"unread");
                watch(outer, inner, EPOLLIN as u32, 2);
                // The server has its turn and sends over the socket what lay in the ring.
                ready(c.server, POLLIN);
                assert_eq!(epoll(outer, -1), [(2, EPOLLIN as u32)]);
                assert_eq!(read_up_to(c.client, 6), b"unread");
            } else {
                watch(outer, inner, EPOLLIN as u32, 2);
                watch(inner, c.client, EPOLLIN as u32, 1);
            }
            through(outer, inner, &c);
            crate::support::calls::close_all([inner, outer]);
        }
    });
}

#[test]
fn copies_in_one_set_all_hear() {
    hooked(|| {
        let _step = Step::begin("copies in a set");
        let server = Server::listen();
        let c = server.connection();
        let set = epoll_set();
        let copies: Vec<_> = (0..3).map(|_| good(call!(dup(c.client))) as Fd).collect();
        for (i, copy) in copies.iter().enumerate() {
            watch(set, *copy, EPOLLIN as u32, i as u64);
        }
        for (round, copy) in copies.iter().enumerate() {
            for _ in 0..100 {
                let fd = c.server;
                let writer = thread::spawn(move || write_all(fd, b"c"));
                let mut heard = std::collections::BTreeSet::new();
                while heard.len() < copies.len() - round {
                    heard.extend(epoll(set, -1));
                }
                assert_eq!(read_up_to(c.client, 1), b"c");
                writer.join().expect("the writer");
                assert_eq!(epoll(set, 0), []);
            }
            good(call!(epoll_ctl(set, libc::EPOLL_CTL_DEL, *copy, std::ptr::null_mut())));
        }
        crate::support::calls::close_all(copies.into_iter().chain([set]));
    });
}

#[test]
fn exclusive_waits_and_half_closed_ends() {
    hooked(|| {
        let _step = Step::begin("EPOLLEXCLUSIVE and EPOLLRDHUP");
        let server = Server::listen();
        let c = server.connection();
        let set = epoll_set();
        watch(set, c.client, (EPOLLIN | libc::EPOLLEXCLUSIVE) as u32, 1);
        write_all(c.server, b"z");
        assert_eq!(epoll(set, -1), [(1, EPOLLIN as u32)]);
        assert_eq!(read_up_to(c.client, 1), b"z");
        good(call!(epoll_ctl(set, libc::EPOLL_CTL_DEL, c.client, std::ptr::null_mut())));
        watch(set, c.client, EPOLLRDHUP as u32, 2);
        write_all(c.server, b"w");
        assert_eq!(epoll(set, 0), [], "bytes are not asked for");
        good(call!(shutdown(c.server, libc::SHUT_WR)));
        assert_eq!(epoll(set, -1), [(2, EPOLLRDHUP as u32)]);
        assert_eq!(ready(c.client, POLLIN | POLLOUT | libc::POLLRDHUP), POLLIN | POLLOUT | libc::POLLRDHUP);
        assert_eq!(read_up_to(c.client, 5), b"w");
        call!(close(set));
    });
}

/// The kernel reports an edge once, and what is registered for one report.
#[test]
fn what_a_wait_has_no_room_for_the_next_one_reports() {
    hooked(|| {
        let _step = Step::begin("more events than there is room for");
        let server = Server::listen();
        let c = server.connection();
        c.exchange();
        let set = epoll_set();
        watch(set, c.client, EPOLLIN as u32, 0);
        for (kind, timeout) in [(EPOLLET, 0), (EPOLLET, -1), (libc::EPOLLONESHOT, 0), (libc::EPOLLONESHOT, -1)] {
            let others: Vec<Fd> = (0..5).map(|_| good(call!(eventfd(1, 0))) as Fd).collect();
            for (data, fd) in (1..).zip(&others) {
                watch(set, *fd, (EPOLLIN | kind) as u32, data);
            }
            write_all(c.server, b"x");
            // The connection is reported until it is read, with the others or in turns with them.
            let mut told = Vec::new();
            while told.len() < others.len() {
                told.extend(epoll_some(set, 2, timeout).into_iter().map(|(data, _)| data).filter(|data| *data != 0));
            }
            told.sort_unstable();
            assert_eq!(told, [1, 2, 3, 4, 5]);
            assert_eq!(read_up_to(c.client, 1), b"x");
            others.iter().for_each(|fd| _ = good(call!(close(*fd))));
        }
    });
}

#[test]
fn a_set_serves_all_its_members() {
    hooked(|| {
        let _step = Step::begin("many members");
        let server = Server::listen();
        let connections: Vec<_> = (0..6).map(|_| server.connection()).collect();
        let set = epoll_set();
        for (i, c) in connections.iter().enumerate() {
            watch(set, c.server, (EPOLLIN | EPOLLOUT) as u32, i as u64);
            write_all(c.client, b"ready");
        }
        let mut served = [0; 6];
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        for _ in 0..60 {
            assert_eq!(call!(epoll_wait(set, &raw mut event, 1, -1)), 1);
            served[event.u64 as usize] += 1;
        }
        assert!(served.iter().all(|n| *n >= 5), "one event at a time, each has its turn: {served:?}");
        call!(close(set));
    });
}
