//! Calls on a connection's two ends, with a process whose waits and signals are the test's.

use super::*;
use crate::{
    epoll::Event,
    stream::pair::{Ends, ends, has_late_sleepers, quiet},
    wait::PollEntry,
};
use std::{
    cell::{Cell, RefCell},
    os::fd::AsFd,
};

/// What happens while a call sleeps: each time the next of these, which ends the sleep as it says.
type Sleeps<'a> = Vec<Box<dyn FnOnce() -> Result<usize, Errno> + 'a>>;

/// A process in which these things happen.
#[derive(Default)]
struct Fake<'a> {
    sleeps: RefCell<Sleeps<'a>>,
    /// For how long it was to sleep each time.
    timeouts: RefCell<Vec<Option<Duration>>>,
    restarts: bool,
    sigpipes: Cell<u32>,
}

struct Sleeping<'a, 'b>(&'b Fake<'a>);

impl Kernel for Sleeping<'_, '_> {
    fn poll(&mut self, entries: &mut [PollEntry], timeout: Option<Duration>) -> Result<usize, Errno> {
        entries.iter_mut().for_each(|entry| entry.revents = 0);
        if timeout == Some(Duration::ZERO) {
            return Ok(0);
        }
        self.0.timeouts.borrow_mut().push(timeout);
        let mut sleeps = self.0.sleeps.borrow_mut();
        assert!(!sleeps.is_empty(), "it waits for what can't come");
        let happens = sleeps.remove(0);
        drop(sleeps);
        happens()
    }

    fn epoll(&mut self, _: BorrowedFd<'_>, _: &mut Vec<Event>, _: usize, _: Option<Duration>) -> Result<(), Errno> {
        unreachable!("no call on one stream waits so")
    }

    fn restarts(&mut self) -> bool {
        self.0.restarts
    }
}

impl Program for Fake<'_> {
    fn wait(&self) -> impl Kernel {
        Sleeping(self)
    }

    fn raise_sigpipe(&self) {
        self.sigpipes.set(self.sigpipes.get() + 1);
    }
}

fn blocking() -> Ends {
    let ends = ends();
    for (stream, fd) in [&ends.client, &ends.server] {
        stream.set_nonblocking(false);
        rustix::io::ioctl_fionbio(fd, false).expect("a socket");
    }
    ends
}

impl Ends {
    fn put(&self, bytes: &[u8]) {
        assert_eq!(self.client.0.send(self.client.1.as_fd(), &[IoSlice::new(bytes)], &[]), Ok(bytes.len()));
    }

    /// What the server receives by one call.
    fn take(&self, flags: c_int, room: usize, fake: &Fake<'_>) -> Result<Option<Vec<u8>>, Errno> {
        let mut buffer = vec![0; room];
        let to = &mut [IoSliceMut::new(&mut buffer)];
        let got = receive(&self.server.0, self.server.1.as_fd(), to, flags, Told::Message(false), fake)?;
        Ok(got.map(|got| buffer[..got.bytes].to_vec()))
    }
}

#[test]
fn a_blocking_call_waits_and_one_that_must_not_does_not() {
    let ends = blocking();
    let none = Fake::default();
    assert_eq!(ends.take(MSG_DONTWAIT, 9, &none), Err(Errno::AGAIN));
    ends.server.0.set_nonblocking(true);
    assert_eq!(ends.take(0, 9, &none), Err(Errno::AGAIN));
    ends.server.0.set_nonblocking(false);
    let sent: Sleeps<'_> = vec![Box::new(|| {
        ends.put(b"late");
        Ok(0)
    })];
    assert_eq!(ends.take(0, 9, &Fake { sleeps: sent.into(), ..Fake::default() }), Ok(Some(b"late".to_vec())));
    // SO_RCVTIMEO.
    ends.server.0.set_timeout(true, 1);
    let over: Sleeps<'_> = (0..9).map(|_| Box::new(|| Ok(0_usize)) as _).collect();
    assert_eq!(ends.take(0, 9, &Fake { sleeps: over.into(), ..Fake::default() }), Err(Errno::AGAIN));
}

#[test]
fn a_call_that_sleeps_when_its_connection_goes_to_its_socket_is_the_kernels() {
    let ends = blocking();
    let goes = || {
        assert!(ends.server.0.give_up(ends.server.1.as_fd()) && ends.server.0.is_plain());
        Ok(0)
    };
    let sleeps: Sleeps<'_> = vec![Box::new(goes)];
    assert_eq!(ends.take(0, 9, &Fake { sleeps: sleeps.into(), ..Fake::default() }), Ok(None));
}

#[test]
fn a_receive_that_waits_before_there_is_a_line_is_one_call_of_the_kernel() {
    let (stream, socket, peer) = quiet();
    stream.set_nonblocking(false);
    let take = |fake: &Fake<'_>| {
        let (mut buffer, mut room) = ([0; 9], [0; 9]);
        let kernels = RefCell::new(&mut room);
        let own = || rustix::io::read(&socket, &mut kernels.borrow_mut()[..]);
        let got = receive(&stream, socket.as_fd(), &mut [IoSliceMut::new(&mut buffer)], 0, Told::Bytes(&own), fake);
        let came = |got: Received| if room[0] != 0 { room } else { buffer }[..got.bytes].to_vec();
        got.map(|got| got.map(came))
    };
    let put = |bytes: &[u8]| assert_eq!(rustix::io::write(&peer, bytes), Ok(bytes.len()));
    // What is there says nothing of how the program waits.
    put(b"there");
    assert_eq!(take(&Fake::default()), Ok(Some(b"there".to_vec())));
    assert!(!stream.was_waited_for());
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| take(&Fake::default()));
        // It gets no line meanwhile: one would not hear the other's bell.
        while !stream.was_waited_for() {
            std::thread::yield_now();
        }
        stream.get_line_if_none_sleeps(socket.as_fd());
        assert!(stream.is_quiet());
        put(b"late");
        assert_eq!(waits.join().expect("a receive"), Ok(Some(b"late".to_vec())));
    });
    stream.get_line_if_none_sleeps(socket.as_fd());
    assert!(!stream.is_quiet());
    assert_eq!(stream.bytes_on_socket(), 9);
}

#[test]
fn all_that_was_asked_for_or_what_there_is() {
    let ends = blocking();
    let parts = |end: Result<usize, Errno>| -> Sleeps<'_> {
        let put = |bytes: &'static [u8]| {
            let ends = &ends;
            Box::new(move || {
                ends.put(bytes);
                Ok(0)
            })
        };
        vec![put(b"two"), put(b"three"), Box::new(move || end)]
    };
    ends.put(b"one");
    assert_eq!(
        ends.take(MSG_WAITALL, 11, &Fake { sleeps: parts(Ok(0)).into(), ..Fake::default() }),
        Ok(Some(b"onetwothree".to_vec()))
    );
    ends.put(b"one");
    let fake = Fake { sleeps: parts(Err(Errno::INTR)).into(), restarts: true, ..Fake::default() };
    assert_eq!(ends.take(MSG_WAITALL, 99, &fake), Ok(Some(b"onetwothree".to_vec())), "up to the signal");
    ends.put(b"one");
    assert_eq!(ends.take(MSG_WAITALL | MSG_PEEK, 99, &Fake::default()), Ok(Some(b"one".to_vec())), "a look does not wait");
    assert_eq!(ends.take(MSG_WAITALL | MSG_DONTWAIT, 99, &Fake::default()), Ok(Some(b"one".to_vec())));
}

#[test]
fn the_time_for_all_is_one_however_many_pieces_come() {
    let ends = blocking();
    let whole = Duration::from_secs(60);
    ends.server.0.set_timeout(true, whole.as_micros() as u64);
    let begun = now();
    let put = || {
        ends.put(b"x");
        Ok(0)
    };
    let parts: Sleeps<'_> = vec![Box::new(put), Box::new(put), Box::new(|| Ok(0))];
    let fake = Fake { sleeps: parts.into(), ..Fake::default() };
    assert_eq!(ends.take(MSG_WAITALL, 2, &fake), Ok(Some(b"xx".to_vec())));
    let timeouts = fake.timeouts.borrow();
    let [Some(first), Some(second)] = timeouts[..] else { panic!("{timeouts:?}") };
    assert!(second < first && first <= whole && whole - second <= Duration::from_nanos(now() - begun));
}

#[test]
fn a_send_of_a_part_is_ended_by_any_signal() {
    let ends = blocking();
    let sleeps: Sleeps<'_> = vec![Box::new(|| Err(Errno::INTR))];
    let fake = Fake { sleeps: sleeps.into(), restarts: true, ..Fake::default() };
    let sent = send(&ends.client.0, ends.client.1.as_fd(), &mut [IoSlice::new(&[1; 9000])], &[], 0, &fake);
    assert_eq!(sent, Ok(Some(4096)));
}

#[test]
fn a_handler_restarts_a_call_or_ends_it() {
    let ends = blocking();
    let interrupted = || -> Sleeps<'_> {
        let put = || {
            ends.put(b"x");
            Ok(0)
        };
        vec![Box::new(|| Err(Errno::INTR)), Box::new(put)]
    };
    assert_eq!(ends.take(0, 1, &Fake { sleeps: interrupted().into(), ..Fake::default() }), Err(Errno::INTR));
    let restarting = || Fake { sleeps: interrupted().into(), restarts: true, ..Fake::default() };
    assert_eq!(ends.take(0, 1, &restarting()), Ok(Some(b"x".to_vec())));
    // As socket(7): a call with a time-out is never restarted.
    ends.server.0.set_timeout(true, 60_000_000);
    assert_eq!(ends.take(0, 1, &restarting()), Err(Errno::INTR));
}

#[test]
fn a_sender_that_nobody_reads_gets_its_signal_once() {
    let ends = blocking();
    let fake = Fake::default();
    let put = |flags, bytes: &[u8]| send(&ends.client.0, ends.client.1.as_fd(), &mut [IoSlice::new(bytes)], &[], flags, &fake);
    // More than the ring holds: the server goes while the sender sleeps.
    let gone = || {
        ends.client.0.sending_ended();
        let _ = rustix::net::shutdown(&ends.client.1, rustix::net::Shutdown::Write);
        Ok(0)
    };
    let some = {
        let fake = Fake { sleeps: RefCell::new(vec![Box::new(gone)]), ..Fake::default() };
        let sent = send(&ends.client.0, ends.client.1.as_fd(), &mut [IoSlice::new(&[1; 9000])], &[], 0, &fake);
        assert_eq!(fake.sigpipes.get(), 0, "part of it was sent");
        sent
    };
    assert_eq!(some, Ok(Some(4096)));
    assert_eq!((put(MSG_NOSIGNAL, b"x"), fake.sigpipes.get()), (Err(Errno::PIPE), 0));
    assert_eq!((put(0, b"x"), fake.sigpipes.get()), (Err(Errno::PIPE), 1));
}

#[test]
fn a_send_that_waits_is_told_of_a_reset() {
    let Ends { client: (client, fd), server } = blocking();
    let put = |bytes: &[u8], fake: &Fake<'_>| send(&client, fd.as_fd(), &mut [IoSlice::new(bytes)], &[], 0, fake);
    assert_eq!(put(&[1; 4096], &Fake::default()), Ok(Some(4096)));
    let gone: Sleeps<'_> = vec![Box::new(|| {
        drop(server);
        Ok(0)
    })];
    let fake = Fake { sleeps: gone.into(), ..Fake::default() };
    assert_eq!((put(b"x", &fake), fake.sigpipes.get()), (Err(Errno::CONNRESET), 0));
    assert_eq!((put(b"x", &fake), fake.sigpipes.get()), (Err(Errno::PIPE), 1));
}

#[test]
fn what_only_the_kernel_does_is_done_on_the_socket() {
    let ends = blocking();
    ends.put(b"in the ring");
    // A local socket takes no notice of it.
    assert_eq!(ends.take(libc::MSG_ERRQUEUE, 1, &Fake::default()), Ok(Some(b"i".to_vec())));
    assert_eq!(ends.take(MSG_OOB, 1, &Fake::default()), Ok(None));
    assert!(ends.client.0.is_wanted_back(), "the stream goes back first");
}

#[test]
fn a_flag_that_others_set_is_followed_when_the_thread_sleeps_no_more() {
    let ends = blocking();
    rustix::io::ioctl_fionbio(&ends.server.1, true).expect("a socket");
    ends.put(b"x");
    assert_eq!(ends.take(0, 9, &Fake::default()), Ok(Some(b"x".to_vec())));
    // A bell lies on the line.
    ends.client.0.receiving_ended();
    assert_eq!(ends.take(0, 9, &Fake::default()), Err(Errno::AGAIN));
    assert!(ends.server.0.nonblocking() && ends.client.0.is_wanted_back());
    assert!(!has_late_sleepers(&ends.server.0), "it waited for itself");
}

#[test]
fn a_send_on_a_file_that_has_come_to_block_sends_all() {
    let ends = blocking();
    let (client, fd) = (&ends.client.0, ends.client.1.as_fd());
    client.set_nonblocking(true);
    client.return_to_socket(fd);
    let drain = || {
        while rustix::net::recv(&ends.server.1, &mut [0; 9000][..], rustix::net::RecvFlags::DONTWAIT).is_ok() {}
        Ok(0_usize)
    };
    let sleeps: Sleeps<'_> = (0..99).map(|_| Box::new(drain) as _).collect();
    let fake = Fake { sleeps: sleeps.into(), ..Fake::default() };
    assert_eq!(send(client, fd, &mut [IoSlice::new(&[1; 1 << 20])], &[], 0, &fake), Ok(Some(1 << 20)));
}

#[test]
fn a_send_before_there_is_a_line_waits_as_long_as_it_may() {
    let (stream, fd, peer) = quiet();
    stream.set_nonblocking(false);
    rustix::io::ioctl_fionbio(&fd, false).expect("a socket");
    let drain = || {
        while rustix::net::recv(&peer, &mut [0; 9000][..], rustix::net::RecvFlags::DONTWAIT).is_ok() {}
        Ok(1_usize)
    };
    let nap = || Ok(0_usize);
    let sleeps: Sleeps<'_> = (0..99).flat_map(|_| [Box::new(nap) as _, Box::new(drain) as _]).collect();
    let fake = Fake { sleeps: sleeps.into(), ..Fake::default() };
    let put = |fake: &Fake<'_>| send(&stream, fd.as_fd(), &mut [IoSlice::new(&[1; 1 << 20])], &[], 0, fake);
    assert_eq!(put(&fake), Ok(Some(1 << 20)));
    // SO_SNDTIMEO.
    stream.set_timeout(false, 60_000_000);
    let sleeps: Sleeps<'_> = vec![Box::new(nap), Box::new(nap), Box::new(|| Err(Errno::INTR))];
    assert!(put(&Fake { sleeps: sleeps.into(), ..Fake::default() }).is_ok_and(|sent| sent < Some(1 << 20)));
}
