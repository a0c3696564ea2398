//! What is on its way when a connection is closed, shut down, or used by calls that move bytes inside the kernel.

use std::{ptr, sync::mpsc, thread};

use libc::{EAGAIN, POLLIN, SHUT_RD, SHUT_WR};

use crate::support::{
    Connection, Fd, Server,
    calls::{
        call, child, close_all, errno, good, hold_sigpipe, join, outcome, pipe, poll, read_up_to, readable_bytes, ready,
        set_nonblocking, take_sigpipe, until_asleep, write_all,
    },
    connection::{connect, socket},
    hooked, hooked_with,
    watchdog::Step,
};

/// More than a socket holds.
const LENGTH: usize = 900_000;

const LARGE: [(&str, &str); 1] = [("SLIPWAY_X11_RING", "1M")];

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i % 251) as u8).collect()
}

/// The client has sent more than a socket holds, and the server wants it there.
fn wanted_back(server: &Server) -> (Connection, Vec<u8>) {
    let c = server.connection();
    let sent = pattern(LENGTH);
    write_all(c.client, &sent);
    let off = 0_i32;
    good(call!(setsockopt(c.server, libc::SOL_SOCKET, libc::SO_PASSCRED, (&raw const off).cast(), 4)));
    (c, sent)
}

#[test]
fn what_the_peer_wants_back_is_sent_before_the_end() {
    hooked_with(&LARGE, || {
        let server = Server::listen();
        for ends in [|fd| call!(close(fd)), |fd| call!(shutdown(fd, SHUT_WR))] {
            let _step = Step::begin("a program that waits");
            let (c, sent) = wanted_back(&server);
            let client = c.client;
            let ending = thread::spawn(move || good(ends(client)));
            assert!(read_up_to(c.server, LENGTH + 1) == sent);
            ending.join().expect("the end");
        }
    });
}

#[test]
fn a_program_that_does_not_wait_is_not_kept_by_a_close() {
    hooked_with(&LARGE, || {
        let _step = Step::begin("a program that does not wait");
        let server = Server::listen();
        let (c, sent) = wanted_back(&server);
        set_nonblocking(c.client, true);
        good(call!(close(c.client)));
        assert!(read_up_to(c.server, LENGTH + 1) == sent);
    });
}

/// What a program that does not wait has written is more than its socket's buffer takes, and less than the system gives it at most.
fn is_there_after(leave: fn()) {
    let _step = Step::begin("a program that leaves");
    let server = Server::listen();
    let (sent, [written, wanted]) = (pattern(150_000), [pipe(), pipe()]);
    let pid = child(|| {
        let client = socket();
        let least = 1_i32;
        good(call!(setsockopt(client, libc::SOL_SOCKET, libc::SO_SNDBUF, (&raw const least).cast(), 4)));
        good(connect(client, &server.name));
        write_all(client, b"!");
        read_up_to(client, 1);
        set_nonblocking(client, true);
        write_all(client, &sent);
        write_all(written.1, b"!");
        read_up_to(wanted.0, 1);
        leave();
        false
    });
    let accepted = server.accept();
    read_up_to(accepted, 1);
    write_all(accepted, b"!");
    read_up_to(written.0, 1);
    let off = 0_i32;
    good(call!(setsockopt(accepted, libc::SOL_SOCKET, libc::SO_PASSCRED, (&raw const off).cast(), 4)));
    write_all(wanted.1, b"!");
    join(pid);
    assert!(read_up_to(accepted, sent.len() + 1) == sent);
    close_all([accepted, written.0, written.1, wanted.0, wanted.1]);
}

#[test]
fn what_a_program_owes_that_does_not_wait_is_there_after_its_exit() {
    hooked_with(&LARGE, || is_there_after(|| call!(exit(0))));
}

#[test]
fn what_it_owes_is_there_after_it_has_become_another() {
    hooked_with(&LARGE, || {
        is_there_after(|| {
            let arguments = [c"true".as_ptr(), ptr::null()];
            call!(execv(c"/bin/true".as_ptr(), arguments.as_ptr()));
        });
    });
}

/// Time on a processor, in nanoseconds.
fn spent() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    good(call!(clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time)));
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[test]
fn a_program_that_waits_meanwhile_sleeps() {
    hooked_with(&LARGE, || {
        let _step = Step::begin("a wait with something to be sent");
        let server = Server::listen();
        let (c, sent) = wanted_back(&server);
        let before = spent();
        assert_eq!(poll(&[(c.client, POLLIN)], 200), Ok(vec![0]));
        assert!(spent() - before < 100_000_000, "it looks again and again");
        let client = c.client;
        let closing = thread::spawn(move || good(call!(close(client))));
        assert!(read_up_to(c.server, LENGTH + 1) == sent);
        closing.join().expect("the end");
    });
}

#[test]
fn what_only_the_kernel_sends_comes_after_what_is_wanted_back() {
    hooked_with(&LARGE, || {
        let _step = Step::begin("splice");
        let server = Server::listen();
        let (c, sent) = wanted_back(&server);
        let (output, input) = pipe();
        write_all(input, b"last");
        let splice = move |fd| outcome(call!(splice(output, ptr::null_mut(), fd, ptr::null_mut(), 4, 0)));
        set_nonblocking(c.client, true);
        let refused = splice(c.client);
        assert_eq!((refused.value, refused.errno), (-1, EAGAIN));
        set_nonblocking(c.client, false);
        let client = c.client;
        let sending = thread::spawn(move || splice(client).value);
        assert!(read_up_to(c.server, LENGTH + 4) == [&sent[..], b"last"].concat());
        assert_eq!(sending.join().expect("a splice"), 4);
        close_all([output, input]);
    });
}

/// A thread sleeps in a write to a connection that is full, when a half of it is shut down. What it is told.
fn cut_short(c: &Connection, (fd, half): (Fd, i32)) -> i32 {
    let (client, (tell, told)) = (c.client, mpsc::channel());
    let writing = thread::spawn(move || {
        hold_sigpipe();
        let _ = tell.send(call!(syscall(libc::SYS_gettid)));
        let all = vec![0; 1 << 20];
        // The first is cut short.
        while outcome(call!(write(client, all.as_ptr().cast(), all.len()))).value > 0 {}
        let error = errno();
        assert!(take_sigpipe());
        error
    });
    let thread = told.recv().expect("its number");
    while readable_bytes(c.server) < 4096 {
        thread::yield_now();
    }
    until_asleep(thread);
    good(call!(shutdown(fd, half)));
    writing.join().expect("a writer")
}

fn writers_learn_that_nobody_reads(halves: [i32; 2]) {
    let _step = Step::begin("shutdown beside a writer");
    let server = Server::listen();
    for half in halves {
        let c = server.fresh_connection();
        c.exchange();
        assert_eq!(cut_short(&c, (if half == SHUT_RD { c.server } else { c.client }, half)), libc::EPIPE);
    }
}

#[test]
fn a_writer_at_a_full_ring_learns_that_nobody_reads_any_more() {
    hooked(|| writers_learn_that_nobody_reads([SHUT_RD, SHUT_WR]));
}

#[test]
fn so_does_one_at_a_full_socket() {
    hooked_with(&[("SLIPWAY_X11_AFTER", "1000000")], || writers_learn_that_nobody_reads([SHUT_RD, SHUT_WR]));
}

#[test]
fn a_close_does_not_wait_for_a_reader_that_has_ended() {
    hooked_with(&LARGE, || {
        let _step = Step::begin("close behind the end");
        let server = Server::listen();
        let (c, _) = wanted_back(&server);
        let (client, (tell, told)) = (c.client, mpsc::channel());
        let closing = thread::spawn(move || {
            let _ = tell.send(call!(syscall(libc::SYS_gettid)));
            good(call!(close(client)))
        });
        until_asleep(told.recv().expect("its number"));
        good(call!(shutdown(c.server, SHUT_RD)));
        closing.join().expect("the end");
    });
}

#[test]
fn what_lies_in_the_ring_is_counted_after_a_shutdown() {
    hooked_with(&LARGE, || {
        let _step = Step::begin("SIOCOUTQ");
        let unread = |fd: Fd| {
            let mut n: i32 = -1;
            good(call!(ioctl(fd, libc::TIOCOUTQ, &raw mut n)));
            n
        };
        let server = Server::listen();
        let c = server.connection();
        write_all(c.client, &[1; 700]);
        assert_eq!(unread(c.client), 700);
        good(call!(shutdown(c.client, SHUT_WR)));
        assert_eq!(unread(c.client), 700);
        read_up_to(c.server, 300);
        assert_eq!(unread(c.client), 400);
        read_up_to(c.server, 400);
        assert_eq!(unread(c.client), 0);
        // More than has room on the socket is on its way there.
        let (c, sent) = wanted_back(&server);
        assert_eq!(ready(c.client, 0), 0);
        assert!(unread(c.client) as usize >= sent.len());
        // The close does not wait for a reader that this thread is.
        set_nonblocking(c.client, true);
    });
}

/// A file of `length` bytes, at whose fifth it is.
fn file(length: usize) -> (Fd, Vec<u8>) {
    let (fd, bytes) = (good(call!(memfd_create(c"sent".as_ptr(), libc::MFD_CLOEXEC))) as Fd, pattern(length));
    write_all(fd, &bytes);
    assert_eq!(call!(lseek(fd, 5, libc::SEEK_SET)), 5);
    (fd, bytes)
}

#[test]
fn a_file_follows_what_was_written_before() {
    hooked(|| {
        let _step = Step::begin("sendfile");
        let server = Server::listen();
        let c = server.connection();
        let (fd, bytes) = file(100_000);
        let server = c.server;
        write_all(server, b"first");
        let sending = thread::spawn(move || {
            let mut offset = 10;
            // To the end, and from a place of the caller's; then from where the file is.
            let from = good(call!(sendfile(server, fd, &raw mut offset, 1 << 20)));
            (from, offset, good(call!(sendfile(server, fd, ptr::null_mut(), 1000))), call!(lseek(fd, 0, libc::SEEK_CUR)))
        });
        let all = [b"first", &bytes[10..], &bytes[5..1005]].concat();
        assert!(read_up_to(c.client, all.len()) == all);
        assert_eq!(sending.join().expect("a sender"), (99_990, 100_000, 1000, 1005));
        let (output, _input) = pipe();
        let refused = outcome(call!(sendfile(server, output, ptr::null_mut(), 1)));
        assert_eq!((refused.value, refused.errno), (-1, libc::EINVAL), "what no file is");
        set_nonblocking(server, true);
        let part = good(call!(sendfile(server, fd, ptr::null_mut(), 1 << 20))) as usize;
        assert!(part > 0 && part < 98_995, "as much as there is room for: {part}");
        assert!(read_up_to(c.client, part) == bytes[1005..1005 + part]);
        assert_eq!(call!(lseek(fd, 0, libc::SEEK_CUR)) as usize, 1005 + part);
        c.exchange();
    });
}

#[test]
fn what_a_peer_that_has_gone_has_sent_is_spliced_and_received() {
    hooked(|| {
        let _step = Step::begin("splice and recvmmsg");
        let server = Server::listen();
        let c = server.connection();
        write_all(c.server, b"hello, ring");
        good(call!(close(c.server)));
        let (output, input) = pipe();
        let splice = || good(call!(splice(c.client, ptr::null_mut(), input, ptr::null_mut(), 7, 0)));
        assert_eq!(splice(), 7);
        assert_eq!(read_up_to(output, 7), b"hello, ");
        let mut bytes = [[0u8; 2]; 3];
        let mut parts = bytes.each_mut().map(|part| libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: 2 });
        // SAFETY: all zeroes are a header without parts.
        let mut messages: [libc::mmsghdr; 3] = unsafe { std::mem::zeroed() };
        for (message, part) in messages.iter_mut().zip(&mut parts) {
            (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (part, 1);
        }
        assert_eq!(good(call!(recvmmsg(c.client, messages.as_mut_ptr(), 3, 0, ptr::null_mut()))), 3);
        assert_eq!((messages.map(|message| message.msg_len), &bytes[..2]), ([2, 2, 0], &[*b"ri", *b"ng"][..]));
        assert_eq!(splice(), 0);
    });
}
