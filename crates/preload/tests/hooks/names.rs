//! What a program sees of its peer and of its own socket: the same as without hooks.

use std::ffi::CString;

use libc::{F_GETFD, F_GETFL, SOL_SOCKET, sockaddr_un, socklen_t};

use slipway_transport::status::Transport;

use crate::waiting::{disturbed, handle};

use crate::support::{
    Connection, Fd, Server,
    calls::{call, child, errno, good, outcome, pipe, read_up_to, set_nonblocking, write_all},
    connection::{address, connect, socket},
    hooked, hooked_with,
    watchdog::Step,
};

type Call = unsafe extern "C" fn(Fd, *mut libc::sockaddr, *mut socklen_t) -> i32;

/// An address as a call gives it: its length, and its name.
fn asked(function: Call, fd: Fd) -> (socklen_t, Vec<u8>) {
    let (mut found, _) = address(b"");
    let mut length = size_of::<sockaddr_un>() as socklen_t;
    // SAFETY: the out parameters are as these calls want them.
    good(unsafe { function(fd, (&raw mut found).cast(), &raw mut length) });
    named(&found, length)
}

fn named(found: &sockaddr_un, length: socklen_t) -> (socklen_t, Vec<u8>) {
    let name = (length as usize).saturating_sub(size_of::<libc::sa_family_t>());
    (length, found.sun_path[..name].iter().map(|c| *c as u8).collect())
}

/// What recvfrom(2) says of the sender.
fn sender(fd: Fd) -> (socklen_t, Vec<u8>) {
    let (mut found, _) = address(b"");
    let mut length = size_of::<sockaddr_un>() as socklen_t;
    let mut byte = 0_u8;
    good(call!(recvfrom(fd, (&raw mut byte).cast(), 1, 0, (&raw mut found).cast(), &raw mut length)));
    named(&found, length)
}

/// All that can be asked: names of both ends, the peer's at accept, senders, credentials.
fn seen(server: &Server, ring: bool) -> Vec<(socklen_t, Vec<u8>)> {
    let connection = if ring { server.connection() } else { server.fresh_connection() };
    let (client, accepted) = (connection.client, connection.server);
    let mut seen: Vec<_> =
        [client, accepted].into_iter().flat_map(|fd| [asked(libc::getsockname, fd), asked(libc::getpeername, fd)]).collect();
    for (from, to) in [(client, accepted), (accepted, client)] {
        crate::support::calls::write_all(from, b"x");
        seen.push(sender(to));
    }
    let second = server.connect();
    let (mut found, _) = address(b"");
    let mut length = size_of::<sockaddr_un>() as socklen_t;
    let accepted = good(call!(accept(server.listener, (&raw mut found).cast(), &raw mut length))) as Fd;
    seen.push(named(&found, length));
    crate::support::calls::close_all([second, accepted]);
    seen
}

#[test]
fn addresses_are_a_plain_clients() {
    hooked(|| {
        let (hooked, plain) = (Server::listen(), Server::listen_elsewhere());
        let name = |server: &Server| asked(libc::getsockname, server.listener).1;
        let (hooked_name, plain_name) = (name(&hooked), name(&plain));
        let as_plain = |(length, bytes): (socklen_t, Vec<u8>)| {
            if bytes == hooked_name {
                (length - hooked_name.len() as socklen_t + plain_name.len() as socklen_t, plain_name.clone())
            } else {
                (length, bytes)
            }
        };
        let seen_hooked: Vec<_> = seen(&hooked, true).into_iter().map(as_plain).collect();
        assert_eq!(seen_hooked, seen(&plain, false));
    });
}

/// What a call on an address answers that has so much room, in a buffer of sevens, or no length; and whether what it says, if anything, is an address without a name.
fn unnamed(capacity: Option<i32>, call: impl Fn(*mut libc::sockaddr, *mut socklen_t) -> i32) -> (bool, i32, [u8; 24], socklen_t) {
    let (mut buffer, mut length) = ([7; 24], capacity.unwrap_or_default() as socklen_t);
    let answer = call(buffer.as_mut_ptr().cast(), if capacity.is_some() { &raw mut length } else { std::ptr::null_mut() });
    let error = if answer < 0 { errno() } else { 0 };
    if answer > 2 {
        call!(close(answer));
    }
    (answer >= 0, error, buffer, length)
}

#[test]
fn a_name_that_is_hidden_leaves_no_trace() {
    hooked(|| {
        let _step = Step::begin("addresses");
        let answers = |server: &Server| -> Vec<_> {
            let c = server.fresh_connection();
            let capacities = [Some(24), Some(3), Some(2), Some(1), Some(0), Some(-1), None];
            let told = capacities.map(|capacity| {
                let client = server.connect();
                let accepted = unnamed(capacity, |to, length| call!(accept(server.listener, to, length)));
                call!(close(client));
                [
                    accepted,
                    unnamed(capacity, |to, length| call!(getpeername(c.server, to, length))),
                    unnamed(capacity, |to, length| call!(getsockname(c.client, to, length))),
                ]
            });
            told.into_iter().flatten().collect()
        };
        assert_eq!(answers(&Server::listen()), answers(&Server::listen_elsewhere()));
    });
}

#[test]
fn credentials_are_the_peers() {
    hooked(|| {
        let server = Server::listen();
        let connection = server.connection();
        for fd in [connection.client, connection.server] {
            let mut who = libc::ucred { pid: 0, uid: 0, gid: 0 };
            let mut size = size_of::<libc::ucred>() as socklen_t;
            good(call!(getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut who).cast(), &raw mut size)));
            assert_eq!(who.pid as u32, std::process::id());
        }
    });
}

#[test]
fn a_client_with_a_name_of_its_own() {
    hooked(|| {
        let server = Server::listen();
        let bound = |name: &[u8]| {
            let client = socket();
            let (own, length) = address(name);
            good(call!(bind(client, (&raw const own).cast(), length)));
            good(connect(client, &server.name));
            let connection = Connection { client, server: server.accept() };
            connection.exchange();
            assert_eq!(asked(libc::getpeername, connection.server).1, name);
            assert_eq!(asked(libc::getsockname, connection.client).1, name);
            (server.transports(), connection)
        };
        let (transports, first) = bound(format!("\0slipway-own-{}", std::process::id()).as_bytes());
        assert_eq!(transports, [Transport::Ring]);
        drop(first);
        // A path could be another socket's by the time that the server sees it.
        let dir = tempfile::tempdir().expect("a directory");
        let path = [dir.path().join("own").as_os_str().as_encoded_bytes(), b"\0"].concat();
        assert_eq!(bound(&path).0, [Transport::Socket]);
    });
}

/// What a program may have set on a socket.
fn settings(fd: Fd) -> Vec<i64> {
    let mut numbers: Vec<_> = [F_GETFD, F_GETFL].map(|command| i64::from(call!(fcntl(fd, command)))).to_vec();
    for name in [libc::SO_SNDBUF, libc::SO_RCVBUF] {
        let (mut value, mut size) = (0_i32, 4);
        good(call!(getsockopt(fd, SOL_SOCKET, name, (&raw mut value).cast(), &raw mut size)));
        numbers.push(value.into());
    }
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut size = size_of::<libc::timeval>() as socklen_t;
    good(call!(getsockopt(fd, SOL_SOCKET, libc::SO_RCVTIMEO, (&raw mut time).cast(), &raw mut size)));
    numbers.extend([time.tv_sec, time.tv_usec]);
    numbers
}

/// A server finds that no other is at its path, and takes the socket that it asked with.
fn bound_after_a_refusal() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = CString::new(dir.path().join("socket").as_os_str().as_encoded_bytes()).expect("no zero byte");
    let (told, tell) = pipe();
    let killed = child(|| {
        let _server = Server::listen_at(path.as_bytes());
        write_all(tell, b"!");
        call!(pause()) == 0
    });
    read_up_to(told, 1);
    good(call!(kill(killed, libc::SIGKILL)));
    good(call!(waitpid(killed, std::ptr::null_mut(), 0)));
    let hubs = std::fs::read_dir(std::env::var("SLIPWAY_RUNTIME_DIR").expect("set")).expect("the directory");
    assert_eq!(hubs.count(), 1, "it left its hub's file behind");
    let fd = socket();
    set_nonblocking(fd, true);
    let (size, time) = (50_000_i32, libc::timeval { tv_sec: 20, tv_usec: 0 });
    good(call!(setsockopt(fd, SOL_SOCKET, libc::SO_SNDBUF, (&raw const size).cast(), 4)));
    let length = size_of::<libc::timeval>() as socklen_t;
    good(call!(setsockopt(fd, SOL_SOCKET, libc::SO_RCVTIMEO, (&raw const time).cast(), length)));
    let before = settings(fd);
    assert_eq!((connect(fd, path.as_bytes()), errno()), (-1, libc::ECONNREFUSED));
    assert_eq!(settings(fd), before);
    assert_eq!((call!(listen(fd, 1)), errno()), (-1, libc::EINVAL), "it has no name");
    good(call!(unlink(path.as_ptr())));
    let (own, length) = address(path.as_bytes());
    good(call!(bind(fd, (&raw const own).cast(), length)));
    good(call!(listen(fd, 4)));
    set_nonblocking(fd, false);
    Server { display: 0, listener: fd, name: path.as_bytes().to_vec() }.fresh_connection().exchange();
}

#[test]
fn a_socket_that_was_refused_can_be_bound() {
    hooked_with(&[("SLIPWAY_SOCKETS", "all")], || {
        let _step = Step::begin("connect, then bind");
        bound_after_a_refusal();
    });
}

#[test]
fn a_client_that_would_offer_late_can_be_bound() {
    hooked_with(&[("SLIPWAY_SOCKETS", "all"), ("SLIPWAY_X11_AFTER", "5")], || {
        let _step = Step::begin("connect, then bind");
        bound_after_a_refusal();
    });
}

#[test]
fn a_client_that_found_the_queue_full() {
    hooked(|| {
        let _step = Step::begin("a full queue");
        let server = Server::listen();
        let mut waiting = Vec::new();
        let late = loop {
            let client = socket();
            set_nonblocking(client, true);
            if connect(client, &server.name) != 0 {
                assert_eq!(errno(), libc::EAGAIN);
                break client;
            }
            waiting.push(client);
        };
        let accepted: Vec<_> = waiting.iter().map(|_| server.accept()).collect();
        good(connect(late, &server.name));
        set_nonblocking(late, false);
        let connection = Connection { client: late, server: server.accept() };
        connection.exchange();
        assert_eq!(server.transports().last(), Some(&Transport::Ring));
        crate::support::calls::close_all(waiting.into_iter().chain(accepted));
    });
}

/// A program that finds a server busy serves in its place, once it has given up: after EAGAIN, and after a signal in a connect(2) that waits.
#[test]
fn a_socket_that_was_told_to_try_again_can_be_bound() {
    hooked(|| {
        let _step = Step::begin("connect, then bind");
        let server = Server::listen();
        let full = |fd: Fd| (connect(fd, &server.name) != 0).then(errno);
        let mut waiting = Vec::new();
        let told = loop {
            let client = socket();
            set_nonblocking(client, true);
            if let Some(error) = full(client) {
                assert_eq!(error, libc::EAGAIN);
                break client;
            }
            waiting.push(client);
        };
        let interrupted = socket();
        handle(libc::SIGUSR1, 0);
        let name = server.name.clone();
        let call = disturbed(libc::SIGUSR1, move || outcome(connect(interrupted, &name)), |_| {});
        assert_eq!((call.value, call.errno), (-1, libc::EINTR));
        for (i, fd) in [told, interrupted].into_iter().enumerate() {
            let name = format!("\0slipway-instead-{}-{i}", std::process::id()).into_bytes();
            let (own, length) = address(&name);
            good(call!(bind(fd, (&raw const own).cast(), length)));
            assert_eq!((call!(bind(fd, (&raw const own).cast(), length)), errno()), (-1, libc::EINVAL));
            good(call!(listen(fd, 4)));
            set_nonblocking(fd, false);
            Server { display: 0, listener: fd, name }.fresh_connection().exchange();
        }
        crate::support::calls::close_all(waiting);
    });
}
