//! Messages on the line's socket as a stream takes them, and the descriptors that wait for their place: what came, what came back, and how far
//! ahead of its reader a sender may be (`docs/ring-abi.md`, "The line's socket").

use super::{How, Received, Stream, locked, now, phase, ready, state::add};
use crate::{
    line::{self, FdBatch, Heard, Message},
    report,
    settings::{Settings, Stage},
};
use rustix::{event::PollFlags, io::Errno};
use slipway_fabric::{
    ring::{RxCursor, TxCursor},
    segment::Segment,
    sync::Ordering::Relaxed,
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
const SLEEPERS_GRACE: u64 = 500_000_000;

#[derive(Debug, Default)]
pub(super) struct Mail {
    pub batches: VecDeque<FdBatch>,
    pub returned: VecDeque<FdBatch>,
    /// Where batches were sent whose place the reader has not passed, as far as is known.
    pub placed: VecDeque<u64>,
}

/// Whether one more may wait beside those that do.
fn has_space(waiting: &VecDeque<FdBatch>, batch: &FdBatch) -> bool {
    let held: usize = waiting.iter().map(|p| p.descriptors.len()).sum();
    waiting.len() < MOST_BATCHES && held + batch.descriptors.len() <= MOST_HELD
}

impl Stream {
    /// Takes all messages off the line's socket.
    pub fn attend(&self) {
        self.attend_to(None);
    }

    /// Takes messages off the line's socket until it has heard `bells` of them ring: a sleeper
    /// expects one for each time it armed its flag and saves the call that would find no more.
    pub(super) fn attend_to(&self, bells: Option<u32>) {
        if let Some(end) = self.port() {
            return end.office().collect();
        }
        let mut mail = locked(&self.mail);
        let mut heard = 0;
        let tells = bells.is_none() && self.in_sets.load(Relaxed) != 0;
        for _ in 0..MOST_HEARD {
            if !self.line_alive() {
                break;
            }
            match line::hear(self.socket.load().as_fd()) {
                Heard::Nothing => break,
                Heard::Message(Message::Bell) => {
                    add(&self.counts.heard, 1);
                    heard += 1;
                    if tells {
                        self.took_bell.store(1, Relaxed);
                    }
                    if Some(heard) == bells && Settings::get().stage != Stage::One {
                        break;
                    }
                }
                Heard::Message(Message::FdBatch(batch)) if has_space(&mail.batches, &batch) => {
                    mail.batches.push_back(batch);
                    self.batches_waiting.store(mail.batches.len() as u32, Relaxed);
                    let taken = &self.state.rx.batches_taken;
                    taken.store(taken.load(Relaxed).wrapping_add(1), Relaxed);
                }
                Heard::Message(Message::Returned(batch)) if has_space(&mail.returned, &batch) => {
                    mail.returned.push_back(batch);
                }
                Heard::Message(Message::Grant { ring, segment }) if self.awaits_answer() => {
                    match usize::try_from(ring).map_err(io::Error::other).and_then(|r| Segment::open(segment.as_fd(), r)) {
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
                Heard::Gone => {
                    self.state.common.line_gone.store(1, Relaxed);
                    if self.awaits_answer() {
                        self.state.common.phase.store(phase::PLAIN, Relaxed);
                    }
                }
                Heard::Message(_) | Heard::Nonsense => {
                    report::debug(format_args!("process {} sent nonsense; its line ends", self.peer_pid));
                    self.state.common.line_gone.store(1, Relaxed);
                }
            }
        }
    }

    /// As [`Stream::attend`] for a thread that is awake while other threads may sleep on the bell.
    /// To take a message that they have not heard yet would leave them asleep; but any message wakes
    /// them, and the last to get up takes it. So this waits until it is taken, or nobody sleeps. A sleeper that does not run
    /// meanwhile (stopped, killed in a forked child, or without a processor) is roused otherwise, once no lock is held.
    pub(super) fn attend_awake(&self) {
        if self.late_sleepers.load(Relaxed) != 0 {
            return self.attend();
        }
        let start = now();
        while !self.state.common.sleepers.if_none(|| self.attend()) {
            if !ready::ask_kernel(self.line_socket().as_fd(), PollFlags::IN).intersects(PollFlags::IN | PollFlags::HUP) {
                return;
            }
            if now().wrapping_sub(start) > SLEEPERS_GRACE {
                self.late_sleepers.store(1, Relaxed);
                return self.attend();
            }
            rustix::thread::sched_yield();
        }
    }

    /// Finds the descriptors whose place is reached by this read, and ends the read where theirs
    /// ends, as the kernel does.
    #[cold]
    pub(super) fn take_batch(
        &self,
        fd: BorrowedFd<'_>,
        segment: &Segment,
        cursor: &RxCursor,
        got: &mut Received,
        how: How,
    ) -> Result<(), Errno> {
        let announced = segment.rx.attachments();
        if self.state.rx.batches_taken.load(Relaxed) != announced {
            self.attend_awake();
        }
        let mut mail = locked(&self.mail);
        while let Some(batch) = mail.batches.front() {
            let place = batch.at.wrapping_sub(cursor.head);
            if place > u64::MAX / 2 {
                // Its place has passed: only a peer that breaks the rules sends one late.
                mail.batches.pop_front();
                continue;
            }
            // A read of nothing takes the descriptors that are next, as the kernel does.
            if place >= got.bytes as u64 && place != 0 {
                break;
            }
            if batch.descriptors.is_empty() {
                // What a read of nothing left: see below.
                if got.bytes == 0 {
                    break;
                }
                mail.batches.pop_front();
                continue;
            }
            let end = place.saturating_add(batch.len.max(1));
            got.bytes = got.bytes.min(usize::try_from(end).unwrap_or(usize::MAX));
            if how.peek {
                let copies = batch.descriptors.iter().map(|fd| rustix::io::fcntl_dupfd_cloexec(fd, 0));
                if how.descriptors {
                    got.descriptors = copies.collect::<Result<_, _>>()?;
                }
            } else if let Some(batch) = mail.batches.pop_front()
                && how.descriptors
            {
                got.descriptors = batch.descriptors;
            }
            if got.bytes == 0 && !how.peek {
                // The place stays known: a peer that takes its bytes back waits for what lay there.
                mail.batches.push_front(FdBatch { at: cursor.head, len: 1, descriptors: Vec::new() });
            }
            got.dropped = !how.descriptors;
            break;
        }
        self.batches_waiting.store(mail.batches.len() as u32, Relaxed);
        let lost =
            self.state.rx.batches_taken.load(Relaxed) != announced && mail.batches.is_empty() && got.descriptors.is_empty();
        drop(mail);
        if lost && !self.line_alive() {
            return Err(self.condemn(fd, slipway_fabric::Corrupt { what: "count of descriptors" }));
        }
        Ok(())
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
