//! One end of a connection: a stream of bytes that can lie on the socket or in a line.
//!
//! A stream doesn't own the socket's descriptor, which is the program's; every operation is given
//! the number that the program used. Operations here never block: see [`crate::wait`].

mod alone;
mod bells;
mod give_back;
mod grant;
mod late;
mod lock;
mod lying;
mod mail;
#[cfg(test)]
pub(crate) mod pair;
mod port;
mod ready;
mod receive;
mod send;
mod sets;
mod signals;
mod state;

pub use give_back::NAP;
pub use grant::{refusal, refused};
pub use late::Prospect;
pub use lying::{Lying, get_up_at_last};
pub use ready::OUTPUT;
#[cfg(test)]
pub(crate) use ready::ask_kernel;
pub use receive::{How, MOST_IN_A_TURN, Received};
pub use state::mode;

use crate::{descriptor::Reserved, epoll::EpollSet, ledger::LedgerEntry, ports::end::End, report, settings::Settings};
use alone::Alone;
use arc_swap::ArcSwap;
use bells::Doors;
use mail::Mail;
use rustix::{fs::OFlags, io::Errno};
pub use slipway_fabric::spin::{coarse_now, now};
use slipway_fabric::{
    pace::Pace,
    segment::Segment,
    spin::SpinHistory,
    sync::{
        AtomicU32, AtomicU64, ForkGuard, ForkMutex, Forked,
        Ordering::{Relaxed, SeqCst},
        Shared, holds_any,
    },
};
pub use state::{Counts, News};
use state::{EndState, add, phase};
use std::{
    io,
    os::fd::BorrowedFd,
    sync::{Arc, OnceLock, Weak},
};

/// Which end of the connection a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Called connect(2).
    Client,
    /// Called accept(2).
    Server,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Stream {
    role: Role,
    state: Shared<EndState>,
    /// The line's socket; none once it was given up.
    socket: ArcSwap<Reserved>,
    segment: OnceLock<Segment>,
    doors: Doors,
    alone: Alone,
    /// The end, of a connection over ports. Its modes stay [`mode::PORTS`], and it has no segment.
    port: Option<Arc<End>>,
    mail: ForkMutex<Mail>,
    /// Entries in `mail.batches`.
    batches_waiting: AtomicU32,
    /// Learns whether spinning pays on this connection.
    pub spins: SpinHistory,
    sets: ForkMutex<Vec<Weak<EpollSet>>>,
    /// 1 once the stream was made a member of an epoll set.
    in_sets: AtomicU32,
    /// Bells that epoll sets and sleepers on nothing else have heard (wraps). Of the stream, not of its registration: that comes and goes.
    bells: AtomicU32,
    /// How often flags were armed since a set last drained the line.
    armings: AtomicU32,
    /// Bytes that may be read before the epoll set that reports the stream has its turn again.
    allotted: AtomicU64,
    /// 1: a read found the allotment used up while bytes were there. 2: a read got less than was there.
    cut_short: AtomicU32,
    /// How fast the peer has lately emptied a full ring.
    pace: Pace,
    counts: Shared<Counts>,
    /// What its server knows of it: of an end that accepted.
    record: Option<LedgerEntry>,
    /// Whether its program drops what it has not read when it hears of the end, as X servers do.
    hides_end: bool,
    /// The peer's process, as the kernel gave it when the connection was made.
    pub peer_pid: u32,
    /// What a server's client offered: bytes a direction. Of a client, looks for the answer so far (wraps).
    offer: AtomicU64,
    /// Use of the connection that this end has counted before there was a segment.
    used: AtomicU32,
    /// How this end gets its line, while there is none.
    prospect: ForkMutex<Option<Prospect>>,
    /// The use at which it tries.
    due: AtomicU32,
    /// 1: the program has waited for it by the hooks, before it had a line.
    waited: AtomicU32,
    /// Client and listener are of two users, as both ends know: the two pass no descriptors over the line, but the segment's.
    foreign: bool,
    /// What the epoll sets know: 1, of the line; 2, of the segment; 3, of the doorbell.
    told_sets: AtomicU32,
    /// 1: a thread that was awake took a bell, of which the sets are to be told.
    took_bell: AtomicU32,
    ring_size: OnceLock<usize>,
    /// Descriptors of this process that are the connection.
    descriptors: AtomicU32,
    /// 1: the process is becoming another program, and doesn't count as one that has the connection.
    renounced: AtomicU32,
    /// 1: a message was taken that a sleeper may not have heard. 2: it was seen to. See [`Stream::rouse_the_late`].
    late_sleepers: AtomicU32,
    /// The bells that were heard when one was found ringing on that others should hear, plus one; and since when.
    ringing: AtomicU64,
    rings_since: AtomicU64,
}

/// What the process does when a connection of its gets a segment.
static AT_SEGMENT: OnceLock<fn()> = OnceLock::new();

/// Has `act` called whenever a connection of this process gets a segment, before it is used.
pub fn at_segment(act: fn()) {
    let _ = AT_SEGMENT.set(act);
}

/// Bells that a stream's sets leave in the line's queue, which holds some 270: a bell that finds no place there is no edge. There are no more of them than
/// flags were armed; a set may hear one edge for several.
pub(crate) const UNHEARD: u32 = 32;

/// A client whose server has not answered looks for it at each of so many calls.
const LOOK: u64 = 4;

/// An end waits no longer for the other to do its part when it has used the connection so many times as often as it took to begin.
const PATIENCE: u32 = 64;

/// The lock and its content.
pub(crate) fn locked<T>(mutex: &ForkMutex<T>) -> ForkGuard<'_, T> {
    mutex.lock()
}

impl Stream {
    /// A client's end whose offer went out over `line`.
    pub fn offered(line: Reserved, peer_pid: u32, foreign: bool, nonblocking: bool) -> io::Result<Self> {
        Ok(Self { foreign, ..Self::new(Role::Client, line, peer_pid, nonblocking, None)? })
    }

    /// Whether client and listener are of two users.
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// A server's end whose client offers rings of `ring` bytes a direction over `line`. `hides_end`: see
    /// [`Stream::has_last_words`].
    pub fn heard(
        line: Reserved,
        ring: u64,
        foreign: bool,
        record: LedgerEntry,
        nonblocking: bool,
        hides_end: bool,
    ) -> io::Result<Self> {
        let peer = record.slot().peer.load(Relaxed);
        let mut stream = Self::new(Role::Server, line, peer, nonblocking, Some(record))?;
        stream.foreign = foreign;
        stream.hides_end = hides_end;
        stream.offer.store(ring, Relaxed);
        stream.state.common.phase.store(phase::HEARD, Relaxed);
        Ok(stream)
    }

    fn new(role: Role, socket: Reserved, peer_pid: u32, nonblocking: bool, record: Option<LedgerEntry>) -> io::Result<Self> {
        let (mapping, at) = state::memory()?;
        let state = mapping.view::<EndState>(at).ok_or(io::ErrorKind::OutOfMemory)?;
        #[allow(unsafe_code, reason = "nobody uses the locks yet")]
        // SAFETY: the mapping was just made, and the state is used through it.
        unsafe {
            state.prepare()?;
        }
        state.common.nonblocking.store(nonblocking.into(), Relaxed);
        let own = || mapping.view::<Counts>(at + std::mem::offset_of!(EndState, counts)).ok_or(io::ErrorKind::OutOfMemory);
        let counts = record.as_ref().map_or_else(own, |record| Ok(record.counts()))?;
        Ok(Self {
            role,
            counts,
            record,
            hides_end: false,
            state,
            socket: ArcSwap::from_pointee(socket),
            segment: OnceLock::new(),
            doors: Doors::default(),
            alone: Alone::default(),
            port: None,
            mail: ForkMutex::default(),
            batches_waiting: AtomicU32::new(0),
            spins: SpinHistory::hopeful(),
            sets: ForkMutex::default(),
            in_sets: AtomicU32::new(0),
            bells: AtomicU32::new(0),
            armings: AtomicU32::new(0),
            allotted: AtomicU64::new(u64::MAX),
            cut_short: AtomicU32::new(0),
            pace: Pace::default(),
            peer_pid,
            offer: AtomicU64::new(0),
            used: AtomicU32::new(0),
            prospect: ForkMutex::default(),
            due: AtomicU32::new(0),
            waited: AtomicU32::new(0),
            foreign: false,
            told_sets: AtomicU32::new(0),
            took_bell: AtomicU32::new(0),
            ring_size: OnceLock::new(),
            descriptors: AtomicU32::new(0),
            renounced: AtomicU32::new(0),
            late_sleepers: AtomicU32::new(0),
            ringing: AtomicU64::new(0),
            rings_since: AtomicU64::new(0),
        })
    }

    fn adopt(&self, segment: Segment) {
        let _ = self.ring_size.set(segment.tx.size());
        if self.signals() {
            segment.rx.hear_all(true);
        }
        if self.segment.set(segment).is_ok() {
            if let Some(first) = AT_SEGMENT.get() {
                first();
            }
            self.decide(phase::GRANTED);
        }
    }

    /// The line's segment while the connection has one.
    fn line(&self) -> Option<&Segment> {
        if self.state.common.phase.load(Relaxed) == phase::GRANTED { self.segment.get() } else { None }
    }

    /// Whether the connection is on its socket for good, so that no hook needs to bother.
    pub fn is_plain(&self) -> bool {
        let on_socket = |m: u32| m == mode::AFTER;
        self.state.common.phase.load(Relaxed) == phase::PLAIN
            || (on_socket(self.state.rx.mode.load(Relaxed))
                && on_socket(self.state.tx.mode.load(Relaxed))
                && self.state.rx.giving_back.load(Relaxed) == 0
                && !self.left_unread())
    }

    /// Whether bytes go through shared memory in at least one direction.
    pub fn on_ring(&self) -> bool {
        !self.is_plain() && (self.state.rx.mode.load(Relaxed) == mode::RING || self.state.tx.mode.load(Relaxed) == mode::RING)
    }

    /// Bytes a direction of the line's rings; 0 without a line.
    pub fn ring_size(&self) -> usize {
        self.ring_size.get().copied().unwrap_or(0)
    }

    /// O_NONBLOCK as the hooks last saw it.
    pub fn nonblocking(&self) -> bool {
        self.state.common.nonblocking.load(Relaxed) != 0
    }

    /// The program changed O_NONBLOCK.
    pub fn set_nonblocking(&self, on: bool) {
        self.state.common.nonblocking.store(on.into(), Relaxed);
    }

    /// Whether the open file has O_NONBLOCK.
    pub fn asks_not_to_wait(&self, fd: BorrowedFd<'_>) -> bool {
        rustix::fs::fcntl_getfl(fd).map_or_else(|_| self.nonblocking(), |flags| flags.contains(OFlags::NONBLOCK))
    }

    /// As [`Stream::asks_not_to_wait`]. If the hooks have not seen it set or cleared, a process without them has done that, or a system call that is not the
    /// C library's: the connection goes to its socket, as its program may wait by such calls, too.
    pub fn follow_flag(&self, fd: BorrowedFd<'_>) -> bool {
        let now = self.asks_not_to_wait(fd);
        if now != self.nonblocking() {
            self.set_nonblocking(now);
            self.return_to_socket(fd);
        }
        now
    }

    /// Whether the connection is on its socket again, where others may use it, and one of them has cleared O_NONBLOCK.
    pub fn has_come_back_blocking(&self, fd: BorrowedFd<'_>) -> bool {
        let is_back = [&self.state.rx.mode, &self.state.tx.mode].iter().any(|mode| mode.load(Relaxed) == mode::AFTER);
        is_back && !self.follow_flag(fd)
    }

    /// SO_RCVTIMEO and SO_SNDTIMEO in microseconds; 0 is none.
    pub fn timeouts(&self) -> (u64, u64) {
        (self.state.common.receive_timeout.load(Relaxed), self.state.common.send_timeout.load(Relaxed))
    }

    /// Keeps the time-outs that `ask` has from the kernel. What another thread sets meanwhile is newer.
    pub fn learn_timeouts(&self, ask: impl FnOnce() -> [u64; 2]) {
        let words = [&self.state.common.receive_timeout, &self.state.common.send_timeout];
        let before = words.map(|word| word.load(Relaxed));
        for ((word, before), now) in words.into_iter().zip(before).zip(ask()) {
            let _ = word.compare_exchange(before, now, Relaxed, Relaxed);
        }
    }

    /// The program changed a time-out, in microseconds; 0 is none.
    pub fn set_timeout(&self, receive: bool, micros: u64) {
        let common = &self.state.common;
        if receive { &common.receive_timeout } else { &common.send_timeout }.store(micros, Relaxed);
    }

    /// The line's socket, for the length of a call.
    pub(crate) fn line_borrowed(&self) -> arc_swap::Guard<Arc<Reserved>> {
        self.socket.load()
    }

    /// The line's socket, for the threads that sleep on it.
    pub fn line_socket(&self) -> Arc<Reserved> {
        self.socket.load_full()
    }

    /// Whether the line's socket can still say anything.
    pub fn line_alive(&self) -> bool {
        self.state.common.line_gone.load(Relaxed) == 0
    }

    /// The numbers for a status report.
    pub fn counts(&self) -> crate::status::Traffic {
        self.counts.read()
    }

    /// This process was forked, and has the connection, too. What another thread was at just then, this process does without: descriptors that waited for their
    /// place, sets that are to be told.
    pub fn after_fork(&self, child: &Forked) {
        if self.mail.after_fork(child) {
            self.batches_waiting.store(0, Relaxed);
        }
        self.sets.after_fork(child);
        self.prospect.after_fork(child);
        self.port.iter().for_each(|end| end.after_fork(child));
        self.record.iter().for_each(LedgerEntry::inherit);
        if let Some(segment) = self.line() {
            segment.own.heir.store(std::process::id(), Relaxed);
        }
    }

    /// The process that the peer forked last, by its own word.
    pub fn peer_heir(&self) -> Option<u32> {
        self.segment.get().map(|segment| segment.peer.heir.load(Relaxed)).filter(|pid| *pid != 0)
    }

    /// Whether other processes may have the connection, too.
    pub fn has_heirs(&self) -> bool {
        self.state.common.heirs.load(Relaxed) != 0
    }

    /// This process is about to become another program, which won't have the connection.
    pub fn before_exec(&self) {
        self.record.iter().for_each(LedgerEntry::renounce);
        self.renounced.store(self.renounce().into(), Relaxed);
    }

    /// It did not.
    pub fn after_exec(&self) {
        self.state.common.heirs.fetch_add(self.renounced.swap(0, Relaxed), Relaxed);
    }

    /// A client's end has no answer when its process forks: the offer is dropped, because two
    /// processes could not agree on which takes the answer. Nor could they on which gives it: a server's end gives it now. Where there
    /// is no offer yet, whichever process is left alone with the connection looks for it.
    pub fn before_fork(&self) {
        let common = &self.state.common;
        self.record.iter().for_each(LedgerEntry::before_fork);
        common.forked.store(1, Relaxed);
        common.heirs.fetch_add(1, SeqCst);
        // Locks are waited for only where that must be: a signal handler that forks may have interrupted a holder.
        let may_wait = !holds_any();
        if may_wait && common.phase.load(SeqCst) == phase::HEARD {
            self.grant();
            self.tell_sets();
        }
        self.keep_hub();
        if self.role == Role::Client && self.is_undecided() {
            let mail = may_wait.then(|| self.attend_for_answer());
            self.decide(phase::PLAIN);
            drop(mail);
        }
    }

    /// No child came of it. A client that stayed on its socket for it has not counted its bytes since, and remains there.
    pub fn fork_failed(&self) {
        self.record.iter().for_each(LedgerEntry::fork_failed);
        self.renounce();
    }

    fn awaits_answer(&self) -> bool {
        self.role == Role::Client && self.state.common.phase.load(Relaxed) == phase::OFFERED
    }

    /// Moves on from the socket to the ring where the time has come: a client when the answer is
    /// there, a server when the client has begun.
    fn settle(&self) {
        // A client's server answers when the connection has been used enough; a wait hears it at once.
        if !self.awaits_answer() {
            return;
        }
        let (looks, after) = (self.offer.fetch_add(1, Relaxed), Settings::get().after);
        if looks.is_multiple_of(LOOK) || after == 0 {
            drop(self.attend_for_answer());
        }
        if looks > u64::from(after.max(16) * PATIENCE) && self.awaits_answer() {
            self.withdraw();
        }
    }

    /// Whether the other end has still to be told, or to tell, if there is a segment: all is on the socket.
    pub fn is_undecided(&self) -> bool {
        matches!(self.state.common.phase.load(Relaxed), phase::QUIET | phase::OFFERED | phase::HEARD)
    }

    /// The peer broke the rules: the connection ends, as if it had died.
    #[cold]
    fn condemn(&self, fd: BorrowedFd<'_>, what: slipway_fabric::Corrupt) -> Errno {
        report::warn(format_args!("{what} (process {}); the connection is closed", self.peer_pid));
        self.end(fd)
    }

    fn end(&self, fd: BorrowedFd<'_>) -> Errno {
        let _ = rustix::net::shutdown(fd, rustix::net::Shutdown::Both);
        self.state.rx.mode.store(mode::AFTER, Relaxed);
        self.state.tx.mode.store(mode::AFTER, Relaxed);
        Errno::CONNRESET
    }

    /// Whether this end accepted the connection.
    pub fn is_server(&self) -> bool {
        self.role == Role::Server
    }

    /// An epoll set reports the stream: so many bytes may be read before it is asked again.
    pub fn allot(&self, bytes: u64) {
        self.allotted.store(bytes, Relaxed);
        self.cut_short.store(0, Relaxed);
    }

    /// Whether a read was told that nothing is there only because others are to have their turn.
    pub fn was_cut_short(&self) -> bool {
        self.cut_short.load(Relaxed) != 0
    }

    /// Counts what went over the socket without the stream's doing.
    pub fn count(&self, received: u64, sent: u64) {
        add(&self.counts.received, received);
        add(&self.counts.sent, sent);
    }

    /// Bytes received and sent so far.
    pub fn traffic(&self) -> (u64, u64) {
        (self.counts.received.load(Relaxed), self.counts.sent.load(Relaxed))
    }

    /// The program closes the connection or has shut it down.
    /// Tells the peer to look at its socket afterwards; the kernel has the truth.
    pub fn hint_peer(&self) {
        if let Some(segment) = self.line() {
            segment.tx.hint();
        }
    }

    /// shutdown(2) of the receiving half has been done on the socket: a writer that waits for space is to learn of it.
    pub fn receiving_ended(&self) {
        if self.port().is_none() && self.line().is_some() {
            self.ring_bell();
        }
    }

    /// shutdown(2) of the sending half has been done on the socket: the kernel answers from here on.
    pub fn sending_ended(&self) {
        if let Some(end) = self.port() {
            return end.end();
        }
        let tx = &self.state.tx;
        let _guard = self.lock_sending(None);
        if tx.mode.load(Relaxed) == mode::RING
            && let Some(segment) = self.line()
        {
            // What lies in the ring can't be put on the socket any more, should the peer ask for it: it stays there.
            segment.tx.close_unless_wanted();
        }
        if tx.mode.load(Relaxed) != mode::RETURNING {
            tx.mode.store(mode::AFTER, Relaxed);
        }
    }

    /// Remembers that the kernel has news on the socket.
    pub fn note_socket_event(&self) {
        self.state.rx.events.fetch_add(1, Relaxed);
    }

    /// Counts a bell that an epoll set heard at `time`; how many they are now.
    pub fn count_bell(&self, time: u64) -> u32 {
        self.state.rx.heard_at.store(time, Relaxed);
        self.bells.fetch_add(1, Relaxed).wrapping_add(1)
    }

    /// Whether so many bells may lie on the line that a set had better drain it, which has heard so many edges; if so, counts anew.
    pub fn may_hold_many_bells(&self, edges: u32) -> bool {
        let many = self.armings.load(Relaxed) >= UNHEARD || edges.is_multiple_of(UNHEARD);
        if many {
            self.armings.store(0, Relaxed);
        }
        many
    }

    /// Counts a wait that ended for this stream.
    pub fn count_wait(&self, how: Won) {
        let counts = &self.counts;
        add(
            match how {
                Won::Looking => &counts.looked,
                Won::Spinning => &counts.spun,
                Won::Sleeping => &counts.slept,
            },
            1,
        );
    }
}

/// How a wait was won.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Won {
    /// It was ready at once.
    Looking,
    /// It became ready while the waiter spun.
    Spinning,
    /// The waiter was woken.
    Sleeping,
}
