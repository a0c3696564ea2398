//! What a stream is ready for, and the flags that make its peer wake us.

use super::{Stream, Won, coarse_now, mode, state::News};
use crate::wait::longest_spin;
use rustix::{
    event::{PollFd, PollFlags, poll},
    time::Timespec,
};
use slipway_fabric::{
    pace,
    ring::{CLOSED, Ring, UNOPENED},
    spin::{Outcome, SpinStrategy},
    sync::Ordering::Relaxed,
};
use std::{os::fd::BorrowedFd, time::Duration};

/// The conditions under which a reader doesn't wait.
pub const INPUT: PollFlags = PollFlags::IN.union(PollFlags::RDNORM);
/// The conditions under which a writer doesn't wait.
pub const OUTPUT: PollFlags = PollFlags::OUT.union(PollFlags::WRNORM).union(PollFlags::WRBAND);
/// What poll(2) reports whether or not it is asked for.
const ALWAYS: PollFlags = PollFlags::HUP.union(PollFlags::ERR).union(PollFlags::NVAL);

impl Stream {
    /// What the kernel must be asked about the socket while waiting for `want`.
    pub fn kernel_interest(&self, want: PollFlags) -> PollFlags {
        let mut ask = want & (PollFlags::PRI | PollFlags::RDHUP | INPUT | PollFlags::RDBAND);
        if want.intersects(INPUT) {
            // The end of the stream shows on the socket only.
            ask |= PollFlags::IN | PollFlags::RDHUP;
        }
        match self.state.tx.mode.load(Relaxed) {
            mode::RING | mode::PORTS => {}
            mode::RETURNING if self.state.tx.owed.load(Relaxed) == 0 => ask |= PollFlags::OUT,
            // The bell tells of what is owed; there may be room on the socket all the time.
            mode::RETURNING => {}
            _ => ask |= want & OUTPUT,
        }
        ask
    }

    /// Whether shared memory alone can't tell what the stream is ready for now.
    pub fn needs_kernel(&self) -> bool {
        if self.port().is_some() {
            return self.state.rx.is_unseen(self.news());
        }
        let rx = &self.state.rx;
        rx.mode.load(Relaxed) != mode::RING || self.state.tx.mode.load(Relaxed) != mode::RING || rx.is_unseen(self.news())
    }

    /// What has come of the socket's news: taken before the kernel is asked about it.
    pub fn news(&self) -> News {
        self.state.rx.news(self.line().map_or(0, |segment| segment.rx.hint_mark()))
    }

    /// The kernel had nothing to say of the socket at `time`: a read that finds nothing and a send needn't ask it soon after. So on a connection that
    /// is one of many, whose program waits between any two uses of it, they ask nothing at all. But the first asks: what a peer did that had no
    /// segment, and so gave no hint, a wait doesn't tell.
    pub fn vouch(&self, time: u64) {
        for looked_at in [&self.state.rx.looked_at, &self.state.tx.looked_at] {
            if (1..time).contains(&looked_at.load(Relaxed)) {
                looked_at.store(time, Relaxed);
            }
        }
    }

    /// Whether the ring holds bytes, or has just been closed: the cheapest look, for spinning.
    pub fn stirs(&self, want: PollFlags) -> bool {
        if let Some(end) = self.port() {
            return want.intersects(INPUT) && end.readable() || want.intersects(OUTPUT) && end.writable();
        }
        let Some(segment) = self.line() else { return false };
        let rx = &self.state.rx;
        let input = || match rx.mode.load(Relaxed) {
            mode::RING => segment.rx.readable(rx.head.load(Relaxed)),
            // The writer may have opened the ring since the last look, and found no flag up.
            mode::BEFORE => {
                let (state, start) = segment.rx.opening();
                state != UNOPENED && start == rx.socket_bytes.load(Relaxed)
            }
            _ => false,
        };
        if want.intersects(INPUT) && input() {
            return true;
        }
        want.intersects(OUTPUT) && self.state.tx.mode.load(Relaxed) == mode::RING && self.has_space()
    }

    /// Whether an X server has not read all that its client sent. It closes a connection when it
    /// is told of its end, and drops what it has not read; a ring holds more than a socket, and a
    /// server in a timed wait reads later. So it is told when the ring is empty.
    pub fn has_last_words(&self) -> bool {
        if let Some(end) = self.port() {
            return self.hides_end && end.unread() != 0;
        }
        self.hides_end && self.holds_unread()
    }

    /// Whether a writer that waits should go on: there is space for a short write, which is done whole or refused (a socket is writable while less than
    /// a quarter of its buffer is used), and the reader has come as far as a writer that ran out waits for.
    fn has_space(&self) -> bool {
        let Some(segment) = self.line() else { return false };
        let tx = &self.state.tx;
        let mut cursor = tx.cursor();
        let enough = |used| pace::enough(used, segment.tx.size());
        let writable = if tx.full.load(Relaxed) == 0 {
            segment.tx.free(&mut cursor, 1).map_or(true, |space| space > 0)
                // First as far as the reader is known to have come.
                && (enough(cursor.tail - cursor.head_seen) || segment.tx.unread(&mut cursor).map_or(true, enough))
        } else {
            segment.tx.unread(&mut cursor).map_or(true, enough) && !self.awaits_reader(segment)
        };
        if writable {
            tx.full.store(0, Relaxed);
            self.pace.learn(cursor.head_seen);
        }
        writable
    }

    /// What the stream is ready for among `want`. `kernel` is what the kernel just said of the
    /// socket, if it was asked, and the news before; if it wasn't and must be, this asks.
    pub fn look(&self, fd: BorrowedFd<'_>, want: PollFlags, kernel: Option<(PollFlags, News)>) -> PollFlags {
        if let Some(end) = self.port() {
            return self.look_at_port(end, fd, want, kernel);
        }
        self.keep_house(fd);
        self.rouse_the_late(fd);
        // The news, if the kernel has been asked for what ends a stream.
        let (kernel, news) = match kernel {
            Some((flags, news)) => (flags, want.intersects(INPUT).then_some(news)),
            None if self.needs_kernel() => {
                let news = self.news();
                (ask_kernel(fd, self.kernel_interest(want | INPUT)), Some(news))
            }
            None => (PollFlags::empty(), None),
        };
        self.ready_input(fd, want, kernel, news) | self.ready_output(fd, want, kernel)
    }

    fn ready_input(&self, fd: BorrowedFd<'_>, want: PollFlags, kernel: PollFlags, news: Option<News>) -> PollFlags {
        let rx = &self.state.rx;
        let mut told = kernel & ((want | ALWAYS) - OUTPUT);
        if kernel.contains(PollFlags::HUP) && self.died_unread(fd) {
            told |= PollFlags::ERR;
        }
        let Some(segment) = self.line().filter(|_| rx.mode.load(Relaxed) == mode::RING) else { return told };
        let readable = || segment.rx.readable(rx.head.load(Relaxed));
        if kernel.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::RDHUP | PollFlags::ERR) {
            self.note_socket_event();
        } else if let Some(news) = news {
            // Before the ring is looked at: what came with the hint may lie there.
            rx.have_seen(news);
            self.vouch(coarse_now());
        }
        if readable() || rx.error.load(Relaxed) != 0 {
            // With the end of the stream, if that is known: a socket tells of it at once, too.
            return (want & INPUT) | told;
        }
        told
    }

    fn ready_output(&self, fd: BorrowedFd<'_>, want: PollFlags, kernel: PollFlags) -> PollFlags {
        let want = want & OUTPUT;
        match self.state.tx.mode.load(Relaxed) {
            mode::RING if want.is_empty() => want,
            mode::RING if self.has_space() || kernel.contains(PollFlags::HUP) || self.reader_ended(fd) => want,
            mode::RING | mode::RETURNING => PollFlags::empty(),
            _ => kernel & want,
        }
    }

    /// Work that falls due while a program waits: takes the answer to an offer, moves from the
    /// socket to the ring and back.
    pub fn keep_house(&self, fd: BorrowedFd<'_>) {
        self.settle();
        let Some(segment) = self.line() else { return };
        let (rx, tx) = (&self.state.rx, &self.state.tx);
        self.finish_giving_back();
        if rx.mode.load(Relaxed) != mode::AFTER {
            let (state, _) = segment.rx.opening();
            let has_ended = || state == CLOSED || !self.line_alive();
            let turn = match rx.mode.load(Relaxed) {
                mode::BEFORE => state != UNOPENED || has_ended(),
                _ => has_ended(),
            };
            if turn {
                // Waited for: a thread that goes on without may sleep through the change that another makes.
                let _guard = self.lock_receiving(Some(fd));
                // Once more, after the line's end was seen: the peer may have opened the ring, filled it and gone.
                let (state, start) = segment.rx.opening();
                if rx.mode.load(Relaxed) == mode::BEFORE {
                    if state == UNOPENED {
                        rx.mode.store(mode::AFTER, Relaxed);
                    } else if start == rx.socket_bytes.load(Relaxed) {
                        rx.mode.store(mode::RING, Relaxed);
                    }
                } else if rx.mode.load(Relaxed) == mode::RING && has_ended() && !segment.rx.readable(rx.head.load(Relaxed)) {
                    // Not one that a read has just moved to, while this waited for the lock: that ring is empty as yet.
                    rx.mode.store(mode::AFTER, Relaxed);
                }
            }
        }
        let returns = || segment.tx.reader_gave_back() || !self.line_alive();
        let turn = match tx.mode.load(Relaxed) {
            mode::BEFORE => true,
            mode::RING => returns(),
            mode::RETURNING => true,
            _ => false,
        };
        if turn {
            let _guard = self.lock_sending(Some(fd));
            match tx.mode.load(Relaxed) {
                mode::BEFORE => {
                    self.open_ring();
                }
                // A send has just moved there, while this waited for the lock.
                mode::RING if !returns() => {}
                mode::RING if self.begin_returning(fd).is_err() => {}
                mode::RING | mode::RETURNING => {
                    let _ = self.finish_returning(fd);
                }
                _ => {}
            }
            self.counts.note(rx.mode.load(Relaxed), tx.mode.load(Relaxed));
        }
    }

    /// Whether the reader asked for the stream on the socket and nobody has begun to send it there.
    pub fn is_wanted_back(&self) -> bool {
        self.state.tx.mode.load(Relaxed) == mode::RING && self.line().is_some_and(|s| s.tx.reader_gave_back())
    }

    /// The program is about to close its last descriptor of the connection. What the peer wants back on the socket is there then, but where the
    /// program does not wait for writes and the socket has no room: [`Stream::is_returning`] still.
    pub fn part(&self, fd: BorrowedFd<'_>) {
        if let Some(end) = self.port() {
            return end.close();
        }
        self.make_room(fd);
        self.return_patiently(fd, Duration::ZERO);
        self.hint_peer();
    }

    /// Arms the flags for `want` and publishes the processor (steps R3, W6). The caller looks again
    /// before it sleeps.
    pub fn arm(&self, want: PollFlags) {
        self.arm_with(want, Ring::arm_reader, Ring::arm_writer);
    }

    /// As [`Stream::arm`], for an epoll set that hears the doorbell.
    pub fn arm_at_door(&self, want: PollFlags) {
        self.arm_with(want, Ring::arm_reader_at_door, Ring::arm_writer_at_door);
    }

    fn arm_with(&self, want: PollFlags, reader: impl FnOnce(&Ring), writer: impl FnOnce(&Ring)) {
        let Some(segment) = self.line() else { return };
        self.armings.fetch_add(1, Relaxed);
        if want.intersects(INPUT) {
            reader(&segment.rx);
        }
        if want.intersects(OUTPUT) && self.state.tx.mode.load(Relaxed) == mode::RING {
            writer(&segment.tx);
        }
    }

    /// Arms the reader's flag for a timed wait (R7).
    pub fn arm_lazily(&self) {
        if let Some(segment) = self.line() {
            self.armings.fetch_add(1, Relaxed);
            segment.rx.arm_timed_reader();
        }
    }

    /// Takes back what a timed wait has asked for: this end looks by itself now.
    pub fn end_timed_wait(&self) {
        if let Some(segment) = self.line() {
            segment.rx.disarm_timed_reader();
        }
    }

    /// Whether a bell would still ring for the next byte.
    pub fn armed(&self) -> bool {
        self.line().is_some_and(|s| s.rx.reader_armed())
    }

    /// What could win before sleeping, for a thread on the processor `own`, which it publishes: the peer
    /// may run on another processor, or need this one.
    pub fn strategy(&self, own: u32) -> SpinStrategy {
        let Some(segment) = self.line() else { return SpinStrategy::Sleep };
        let strategy = segment.strategy(own);
        if self.state.rx.mode.load(Relaxed) == mode::RING { strategy } else { SpinStrategy::Sleep }
    }

    /// How long it will take until more than [`pace::enough`] of the ring is free, in nanoseconds; None if that isn't known
    /// or not worth a wait. `now` is the time.
    pub fn space_wait(&self, now: u64) -> Option<u64> {
        let tx = &self.state.tx;
        let segment = self.line().filter(|_| tx.mode.load(Relaxed) == mode::RING)?;
        self.pace.space_wait(&segment.tx, tx.cursor(), now)
    }

    /// When the peer last sent something into the ring, as far as it says so; and has it do so from now on.
    pub fn shown_at(&self) -> u64 {
        self.line().map_or(0, |segment| {
            segment.rx.ask_time();
            segment.rx.shown_at()
        })
    }

    /// Counts sends that found too little space: an epoll set's edge for writers.
    pub fn blocked_mark(&self) -> u32 {
        self.state.tx.blocked.load(Relaxed)
    }

    /// Changes whenever bytes arrive in the ring: an epoll set's edge for readers.
    pub fn arrival_mark(&self) -> u64 {
        if let Some(end) = self.port() {
            return end.arrivals();
        }
        self.line().map_or(0, |s| s.rx.tail_mark())
    }

    /// Remembers the outcome of a wait, for the counts and for later ones; and of the spinning in it, with how long that took.
    pub fn settle_wait(&self, won: Won, spun: Option<(Outcome, u64)>) {
        self.count_wait(won);
        if let Some((outcome, spent)) = spun {
            self.spins.learn_how(outcome, spent, longest_spin());
        }
    }
}

/// What the kernel says of the socket now.
pub(crate) fn ask_kernel(fd: BorrowedFd<'_>, want: PollFlags) -> PollFlags {
    let mut fds = [PollFd::from_borrowed_fd(fd, want)];
    match poll(&mut fds, Some(&Timespec::default())) {
        Ok(n) if n > 0 => fds[0].revents(),
        _ => PollFlags::empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{
        How, coarse_now, now,
        pair::{age, asked, ends, unforked, within_a_tick},
    };
    use rustix::io::Errno;
    use std::{
        io::{IoSlice, IoSliceMut},
        os::fd::AsFd,
    };

    /// Has a thread look at a stream, which waits for a lock until something has changed.
    fn look_behind<T>(lock: T, (stream, fd): (&Stream, BorrowedFd<'_>), change: impl FnOnce()) {
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let look = scope.spawn(move || {
                tell.send(rustix::thread::gettid()).expect("somebody listens");
                stream.look(fd, INPUT, None)
            });
            let task = format!("/proc/self/task/{}/stat", told.recv().expect("a thread").as_raw_nonzero());
            while !std::fs::read_to_string(&task).expect("it waits").contains(") S ") {
                std::thread::yield_now();
            }
            change();
            drop(lock);
            assert_eq!(look.join().expect("no panic"), PollFlags::empty());
        });
    }

    /// It is empty, as the read has taken all that was in it.
    #[test]
    fn a_ring_that_a_read_moves_to_while_a_look_waits_is_not_over() {
        let ends = ends();
        let (server, fd) = (&ends.server.0, ends.server.1.as_fd());
        assert_eq!(ends.client.0.send(ends.client.1.as_fd(), &[IoSlice::new(b"a")], &[]), Ok(1));
        let rx = &server.state.rx;
        assert_eq!(rx.mode.load(Relaxed), mode::BEFORE);
        look_behind(server.lock_receiving(Some(fd)), (server, fd), || {
            rx.mode.store(mode::RING, Relaxed);
            rx.head.store(1, Relaxed);
        });
        assert_eq!(rx.mode.load(Relaxed), mode::RING);
    }

    #[test]
    fn a_ring_that_a_send_moves_to_while_a_look_waits_is_not_left() {
        let ends = ends();
        let (client, fd) = (&ends.client.0, ends.client.1.as_fd());
        let tx = &client.state.tx;
        assert_eq!(tx.mode.load(Relaxed), mode::BEFORE);
        look_behind(client.lock_sending(Some(fd)), (client, fd), || tx.mode.store(mode::RING, Relaxed));
        assert_eq!(tx.mode.load(Relaxed), mode::RING);
    }

    /// The sleeper is one by its count only: it lies down, and gets no processor until all is over.
    #[test]
    fn a_sleeper_that_is_late_finds_the_line_at_its_end() {
        let ends = ends();
        let (client, fd) = (&ends.client.0, ends.client.1.as_fd());
        let (server, peer) = (&ends.server.0, ends.server.1.as_fd());
        let mut bytes = [0; 8];
        let mut receive = |stream: &Stream, fd| {
            let how = How { descriptors: true, ..How::default() };
            let got = stream.receive(fd, &mut [IoSliceMut::new(&mut bytes)], how)?;
            Ok::<_, rustix::io::Errno>((bytes[..got.bytes].to_vec(), got.descriptors.len()))
        };
        assert_eq!(client.send(fd, &[IoSlice::new(b"a")], &[]), Ok(1));
        assert_eq!(receive(server, peer), Ok((b"a".to_vec(), 0)));
        assert!(client.on_ring() && server.on_ring());
        let lying = server.lie_down(INPUT, usize::MAX);
        // The batch wakes it, and so does the bell; another thread needs both.
        assert_eq!(client.send(fd, &[IoSlice::new(b"b")], &[fd]), Ok(1));
        assert_eq!(client.send(fd, &[IoSlice::new(b"c")], &[]), Ok(1));
        assert_eq!(receive(server, peer), Ok((b"b".to_vec(), 1)));
        let line = server.line_socket();
        assert!(ask_kernel(line.as_fd(), PollFlags::IN).contains(PollFlags::IN), "the sleeper would sleep on");
        // What was on its way comes, and what follows it, in order and with its descriptors.
        assert_eq!(client.send(fd, &[IoSlice::new(b"d")], &[fd]), Ok(1));
        let mut came = (Vec::new(), 0);
        while came.0.len() < 2 {
            client.look(fd, OUTPUT, None);
            match receive(server, peer) {
                Ok((bytes, descriptors)) => came = ([came.0, bytes].concat(), came.1 + descriptors),
                error => assert_eq!(error, Err(rustix::io::Errno::AGAIN)),
            }
        }
        assert_eq!(came, (b"cd".to_vec(), 1));
        assert_eq!(server.send(peer, &[IoSlice::new(b"e")], &[]), Ok(1));
        assert_eq!(receive(client, fd), Ok((b"e".to_vec(), 0)));
        lying.get_up(true);
        assert!(server.is_plain() && !client.on_ring());
    }

    #[test]
    fn an_old_answer_of_the_kernel_leaves_later_news_unseen() {
        let ends = ends();
        let (client, fd) = (&ends.client.0, ends.client.1.as_fd());
        let (server, peer) = (&ends.server.0, ends.server.1.as_fd());
        let receive = || client.receive(fd, &mut [IoSliceMut::new(&mut [0; 8])], How::default()).map(|got| got.bytes);
        server.send(peer, &[IoSlice::new(b"x")], &[]).expect("room");
        assert!(client.look(fd, INPUT, None).intersects(INPUT));
        assert_eq!(receive(), Ok(1));
        assert_eq!(receive(), Err(rustix::io::Errno::AGAIN));
        // One thread asks the kernel; before it looks at the answer, another hears of the end.
        let before = client.news();
        rustix::net::shutdown(peer, rustix::net::Shutdown::Write).expect("a socket");
        server.hint_peer();
        client.note_socket_event();
        assert_eq!(client.look(fd, INPUT, Some((PollFlags::empty(), before))), PollFlags::empty());
        assert!(client.needs_kernel());
        assert!(client.look(fd, INPUT, None).contains(PollFlags::IN));
        assert_eq!(receive(), Ok(0));
    }

    #[test]
    fn after_a_wait_in_the_kernel_calls_ask_it_nothing() {
        let ends = ends();
        let (client, fd) = (&ends.client.0, ends.client.1.as_fd());
        let (server, peer) = (&ends.server.0, ends.server.1.as_fd());
        for (stream, fd) in [(client, fd), (server, peer)] {
            assert_eq!(stream.send(fd, &[IoSlice::new(b"a")], &[]), Ok(1));
        }
        assert!(client.look(fd, INPUT, None).intersects(INPUT));
        assert_eq!(client.receive(fd, &mut [IoSliceMut::new(&mut [0; 8])], How::default()).map(|got| got.bytes), Ok(1));
        // Long after the last question; the kernel has said that there is nothing, where it was asked of `waited`.
        let after = |waited: Option<PollFlags>, ever| {
            within_a_tick(|| {
                age(client, ever);
                if let Some(want) = waited {
                    assert!((client.look(fd, want, Some((PollFlags::empty(), client.news()))) & INPUT).is_empty());
                }
                asked(client)
            })
        };
        let (asks, is_sure) = ([Ok(0), Err(Errno::PIPE)], [Err(Errno::AGAIN), Ok(1)]);
        assert_eq!(after(None, true), asks);
        assert_eq!(after(Some(INPUT), true), is_sure);
        // A wait for space alone tells nothing of the end of the stream, and none of what a peer did that gave no hint.
        assert_eq!(after(Some(OUTPUT), true), asks);
        assert_eq!(after(Some(INPUT), false), asks);
    }

    #[test]
    fn a_bell_that_nobody_hears_is_as_good_as_asking_the_kernel() {
        let _guard = unforked();
        let ends = ends();
        let (client, fd) = (&ends.client.0, ends.client.1.as_fd());
        assert_eq!(client.send(fd, &[IoSlice::new(b"a")], &[]), Ok(1), "a reader is asleep at first");
        let send = |asleep: bool| {
            within_a_tick(|| {
                client.state.tx.looked_at.store(coarse_now() - 5_000_000, Relaxed);
                if asleep {
                    ends.server.0.arm(INPUT);
                }
                asked(client)[1]
            })
        };
        assert_eq!(send(false), Err(Errno::PIPE), "the kernel is asked");
        assert_eq!(send(true), Ok(1), "the bell is enough");
        ends.server.0.arm(INPUT);
        client.state.tx.looked_at.store(coarse_now(), Relaxed);
        drop(ends.server);
        assert_eq!(client.send(fd, &[IoSlice::new(b"b")], &[]), Err(Errno::PIPE));
    }

    #[test]
    fn what_was_read_was_sent_though_its_reader_has_gone() {
        let _guard = unforked();
        for was_read in [true, false] {
            let ends = ends();
            let (client, fd) = (&ends.client.0, ends.client.1.as_fd());
            assert_eq!(client.send(fd, &[IoSlice::new(b"a")], &[]), Ok(1));
            if was_read {
                let mut byte = [0];
                let to = &mut [IoSliceMut::new(&mut byte)];
                assert!(ends.server.0.receive(ends.server.1.as_fd(), to, How::default()).is_ok());
            }
            drop(ends.server);
            let told = client.account_for(fd, client.line().expect("a segment"), 1);
            assert_eq!(told, if was_read { Ok(()) } else { Err(Errno::PIPE) });
        }
    }

    #[test]
    fn a_sender_that_is_told_of_its_peers_end_learns_it_from_a_full_ring() {
        let _guard = unforked();
        let ends = ends();
        let (client, fd) = (&ends.client.0, ends.client.1.as_fd());
        let full = [IoSlice::new(&[0; 5000])];
        assert_eq!(client.send(fd, &full, &[]), Ok(4096));
        client.vouch(now());
        assert_eq!(client.send(fd, &full, &[]), Err(Errno::AGAIN));
        drop(ends.server);
        client.note_socket_event();
        assert_eq!(client.send(fd, &full, &[]), Err(Errno::PIPE));
    }
}
