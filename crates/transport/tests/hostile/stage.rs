//! The stage: a victim that serves in a thread of its own, and a well-behaved client beside it.

use super::{
    WATCHDOG,
    peer::Peer,
    victim::{self, Told},
};
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, epoll, eventfd, poll},
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with},
    time::Timespec,
};
use slipway_test_support::Dice;
use slipway_transport::{
    endpoint::{Endpoint, display_hub},
    epoll::Event,
    hub::Hub,
    rendezvous,
    stream::{How, Stream},
    wait::{Kernel, Member, PollEntry, wait},
};
use std::{
    io::{IoSlice, IoSliceMut},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    thread::JoinHandle,
    time::Duration,
};

/// A running victim.
pub struct Stage {
    pub hub: PathBuf,
    pub server: SocketAddrUnix,
    pub told: Receiver<Told>,
    pub display: u32,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Stage {
    pub fn new(display: u32) -> Self {
        let hub = Hub::open(&Endpoint::Path(format!("/tmp/.X11-unix/X{display}").into()), false).unwrap();
        let (listener, server) = victim::listener(display);
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap());
        let (tell, told) = channel();
        let watched = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            victim::serve(&hub, &listener, &watched, &tell);
            hub.retire();
        });
        Self { hub: super::runtime_dir().join(display_hub(display)), server, told, display, stop, thread: Some(thread) }
    }

    /// Waits until the victim says `what`; anything else it says meanwhile is no news.
    pub fn expect(&self, what: Told) {
        loop {
            match self.told.recv_timeout(WATCHDOG) {
                Ok(told) if told == what => return,
                Ok(_) => {}
                Err(error) => panic!("the victim does not say {what:?}: {error}"),
            }
        }
    }

    /// A client that keeps the rules, connected through shared memory.
    pub fn client(&self) -> Good {
        let x = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        let offer = rendezvous::offer(x.as_fd(), &Endpoint::Path(format!("/tmp/.X11-unix/X{}", self.display).into()))
            .expect("the hub is there");
        connect(&x, &self.server).unwrap();
        let stream = offer.connected(x.as_fd(), true).expect("the hub is the server's");
        self.expect(Told::Came(true));
        Good { x, stream, dice: Dice::new(7) }
    }

    /// A hostile client, connected through shared memory.
    pub fn peer(&self, dice: &mut Dice) -> Peer {
        let peer = Peer::connect(&self.hub, &self.server, dice).expect("granted");
        self.expect(Told::Came(true));
        peer
    }

    /// Stops the victim; fails if it panicked.
    pub fn end(mut self) {
        rustix::io::write(&*self.stop, &1u64.to_ne_bytes()).unwrap();
        self.thread.take().unwrap().join().expect("the victim did not panic");
    }
}

/// A well-behaved client.
pub struct Good {
    x: OwnedFd,
    stream: Stream,
    dice: Dice,
}

impl Good {
    /// Says something and hears it echoed, all of it and in order.
    pub fn round_trip(&mut self) {
        let n = 1 + self.dice.below(5000);
        let said = self.dice.bytes(n);
        let (mut sent, mut heard) = (0, Vec::new());
        let mut buffer = [0; 4096];
        while heard.len() < said.len() {
            if sent < said.len() {
                match self.stream.send(self.x.as_fd(), &[IoSlice::new(&said[sent..])], &[]) {
                    Ok(n) => sent += n,
                    Err(Errno::AGAIN) => {}
                    Err(error) => panic!("the well-behaved client can't send: {error}"),
                }
            }
            match self.stream.receive(self.x.as_fd(), &mut [IoSliceMut::new(&mut buffer)], How::default()) {
                Ok(got) if got.bytes > 0 => heard.extend_from_slice(&buffer[..got.bytes]),
                Err(Errno::AGAIN) => self.wait(sent < said.len()),
                other => panic!("the well-behaved client can't receive: {other:?}"),
            }
        }
        assert_eq!(heard, said);
    }

    fn wait(&self, writing: bool) {
        let want = if writing { victim::BOTH } else { PollFlags::IN };
        let mut members = [Member { stream: &self.stream, fd: self.x.as_fd(), want, got: PollFlags::empty() }];
        let ready = wait(&mut members, &mut [], Some(WATCHDOG), &mut Itself).unwrap();
        assert!(ready > 0, "the victim serves nobody any more");
    }

    pub fn on_ring(&self) -> bool {
        self.stream.on_ring()
    }
}

/// The kernel, as a program asks it.
struct Itself;

impl Kernel for Itself {
    fn poll(&mut self, entries: &mut [PollEntry], timeout: Option<Duration>) -> Result<usize, Errno> {
        let asked: Vec<usize> = (0..entries.len()).filter(|i| entries[*i].fd >= 0).collect();
        let mut fds: Vec<PollFd<'_>> = asked
            .iter()
            .map(|i| {
                // SAFETY: a descriptor of this test, open for the length of the call.
                let fd = unsafe { BorrowedFd::borrow_raw(entries[*i].fd) };
                PollFd::from_borrowed_fd(fd, PollFlags::from_bits_retain(entries[*i].events as u16))
            })
            .collect();
        let time = timeout.map(|t| Timespec { tv_sec: t.as_secs() as i64, tv_nsec: t.subsec_nanos().into() });
        let count = poll(&mut fds, time.as_ref())?;
        let answers: Vec<i16> = fds.iter().map(|fd| fd.revents().bits() as i16).collect();
        for entry in entries.iter_mut() {
            entry.revents = 0;
        }
        for (i, answer) in asked.into_iter().zip(answers) {
            entries[i].revents = answer;
        }
        Ok(count)
    }

    fn epoll(&mut self, set: BorrowedFd<'_>, out: &mut Vec<Event>, most: usize, timeout: Option<Duration>) -> Result<(), Errno> {
        let mut events = Vec::with_capacity(most);
        let time = timeout.map(|time| time.try_into().expect("a time"));
        epoll::wait(set, rustix::buffer::spare_capacity(&mut events), time.as_ref())?;
        out.extend(events.iter().map(|&epoll::Event { flags, data }| Event { events: flags.bits(), data: data.u64() }));
        Ok(())
    }

    fn restarts(&mut self) -> bool {
        false
    }
}
