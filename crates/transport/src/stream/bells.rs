//! Ringing: a message on the line's socket, or for a third of its price the doorbell, an eventfd, of an end that rests in epoll sets and is rung
//! often (`docs/ring-abi.md`, "Doorbells").
//!
//! The end that rings a doorbell makes it: a semaphore that no number of reads empties. Each read is an edge for those that wait for room to write, which
//! is always there. So nobody drains it, to ring it never waits, and all that a peer can do with it is not to hear.

use super::{Stream, state::add};
use crate::{
    descriptor::{Reserved, has_plenty, is_eventfd},
    line, report,
    settings::{Settings, Stage},
};
use arc_swap::ArcSwapOption;
use rustix::event::{EventfdFlags, eventfd};
use slipway_fabric::{
    ring::{Bell, RxCursor},
    segment::Segment,
    sync::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
};
use std::{
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    sync::Arc,
};

/// So many bells of the line's socket make an end ask for a doorbell: fewer don't pay for its descriptors.
const OFTEN: u32 = 64;

/// At so many bells after that it looks whether it was given one.
const LOOKS: u32 = 64;

/// What the semaphore holds: ringing for a thousand years takes less away.
const FULL: u64 = 1 << 62;

/// The doorbells of one end.
#[derive(Debug, Default)]
pub(super) struct Doors {
    /// The peer's, made here.
    peer: ArcSwapOption<Reserved>,
    /// This end's, made by the peer.
    own: ArcSwapOption<Reserved>,
    /// 1: it was asked for. 2: it is there.
    awaited: AtomicU32,
}

const ASKED: u32 = 1;
const THERE: u32 = 2;

impl Stream {
    /// Rings the bell that the peer's flag asked for (W5, W15, W16). False if nobody hears it any more.
    fn ring(&self, segment: &Segment, bell: Bell) -> bool {
        if bell == Bell::Door && self.ring_door() {
            return true;
        }
        if segment.tx.is_door_asked() {
            self.give_door();
        }
        self.ring_bell()
    }

    /// As [`Stream::ring`], for all that wait for the line.
    pub(super) fn ring_bell(&self) -> bool {
        add(&self.counts.rung, 1);
        line::ring_bell(self.socket.load().as_fd())
    }

    /// The reader has something new: wakes it if it sleeps (or always, at stage one). False if it sleeps for ever.
    pub(super) fn wake_reader(&self, segment: &Segment) -> bool {
        let tx = &segment.tx;
        let overfed = || {
            // A thread that waits in an epoll set has no moment in which it would wake the reader.
            let unattended = tx.is_reader_timed() && self.in_sets.load(Relaxed) != 0 && tx.take_timed_reader();
            unattended || tx.take_overfed_reader(&mut self.state.tx.cursor()).unwrap_or(false)
        };
        let bell = tx.take_sleeping_reader();
        let all = || tx.rings_always() || bell.is_none() && overfed() || Settings::get().stage == Stage::One;
        let bell = if bell != Some(Bell::Line) && all() { Some(Bell::Line) } else { bell };
        bell.is_none_or(|bell| self.ring(segment, bell))
    }

    /// The writer has more space, or may have: wakes it if it sleeps for that.
    pub(super) fn wake_writer(&self, segment: &Segment, cursor: &RxCursor) {
        if let Some(bell) = segment.rx.take_sleeping_writer(cursor) {
            self.ring(segment, bell);
        }
    }

    /// This end is about to wait for an answer: a peer in a timed wait must begin with the question.
    pub fn wake_timed_reader(&self) {
        if let Some(segment) = self.line()
            && segment.tx.take_timed_reader()
        {
            self.ring_bell();
        }
    }

    /// Rings the peer's doorbell; false if this process has none.
    fn ring_door(&self) -> bool {
        let door = self.doors.peer.load();
        let rung = door.as_ref().is_some_and(|door| rustix::io::read(door, &mut [0; 8]).is_ok());
        if rung {
            add(&self.counts.rung, 1);
        }
        rung
    }

    /// The peer has asked for a doorbell: makes one and sends it (W15), if there is none yet.
    fn give_door(&self) {
        let made = &self.state.common.door_made;
        if made.load(Relaxed) != 0 || made.swap(1, Relaxed) != 0 {
            return;
        }
        let given = make_door().and_then(|door| {
            let door = Arc::new(door);
            self.doors.peer.store(Some(Arc::clone(&door)));
            line::send_doorbell(self.socket.load().as_fd(), door.as_fd())
        });
        if let Err(error) = given {
            report::debug(format_args!("process {} gets no doorbell: {error}", self.peer_pid));
            self.doors.peer.store(None);
        }
    }

    /// An epoll set has heard so many bells of the line's socket: whether a doorbell may lie there, for which this asks (R15) if they are many.
    pub fn expects_door(&self, bells: u32) -> bool {
        let has_plenty = || rustix::io::dup(self.socket.load().as_fd()).is_ok_and(|next| has_plenty(next.as_raw_fd()));
        let asks = bells == OFTEN && !self.foreign && Settings::get().stage != Stage::One && has_plenty();
        if asks
            && let Some(segment) = self.line()
            && self.doors.awaited.compare_exchange(0, ASKED, Relaxed, Relaxed).is_ok()
        {
            segment.rx.ask_door();
        }
        self.awaits_door() && bells <= OFTEN + LOOKS
    }

    pub(super) fn awaits_door(&self) -> bool {
        self.doors.awaited.load(Relaxed) == ASKED
    }

    /// The peer has sent a doorbell. What is none could wait when it is looked at.
    pub(super) fn take_door(&self, door: OwnedFd) {
        let taken = is_eventfd(&door) && has_plenty(door.as_raw_fd());
        let taken = taken.then(|| Reserved::aside(door)).and_then(Result::ok);
        // In this order: a thread that sees that it is there finds it.
        let there = if taken.is_some() { THERE } else { 0 };
        self.doors.own.store(taken.map(Arc::new));
        self.doors.awaited.store(there, Release);
    }

    /// Whether this end has a doorbell.
    pub fn hears_door(&self) -> bool {
        self.doors.awaited.load(Acquire) == THERE
    }

    /// This end's doorbell.
    pub(crate) fn door(&self) -> Option<Arc<Reserved>> {
        if self.hears_door() { self.doors.own.load_full() } else { None }
    }

    /// Counts a ring of the doorbell that an epoll set heard at `time`.
    pub fn hear_door(&self, time: u64) {
        add(&self.counts.heard, 1);
        self.state.rx.heard_at.store(time, Relaxed);
    }

    /// The line is given up.
    pub(super) fn drop_doors(&self) {
        self.doors.peer.store(None);
        self.doors.own.store(None);
        self.alone.drop_set();
    }
}

fn make_door() -> io::Result<Reserved> {
    let door = eventfd(u32::MAX, EventfdFlags::CLOEXEC | EventfdFlags::SEMAPHORE)?;
    if !has_plenty(door.as_raw_fd()) {
        return Err(rustix::io::Errno::MFILE.into());
    }
    rustix::io::write(&door, &FULL.to_ne_bytes())?;
    Reserved::aside(door)
}
