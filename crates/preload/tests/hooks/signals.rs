//! O_ASYNC: the signals that a plain socketpair raises, and no fewer.

use std::{mem::MaybeUninit, ptr};

use libc::{EAGAIN, F_SETFL, O_ASYNC, O_NONBLOCK, SIGIO, siginfo_t};
use slipway_transport::status::Transport;

use crate::support::{
    Connection, Fd, Server,
    calls::{call, errno, good, read_up_to, set_nonblocking, signal_set, write_all},
    connection::{connect, socket},
    hooked,
    watchdog::Step,
};

const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;

/// More than a line's queue holds bells.
const ROUNDS: u32 = 600;

/// Signals of `fd` are this thread's, which takes them itself.
fn own(fd: Fd, signal: i32) {
    let set = signal_set(signal);
    good(call!(pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut())));
    let owner = [0, call!(gettid())];
    good(call!(fcntl(fd, F_SETOWN_EX, owner.as_ptr())));
}

/// A signal that is there, or that comes while there is patience for it.
fn take(signal: i32, waits: bool) -> Option<siginfo_t> {
    let set = signal_set(signal);
    let mut info = MaybeUninit::<siginfo_t>::zeroed();
    let patience = libc::timespec { tv_sec: if waits { 50 } else { 0 }, tv_nsec: 0 };
    let taken = call!(sigtimedwait(&raw const set, info.as_mut_ptr(), &raw const patience));
    assert!(taken == signal || errno() == EAGAIN);
    // SAFETY: filled in.
    (taken == signal).then(|| unsafe { info.assume_init() })
}

/// How many signals an end gets for what the other does, one after the other: counted after each.
fn counted(c: &Connection) -> Vec<usize> {
    own(c.client, SIGIO);
    let mut counts = Vec::new();
    let mut count = |waits: bool| {
        let first = take(SIGIO, waits).is_some();
        counts.push(usize::from(first) + std::iter::from_fn(|| take(SIGIO, false)).count());
    };
    write_all(c.server, b"not yet");
    count(false);
    good(call!(fcntl(c.client, F_SETFL, O_ASYNC)));
    for i in 0..ROUNDS {
        write_all(c.server, &i.to_ne_bytes());
        count(true);
        if i % 3 == 0 {
            // Several that wait are one signal.
            write_all(c.server, b"....");
            write_all(c.server, b"....");
            count(true);
        }
        if i % 2 == 0 {
            let there = crate::support::calls::readable_bytes(c.client) as usize;
            read_up_to(c.client, there);
            count(false);
        }
    }
    good(call!(fcntl(c.client, F_SETFL, 0)));
    write_all(c.server, b"no more");
    count(false);
    let mut on = 1_i32;
    good(call!(ioctl(c.client, libc::FIOASYNC, &raw mut on)));
    write_all(c.server, b"and again");
    count(true);
    counts
}

#[test]
fn as_many_as_from_a_socket() {
    hooked(|| {
        let _step = Step::begin("signals");
        let server = Server::listen();
        let hooked = server.connection();
        assert_eq!(counted(&hooked), counted(&Connection::plain()));
        assert_eq!(server.transports(), [Transport::Ring]);
        // The end of it.
        good(call!(shutdown(hooked.server, libc::SHUT_WR)));
        assert!(take(SIGIO, true).is_some());
    });
}

#[test]
fn before_it_connects() {
    hooked(|| {
        let _step = Step::begin("signals from the beginning");
        let server = Server::listen();
        let client = socket();
        own(client, SIGIO);
        good(call!(fcntl(client, F_SETFL, O_ASYNC)));
        good(connect(client, &server.name));
        let c = Connection { client, server: server.accept() };
        c.exchange();
        while take(SIGIO, false).is_some() {}
        for i in 0..ROUNDS {
            write_all(c.server, &i.to_ne_bytes());
            assert!(take(SIGIO, true).is_some(), "{i}");
            assert_eq!(read_up_to(c.client, 4), i.to_ne_bytes());
        }
        assert_eq!(server.transports(), [Transport::Ring]);
    });
}

#[test]
fn when_there_is_space_again() {
    hooked(|| {
        let _step = Step::begin("a signal for space");
        let server = Server::listen();
        let both = [server.connection(), Connection::plain()];
        for c in &both {
            set_nonblocking(c.client, true);
            own(c.client, SIGIO);
            good(call!(fcntl(c.client, F_SETFL, O_ASYNC | O_NONBLOCK)));
            let bytes = vec![1_u8; 8 << 20];
            for i in 0..20 {
                let mut sent = 0;
                // What a write of more than there is space for leaves is known without another write.
                let once = if i % 2 == 0 { 1000 } else { bytes.len() };
                loop {
                    match call!(write(c.client, bytes.as_ptr().cast(), once)) {
                        n if n > 0 => sent += n as usize,
                        _ => break assert_eq!(errno(), EAGAIN),
                    }
                    if sent % once != 0 {
                        break;
                    }
                }
                while take(SIGIO, false).is_some() {}
                read_up_to(c.server, sent);
                assert!(take(SIGIO, true).is_some());
            }
        }
        assert_eq!(server.transports(), [Transport::Ring]);
    });
}

/// A signal that says which descriptor, and what it is ready for.
#[test]
fn with_what_it_is_for() {
    hooked(|| {
        let _step = Step::begin("a signal with its descriptor");
        let server = Server::listen();
        let signal = libc::SIGRTMIN() + 3;
        let told = |c: &Connection| {
            own(c.client, signal);
            good(call!(fcntl(c.client, F_SETSIG, signal)));
            good(call!(fcntl(c.client, F_SETFL, O_ASYNC)));
            c.exchange();
            while take(signal, false).is_some() {}
            write_all(c.server, b"x");
            let info = take(signal, true).expect("a signal");
            // SAFETY: si_band and si_fd are where the kernel puts them for such a signal: after three integers, aligned.
            let (band, fd) = unsafe {
                let fields = (&raw const info).cast::<u8>().add(16);
                (fields.cast::<i64>().read_unaligned(), fields.add(8).cast::<i32>().read_unaligned())
            };
            (info.si_code, band, fd == c.client)
        };
        assert_eq!(told(&server.connection()), told(&Connection::plain()));
    });
}
