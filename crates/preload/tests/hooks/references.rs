//! Sockets that others have before they connect, by a second number or in another process: who has one so knows nothing of a
//! ring, and the connection stays on its socket.

use std::{process::Command, sync::mpsc, thread};

use libc::{AF_UNIX, EPOLLIN, F_DUPFD, POLLIN, SOCK_STREAM};
use slipway_transport::status::Transport;

use crate::support::{
    Connection, Fd, Server,
    calls::{call, child, close_all, errno, good, join, pipe, poll, read_up_to, set_nonblocking, write_all},
    connection::{connect, socket, watch},
    hooked, messages,
    watchdog::Step,
};

/// Connects `client`, which `other` is, too: both see the same.
fn assert_same(server: &Server, client: Fd, other: Fd) {
    good(connect(client, &server.name));
    let accepted = server.accept();
    write_all(client, b"to");
    assert_eq!(read_up_to(accepted, 2), b"to");
    write_all(accepted, b"from");
    assert_eq!(server.transports(), [Transport::Socket]);
    assert_eq!(poll(&[(other, POLLIN)], -1), Ok(vec![POLLIN]));
    assert_eq!(read_up_to(other, 4), b"from");
    close_all([client, other, accepted]);
    // The next socket of these numbers has no past.
    drop(server.connection());
}

#[test]
fn a_socket_with_a_second_number() {
    hooked(|| {
        let _step = Step::begin("dup, then connect");
        let server = Server::listen();
        let dup2 = |fd| call!(dup2(fd, 77));
        let dup3 = |fd| call!(dup3(fd, 77, libc::O_CLOEXEC));
        let duplicate = |fd| call!(fcntl(fd, F_DUPFD, 5));
        for copy in [|fd| call!(dup(fd)), dup2, dup3, duplicate] as [fn(Fd) -> Fd; 4] {
            let client = socket();
            assert_same(&server, client, good(copy(client)) as Fd);
            let client = socket();
            assert_same(&server, good(copy(client)) as Fd, client);
            let (client, set) = (socket(), good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd);
            watch(set, client, EPOLLIN as u32, 0);
            assert_same(&server, client, good(copy(client)) as Fd);
            call!(close(set));
        }
    });
}

#[test]
fn a_socket_that_a_child_has() {
    hooked(|| {
        let _step = Step::begin("fork, then connect");
        let server = Server::listen();
        for in_set in [false, true] {
            let ((told, tell), (heard, hear)) = (pipe(), pipe());
            let (client, set) = (socket(), good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd);
            if in_set {
                watch(set, client, EPOLLIN as u32, 0);
            }
            let pid = child(|| {
                read_up_to(told, 1);
                (0..100).all(|i| {
                    write_all(hear, &[i]);
                    read_up_to(client, 1) == [i]
                })
            });
            good(connect(client, &server.name));
            let accepted = server.accept();
            write_all(client, b"!");
            assert_eq!(read_up_to(accepted, 1), b"!");
            write_all(tell, b"!");
            for i in 0..100 {
                assert_eq!(read_up_to(heard, 1), [i]);
                write_all(accepted, &[i]);
            }
            join(pid);
            close_all([client, accepted, set]);
        }
        drop(server.connection());
    });
}

#[test]
fn a_socket_that_a_child_gets_while_it_connects() {
    hooked(|| {
        let _step = Step::begin("connect, and fork meanwhile");
        let server = Server::listen();
        let mut waiting = Vec::new();
        let client = loop {
            let client = socket();
            set_nonblocking(client, true);
            if connect(client, &server.name) != 0 {
                assert_eq!(errno(), libc::EAGAIN);
                break client;
            }
            waiting.push(client);
        };
        set_nonblocking(client, false);
        let (sender, thread) = mpsc::channel();
        let (released, release) = pipe();
        thread::scope(|scope| {
            let connects = scope.spawn(|| {
                sender.send(call!(gettid())).expect("the test waits");
                good(connect(client, &server.name));
            });
            let thread = thread.recv().expect("its number");
            let calls = || std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).expect("its call");
            while !calls().starts_with(&format!("{} ", libc::SYS_connect)) {}
            let pid = child(|| {
                call!(close(release));
                read_up_to(released, 1) == b"!" && read_up_to(client, 4) == b"from"
            });
            let accepted: Vec<_> = waiting.iter().map(|_| server.accept()).collect();
            let last = Connection { client, server: server.accept() };
            connects.join().expect("connects");
            last.exchange();
            assert_eq!(server.transports().last(), Some(&Transport::Socket));
            write_all(last.server, b"from");
            write_all(release, b"!");
            join(pid);
            close_all(accepted);
        });
        close_all(waiting);
    });
}

#[test]
fn a_socket_that_a_program_inherits() {
    hooked(|| {
        let _step = Step::begin("posix_spawn, then connect");
        let server = Server::listen();
        let client = good(call!(socket(AF_UNIX, SOCK_STREAM, 0))) as Fd;
        assert!(Command::new("true").status().expect("start true").success());
        assert_same(&server, client, client);
    });
}

#[test]
fn a_socket_that_was_passed() {
    hooked(|| {
        let _step = Step::begin("SCM_RIGHTS, then connect");
        let server = Server::listen();
        let mut ends = [0; 2];
        good(call!(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.as_mut_ptr())));
        let client = socket();
        messages::send(ends[0], vec![b"!".to_vec()], &[client], 0);
        let (_, passed) = messages::receive_open(ends[1], &[1], messages::space(1), 0);
        assert_same(&server, client, passed[0]);
        close_all(ends);
    });
}
