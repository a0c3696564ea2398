//! Calls that the kernel must do alone, and ends without hooks: the connection is on its socket, or stays on the ring, in
//! order and with nothing lost, added or changed.

use std::{io::IoSliceMut, os::fd::AsRawFd, ptr, thread};

use libc::{EINVAL, SOL_SOCKET, ssize_t};
use rustix::net::{AddressFamily, RecvAncillaryBuffer, RecvFlags, SocketAddrUnix, SocketType};
use slipway_transport::status::Transport;

use crate::support::{
    Connection, Fd, Server,
    calls::{call, child, errno, good, join, outcome, pipe, read_up_to, ready, set_nonblocking, write_all},
    connection::address,
    hooked, hooked_output, hooked_with,
    watchdog::Step,
};

/// A connection with bytes unread both ways.
fn laden() -> (Server, Connection) {
    let server = Server::listen();
    let c = server.connection();
    write_all(c.client, b"to the server ");
    write_all(c.server, b"to the client ");
    (server, c)
}

/// Both ends go on, and the connection is on its socket.
fn assert_on_socket(server: &Server, c: &Connection) {
    assert_on(Transport::Socket, server, c);
}

/// Both ends go on, by this way.
fn assert_on(way: Transport, server: &Server, c: &Connection) {
    for (from, to) in [(c.client, c.server), (c.server, c.client)] {
        write_all(from, b"and on");
        assert_eq!(read_up_to(to, 6), b"and on");
    }
    assert_eq!(server.transports(), [way]);
}

/// The other end has its turn, as it would in its next wait.
fn attend(fd: Fd) {
    ready(fd, libc::POLLIN | libc::POLLOUT);
}

#[test]
fn stdio_on_a_connection() {
    hooked(|| {
        let _step = Step::begin("fdopen");
        let (server, c) = laden();
        let copy = good(call!(dup(c.client))) as Fd;
        let file = call!(fdopen(copy, c"r+".as_ptr()));
        assert!(!file.is_null());
        attend(c.server);
        let mut text = [0_u8; 14];
        assert_eq!(call!(fread(text.as_mut_ptr().cast(), 1, 14, file)), 14);
        assert_eq!(&text, b"to the client ");
        assert!(call!(fputs(c"by stdio".as_ptr(), file)) >= 0);
        assert_eq!(call!(fflush(file)), 0);
        assert_eq!(read_up_to(c.server, 22), b"to the server by stdio");
        assert_on_socket(&server, &c);
        call!(fclose(file));
        c.exchange();
        // The last number of an end may be closed inside the C library, too.
        let c = std::mem::ManuallyDrop::new(c);
        let file = call!(fdopen(c.server, c"r".as_ptr()));
        call!(fclose(file));
        assert_eq!(server.transports(), []);
        call!(close(c.client));
    });
}

unsafe extern "C" {
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
}

/// A child that has an end of the connection as its standard input and output answers lines by `answer`, which is false at the end.
fn serve_by_stdio(c: Connection, is_client: bool, answer: fn() -> bool) {
    let c = std::mem::ManuallyDrop::new(c);
    let (child_end, parent_end) = if is_client { (c.client, c.server) } else { (c.server, c.client) };
    let pid = child(|| {
        call!(close(parent_end));
        for fd in [0, 1] {
            good(call!(dup2(child_end, fd)));
        }
        call!(close(child_end));
        while answer() {}
        true
    });
    call!(close(child_end));
    for _ in 0..100 {
        write_all(parent_end, b"line\n");
        assert_eq!(read_up_to(parent_end, 5), b"line\n");
    }
    call!(shutdown(parent_end, libc::SHUT_WR));
    join(pid);
    call!(close(parent_end));
}

#[test]
fn a_connection_as_standard_input_and_output() {
    hooked(|| {
        let _step = Step::begin("dup2 onto 0 and 1");
        let server = Server::listen();
        let by_fgets = || {
            let mut line = [0; 6];
            let more = !call!(fgets(line.as_mut_ptr().cast(), 6, stdin)).is_null();
            more && good(call!(write(1, line.as_ptr().cast(), 5))) == 5
        };
        let by_fputs = || {
            let line = [&read_up_to(0, 5)[..], b"\0"].concat();
            line.len() == 6 && call!(fputs(line.as_ptr().cast(), stdout)) >= 0 && call!(fflush(stdout)) == 0
        };
        for answer in [by_fgets, by_fputs] as [fn() -> bool; 2] {
            for is_client in [false, true] {
                serve_by_stdio(server.connection(), is_client, answer);
            }
        }
    });
}

#[test]
fn a_connection_that_is_made_as_standard_input() {
    hooked(|| {
        let _step = Step::begin("connect and accept on 0");
        let server = Server::listen();
        good(call!(close(0)));
        let c = server.fresh_connection();
        c.exchange();
        assert_eq!((c.client, server.transports()), (0, vec![Transport::Socket]));
        drop(c);
        let file = good(call!(open(c"/dev/null".as_ptr(), libc::O_RDONLY))) as Fd;
        let client = server.connect();
        good(call!(close(file)));
        let c = Connection { client, server: server.accept() };
        c.exchange();
        assert_eq!((c.server, server.transports()), (0, vec![Transport::Socket]));
        drop(c);
        // An X server closes the stream, and what has its number then is no business of stdio.
        call!(fclose(stdin));
        let c = server.connection();
        assert_eq!(c.client, 0);
    });
}

#[test]
fn files_sent_and_spliced() {
    hooked(|| {
        let _step = Step::begin("sendfile and splice");
        let (server, c) = laden();
        let file = good(call!(memfd_create(c"content".as_ptr(), libc::MFD_CLOEXEC))) as Fd;
        write_all(file, b"content");
        let mut offset = 0;
        assert_eq!(call!(sendfile(c.client, file, &raw mut offset, 7)), 7);
        assert_eq!(read_up_to(c.server, 21), b"to the server content");
        attend(c.server);
        let (output, input) = pipe();
        assert_eq!(call!(splice(c.client, ptr::null_mut(), input, ptr::null_mut(), 14, 0)), 14);
        assert_eq!(read_up_to(output, 14), b"to the client ");
        set_nonblocking(c.client, true);
        for (from, to, length, expected) in [(c.client, c.client, 4, -1), (file, c.client, 4, -1), (c.client, input, 0, 0)] {
            let spliced = outcome(call!(splice(from, ptr::null_mut(), to, ptr::null_mut(), length, 0)));
            assert_eq!(
                (spliced.value, spliced.errno),
                (expected, if expected == 0 { 0 } else { EINVAL }),
                "{from} {to} {length}"
            );
        }
        assert_on(Transport::Ring, &server, &c);
        crate::support::calls::close_all([file, output, input]);
    });
}

#[test]
fn a_pipe_with_room_for_less() {
    hooked_with(&[("SLIPWAY_X11_RING", "64K"), ("SLIPWAY_X11_MAX", "64K")], || {
        let _step = Step::begin("splice to a small pipe, from which nobody reads meanwhile");
        let (server, c) = laden();
        assert_eq!([c.client, c.server].map(|fd| read_up_to(fd, 14)), [b"to the client ", b"to the server "]);
        let (output, input) = pipe();
        let size = good(call!(fcntl(input, libc::F_SETPIPE_SZ, 4096))) as usize;
        write_all(c.server, &vec![7; size + 100]);
        let spliced = || call!(splice(c.client, ptr::null_mut(), input, ptr::null_mut(), 2 * size, 0));
        assert_eq!(spliced(), size as isize);
        assert_eq!(read_up_to(output, size).len(), size);
        assert_eq!(spliced(), 100);
        assert_on(Transport::Ring, &server, &c);
        crate::support::calls::close_all([output, input]);
    });
}

#[test]
fn urgent_bytes() {
    hooked(|| {
        let _step = Step::begin("MSG_OOB");
        let (_server, c) = laden();
        let plain = Connection::plain();
        for c in [&c, &plain] {
            let sent = outcome(call!(send(c.client, b"!".as_ptr().cast(), 1, libc::MSG_OOB)));
            attend(c.server);
            let mut byte = 0_u8;
            let got = outcome(call!(recv(c.server, (&raw mut byte).cast(), 1, libc::MSG_OOB | libc::MSG_DONTWAIT)));
            if sent.value == 1 {
                assert_eq!((got.value, byte), (1, b'!'));
            }
        }
        assert_eq!(read_up_to(c.server, 14), b"to the server ");
        attend(c.server);
        assert_eq!(read_up_to(c.client, 14), b"to the client ");
    });
}

#[test]
fn several_messages_in_one_call() {
    hooked(|| {
        let _step = Step::begin("sendmmsg and recvmmsg");
        let (server, c) = laden();
        let mut bytes = *b"many";
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: 4 };
        // SAFETY: headers of zeros are valid and empty.
        let mut messages: [libc::mmsghdr; 2] = unsafe { std::mem::zeroed() };
        for message in &mut messages {
            (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (&raw mut part, 1);
        }
        assert_eq!(call!(sendmmsg(c.client, messages.as_mut_ptr(), 2, 0)), 2);
        assert_eq!(read_up_to(c.server, 22), b"to the server manymany");
        attend(c.server);
        assert_eq!(call!(recvmmsg(c.client, messages.as_mut_ptr(), 1, 0, ptr::null_mut())), 1);
        assert_eq!((messages[0].msg_len, &bytes), (4, b"to t"));
        assert_eq!(read_up_to(c.client, 10), b"he client ");
        assert_on(Transport::Ring, &server, &c);
    });
}

#[test]
fn a_writer_that_closes_leaves_what_the_reader_wanted_back() {
    hooked(|| {
        let _step = Step::begin("a return and a close");
        let (_server, c) = laden();
        let c = std::mem::ManuallyDrop::new(c);
        let off = 0_i32;
        good(call!(setsockopt(c.client, SOL_SOCKET, libc::SO_PASSCRED, (&raw const off).cast(), 4)));
        // The server didn't wait for anything since: it closes.
        assert_eq!(read_up_to(c.server, 14), b"to the server ");
        good(call!(close(c.server)));
        assert_eq!(read_up_to(c.client, 100), b"to the client ");
        call!(close(c.client));
    });
}

#[test]
fn a_writer_that_ends_leaves_what_the_reader_wants_back() {
    hooked(|| {
        let _step = Step::begin("a return and a shutdown");
        let off = 0_i32;
        for before in [true, false] {
            let (_server, c) = laden();
            // An option of the kernel's: the stream goes back to its socket.
            let back = || good(call!(setsockopt(c.client, SOL_SOCKET, libc::SO_PASSCRED, (&raw const off).cast(), 4)));
            if before {
                back();
            }
            assert_eq!(read_up_to(c.server, 14), b"to the server ");
            good(call!(shutdown(c.server, libc::SHUT_WR)));
            if !before {
                back();
            }
            assert_eq!(read_up_to(c.client, 100), b"to the client ");
        }
    });
}

#[test]
fn a_server_that_exits_leaves_what_the_reader_wants_back() {
    hooked(|| {
        let _step = Step::begin("a return and an exit");
        let server = Server::listen();
        let ((told, tell), (stop, stopping)) = (pipe(), pipe());
        // Forked before this process has a connection, which would have prepared both for their ends.
        let pid = child(|| {
            let accepted = server.accept();
            for _ in 0..5 {
                write_all(accepted, &read_up_to(accepted, 1));
            }
            write_all(accepted, b"to the client ");
            write_all(tell, b"!");
            read_up_to(stop, 1);
            call!(exit(0))
        });
        let client = server.connect();
        for _ in 0..5 {
            write_all(client, b"!");
            assert_eq!(read_up_to(client, 1), b"!");
        }
        read_up_to(told, 1);
        assert_eq!(read_up_to(client, 3), b"to ");
        let off = 0_i32;
        good(call!(setsockopt(client, SOL_SOCKET, libc::SO_PASSCRED, (&raw const off).cast(), 4)));
        write_all(stopping, b"!");
        join(pid);
        // As a program without hooks reads it.
        let mut bytes = [0; 100];
        // SAFETY: open until it is closed below.
        let n = rustix::io::read(unsafe { std::os::fd::BorrowedFd::borrow_raw(client) }, &mut bytes);
        assert_eq!(&bytes[..n.expect("read")], b"the client ");
        call!(close(client));
    });
}

#[test]
fn bad_arguments_are_refused_as_by_a_socket() {
    hooked(|| {
        let server = Server::listen();
        let (c, plain) = (server.connection(), Connection::plain());
        let refused = |result: ssize_t| (result, errno());
        let tries = |c: &Connection| {
            let part = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
            let (address, _) = address(b"");
            [
                refused(call!(readv(c.client, &raw const part, -1))),
                refused(call!(writev(c.client, &raw const part, 5000))),
                refused(call!(sendto(c.client, b"x".as_ptr().cast(), 1, 0, (&raw const address).cast(), 2))),
                refused(call!(lseek(c.client, 0, libc::SEEK_SET)) as ssize_t),
                refused(call!(pread(c.client, ptr::null_mut(), 0, 0))),
                refused(call!(shutdown(c.client, 17)) as ssize_t),
            ]
        };
        assert_eq!(tries(&c), tries(&plain));
        let nowhere = |c: &Connection| {
            let part = libc::iovec { iov_base: ptr::null_mut(), iov_len: 10 };
            // SAFETY: a header of zeros is valid and empty.
            let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
            (header.msg_iov, header.msg_iovlen) = ((&raw const part).cast_mut(), 1);
            write_all(c.server, b"x");
            let tries = [
                refused(call!(write(c.client, ptr::null(), 10))),
                refused(call!(sendmsg(c.client, &raw const header, 0))),
                refused(call!(read(c.client, ptr::null_mut(), 10))),
                refused(call!(readv(c.client, &raw const part, 1))),
                refused(call!(recvmsg(c.client, &raw mut header, 0))),
            ];
            (tries, read_up_to(c.client, 1))
        };
        assert_eq!(nowhere(&c), nowhere(&plain));
        c.exchange();
    });
}

/// Sends and receives without the C library, so without hooks, until the other end closes.
fn record(socket: impl std::os::fd::AsFd, send: &[u8]) -> Vec<u8> {
    rustix::net::send(&socket, send, rustix::net::SendFlags::NOSIGNAL).expect("send");
    rustix::net::shutdown(&socket, rustix::net::Shutdown::Write).expect("shutdown");
    let mut recorded = Vec::new();
    loop {
        let mut bytes = [0; 4096];
        let mut nothing = RecvAncillaryBuffer::default();
        let got =
            rustix::net::recvmsg(&socket, &mut [IoSliceMut::new(&mut bytes)], &mut nothing, RecvFlags::empty()).expect("receive");
        if got.bytes == 0 {
            return recorded;
        }
        recorded.extend_from_slice(&bytes[..got.bytes]);
    }
}

/// What a hooked end does with one that has no hooks.
fn talk(fd: Fd) -> Vec<u8> {
    for part in [&b"first "[..], b"second ", b"third"] {
        write_all(fd, part);
        ready(fd, libc::POLLIN | libc::POLLOUT);
    }
    let heard = read_up_to(fd, 1000);
    good(call!(shutdown(fd, libc::SHUT_WR)));
    heard
}

#[test]
fn an_end_without_hooks_gets_every_byte_and_no_other() {
    hooked_output(
        &[],
        || {
            let _step = Step::begin("a mixed connection");
            let server = Server::listen();
            let name = format!("/tmp/.X11-unix/X{}", server.display);
            let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a name");
            // A plain client of a hooked server.
            let client = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("socket");
            rustix::net::connect(&client, &address).expect("connect");
            let accepted = server.accept();
            let recorder = thread::spawn(move || record(client, b"from a plain client"));
            assert_eq!(talk(accepted), b"from a plain client");
            assert_eq!(recorder.join().expect("the client"), b"first second third");
            assert_eq!(server.transports(), [Transport::Socket]);
            call!(close(accepted));
            // A hooked client of a server that accepts without hooks: its offer is never answered.
            let client = server.connect();
            // SAFETY: the server holds it.
            let listener = unsafe { std::os::fd::BorrowedFd::borrow_raw(server.listener) };
            let accepted = rustix::net::accept(listener).expect("accept");
            assert!(accepted.as_raw_fd() >= 0);
            let recorder = thread::spawn(move || record(accepted, b"from a plain server"));
            assert_eq!(talk(client), b"from a plain server");
            assert_eq!(recorder.join().expect("the server"), b"first second third");
            call!(close(client));
        },
        |outcome| assert!(!outcome.stderr.contains("slipway:"), "{}", outcome.stderr),
    );
}

#[test]
fn an_exclusive_registration_is_alone_and_for_good() {
    hooked(|| {
        let _step = Step::begin("EPOLLEXCLUSIVE");
        let server = Server::listen();
        let answers = [Connection::plain(), server.fresh_connection(), server.connection()].map(|c| {
            let set = good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd;
            let control = |operation, events: i32| {
                let mut event = libc::epoll_event { events: (events | libc::EPOLLIN) as u32, u64: 0 };
                outcome(call!(epoll_ctl(set, operation, c.client, &raw mut event))).errno
            };
            let (exclusive, once) = (libc::EPOLLEXCLUSIVE, libc::EPOLLONESHOT);
            let answers = [
                control(libc::EPOLL_CTL_ADD, exclusive | once),
                control(libc::EPOLL_CTL_ADD, libc::EPOLLRDHUP),
                control(libc::EPOLL_CTL_MOD, exclusive),
                control(libc::EPOLL_CTL_DEL, 0),
                control(libc::EPOLL_CTL_ADD, exclusive | libc::EPOLLET),
                control(libc::EPOLL_CTL_MOD, 0),
                control(libc::EPOLL_CTL_DEL, 0),
                control(libc::EPOLL_CTL_ADD, once),
            ];
            crate::support::calls::close_all([set]);
            answers
        });
        assert_eq!(answers[0], [EINVAL, 0, EINVAL, 0, 0, EINVAL, 0, 0]);
        assert_eq!(answers, [answers[0]; 3]);
    });
}
