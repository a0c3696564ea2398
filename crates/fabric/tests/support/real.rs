//! Natively: real threads, and a bell that is a pair of sockets, as a line has.

use rustix::{
    event::{
        EventfdFlags, PollFd, PollFlags,
        epoll::{self, CreateFlags, EventData, EventFlags},
        eventfd, poll,
    },
    net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair},
    time::Timespec,
};
use slipway_fabric::{
    credit::{TABLE, Table},
    ring::RingControl,
    sync::{AtomicU32, Bytes, Mapping, Ordering::Relaxed, Shared},
};
use std::{os::fd::OwnedFd, thread};

/// How often a body runs: each time the threads meet otherwise.
const ROUNDS: usize = 300;

/// A sleep this long, in seconds, is one that nothing will end.
const WATCHDOG: i64 = 60;

pub fn check(body: impl Fn() + Sync + Send + 'static) {
    for _ in 0..ROUNDS {
        body();
    }
}

pub fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::spawn(body)
}

pub use std::thread::yield_now;

pub fn memory(size: usize) -> (Shared<RingControl>, Bytes) {
    let mapping = Mapping::of_family(8192).unwrap();
    (mapping.view(0).unwrap(), mapping.bytes(4096, size).unwrap())
}

pub fn tables() -> (Shared<Table>, Shared<Table>) {
    let mapping = Mapping::of_family(2 * TABLE).unwrap();
    (mapping.view(0).unwrap(), mapping.view(TABLE).unwrap())
}

pub struct Bell {
    outside: OwnedFd,
    inside: OwnedFd,
    set: OwnedFd,
    kick: OwnedFd,
}

impl Default for Bell {
    fn default() -> Self {
        let (outside, inside) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let kick = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap();
        let set = epoll::create(CreateFlags::CLOEXEC).unwrap();
        for fd in [&inside, &kick] {
            epoll::add(&set, fd, EventData::new_u64(0), EventFlags::IN | EventFlags::ET).unwrap();
        }
        Self { outside, inside, set, kick }
    }
}

impl Bell {
    pub fn ring(&self) {
        let _ = send(&self.outside, &[0], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    }

    pub fn wait(&self) {
        let mut fds = [PollFd::new(&self.inside, PollFlags::IN)];
        let awake = poll(&mut fds, Some(&Timespec { tv_sec: WATCHDOG, tv_nsec: 0 })).unwrap();
        assert_eq!(awake, 1, "a wake-up was lost");
    }

    pub fn rings(&self) -> bool {
        poll(&mut [PollFd::new(&self.inside, PollFlags::IN)], Some(&Timespec::default())).unwrap() == 1
    }

    /// Takes one message.
    pub fn hear(&self) {
        recv(&self.inside, &mut [0u8; 8], RecvFlags::DONTWAIT).unwrap();
    }

    pub fn drain(&self) {
        while recv(&self.inside, &mut [0u8; 8], RecvFlags::DONTWAIT).is_ok() {}
    }

    pub fn wait_edge(&self) {
        let mut events = Vec::with_capacity(4);
        let limit = Timespec { tv_sec: WATCHDOG, tv_nsec: 0 };
        let awake = epoll::wait(&self.set, rustix::buffer::spare_capacity(&mut events), Some(&limit)).unwrap();
        assert!(awake > 0, "a wake-up was lost");
    }

    pub fn kick(&self) {
        rustix::io::write(&self.kick, &1u64.to_ne_bytes()).unwrap();
    }
}

/// A variable whose lost updates show in its sum.
#[derive(Default)]
pub struct Cell(AtomicU32);

impl Cell {
    pub fn add(&self, n: u32) {
        let before = self.0.load(Relaxed);
        std::hint::black_box(before);
        self.0.store(before + n, Relaxed);
    }

    pub fn get(&self) -> u32 {
        self.0.load(Relaxed)
    }
}
