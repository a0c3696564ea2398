//! A stream as a member of a set: what the program asked for, and what it has been told.

use super::{Event, borrow};
use crate::stream::{MOST_IN_A_TURN, Stream};
use rustix::event::{PollFlags, epoll};
use std::{os::fd::RawFd, sync::Arc};

/// What the kernel's set is asked of a stream: all, when it changes.
pub const EDGES: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::OUT)
    .union(epoll::EventFlags::PRI)
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ET);

/// EPOLLET.
pub const EDGE: u32 = 1 << 31;
/// EPOLLONESHOT.
pub const ONCE: u32 = 1 << 30;
/// The conditions among the events, which have poll(2)'s values.
const CONDITIONS: u32 = 0x3fff;

/// Bytes between two reports that make a batch, in a stream that flows one way.
const BATCH: u64 = 2048;

/// A wait for the next batch of a flow that is longer than this, in nanoseconds, and takes half of the time from batch to batch, is worth a timed
/// wait: that saves half of a processor. What is saved by less is lost again, as what lies in the ring for long is no longer in a cache.
const LONG: u64 = 8_000;

/// Batches in a row, each waited for, that make a flow.
const FLOW: u32 = 4;

/// A timed wait shorter than this, in nanoseconds, costs more than the spinning it saves.
const SHORTEST_WAIT: u64 = 100_000;

/// How long a timed wait lasts at most, in nanoseconds.
const LONGEST_WAIT: u64 = 1_000_000;

/// How long a stream in company is read and worked for, in nanoseconds, before the others have their turn.
const TURN: u64 = 20_000;

/// The fewest and the most bytes that make a turn.
const TURN_BYTES: std::ops::RangeInclusive<u64> = 4 * 1024..=MOST_IN_A_TURN as u64;

/// So many bells are heard for nothing before a set is deaf to a stream that rests there.
pub const IDLE_BELLS: u32 = 8;

/// A stream in a set.
#[derive(Debug)]
pub struct Entry {
    pub stream: Arc<Stream>,
    pub fd: RawFd,
    pub events: u32,
    pub data: u64,
    pub socket_tag: u64,
    pub line_tag: u64,
    pub active: bool,
    /// The kernel's set tells of the line's doorbell.
    pub at_door: bool,
    /// What the kernel's set is asked of the socket, if it is not lent; none: the socket is not in it. See [`super::polled`].
    pub asked: Option<epoll::EventFlags>,
    /// EPOLL_CTL_DEL took it out of the program's sight. The kernel's set keeps it, so that adding it again needs no call.
    pub dormant: bool,
    /// The connection is undecided, and the kernel's set has it as the program registered it.
    pub lent: bool,
    /// It is dormant, and was lent when it was taken out: the kernel's set has its line at most.
    pub away: bool,
    /// It is lent, and the kernel's set has it as `known` says, which may not be what the program wants: see [`super::deferred`].
    pub behind: bool,
    /// How the kernel's set has it while it is lent: the events and the data.
    pub known: (u32, u64),
    /// EPOLLONESHOT has reported and waits for EPOLL_CTL_MOD.
    pub spent: bool,
    /// Bells that the set heard while it rested, since the program last asked for the stream.
    pub idle_bells: u32,
    /// Added or modified since the last report: whatever is ready is news.
    pub fresh: bool,
    /// The kernel reported an edge since the last report.
    pub kernel_news: bool,
    pub arrival_reported: u64,
    pub blocked_reported: u32,
    /// Batches in a row that came one way, each after a long wait.
    pub batches: u32,
    /// When the stream last turned round (something was sent to the client), on the monotonic clock.
    pub turned: u64,
    /// Bytes received since then.
    pub flowed: u64,
    /// How long the stream flowed one way before that, in nanoseconds.
    pub last_flow: u64,
    /// Bytes received and sent at the last report, and when that was.
    traffic: (u64, u64),
    reported: u64,
    /// Bytes sent when it last lay down.
    sent_at_rest: u64,
    /// Bytes that the program takes in a turn, as it has shown.
    turn: u64,
}

/// Whether the kernel can report a stream registered for `events` until it is decided whether it gets shared memory. What was
/// reported as an edge is reported once more then; what is reported once only must be known.
pub fn lendable(stream: &Stream, events: u32) -> bool {
    stream.is_undecided() && events & !(CONDITIONS | EDGE) == 0
}

impl Entry {
    /// A new member, whose first look reports whatever is ready.
    pub fn new(
        stream: &Arc<Stream>,
        fd: RawFd,
        (events, data): (u32, u64),
        (socket_tag, line_tag): (u64, u64),
        lent: bool,
    ) -> Self {
        Self {
            stream: Arc::clone(stream),
            fd,
            events,
            data,
            socket_tag,
            line_tag,
            active: false,
            at_door: false,
            asked: Some(EDGES),
            dormant: false,
            away: false,
            behind: false,
            known: (events, data),
            lent,
            spent: false,
            idle_bells: 0,
            fresh: true,
            kernel_news: true,
            arrival_reported: 0,
            blocked_reported: stream.blocked_mark().wrapping_sub(1),
            batches: 0,
            turned: 0,
            flowed: 0,
            last_flow: 0,
            traffic: (0, 0),
            reported: 0,
            sent_at_rest: 0,
            turn: *TURN_BYTES.end(),
        }
    }

    /// What the program registered, for the kernel.
    pub fn flags(&self) -> epoll::EventFlags {
        epoll::EventFlags::from_bits_retain(self.events)
    }

    /// How the kernel's set has it: the flags and the data.
    pub fn registration(&self) -> (epoll::EventFlags, u64) {
        if self.lent { (self.flags(), self.data) } else { (self.asked.unwrap_or(EDGES), self.socket_tag) }
    }

    /// Registered once more: whatever is ready is news.
    pub fn revive(&mut self, events: u32, data: u64) {
        (self.events, self.data, self.dormant) = (events, data, false);
        (self.spent, self.kernel_news) = (false, true);
        self.renew();
    }

    /// The program asks for it again: whatever is ready is news, and room that there is not yet will be.
    pub fn renew(&mut self) {
        self.fresh = true;
        self.blocked_reported = self.stream.blocked_mark().wrapping_sub(1);
    }

    /// Whether it reports nothing until the program asks for it again, or the kernel reports in its place.
    pub fn rests(&self) -> bool {
        self.spent || self.dormant || self.lent
    }

    /// Counts a bell of the line. Whether the set had better hear no more of them: the program has let the stream rest in this set, and waits for it in another.
    pub fn hears_for_nothing(&mut self) -> bool {
        let is_idle = self.spent || self.dormant;
        self.idle_bells += u32::from(is_idle);
        is_idle && self.idle_bells > IDLE_BELLS && !self.stream.is_copied() && self.stream.is_in_several_sets()
    }

    /// What the program waits for.
    pub fn want(&self) -> PollFlags {
        PollFlags::from_bits_retain((self.events & CONDITIONS) as u16)
    }

    fn news(&self) -> bool {
        let want = self.want();
        self.fresh
            || self.kernel_news
            || self.stream.was_cut_short()
            || (want.contains(PollFlags::IN) && self.stream.arrival_mark() != self.arrival_reported)
            || (want.contains(PollFlags::OUT) && self.was_blocked())
    }

    /// Whether a send has found too little space since there was said to be some.
    fn was_blocked(&self) -> bool {
        self.stream.blocked_mark() != self.blocked_reported
    }

    /// What the peer is to ring for while the set rests. An edge for space is none to a program that has found no lack of it, and a server that
    /// asks for both edges at once, as nginx does, would hear a bell for each request that its peer reads. A send that finds no space arms by itself.
    fn rings_for(&self) -> PollFlags {
        if self.events & EDGE == 0 || self.was_blocked() { self.want() } else { self.want() - PollFlags::OUT }
    }

    /// What the kernel must tell of the socket for what the program waits for. A hang-up it always tells.
    pub fn needs(&self) -> epoll::EventFlags {
        epoll::EventFlags::from_bits_retain(self.stream.kernel_interest(self.want()).bits().into()) | epoll::EventFlags::ET
    }

    /// Arms the peer's bell for what the set rests on: one that the set hears.
    pub fn arm(&self) {
        let want = self.rings_for();
        if self.at_door { self.stream.arm_at_door(want) } else { self.stream.arm(want) }
    }

    /// It is not looked at until its bell rings.
    pub fn lie_down(&mut self) {
        self.active = false;
        self.sent_at_rest = self.stream.traffic().1;
    }

    /// Whether its program has sent something since it lay down.
    pub fn has_sent(&self) -> bool {
        !self.active && self.stream.traffic().1 != self.sent_at_rest
    }

    /// Whether a report is likely: the cheap look, for spinning and before sleeping.
    pub fn stirs(&self) -> bool {
        if self.rests() {
            return false;
        }
        if self.events & EDGE != 0 && !self.news() {
            return false;
        }
        self.stream.stirs(self.want()) || self.fresh || self.kernel_news
    }

    /// The event to report now, if any.
    pub fn report(&mut self) -> Option<Event> {
        if self.rests() {
            return None;
        }
        let (arrival, blocked) = (self.stream.arrival_mark(), self.stream.blocked_mark());
        let news = self.events & EDGE == 0 || self.news();
        if !news {
            return None;
        }
        let mut ready = borrow(self.fd, |fd| self.stream.look(fd, self.want(), None));
        if self.stream.has_last_words() {
            ready -= PollFlags::HUP | PollFlags::RDHUP | PollFlags::ERR;
        }
        // Only a look that found the socket settled uses the kernel's news up.
        self.kernel_news = false;
        self.fresh = false;
        self.arrival_reported = arrival;
        if ready.contains(PollFlags::OUT) {
            self.blocked_reported = blocked;
        }
        if ready.is_empty() {
            return None;
        }
        self.spent = self.events & ONCE != 0;
        Some(Event { events: u32::from(ready.bits()), data: self.data })
    }

    /// Arms it, and looks whether there is something to report. That stays to be reported.
    pub fn is_ready(&mut self) -> bool {
        self.arm();
        let ready = self.report().is_some();
        if ready {
            (self.spent, self.fresh) = (false, true);
        }
        ready
    }

    /// Learns from a report whether the stream is a flow: batches that come one way, none of them
    /// waited for by its sender. `waited` is how long this one was waited for; `time` is about now. And how fast the program
    /// works, if it had no cause to wait since the last report: `busy`.
    pub fn learn_flow(&mut self, waited: Option<u64>, busy: bool, time: u64) {
        let traffic = self.stream.traffic();
        let (received, sent) = (traffic.0.wrapping_sub(self.traffic.0), traffic.1.wrapping_sub(self.traffic.1));
        self.traffic = traffic;
        let took = time.saturating_sub(std::mem::replace(&mut self.reported, time));
        if busy && received != 0 {
            let bytes = received.saturating_mul(TURN) / took.max(1);
            self.turn = ((3 * self.turn + bytes) / 4).clamp(*TURN_BYTES.start(), *TURN_BYTES.end());
        }
        self.flowed = self.flowed.saturating_add(received);
        match waited {
            _ if sent != 0 => {
                (self.last_flow, self.turned, self.flowed) = (time.saturating_sub(self.turned), time, 0);
                self.batches = 0;
            }
            Some(waited) if received >= BATCH && waited > LONG && 2 * waited > took => {
                self.batches = self.batches.saturating_add(1)
            }
            Some(_) => self.batches = 0,
            None => {}
        }
    }

    /// Whether the report at that time was of it.
    pub fn was_reported(&self, time: u64) -> bool {
        self.reported == time
    }

    /// How long the server may wait for a time, in nanoseconds, while the stream's sender fills the ring without
    /// waiting for answers; None if it may not. Short enough that a quarter of the ring still
    /// takes what comes, and that the wait ends before the sender is likely to ask for something.
    pub fn timed_wait(&self, now: u64) -> Option<u64> {
        if self.batches < FLOW {
            return None;
        }
        let flowing = now.saturating_sub(self.turned).max(1);
        let fill = (self.stream.ring_size() as u64 / 4).saturating_mul(flowing) / self.flowed.max(1);
        // As long as it flowed the last time it is expected to flow on; beyond that, the longer the surer.
        let expected = if flowing < self.last_flow { (self.last_flow - flowing) / 2 } else { flowing / 4 };
        Some(fill.min(expected).min(LONGEST_WAIT)).filter(|wait| *wait >= SHORTEST_WAIT)
    }

    /// Gives the stream its turn: all it has, or in company only so much that the others don't wait long.
    pub fn take_turn(&self, company: bool) {
        self.stream.allot(if company && self.stream.is_server() { self.turn } else { u64::MAX });
    }

    /// The flow has run dry.
    pub fn ran_dry(&mut self) {
        self.batches = 0;
    }
}
