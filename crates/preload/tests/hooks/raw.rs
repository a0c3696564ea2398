//! Programs that call the kernel by number, as libuv does, or past the C library.

use libc::{EPOLLIN, SYS_close, SYS_io_uring_setup};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use slipway_transport::status::Transport;
use std::{os::fd::BorrowedFd, thread};

use crate::support::{
    Fd, Server,
    calls::{call, close_all, errno, good, read_up_to, ready, write_all},
    connection::{Connection, connect, socket, watch},
    hooked, hooked_with,
    watchdog::Step,
};

#[test]
fn a_descriptor_that_is_closed_by_its_number() {
    hooked(|| {
        let _step = Step::begin("syscall(SYS_close)");
        let server = Server::listen();
        let c = std::mem::ManuallyDrop::new(server.connection());
        assert_eq!(server.transports(), [Transport::Ring]);
        assert_eq!(call!(syscall(SYS_close, c.server)), 0);
        assert_eq!(server.transports(), []);
        assert_eq!(read_up_to(c.client, 1), b"");
        assert_eq!((call!(syscall(SYS_close, c.server)), errno()), (-1, libc::EBADF));
        assert_eq!(call!(syscall(SYS_close, c.client)), 0);
        assert_eq!(call!(syscall(libc::SYS_getpid)), std::process::id().into());
        // All six arguments arrive.
        let (rights, how) = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE);
        let page = call!(syscall(libc::SYS_mmap, 0, 8192, rights, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0));
        let file = good(call!(memfd_create(c"pages".as_ptr(), libc::MFD_CLOEXEC))) as Fd;
        write_all(file, &[[1; 4096], [2; 4096]].concat());
        assert_eq!(call!(munmap(page as *mut _, 8192)), 0);
        assert_eq!(call!(syscall(libc::SYS_mmap, page, 4096, rights, how, file, 4096)), page);
        // SAFETY: the page was just mapped.
        assert_eq!(unsafe { (page as *const u8).read() }, 2);
        call!(close(file));
    });
}

/// A client that comes gets the number, in the midst of the set's work.
#[test]
fn a_descriptor_that_no_hook_sees_closed() {
    hooked(|| {
        let _step = Step::begin("a close past the hooks, and clients that come in epoll_wait");
        let server = Server::listen();
        let set = good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd;
        watch(set, server.listener, EPOLLIN as u32, 0);
        for _ in 0..3 {
            let c = std::mem::ManuallyDrop::new(server.connection());
            watch(set, c.server, EPOLLIN as u32, 1);
            // SAFETY: nobody else has the number.
            unsafe { rustix::io::close(c.server) };
            thread::scope(|scope| {
                let waits = scope.spawn(|| {
                    let mut event = libc::epoll_event { events: 0, u64: 9 };
                    assert_eq!((call!(epoll_wait(set, &raw mut event, 1, -1)), { event.u64 }), (1, 0));
                });
                server.ask().expect("an answer from within the wait");
                let client = server.connect();
                waits.join().expect("a client");
                let accepted = server.accept();
                write_all(client, b"x");
                assert_eq!(read_up_to(accepted, 1), b"x");
                close_all([client, accepted, c.client]);
            });
        }
        call!(close(set));
    });
}

#[test]
fn an_option_that_no_hook_sees_set() {
    hooked_with(&[("SLIPWAY_SOCKETS", "all"), ("SLIPWAY_X11_AFTER", "5")], || {
        let _step = Step::begin("setsockopt by its number");
        let name = format!("\0slipway-unseen-option-{}", std::process::id()).into_bytes();
        let server = Server::listen_at(&name);
        let (client, on) = (socket(), 1);
        assert_eq!(call!(syscall(libc::SYS_setsockopt, client, libc::SOL_SOCKET, libc::SO_PASSCRED, &raw const on, 4)), 0);
        good(connect(client, &name));
        let c = Connection { client, server: server.accept() };
        (0..200).for_each(|_| c.exchange());
        assert_eq!(server.transports(), [Transport::Socket]);
        close_all([c.client, c.server]);
    });
}

#[test]
fn a_time_out_that_no_hook_sees_set() {
    hooked_with(&[("SLIPWAY_SOCKETS", "all"), ("SLIPWAY_X11_AFTER", "64")], || {
        let _step = Step::begin("SO_RCVTIMEO by setsockopt's number");
        let name = format!("\0slipway-unseen-time-{}", std::process::id()).into_bytes();
        let server = Server::listen_at(&name);
        let (client, time) = (socket(), libc::timeval { tv_sec: 0, tv_usec: 1000 });
        for name in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
            let size = size_of::<libc::timeval>();
            assert_eq!(call!(syscall(libc::SYS_setsockopt, client, libc::SOL_SOCKET, name, &raw const time, size)), 0);
        }
        good(connect(client, &name));
        let accepted = server.accept();
        let mut byte = [0u8; 1];
        let mut buffers = [libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 }; 2];
        // SAFETY: a header of zeros is valid.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        (message.msg_iov, message.msg_iovlen) = (buffers.as_mut_ptr(), 2);
        assert_eq!((call!(recvmsg(client, &raw mut message, 0)), errno()), (-1, libc::EAGAIN));
        assert_eq!((call!(readv(client, buffers.as_ptr(), 2)), errno()), (-1, libc::EAGAIN));
        assert_eq!((call!(recv(client, byte.as_mut_ptr().cast(), 1, libc::MSG_WAITALL)), errno()), (-1, libc::EAGAIN));
        let many = [0u8; 1 << 20];
        assert!(call!(send(client, many.as_ptr().cast(), many.len(), 0)) < many.len() as isize);
        close_all([client, accepted]);
    });
}

/// Linux 6.17: SO_INQ, which a socket does not tell of.
#[test]
fn an_option_that_nobody_can_ask_for() {
    hooked(|| {
        let _step = Step::begin("SO_INQ");
        let (server, on) = (Server::listen(), 1);
        let set = |fd| call!(setsockopt(fd, libc::SOL_SOCKET, 84, (&raw const on).cast(), 4));
        let client = socket();
        if set(client) != 0 {
            return eprintln!("not run: the kernel has no SO_INQ");
        }
        good(connect(client, &server.name));
        let before = Connection { client, server: server.accept() };
        let after = server.connection();
        good(set(after.client));
        for c in [&before, &after] {
            (0..200).for_each(|_| c.exchange());
        }
        assert_eq!(server.transports(), [Transport::Socket; 2]);
    });
}

/// As Bun does: the C library's calls, but for the wait.
#[test]
fn a_set_that_is_waited_for_past_the_hooks_has_nothing_of_ours() {
    hooked_with(&[("SLIPWAY_X11_AFTER", "5")], || {
        let _step = Step::begin("epoll_pwait by its number");
        let server = Server::listen();
        let set = good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd;
        watch(set, server.listener, EPOLLIN as u32, 1);
        let c = server.fresh_connection();
        let mut once = libc::epoll_event { events: (EPOLLIN | libc::EPOLLONESHOT) as u32, u64: 2 };
        watch(set, c.server, once.events, 2);
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        let mut wait = |time: i32| {
            event.u64 = 0;
            let none = std::ptr::null::<u8>();
            (call!(syscall(libc::SYS_epoll_pwait, set, &raw mut event, 1, time, none, 8)), { event.u64 })
        };
        for _ in 0..100 {
            write_all(c.client, b"?");
            assert_eq!(wait(-1), (1, 2));
            assert_eq!(wait(0), (0, 0));
            assert_eq!(read_up_to(c.server, 1), b"?");
            assert_eq!(call!(epoll_ctl(set, libc::EPOLL_CTL_MOD, c.server, &raw mut once)), 0);
            write_all(c.server, b"!");
            assert_eq!(read_up_to(c.client, 1), b"!");
        }
        // Somebody comes to the hub.
        let asks = rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).expect("a socket");
        let hub =
            std::path::Path::new(&std::env::var_os("SLIPWAY_RUNTIME_DIR").expect("set")).join(format!("x11-{}", server.display));
        rustix::net::connect(&asks, &SocketAddrUnix::new(hub).expect("a path")).expect("a hub");
        assert_eq!(wait(0), (0, 0));
        assert_eq!(server.transports(), [Transport::Socket]);
        // Once the hooks see a wait, the connection may go over.
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        assert_eq!(call!(epoll_wait(set, &raw mut event, 1, 0)), 0);
        (0..1000).for_each(|_| c.exchange());
        assert_eq!(server.transports(), [Transport::Ring]);
        call!(close(set));
    });
}

/// As Rust's `polling` does, beside the standard library's sockets.
#[test]
fn a_program_that_waits_past_the_hooks_stays_on_its_socket() {
    hooked_with(&[("SLIPWAY_X11_AFTER", "5")], || {
        let _step = Step::begin("ppoll by its number");
        let server = Server::listen();
        let mut on = 1;
        let blocks: fn(&Connection, &mut i32) = |_, _| {};
        let known: fn(&Connection, &mut i32) = |c, on| assert_eq!(call!(ioctl(c.server, libc::FIONBIO, on)), 0);
        let unknown: fn(&Connection, &mut i32) =
            |c, on| assert_eq!(call!(syscall(libc::SYS_ioctl, c.server, libc::FIONBIO, on)), 0);
        for begin in [blocks, known, unknown] {
            let c = server.fresh_connection();
            begin(&c, &mut on);
            for _ in 0..100 {
                write_all(c.client, b"?");
                let mut asks = libc::pollfd { fd: c.server, events: libc::POLLIN, revents: 0 };
                let none = std::ptr::null::<u8>();
                assert_eq!(call!(syscall(libc::SYS_ppoll, &raw mut asks, 1, none, none, 8)), 1);
                assert_eq!(read_up_to(c.server, 1), b"?");
                write_all(c.server, b"!");
                assert_eq!(ready(c.client, libc::POLLIN), libc::POLLIN);
                assert_eq!(read_up_to(c.client, 1), b"!");
            }
            assert_eq!(server.transports(), [Transport::Socket]);
        }
    });
}

/// As smol does, whose library makes system calls of its own.
#[test]
fn whether_a_call_waits_is_the_open_files_to_say() {
    hooked_with(&[("SLIPWAY_X11_AFTER", "5")], || {
        let _step = Step::begin("O_NONBLOCK, set past the hooks");
        let server = Server::listen();
        let set = |fd: Fd, on: bool| {
            // SAFETY: the connection's, which stays open.
            rustix::io::ioctl_fionbio(unsafe { BorrowedFd::borrow_raw(fd) }, on).expect("a socket");
        };
        let reads_nothing = |fd: Fd| {
            let mut byte = 0u8;
            (call!(recv(fd, (&raw mut byte).cast(), 1, 0)), errno()) == (-1, libc::EAGAIN)
        };
        let quiet = server.fresh_connection();
        set(quiet.server, true);
        assert!(reads_nothing(quiet.server));
        set(quiet.server, false);
        (0..100).for_each(|_| quiet.exchange());
        let moved = server.fresh_connection();
        (0..100).for_each(|_| moved.exchange());
        assert_eq!(server.transports(), [Transport::Socket, Transport::Ring]);
        set(moved.client, true);
        assert!(reads_nothing(moved.client));
        set(moved.client, false);
        (0..100).for_each(|_| moved.exchange());
        assert_eq!(server.transports(), [Transport::Socket; 2]);
    });
}

/// As Boost.Asio does for a program that never runs its loop.
#[test]
fn a_connection_in_a_set_that_nobody_waits_for() {
    hooked_with(&[("SLIPWAY_X11_AFTER", "5")], || {
        let _step = Step::begin("a set that nobody waits for");
        let server = Server::listen();
        let set = good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd;
        let c = server.fresh_connection();
        watch(set, c.server, EPOLLIN as u32, 2);
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..500 {
                    assert_eq!(read_up_to(c.server, 1), b"?");
                    write_all(c.server, b"!");
                }
            });
            for _ in 0..500 {
                write_all(c.client, b"?");
                assert_eq!(read_up_to(c.client, 1), b"!");
            }
        });
        assert_eq!(server.transports(), [Transport::Ring]);
        call!(close(set));
    });
}

#[test]
fn a_program_with_a_ring_of_io_uring_stays_on_its_sockets() {
    hooked(|| {
        let _step = Step::begin("io_uring_setup");
        let server = Server::listen();
        let before = server.connection();
        assert_eq!(server.transports(), [Transport::Ring]);
        // What is refused changes nothing.
        assert_eq!(call!(syscall(SYS_io_uring_setup, 0, std::ptr::null_mut::<u8>())), -1);
        before.exchange();
        assert_eq!(server.transports(), [Transport::Ring]);
        let mut parameters = [0u8; 120];
        let ring = call!(syscall(SYS_io_uring_setup, 1, parameters.as_mut_ptr()));
        if ring < 0 {
            return eprintln!("not run: the kernel gives no ring of io_uring");
        }
        before.exchange();
        let after = server.fresh_connection();
        after.exchange();
        assert_eq!(server.transports(), [Transport::Socket; 2]);
        call!(close(ring as i32));
    });
}
