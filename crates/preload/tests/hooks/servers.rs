//! Servers of every kind, at sockets that are no displays: which process or thread accepts, and which goes on.

use std::{ffi::c_int, thread};

use libc::{AF_UNIX, POLLIN, SOCK_CLOEXEC, SOCK_STREAM};
use slipway_transport::status::{ServerStatus, Transport};

use crate::support::{
    Fd, Server,
    calls::{call, child, errno, good, join, pipe, poll, read_up_to, write_all},
    connection::{Connection, address, connect, socket},
    hooked_with, messages,
    watchdog::Step,
};

const ALL: (&str, &str) = ("SLIPWAY_SOCKETS", "all");

fn unused(what: &str) -> Vec<u8> {
    format!("\0slipway-{what}-{}", std::process::id()).into_bytes()
}

/// Answers requests of four bytes until the client closes.
fn serve(fd: Fd) {
    loop {
        let request = read_up_to(fd, 4);
        if request.len() < 4 {
            call!(close(fd));
            return;
        }
        write_all(fd, &request);
    }
}

/// Sends requests and checks the answers.
fn ask(fd: Fd, count: u32) {
    for i in 0..count {
        write_all(fd, &i.to_ne_bytes());
        assert_eq!(read_up_to(fd, 4), i.to_ne_bytes());
    }
}

fn rings(status: &ServerStatus) -> usize {
    status.connections.iter().filter(|c| c.transport == Transport::Ring).count()
}

/// Accepts until it fails.
fn accept(listener: Fd) -> Option<Fd> {
    loop {
        match call!(accept(listener, std::ptr::null_mut(), std::ptr::null_mut())) {
            fd if fd >= 0 => return Some(fd),
            _ if errno() == libc::EINTR => {}
            _ => return None,
        }
    }
}

#[test]
fn threads_accept_at_a_path() {
    hooked_with(&[ALL], || {
        let _step = Step::begin("a thread for each connection");
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("socket");
        let server = Server::listen_at(path.as_os_str().as_encoded_bytes());
        let listener = server.listener;
        let accepting = thread::spawn(move || {
            let threads: Vec<_> = (0..5).filter_map(|_| accept(listener)).map(|fd| thread::spawn(move || serve(fd))).collect();
            threads.into_iter().for_each(|thread| thread.join().expect("serves"));
        });
        let clients: Vec<_> = (0..4).map(|_| server.connect()).collect();
        clients.iter().for_each(|fd| ask(*fd, 200));
        // The thread that accepts answers, which waits for the fifth client.
        let status = server.ask().expect("answers");
        assert_eq!((rings(&status), status.endpoint.as_str()), (4, path.to_str().expect("plain")));
        let last = server.connect();
        ask(last, 3);
        clients.into_iter().chain([last]).for_each(|fd| _ = call!(close(fd)));
        accepting.join().expect("accepts");
    });
}

#[test]
fn a_server_that_renames_its_socket_before_it_listens() {
    hooked_with(&[ALL], || {
        let _step = Step::begin("bind, rename, listen");
        let dir = tempfile::tempdir().expect("a directory");
        let (draft, path) = (dir.path().join("draft"), dir.path().join("socket"));
        let listener = socket();
        let (bound, length) = address(draft.as_os_str().as_encoded_bytes());
        good(call!(bind(listener, (&raw const bound).cast(), length)));
        std::fs::rename(&draft, &path).expect("renamed");
        good(call!(listen(listener, 5)));
        let server = Server { display: 0, listener, name: path.as_os_str().as_encoded_bytes().to_vec() };
        let client = server.connect();
        let accepted = server.accept();
        let serving = thread::spawn(move || serve(accepted));
        ask(client, 200);
        assert_eq!(server.transports(), [Transport::Ring]);
        call!(close(client));
        serving.join().expect("serves");
    });
}

#[test]
fn an_accept_with_unknown_flags_fails_before_it_waits() {
    hooked_with(&[ALL], || {
        let _step = Step::begin("accept4");
        let server = Server::listen_at(&unused("flags"));
        let refused = call!(accept4(server.listener, std::ptr::null_mut(), std::ptr::null_mut(), 1 << 30));
        assert_eq!((refused, errno()), (-1, libc::EINVAL));
    });
}

#[test]
fn a_process_for_each_connection() {
    hooked_with(&[ALL], || {
        let _step = Step::begin("a process for each connection");
        let server = Server::listen_at(&unused("forks"));
        let mut children = Vec::new();
        let clients: Vec<_> = (0..3)
            .map(|_| {
                let client = server.connect();
                let accepted = server.accept();
                children.push(child(|| {
                    call!(close(client));
                    serve(accepted);
                    true
                }));
                good(call!(close(accepted)));
                client
            })
            .collect();
        clients.iter().for_each(|fd| ask(*fd, 300));
        // A child may not have counted yet what it has sent.
        let counted = |status: &ServerStatus| status.connections.iter().all(|c| (c.bytes_in, c.bytes_out) == (1200, 1200));
        let status = std::iter::repeat_with(|| server.status()).find(counted).expect("at last");
        assert_eq!(rings(&status), 3, "{status:?}");
        // Later children have copies of the earlier clients: none is left when all are gone.
        clients.into_iter().for_each(|fd| _ = call!(shutdown(fd, libc::SHUT_RDWR)) + call!(close(fd)));
        children.into_iter().for_each(join);
        let status = server.status();
        assert_eq!((status.connections.len(), status.granted_bytes), (0, 0), "{status:?}");
    });
}

#[test]
fn a_process_for_each_connection_that_is_offered_for_late() {
    hooked_with(&[ALL, ("SLIPWAY_X11_AFTER", "5")], || {
        let _step = Step::begin("a process for each connection, and late offers");
        // A process that was not told of its offer in time, by the one that took it, leaves its connection on the socket.
        assert!((0..5).any(|_| rings(&offered_late()) == 3));
    });
}

/// What becomes of three connections that their clients offer late, each to a process of its own.
fn offered_late() -> ServerStatus {
    let server = Server::listen_at(&unused("late"));
    let ((told, tell), (stop, stopping)) = (pipe(), pipe());
    let run = |body: &dyn Fn()| {
        child(|| {
            call!(close(stopping));
            body();
            true
        })
    };
    let client = || {
        let fd = server.connect();
        ask(fd, 300);
        write_all(tell, b".");
        read_up_to(stop, 1);
    };
    let clients: Vec<_> = (0..3).map(|_| run(&client)).collect();
    let forked = |_: &_| {
        let accepted = server.accept();
        let it = run(&|| {
            // As PostgreSQL's do.
            call!(close(server.listener));
            serve(accepted);
        });
        good(call!(close(accepted)));
        it
    };
    let children: Vec<_> = clients.iter().map(forked).collect();
    assert_eq!(read_up_to(told, 3), b"...");
    let status = server.status();
    call!(close(stopping));
    clients.into_iter().chain(children).for_each(join);
    status
}

#[test]
fn a_server_that_starts_a_program_finds_an_offer_that_comes_late() {
    hooked_with(&[ALL, ("SLIPWAY_X11_AFTER", "5")], || {
        let _step = Step::begin("a program that a server starts");
        let server = Server::listen_at(&unused("starts"));
        let ((told, tell), (stop, stopping)) = (pipe(), pipe());
        let client = child(|| {
            call!(close(stopping));
            let fd = server.connect();
            ask(fd, 300);
            write_all(tell, b".");
            read_up_to(stop, 1);
            true
        });
        let accepted = server.accept();
        let program = child(|| {
            let arguments = [c"true".as_ptr(), std::ptr::null()];
            for name in [c"/nonexistent", c"/bin/true"] {
                call!(execv(name.as_ptr(), arguments.as_ptr()));
            }
            false
        });
        join(program);
        let serving = thread::spawn(move || serve(accepted));
        assert_eq!(read_up_to(told, 1), b".");
        let status = server.status();
        assert_eq!(rings(&status), 1, "{status:?}");
        call!(close(stopping));
        join(client);
        serving.join().expect("serves");
    });
}

/// Whether a fork finds that there are too many processes.
fn fails_to_fork() -> bool {
    // Root has no such limit, and a user namespace may have no other user.
    let root = call!(getuid()) == 0;
    if root && call!(setresuid(54_321, 54_321, 0)) < 0 {
        return false;
    }
    // SAFETY: zeros are limits.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    good(call!(getrlimit(libc::RLIMIT_NPROC, &raw mut limit)));
    let none = libc::rlimit { rlim_cur: 0, rlim_max: limit.rlim_max };
    good(call!(setrlimit(libc::RLIMIT_NPROC, &raw const none)));
    let (forked, error) = (call!(fork()), errno());
    if forked == 0 {
        call!(_exit(0));
    }
    good(call!(setrlimit(libc::RLIMIT_NPROC, &raw const limit)));
    if root {
        good(call!(setresuid(0, 0, 0)));
    }
    (forked, error) == (-1, libc::EAGAIN)
}

#[test]
fn a_fork_that_fails_leaves_a_connection_without_heirs() {
    hooked_with(&[ALL, ("SLIPWAY_X11_AFTER", "5")], || {
        let _step = Step::begin("a fork that fails");
        if !fails_to_fork() {
            return eprintln!("not run: nothing limits this user's processes, and there is no user whom it would");
        }
        let server = Server::listen_at(&unused("unforked"));
        let ((told, tell), (stop, stopping)) = (pipe(), pipe());
        let client = child(|| {
            call!(close(stopping));
            let fd = server.connect();
            ask(fd, 300);
            write_all(tell, b".");
            read_up_to(stop, 1);
            true
        });
        let accepted = server.accept();
        assert!(fails_to_fork());
        let serving = thread::spawn(move || serve(accepted));
        assert_eq!(read_up_to(told, 1), b".");
        let status = server.status();
        assert_eq!(rings(&status), 1, "{status:?}");
        call!(close(stopping));
        join(client);
        serving.join().expect("serves");
    });
}

#[test]
fn a_server_in_the_background_keeps_its_hub() {
    hooked_with(&[ALL], || {
        let _step = Step::begin("daemon(3), and a process for a connection");
        let ((told, tell), (gone, going)) = (pipe(), pipe());
        let opener = child(|| {
            let server = std::mem::ManuallyDrop::new(Server::listen_at(&unused("daemon")));
            child(|| {
                read_up_to(gone, 1);
                join(child(|| call!(close(server.listener)) == 0));
                let hubs = std::fs::read_dir(std::env::var("SLIPWAY_RUNTIME_DIR").expect("set")).expect("the directory");
                write_all(tell, &[hubs.count() as u8]);
                true
            });
            true
        });
        join(opener);
        write_all(going, b".");
        assert_eq!(read_up_to(told, 1), [1], "its file");
    });
}

#[test]
fn whichever_process_accepts_finds_the_offer() {
    hooked_with(&[ALL], || {
        let _step = Step::begin("processes that share a listening socket");
        let server = Server::listen_at(&unused("prefork"));
        let (tell, told) = {
            let ends = crate::support::calls::pipe();
            (ends.1, ends.0)
        };
        let children: Vec<_> = (0..4)
            .map(|_| {
                child(|| {
                    let mut served = Vec::new();
                    while let Some(fd) = accept(server.listener) {
                        let first = read_up_to(fd, 4);
                        if first == u32::MAX.to_ne_bytes() {
                            break;
                        }
                        write_all(fd, &first);
                        served.push(thread::spawn(move || serve(fd)));
                    }
                    served.into_iter().for_each(|thread| thread.join().expect("serves"));
                    write_all(tell, b".");
                    true
                })
            })
            .collect();
        // Many at once, so that one process reads the offer and another accepts.
        let clients: Vec<_> = (0..40).map(|_| server.connect()).collect();
        clients.iter().for_each(|fd| ask(*fd, 20));
        let status = server.ask().expect("one of them answers");
        assert_eq!(rings(&status), 40, "{status:?}");
        clients.into_iter().for_each(|fd| _ = call!(close(fd)));
        for _ in &children {
            let last = server.connect();
            write_all(last, &u32::MAX.to_ne_bytes());
            call!(close(last));
        }
        assert_eq!(read_up_to(told, children.len()).len(), children.len());
        children.into_iter().for_each(join);
    });
}

/// All that wait see a connection, and one of them gets it: the others go on serving the hub.
#[test]
fn workers_that_lose_a_connection_answer_questions() {
    hooked_with(&[ALL], || {
        let _step = Step::begin("workers with a client each");
        let server = Server::listen_at(&unused("losers"));
        let children: Vec<_> = (0..4)
            .map(|_| {
                child(|| {
                    while let Some(fd) = accept(server.listener) {
                        let first = read_up_to(fd, 4);
                        if first == u32::MAX.to_ne_bytes() {
                            break;
                        }
                        write_all(fd, &first);
                        serve(fd);
                    }
                    true
                })
            })
            .collect();
        for round in 0..100 {
            let client = server.connect();
            ask(client, 1);
            assert!(server.ask().is_ok(), "round {round}");
            call!(close(client));
        }
        for _ in &children {
            let last = server.connect();
            write_all(last, &u32::MAX.to_ne_bytes());
            call!(close(last));
        }
        children.into_iter().for_each(join);
    });
}

#[test]
fn a_connection_that_is_handed_to_a_worker() {
    hooked_with(&[ALL], || {
        let _step = Step::begin("a worker that gets accepted sockets");
        let server = Server::listen_at(&unused("handed"));
        let mut pair = [0 as c_int; 2];
        good(call!(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.as_mut_ptr())));
        let [master, worker] = pair;
        let pid = child(|| {
            call!(close(master));
            for _ in 0..2 {
                let (_, fds) = messages::receive_open(worker, &[1], messages::space(1), 0);
                serve(fds[0]);
            }
            true
        });
        for begun in [false, true] {
            let client = server.connect();
            let accepted = server.accept();
            if begun {
                // On the ring already, with a request on its way.
                write_all(client, &7_u32.to_ne_bytes());
                assert_eq!(read_up_to(accepted, 4), 7_u32.to_ne_bytes());
                write_all(accepted, &7_u32.to_ne_bytes());
                write_all(client, &8_u32.to_ne_bytes());
            }
            messages::send(master, vec![vec![1]], &[accepted], 0);
            good(call!(close(accepted)));
            if begun {
                assert_eq!(read_up_to(client, 8), [7_u32.to_ne_bytes(), 8_u32.to_ne_bytes()].concat());
            }
            ask(client, 50);
            call!(close(client));
        }
        join(pid);
    });
}

/// listen(2) where no hook sees it, as by the process that left the socket to this one.
fn inherited(name: &[u8]) -> Fd {
    let fd = socket();
    let (address, length) = address(name);
    good(call!(bind(fd, (&raw const address).cast(), length)));
    good(call!(syscall(libc::SYS_listen, fd, 16)));
    fd
}

#[test]
fn a_listening_socket_that_was_inherited() {
    hooked_with(&[ALL], || {
        let _step = Step::begin("an inherited listening socket");
        for waits_in_epoll in [false, true] {
            let name = [&unused("inherited")[..], if waits_in_epoll { b"-epoll" } else { b"" }].concat();
            let listener = inherited(&name);
            let connected = || {
                let fd = socket();
                good(connect(fd, &name));
                fd
            };
            let first = connected();
            if waits_in_epoll {
                let set = good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd;
                crate::support::connection::watch(set, listener, POLLIN as u32, 0);
            }
            let accepted = accept(listener).expect("accepts");
            // It connected before this process did anything with the socket. The next finds the hub.
            let second = connected();
            let next = accept(listener).expect("accepts");
            let serving = [accepted, next].map(|fd| thread::spawn(move || serve(fd)));
            ask(first, 100);
            ask(second, 100);
            let server = std::mem::ManuallyDrop::new(Server { display: 0, listener, name: name.clone() });
            let status = server.status();
            let transports: Vec<_> = status.connections.iter().map(|c| c.transport).collect();
            assert_eq!(transports, [Transport::Socket, Transport::Ring], "{status:?}");
            [first, second].into_iter().for_each(|fd| _ = call!(close(fd)));
            serving.into_iter().for_each(|thread| thread.join().expect("serves"));
            call!(close(listener));
        }
    });
}

#[test]
fn what_a_socket_was_told_before_it_connected() {
    hooked_with(&[ALL], || {
        let _step = Step::begin("options");
        let server = Server::listen_at(&unused("options"));
        // A time-out counts on the ring, too.
        let client = socket();
        let time = libc::timeval { tv_sec: 0, tv_usec: 20_000 };
        let size = size_of::<libc::timeval>() as libc::socklen_t;
        good(call!(setsockopt(client, libc::SOL_SOCKET, libc::SO_RCVTIMEO, (&raw const time).cast(), size)));
        good(connect(client, &unused("options")));
        let accepted = server.accept();
        write_all(client, b"hello");
        assert_eq!(read_up_to(accepted, 5), b"hello");
        let mut byte = 0_u8;
        assert_eq!(call!(read(client, (&raw mut byte).cast(), 1)), -1);
        assert_eq!(errno(), libc::EAGAIN);
        // Credentials with each message are the kernel's.
        let on: c_int = 1;
        let credited = socket();
        good(call!(setsockopt(credited, libc::SOL_SOCKET, libc::SO_PASSCRED, (&raw const on).cast(), 4)));
        good(connect(credited, &unused("options")));
        let other = server.accept();
        write_all(other, b"x");
        assert_eq!(poll(&[(credited, POLLIN)], -1), Ok(vec![POLLIN]));
        assert_eq!(read_up_to(credited, 1), b"x");
        assert_eq!(server.transports(), [Transport::Ring, Transport::Socket]);
        crate::support::calls::close_all([client, accepted, credited, other]);
    });
}

#[test]
fn connections_that_mostly_end_soon_are_made_without_an_offer_in_mind() {
    hooked_with(&[ALL, ("SLIPWAY_X11_AFTER", "5")], || {
        let _step = Step::begin("short connections");
        let server = Server::listen_at(&unused("short"));
        let goes_over = |exchanges| {
            let c = server.fresh_connection();
            (0..exchanges).for_each(|_| c.exchange());
            let found = server.transports();
            crate::support::calls::close_all([c.client, c.server]);
            found == [Transport::Ring]
        };
        assert!((0..65).all(|_| !goes_over(1)));
        // One in sixteen is tried; once it goes on, all are.
        let tried: Vec<bool> = (0..20).map(|_| goes_over(100)).collect();
        assert_eq!(tried, [[false; 15].as_slice(), &[true; 5]].concat());
    });
}

#[test]
fn what_a_listening_socket_is_told_counts_for_those_that_it_accepts() {
    hooked_with(&[ALL], || {
        let _step = Step::begin("options of the listening socket");
        let server = Server::listen_at(&unused("inherited"));
        let before = server.fresh_connection();
        let on: c_int = 1;
        good(call!(setsockopt(server.listener, libc::SOL_SOCKET, libc::SO_PASSCRED, (&raw const on).cast(), 4)));
        let after = server.fresh_connection();
        let off: c_int = 0;
        good(call!(setsockopt(server.listener, libc::SOL_SOCKET, libc::SO_PASSCRED, (&raw const off).cast(), 4)));
        let again = server.fresh_connection();
        // What counts is what it was told when they connect.
        let queued = [0, 1].map(|set: c_int| {
            good(call!(setsockopt(server.listener, libc::SOL_SOCKET, libc::SO_PASSCRED, (&raw const set).cast(), 4)));
            let client = socket();
            good(connect(client, &unused("inherited")));
            client
        });
        let queued = queued.map(|client| Connection { client, server: server.accept() });
        let all = [&before, &after, &again, &queued[0], &queued[1]];
        all.iter().for_each(|c| (0..200).for_each(|_| c.exchange()));
        let (ring, socket) = (Transport::Ring, Transport::Socket);
        assert_eq!(server.transports(), [ring, socket, ring, ring, socket]);
        all.iter().for_each(|c| crate::support::calls::close_all([c.client, c.server]));
    });
}

#[test]
fn a_socket_that_is_in_a_set_before_it_connects() {
    hooked_with(&[ALL], || {
        let _step = Step::begin("a set, then connect");
        let server = Server::listen_at(&unused("early"));
        let client = socket();
        let set = good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd;
        crate::support::connection::watch(set, client, (libc::EPOLLIN | libc::EPOLLET) as u32, 9);
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        assert_eq!(call!(epoll_wait(set, &raw mut event, 1, 0)), 1, "it is not connected");
        good(connect(client, &unused("early")));
        let accepted = server.accept();
        for i in 0..20_u32 {
            write_all(accepted, &i.to_ne_bytes());
            assert_eq!(call!(epoll_wait(set, &raw mut event, 1, -1)), 1);
            assert_eq!(({ event.u64 }, read_up_to(client, 4)), (9, i.to_ne_bytes().to_vec()));
        }
        crate::support::calls::close_all([client, accepted, set]);
    });
}

#[test]
fn a_socket_that_is_in_a_set_before_it_listens() {
    hooked_with(&[ALL], || {
        let _step = Step::begin("a set, then listen");
        let name = unused("early-listener");
        let (listener, set) = (socket(), good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd);
        crate::support::connection::watch(set, listener, libc::EPOLLIN as u32, 0);
        let (bound, length) = address(&name);
        good(call!(bind(listener, (&raw const bound).cast(), length)));
        good(call!(listen(listener, 5)));
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // Unconnected, it was at its end, which may be told still.
        while call!(epoll_wait(set, &raw mut event, 1, 0)) == 1 {}
        let server = Server { display: 0, listener, name };
        let waits = thread::spawn(move || call!(epoll_wait(set, &raw mut event, 1, -1)));
        assert_eq!(server.ask().expect("an answer from within the wait").connections.len(), 0);
        let client = server.connect();
        assert_eq!(waits.join().expect("a client"), 1);
        crate::support::calls::close_all([client, set]);
    });
}

#[test]
fn what_is_not_chosen_stays_as_it_is() {
    hooked_with(&[("SLIPWAY_SOCKETS", "+@slipway-cho*:-*-not-*")], || {
        let [chosen, not, other] = ["chosen", "chosen-not", "other"].map(|what| Server::listen_at(&unused(what)));
        assert_eq!(chosen.connection_over(), Transport::Ring);
        assert!(not.ask().is_err() && other.ask().is_err());
        for server in [not, other] {
            let connection = server.fresh_connection();
            connection.exchange();
        }
    });
}
