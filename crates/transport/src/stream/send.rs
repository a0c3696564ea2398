//! Sending: on the socket before the ring opens, into the ring, and on the socket after it closed.

use super::{
    OUTPUT, Role, Stream, coarse_now, mode,
    state::{Change, add},
};
use crate::{line, wait::may_spin};
use rustix::{
    io::Errno,
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, send, sendmsg},
};
use slipway_fabric::{
    ring::{Ring, UNOPENED},
    segment::Segment,
    spin::{SpinStrategy, processor},
    sync::Ordering::Relaxed,
};
use std::{io::IoSlice, mem::MaybeUninit, os::fd::BorrowedFd};

/// How often a sender that never sleeps makes sure that the peer lives, in nanoseconds of the coarse clock.
const PROBE: u64 = 1_000_000;

/// As [`PROBE`], where a bell rings at each turn, this end's or the peer's: that tells whether the peer lives, and all but what a process did that
/// has no hooks.
pub(super) const BY_BELL: u64 = 20_000_000;

/// Most bytes that are copied before the other end is shown them. Few enough that it begins to copy out early, many enough that its calls, one or
/// more for each piece that it finds, cost little beside copying: with 16 KiB an X server takes twice as long for images of a megabyte.
const PIECE: usize = 64 * 1024;

/// As many of `ring`: both ends of a small one work at the same time, too.
pub(super) fn piece(ring: &Ring) -> usize {
    PIECE.min(ring.size() / 4)
}

impl Stream {
    /// Sends what there is space for, without blocking; `AGAIN` if there is none, `PIPE` if nobody
    /// reads any more (the caller raises SIGPIPE). Descriptors go with the first byte.
    pub fn send(&self, fd: BorrowedFd<'_>, from: &[IoSlice<'_>], descriptors: &[BorrowedFd<'_>]) -> Result<usize, Errno> {
        if let Some(end) = self.port() {
            return self.send_messages(end, fd, from);
        }
        if self.is_quiet()
            && let Some(result) = self.send_quietly(fd, from, descriptors)
        {
            return result;
        }
        let result = self.send_locked(fd, from, descriptors);
        if self.in_sets.load(Relaxed) != 0 && result.is_ok_and(|n| n < from.iter().map(|slice| slice.len()).sum()) {
            // Its program waits for an edge now, and the set may rest without a bell for space.
            self.alert_sets();
        }
        self.tell_sets();
        self.rouse_the_late(fd);
        result
    }

    /// All that a send is before there is a line: the kernel's, counted. None: another thread has just got one.
    fn send_quietly(
        &self,
        fd: BorrowedFd<'_>,
        from: &[IoSlice<'_>],
        descriptors: &[BorrowedFd<'_>],
    ) -> Option<Result<usize, Errno>> {
        let tx = &self.state.tx;
        let guard = self.lock_sending(Some(fd));
        if !self.is_quiet() {
            return None;
        }
        let change = Change::begin(&tx.unfinished);
        let result = send_socket(fd, from, descriptors);
        if let Ok(bytes) = result {
            add(&tx.socket_bytes, bytes as u64);
            drop(change);
            add(&self.counts.sent, bytes as u64);
            self.count_use(fd, bytes);
            if !self.is_quiet() {
                drop(guard);
                self.tell_sets();
            }
        } else if result == Err(Errno::AGAIN) {
            tx.count_blocked();
        }
        Some(result)
    }

    fn send_locked(&self, fd: BorrowedFd<'_>, from: &[IoSlice<'_>], descriptors: &[BorrowedFd<'_>]) -> Result<usize, Errno> {
        let tx = &self.state.tx;
        let _guard = self.lock_sending(Some(fd));
        self.settle();
        let mut armed = self.in_sets.load(Relaxed) == 0;
        let result = loop {
            match tx.mode.load(Relaxed) {
                mode::RING => match self.send_ring(fd, from, descriptors) {
                    Ok(None) => {}
                    // The thread that sends for a set that rests doesn't wait.
                    Err(Errno::AGAIN) if !std::mem::replace(&mut armed, true) => self.arm(OUTPUT),
                    Ok(Some(n)) => break Ok(n),
                    Err(error) => break Err(error),
                },
                mode::BEFORE if self.open_ring() => {}
                mode::RETURNING => {
                    if !self.finish_returning(fd)? {
                        break Err(Errno::AGAIN);
                    }
                }
                before_or_after => {
                    let _change = (before_or_after == mode::BEFORE).then(|| Change::begin(&tx.unfinished));
                    let result = send_socket(fd, from, descriptors);
                    if before_or_after == mode::BEFORE
                        && let Ok(n) = result
                    {
                        add(&tx.socket_bytes, n as u64);
                    }
                    break result;
                }
            }
        };
        match result {
            Ok(n) => {
                add(&self.counts.sent, n as u64);
                self.count_use(fd, n);
                self.counts.note(self.state.rx.mode.load(Relaxed), tx.mode.load(Relaxed));
            }
            Err(Errno::AGAIN) => tx.count_blocked(),
            Err(_) => {}
        }
        result
    }

    /// Opens the sending ring if its time has come: a client opens when it has the segment, a
    /// server when its client has. Called with the lock held.
    pub(super) fn open_ring(&self) -> bool {
        let tx = &self.state.tx;
        let Some(segment) = self.line() else { return false };
        if !self.line_alive() || (self.role == Role::Server && segment.rx.opening().0 == UNOPENED) {
            return false;
        }
        if segment.tx.reader_gave_back() {
            tx.mode.store(mode::AFTER, Relaxed);
        } else {
            segment.tx.open(tx.socket_bytes.load(Relaxed));
            tx.mode.store(mode::RING, Relaxed);
        }
        true
    }

    /// Into the ring. None: the mode has changed, try again.
    fn send_ring(
        &self,
        fd: BorrowedFd<'_>,
        from: &[IoSlice<'_>],
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<Option<usize>, Errno> {
        let tx = &self.state.tx;
        let Some(segment) = self.line() else {
            tx.mode.store(mode::AFTER, Relaxed);
            return Ok(None);
        };
        if segment.tx.reader_gave_back() || !self.line_alive() {
            self.begin_returning(fd)?;
            return Ok(None);
        }
        let want: usize = from.iter().map(|slice| slice.len()).sum();
        let (time, hint) = (coarse_now(), segment.rx.hint_mark());
        let tells = segment.tx.is_reader_asleep() || self.has_heard_lately(time);
        let probe = if tells { BY_BELL } else { PROBE };
        let stale = time.saturating_sub(tx.looked_at.load(Relaxed)) > probe;
        // A program that is told once of its peer's end, while the ring is full, sends only to learn what became of it.
        if stale || hint != tx.hint_seen.load(Relaxed) || self.state.rx.is_told() || want == 0 {
            self.probe(fd)?;
            tx.looked_at.store(time, Relaxed);
            tx.hint_seen.store(hint, Relaxed);
        }
        if want == 0 {
            return Ok(Some(0));
        }
        let mut cursor = tx.cursor();
        let mut space = segment.tx.free(&mut cursor, want).map_err(|what| self.condemn(fd, what))?;
        if space < want {
            tx.full.store(1, Relaxed);
            if self.signals() {
                // Its program need not wait: the bell for space raises a signal, also after a send of a part.
                self.arm(OUTPUT);
                space = segment.tx.free(&mut cursor, want).map_err(|what| self.condemn(fd, what))?;
            }
        }
        // A socket takes a write of few pages whole or not at all, so that those of several writers don't mix. Short of memory, the rest of the ring is no
        // free space, and will not become any.
        let waits_for_all = |unread: u64| want <= piece(&segment.tx) && unread as usize + want > segment.tx.size();
        if space < want && (space == 0 || segment.tx.unread(&mut cursor).is_ok_and(waits_for_all)) {
            tx.keep(&cursor);
            return Err(Errno::AGAIN);
        }
        let n = want.min(space);
        let _change = (!descriptors.is_empty()).then(|| Change::begin(&tx.unfinished));
        // A peer that has given up its end just now: the stream goes on over the socket.
        if !descriptors.is_empty() && !self.place_batch(fd, segment, &mut cursor, n as u64, descriptors)? {
            return Ok(None);
        }
        // Ends that never spin don't tell where they are.
        let is_near = || may_spin() && segment.strategy(processor()) == SpinStrategy::Yield;
        segment.tx.begin(&mut cursor, want, is_near).map_err(|what| self.condemn(fd, what))?;
        let mut left = n;
        for slice in from {
            let part = &slice[..slice.len().min(left)];
            left -= part.len();
            // Long parts are shown piece by piece: the reader copies out while we copy in.
            let mut pieces = part.chunks(piece(&segment.tx)).peekable();
            while let Some(bytes) = pieces.next() {
                segment.tx.append(&mut cursor, bytes);
                if pieces.peek().is_some() {
                    tx.keep(&cursor);
                    segment.tx.publish_timed(&cursor);
                    self.wake_reader(segment);
                }
            }
        }
        tx.keep(&cursor);
        segment.tx.publish_timed(&cursor);
        if n < want {
            tx.count_blocked();
        }
        if !self.wake_reader(segment) {
            self.account_for(fd, segment, n as u64)?;
        }
        if segment.tx.reader_gave_back() {
            // It has not seen these bytes, or looks no more; this may be the program's last call.
            self.begin_returning(fd)?;
            let _ = self.finish_returning(fd);
        }
        Ok(Some(n))
    }

    /// The last bytes were shown, so many, and no bell can tell of them. Fails if nobody has seen them; a peer that was awake may have read them, answered and gone.
    pub(super) fn account_for(&self, fd: BorrowedFd<'_>, segment: &Segment, bytes: u64) -> Result<(), Errno> {
        let were_seen = segment.tx.unread(&mut self.state.tx.cursor()).is_ok_and(|unread| unread < bytes);
        if were_seen { Ok(()) } else { self.probe(fd) }
    }

    /// Whether the reader has said, by a hint that nobody has looked into, that it reads no more.
    pub(super) fn reader_ended(&self, fd: BorrowedFd<'_>) -> bool {
        let tx = &self.state.tx;
        let Some(hint) = self.line().map(|segment| segment.rx.hint_mark()) else { return false };
        if hint == tx.hint_seen.load(Relaxed) {
            return false;
        }
        let ended = self.probe(fd).is_err();
        if !ended {
            tx.hint_seen.store(hint, Relaxed);
        }
        ended
    }

    /// Whether a send would fail, as either end has shut this half of the connection down.
    pub fn is_shut_for_sending(&self, fd: BorrowedFd<'_>) -> bool {
        self.port().is_none() && self.probe(fd).is_err()
    }

    /// Fails if nobody could read what is sent: an empty send has no effect but to say so.
    fn probe(&self, fd: BorrowedFd<'_>) -> Result<(), Errno> {
        if let Err(Errno::PIPE | Errno::CONNRESET) = send(fd, &[], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            // Asked again next time: the answer stays the kernel's.
            self.state.tx.looked_at.store(0, Relaxed);
            return Err(Errno::PIPE);
        }
        Ok(())
    }

    /// Bytes sent that the peer has not read (SIOCOUTQ), beside what the kernel says of the socket.
    pub fn unread_bytes(&self) -> usize {
        let tx = &self.state.tx;
        let Some(segment) = self.line() else { return 0 };
        let mut cursor = tx.cursor();
        let bytes = match tx.mode.load(Relaxed) {
            mode::RETURNING => cursor.tail.wrapping_sub(tx.returning_from.load(Relaxed)),
            // What lay there when the half was shut down stays there.
            now if now == mode::RING || self.left_unread() => segment.tx.unread(&mut cursor).unwrap_or(0),
            _ => 0,
        };
        usize::try_from(bytes).unwrap_or(usize::MAX).min(segment.tx.size())
    }
}

/// Sends over the socket without blocking and without SIGPIPE.
pub(super) fn send_socket(fd: BorrowedFd<'_>, from: &[IoSlice<'_>], descriptors: &[BorrowedFd<'_>]) -> Result<usize, Errno> {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    if let ([bytes], []) = (from, descriptors) {
        return send(fd, bytes, flags);
    }
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(line::MOST_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::INVAL);
    }
    sendmsg(fd, from, &mut control, flags)
}
