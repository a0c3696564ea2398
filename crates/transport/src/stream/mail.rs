//! Messages on the line's socket as a stream takes them, and the descriptors that wait for their place: what came, what came back, and how far
//! ahead of its reader a sender may be (`docs/ring-abi.md`, "The line's socket").

use super::{How, Received, Stream, coarse_now, locked, mode, now, phase, ready, state::add};
use crate::{
    descriptor::Reserved,
    line::{self, FdBatch, Heard, Message, Next},
    report,
    settings::{Settings, Stage},
};
use rustix::{event::PollFlags, io::Errno};
use slipway_fabric::{
    ring::{RxCursor, TxCursor},
    segment::Segment,
    sync::{ForkGuard, Ordering::Relaxed},
};
use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, BorrowedFd},
};

/// Most batches of descriptors that wait for their place, and that wait to go back; a peer that sends more is broken.
const MOST_BATCHES: usize = 1024;

/// Most descriptors in them, each way: a peer can't use up the numbers that this process has. A sender waits when its reader has so many before it.
const MOST_HELD: usize = 2 * line::MOST_DESCRIPTORS;

/// Most messages taken off the line's socket in one go, more than its queue holds: a peer that never
/// stops sending doesn't keep its reader there.
const MOST_HEARD: usize = 1024;

/// How long a thread that is awake waits for woken sleepers to get up, in nanoseconds, before it does without shared memory for their sake.
pub(super) const SLEEPERS_GRACE: u64 = 500_000_000;

/// So many batches that lie on the line's socket leave too little room there for bells.
const CROWD: u32 = 128;

/// Descriptors that wait for their place, or to go back: until then they are none of the program's.
#[derive(Debug)]
pub(super) struct Waiting {
    pub at: u64,
    pub len: u64,
    pub descriptors: Vec<Reserved>,
    /// Some were lost: there were no numbers for them.
    cut: bool,
}

impl Waiting {
    fn new(batch: FdBatch) -> Self {
        let count = batch.descriptors.len();
        let descriptors: Vec<_> = batch.descriptors.into_iter().filter_map(|fd| Reserved::aside(fd).ok()).collect();
        Self { at: batch.at, len: batch.len, cut: batch.cut || descriptors.len() < count, descriptors }
    }

    /// The place of descriptors that a read of nothing has taken: a peer that takes its bytes back waits for what lay there.
    fn taken(at: u64) -> Self {
        Self { at, len: 1, descriptors: Vec::new(), cut: false }
    }

    fn is_taken(&self) -> bool {
        self.descriptors.is_empty() && !self.cut
    }
}

#[derive(Debug, Default)]
pub(super) struct Mail {
    /// What had to be taken off the line's socket before its place was reached: what lies there comes after it.
    pub batches: VecDeque<Waiting>,
    pub returned: VecDeque<Waiting>,
    /// Where batches were sent whose place the reader has not passed, as far as is known.
    pub placed: VecDeque<u64>,
    /// The place of the batch that was left as the next on the line's socket, and when, by the coarse clock.
    left: Option<(u64, u64)>,
}

/// Whether one more may wait beside those that do.
fn has_space(waiting: &VecDeque<Waiting>, batch: &FdBatch) -> bool {
    let held: usize = waiting.iter().map(|p| p.descriptors.len()).sum();
    waiting.len() < MOST_BATCHES && held + batch.descriptors.len() <= MOST_HELD
}

/// Where a batch lies for a read.
enum Place {
    /// Only a peer that breaks the rules sends one late; and another process of the family may have read what it belongs to.
    Passed,
    /// So many bytes behind the first one.
    Reached(u64),
    Ahead,
}

impl Place {
    fn of(at: u64, head: u64, bytes: usize) -> Self {
        match at.wrapping_sub(head) {
            place if place > u64::MAX / 2 => Self::Passed,
            // A read of nothing takes the descriptors that are next, as the kernel does.
            place if place < bytes as u64 || place == 0 => Self::Reached(place),
            _ => Self::Ahead,
        }
    }
}

impl Received {
    /// Ends the read where the bytes of a batch end, as the kernel does.
    fn end_with(&mut self, place: u64, len: u64) {
        let end = place.saturating_add(len.max(1));
        self.bytes = self.bytes.min(usize::try_from(end).unwrap_or(usize::MAX));
    }
}

impl Mail {
    /// Gives a read the descriptors that it reaches, at the lowest numbers. False: if there are any, they lie on the line's socket.
    fn deliver(&mut self, head: u64, got: &mut Received, how: How) -> bool {
        while let Some(batch) = self.batches.front() {
            match Place::of(batch.at, head, got.bytes) {
                Place::Ahead => return true,
                Place::Reached(_) if batch.is_taken() && got.bytes == 0 => return true,
                Place::Reached(place) if !batch.is_taken() => {
                    got.end_with(place, batch.len);
                    got.dropped = batch.cut || !how.descriptors;
                    for fd in batch.descriptors.iter().filter(|_| how.descriptors) {
                        match rustix::io::fcntl_dupfd_cloexec(fd, 0) {
                            Ok(copy) => got.descriptors.push(copy),
                            Err(_) => got.dropped = true,
                        }
                    }
                    if !how.peek {
                        self.batches.pop_front();
                        self.note_taken(head, got);
                    }
                    return true;
                }
                Place::Passed | Place::Reached(_) => self.batches.pop_front(),
            };
        }
        self.left.is_some_and(|(at, _)| matches!(Place::of(at, head, got.bytes), Place::Ahead))
    }

    fn note_taken(&mut self, head: u64, got: &Received) {
        if got.bytes == 0 {
            self.batches.push_front(Waiting::taken(head));
        }
    }
}

/// What was taken off a line's socket.
#[derive(PartialEq, Eq)]
enum Took {
    Nothing,
    Bell,
    Other,
}

impl Stream {
    /// Takes the messages off the line's socket.
    pub fn attend(&self) {
        let _ = self.attend_to(None);
    }

    /// Takes messages off the line's socket until it has heard `bells` of them ring: a sleeper
    /// expects one for each time it armed its flag and saves the call that would find no more. None of them: takes one message. Whether it took any.
    pub(super) fn attend_to(&self, bells: Option<u32>) -> bool {
        if let Some(end) = self.port() {
            end.office().collect();
            return false;
        }
        let mut mail = locked(&self.mail);
        let mut heard = 0;
        let forked = self.state.common.forked.load(Relaxed) != 0;
        let mut leaves = forked || bells.is_some();
        let mut took = 0;
        while took < if bells == Some(0) { 1 } else { MOST_HEARD } {
            if !self.line_alive() || leaves && self.leaves_next(&mut mail, forked) {
                break;
            }
            match self.hear(&mut mail, bells.is_none()) {
                Took::Nothing => break,
                Took::Bell => {
                    heard += 1;
                    if Some(heard) == bells && Settings::get().stage != Stage::One {
                        return true;
                    }
                }
                Took::Other => leaves = forked,
            }
            took += 1;
        }
        took > 0
    }

    /// Takes messages off the line's socket until the answer to a client's offer is there, and none more: a bell may be for another thread then, which sleeps.
    /// As long as the guard is held no other thread takes it.
    pub(super) fn attend_for_answer(&self) -> ForkGuard<'_, Mail> {
        let mut mail = locked(&self.mail);
        let is_over = || !self.line_alive() || !self.awaits_answer();
        let _ = (0..MOST_HEARD).find(|_| is_over() || self.hear(&mut mail, true) == Took::Nothing);
        mail
    }

    /// As [`Stream::attend`]. Nothing stays behind: the line ends.
    pub(super) fn attend_last(&self) {
        let mut mail = locked(&self.mail);
        let _ = (0..MOST_HEARD).find(|_| !self.line_alive() || self.hear(&mut mail, true) == Took::Nothing);
    }

    /// Whether the next batch stays on the line's socket, with all that is behind it. A later read takes it; in a family that may be another process's. For the only process, one that is met again is in the way of sleepers, which hear it
    /// as they hear bells. A family can't hold it: in its way too long it sends the connection back to its socket.
    fn leaves_next(&self, mail: &mut Mail, forked: bool) -> bool {
        let (rx, tx) = (&self.state.rx, &self.state.tx);
        // What is sent back, and what comes back, may lie behind it.
        let moves = rx.giving_back.load(Relaxed) != 0 || tx.mode.load(Relaxed) == mode::RETURNING;
        // Of a family, the sender may not have counted yet what it has sent.
        let may_be = forked || self.line().is_some_and(|s| s.rx.attachments() != rx.batches_taken.load(Relaxed));
        if moves || !may_be || self.foreign {
            return false;
        }
        let Next::Batch { at, .. } = line::next(self.socket.load().as_fd()) else { return false };
        let time = coarse_now();
        let met = mail.left.filter(|(left, _)| *left == at);
        let (_, since) = *mail.left.insert(met.unwrap_or((at, time)));
        if forked && (self.is_crowded() || time.saturating_sub(since) > SLEEPERS_GRACE) {
            let _ = self.late_sleepers.compare_exchange(0, 1, Relaxed, Relaxed);
        }
        forked || met.is_none()
    }

    /// Whether so many batches lie on the line's socket that no bell may find room there any more.
    pub fn is_crowded(&self) -> bool {
        let taken = &self.state.rx.batches_taken;
        self.line().is_some_and(|segment| segment.rx.attachments().wrapping_sub(taken.load(Relaxed)) >= CROWD)
    }

    /// Takes one message off the line's socket. `tells`: the sets are to be told of a bell.
    fn hear(&self, mail: &mut Mail, tells: bool) -> Took {
        let line = self.socket.load();
        let heard = if self.foreign { self.hear_foreign(line.as_fd()) } else { line::hear(line.as_fd()) };
        match heard {
            Heard::Nothing => Took::Nothing,
            Heard::Message(Message::Bell) => {
                add(&self.counts.heard, 1);
                if tells && self.in_sets.load(Relaxed) != 0 {
                    self.took_bell.store(1, Relaxed);
                }
                Took::Bell
            }
            Heard::Gone => {
                self.state.common.line_gone.store(1, Relaxed);
                if self.awaits_answer() {
                    self.state.common.phase.store(phase::PLAIN, Relaxed);
                }
                Took::Nothing
            }
            heard => {
                self.sort(mail, heard);
                Took::Other
            }
        }
    }

    /// What another user's end has sent: of all descriptors, only the segment that is awaited gets a number here. Where such an end chooses what is
    /// closed, that may wait.
    fn hear_foreign(&self, line: BorrowedFd<'_>) -> Heard {
        if self.awaits_answer() && line::is_grant(line) { line::hear(line) } else { line::hear_words(line) }
    }

    fn sort(&self, mail: &mut Mail, heard: Heard) {
        match heard {
            Heard::Message(Message::FdBatch(batch)) if !self.foreign && self.has_space_for(mail, &batch) => {
                mail.batches.push_back(Waiting::new(batch));
                self.batches_waiting.store(mail.batches.len() as u32, Relaxed);
                self.count_batch(mail);
            }
            Heard::Message(Message::Returned(batch)) if !self.foreign && has_space(&mail.returned, &batch) => {
                mail.returned.push_back(Waiting::new(batch));
            }
            Heard::Message(Message::Grant { ring, segment }) if self.awaits_answer() => {
                let s = Settings::get();
                // No more than was asked for, or what a server may give.
                let size = usize::try_from(ring).ok().filter(|size| *size <= s.ring.max(s.max_ring));
                match size.ok_or_else(|| io::ErrorKind::InvalidInput.into()).and_then(|size| Segment::open(segment.as_fd(), size))
                {
                    Ok(opened) => {
                        report::debug(format_args!("connected through shared memory, {ring} bytes a direction"));
                        self.adopt(opened);
                    }
                    Err(error) => {
                        report::warn(format_args!(
                            "the server's segment can't be used ({error}); the connection stays on its socket"
                        ));
                        self.state.common.phase.store(phase::PLAIN, Relaxed);
                    }
                }
            }
            Heard::Message(Message::Doorbell(door)) if self.awaits_door() => self.take_door(door),
            Heard::Message(Message::Decline) if self.awaits_answer() => self.state.common.phase.store(phase::PLAIN, Relaxed),
            _ => {
                report::debug(format_args!("process {} sent nonsense; its line ends", self.peer_pid));
                self.state.common.line_gone.store(1, Relaxed);
            }
        }
    }

    fn has_space_for(&self, mail: &mut Mail, batch: &FdBatch) -> bool {
        // Those that other processes of the family have passed don't count.
        let head = self.state.rx.head.load(Relaxed);
        while mail.batches.front().is_some_and(|p| matches!(Place::of(p.at, head, 0), Place::Passed)) {
            mail.batches.pop_front();
        }
        has_space(&mail.batches, batch)
    }

    /// The batch that was next on the line's socket was taken.
    fn count_batch(&self, mail: &mut Mail) {
        let taken = &self.state.rx.batches_taken;
        taken.store(taken.load(Relaxed).wrapping_add(1), Relaxed);
        mail.left = None;
    }

    /// As [`Stream::attend`] for a thread that is awake while other threads may sleep on the bell.
    pub(super) fn attend_awake(&self) {
        self.awake(|| self.attend());
    }

    /// Takes messages off the line's socket by `take`, for a thread that is awake while other threads may sleep on the bell.
    /// To take a message that they have not heard yet would leave them asleep; but any message wakes
    /// them, and the last to get up takes it. So this waits until it is taken, or nobody sleeps. A sleeper that does not run
    /// meanwhile (stopped, killed in a forked child, or without a processor) is roused otherwise, once no lock is held.
    fn awake(&self, mut take: impl FnMut()) {
        if self.late_sleepers.load(Relaxed) != 0 {
            return take();
        }
        let start = now();
        while !self.state.common.sleepers.if_none(&mut take) {
            if !ready::ask_kernel(self.line_socket().as_fd(), PollFlags::IN).intersects(PollFlags::IN | PollFlags::HUP) {
                return;
            }
            if now().wrapping_sub(start) > SLEEPERS_GRACE {
                self.late_sleepers.store(1, Relaxed);
                return take();
            }
            rustix::thread::sched_yield();
        }
    }

    /// Finds the descriptors whose place is reached by this read, and ends the read where theirs
    /// ends, as the kernel does. Those behind them stay where they are: another process may read them, and they would have numbers of the program's.
    #[cold]
    pub(super) fn take_batch(
        &self,
        fd: BorrowedFd<'_>,
        segment: &Segment,
        cursor: &RxCursor,
        got: &mut Received,
        how: How,
    ) -> Result<(), Errno> {
        let is_missing = || self.state.rx.batches_taken.load(Relaxed) != segment.rx.attachments();
        let mut found = locked(&self.mail).deliver(cursor.head, got, how);
        if !found && is_missing() {
            self.awake(|| found = self.take_next(cursor.head, got, how));
        }
        let mut mail = locked(&self.mail);
        // A sleeper has taken it meanwhile.
        found = found || mail.deliver(cursor.head, got, how);
        self.batches_waiting.store(mail.batches.len() as u32, Relaxed);
        drop(mail);
        if !found && is_missing() && !self.line_alive() {
            return Err(self.condemn(fd, slipway_fabric::Corrupt { what: "count of descriptors" }));
        }
        Ok(())
    }

    /// As [`Mail::deliver`], from the line's socket. What lies there when the line ends is good still.
    fn take_next(&self, head: u64, got: &mut Received, how: How) -> bool {
        let mut mail = locked(&self.mail);
        if mail.deliver(head, got, how) {
            return true;
        }
        let line = self.line_socket();
        for _ in 0..MOST_HEARD {
            let (at, len) = match line::next(line.as_fd()) {
                Next::Nothing => return false,
                Next::Batch { at, len } if !self.foreign => (at, len),
                _ => match self.hear(&mut mail, true) {
                    Took::Nothing => return false,
                    _ => continue,
                },
            };
            match Place::of(at, head, got.bytes) {
                Place::Ahead => {
                    mail.left = Some((at, coarse_now()));
                    return true;
                }
                Place::Passed => {
                    drop(line::hear_words(line.as_fd()));
                    self.count_batch(&mut mail);
                }
                Place::Reached(place) => match line::hear_batch(line.as_fd(), how.peek, how.descriptors) {
                    Heard::Message(Message::FdBatch(batch)) if batch.at == at => {
                        got.end_with(place, len);
                        got.dropped = batch.cut || !how.descriptors;
                        got.descriptors = batch.descriptors;
                        if !how.peek {
                            self.count_batch(&mut mail);
                            mail.note_taken(head, got);
                        }
                        return true;
                    }
                    // Another process was faster.
                    heard if !how.peek => self.sort(&mut mail, heard),
                    _ => {}
                },
            }
        }
        false
    }

    /// Sends descriptors ahead of the bytes that they go with, the next `len` (W3). False: the peer has given up its end just now.
    /// Called with the sending lock held.
    pub(super) fn place_batch(
        &self,
        fd: BorrowedFd<'_>,
        segment: &Segment,
        cursor: &mut TxCursor,
        len: u64,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<bool, Errno> {
        let tx = &self.state.tx;
        segment.tx.unread(cursor).map_err(|what| self.condemn(fd, what))?;
        if !self.may_place(cursor, descriptors.len() as u32) {
            self.await_reader(tx.ahead_from.load(Relaxed));
            return Err(Errno::AGAIN);
        }
        let sent = line::send_batch(self.line_socket().as_fd(), cursor.tail, len, descriptors);
        let placed = &mut locked(&self.mail).placed;
        while placed.front().is_some_and(|at| *at < cursor.head_seen) {
            placed.pop_front();
        }
        match sent {
            Ok(()) => {
                placed.push_back(cursor.tail);
                tx.ahead.store(tx.ahead.load(Relaxed) + descriptors.len() as u32, Relaxed);
                segment.tx.count_attachment();
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.state.common.line_gone.store(1, Relaxed);
                Ok(false)
            }
            Err(error) => {
                if error.kind() == io::ErrorKind::WouldBlock {
                    // Until it has taken half of those that fill the queue.
                    self.await_reader(placed.get(placed.len() / 2).map_or(0, |at| at + 1));
                }
                Err(Errno::from_io_error(&error).unwrap_or(Errno::IO))
            }
        }
    }

    /// Whether the reader, which may have to hold them, has few enough before it for `count` more. They are counted in two parts, by all processes
    /// of the family together: when it has passed where the later part begins, that becomes the earlier one.
    fn may_place(&self, cursor: &TxCursor, count: u32) -> bool {
        let tx = &self.state.tx;
        if cursor.head_seen >= tx.ahead_from.load(Relaxed) {
            tx.ahead_before.store(tx.ahead.swap(0, Relaxed), Relaxed);
            tx.ahead_from.store(cursor.tail, Relaxed);
        }
        (tx.ahead_before.load(Relaxed) + tx.ahead.load(Relaxed) + count) as usize <= MOST_HELD
    }

    /// From now on the stream is not ready to send until the reader is at `place`: as when its ring is full.
    fn await_reader(&self, place: u64) {
        self.state.tx.awaited.store(place, Relaxed);
        self.state.tx.full.store(1, Relaxed);
    }

    /// Whether a sender of descriptors waits for the reader still.
    pub(super) fn awaits_reader(&self, segment: &Segment) -> bool {
        segment.tx.head_mark() < self.state.tx.awaited.load(Relaxed)
    }
}

#[cfg(test)]
mod tests;
