//! Going back to the socket: in order, with nothing lost, at any time (`docs/ring-abi.md`, "Giving back").

use super::{Stream, locked, mode, now, ready::ask_kernel, send::send_socket, state::Change};
use crate::{descriptor::Reserved, line, report};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    net::sockopt::{set_socket_send_buffer_size, socket_send_buffer_size},
    time::Timespec,
};
use slipway_fabric::{ring::CLOSED, sync::Ordering::Relaxed};
use std::{
    io::IoSlice,
    os::fd::{AsFd, BorrowedFd},
    sync::{Arc, Weak},
    time::Duration,
};

/// How soon it is looked again whether descriptors have come back: another thread may take them off the line.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How long a thread sleeps at most until there is room, before it looks whether anybody will read: poll(2) tells nothing of a shutdown(2) of this half,
/// by another thread or by the peer.
pub const NAP: Duration = Duration::from_millis(100);

impl Stream {
    /// Puts the connection on its socket, for a program that has no hooks: what we sent stays
    /// readable in the ring and the rest goes over the socket; what the peer sent and we have not
    /// read, the peer takes back out of its ring and sends over the socket.
    pub fn give_back(&self) {
        if self.port().is_some() {
            return;
        }
        self.give_back_halves(true);
    }

    /// As [`Stream::give_back`], for a process that goes on using the connection: where `fd` can't
    /// receive any more, because either end has shut that half down, the peer can't send over the
    /// socket what lies in the ring, and it is read from there.
    pub fn return_to_socket(&self, fd: BorrowedFd<'_>) {
        if self.port().is_some() {
            return report::debug(format_args!("a connection over ports stays there: what only the kernel can do is not done"));
        }
        // What the peer asked for before comes first.
        self.keep_house(fd);
        self.give_back_halves(!ask_kernel(fd, PollFlags::RDHUP).contains(PollFlags::RDHUP));
        self.keep_house(fd);
    }

    /// Whether bytes of the peer's lie in the ring.
    pub fn holds_unread(&self) -> bool {
        let rx = &self.state.rx;
        rx.mode.load(Relaxed) == mode::RING && self.line().is_some_and(|segment| segment.rx.readable(rx.head.load(Relaxed)))
    }

    /// Whether neither end can send the other anything any more.
    pub fn has_hung_up(&self, fd: BorrowedFd<'_>) -> bool {
        ask_kernel(fd, PollFlags::empty()).contains(PollFlags::HUP)
    }

    /// Whether nothing lies in its rings.
    pub fn is_idle(&self) -> bool {
        let (rx, tx) = (&self.state.rx, &self.state.tx);
        self.line().is_none_or(|segment| {
            !segment.rx.readable(rx.head.load(Relaxed)) && segment.tx.unread(&mut tx.cursor()).is_ok_and(|n| n == 0)
        })
    }

    /// Whether a thread is at it now, which may be one that this one has interrupted.
    pub fn is_in_use(&self) -> bool {
        let (rx, tx) = (&self.state.rx, &self.state.tx);
        tx.lock.try_lock().is_none() || rx.lock.try_lock().is_none() || self.mail.try_lock().is_none()
    }

    /// Puts the connection on its socket and gives up the line with its descriptor, at once and with nothing lost. False if that
    /// can't be now: it is in use, or the peer's queue is full.
    pub fn give_up(&self, fd: BorrowedFd<'_>) -> bool {
        let sets: Option<Vec<_>> = self.sets.try_lock().map(|sets| sets.iter().filter_map(Weak::upgrade).collect());
        let Some(sets) = sets.filter(|sets| sets.iter().all(|set| set.is_at_rest())) else { return false };
        if self.port().is_some() || self.is_in_use() {
            return false;
        }
        let line = self.line_socket();
        if !self.end_line(fd) {
            return false;
        }
        self.state.common.line_gone.store(1, Relaxed);
        self.socket.store(Arc::new(Reserved::none()));
        self.keep_house(fd);
        sets.iter().for_each(|set| set.without_line(self, line.as_fd()));
        self.drop_doors();
        true
    }

    /// Puts the connection on its socket and ends what comes over the line: from then on the line's socket is ready for whoever sleeps on it, for
    /// good. False if the peer's queue is full, so that it does not have all back yet.
    fn end_line(&self, fd: BorrowedFd<'_>) -> bool {
        self.return_to_socket(fd);
        // From here on the peer can send nothing over the line, and what it has sent is heard here.
        let _ = rustix::net::shutdown(self.line_socket().as_fd(), rustix::net::Shutdown::Read);
        self.attend_last();
        self.state.rx.giving_back.load(Relaxed) == 0 || self.return_batches()
    }

    /// A message was taken off the line that a sleeper may not have heard, because it did not get up in time: the connection goes
    /// back to its socket, and the end of the line is news that nobody can take away. Called without locks.
    pub(super) fn rouse_the_late(&self, fd: BorrowedFd<'_>) {
        // Two threads that come here both do no harm.
        if self.late_sleepers.load(Relaxed) == 1 {
            self.late_sleepers.store(2, Relaxed);
            report::debug(format_args!("a thread that was woken does not run; its connection goes back to its socket"));
            self.end_line(fd);
        }
    }

    /// Whether bytes that the peer wants back are on their way to the socket.
    pub fn is_returning(&self) -> bool {
        self.state.tx.mode.load(Relaxed) == mode::RETURNING
    }

    /// Puts all that the peer wants back on the socket, before the kernel alone goes on with that, or nobody does. Waits for room there, or for
    /// descriptors that the peer has to send back first, no longer than `patience`. False if that was not enough.
    pub fn return_all(&self, fd: BorrowedFd<'_>, patience: Option<Duration>) -> bool {
        let start = now();
        loop {
            self.keep_house(fd);
            if !self.is_returning() {
                return true;
            }
            let left = patience.map(|patience| patience.saturating_sub(Duration::from_nanos(now().saturating_sub(start))));
            if left == Some(Duration::ZERO) {
                return false;
            }
            let (line, mut ask, mut most) = (self.line_socket(), PollFd::from_borrowed_fd(fd, PollFlags::OUT), NAP);
            if ask_kernel(fd, PollFlags::OUT).contains(PollFlags::OUT) {
                (ask, most) = (PollFd::from_borrowed_fd(line.as_fd(), PollFlags::IN), LOOK_AGAIN);
            }
            let timeout = Timespec::try_from(left.map_or(most, |left| left.min(most))).ok();
            let _ = poll(&mut [ask], timeout.as_ref());
        }
    }

    /// As [`Stream::return_all`], as long as a write of its program would have waited for the room; `otherwise`, if its writes don't wait.
    pub fn return_patiently(&self, fd: BorrowedFd<'_>, otherwise: Duration) -> bool {
        let patience = match self.timeouts().1 {
            _ if self.nonblocking() => Some(otherwise),
            0 => None,
            micros => Some(Duration::from_micros(micros)),
        };
        self.return_all(fd, patience)
    }

    /// The program leaves the connection, or this half of it. What it owes and does not wait for, the kernel is to keep, as much of it as it will: it
    /// does so for as long as it takes the peer to read it.
    pub fn make_room(&self, fd: BorrowedFd<'_>) {
        self.keep_house(fd);
        let size = self.ring_size();
        if self.is_returning() && self.nonblocking() && socket_send_buffer_size(fd).is_ok_and(|room| room < size) {
            let _ = set_socket_send_buffer_size(fd, size);
        }
    }

    fn give_back_halves(&self, receiving: bool) {
        self.settle();
        if self.line().is_none() {
            self.stay_plain();
        }
        // Another thread may just have got it.
        let Some(segment) = self.line() else { return };
        {
            let tx = &self.state.tx;
            let _guard = self.lock_sending(None);
            let _change = Change::begin(&tx.unfinished);
            let closed = tx.mode.load(Relaxed) != mode::RING || segment.tx.close_unless_wanted();
            // Else the next turn at housekeeping sends what the reader wants.
            if closed && tx.mode.load(Relaxed) != mode::RETURNING {
                tx.mode.store(mode::AFTER, Relaxed);
            }
        }
        {
            let rx = &self.state.rx;
            let _guard = self.lock_receiving(None);
            let _change = Change::begin(&rx.unfinished);
            self.attend_awake();
            // A peer that has gone back to its socket can't take anything out of the ring any more.
            let can = rx.mode.load(Relaxed) != mode::AFTER && receiving && self.line_alive();
            if can && segment.rx.give_back() {
                // From here on what came over the line, and what still comes, is sent back.
                rx.giving_back.store(1, Relaxed);
                self.attend_awake();
                self.return_batches();
                rx.mode.store(mode::AFTER, Relaxed);
            }
        }
        segment.tx.hint();
        self.ring_bell();
    }

    /// Once the peer knows that this end went back to the socket, no more descriptors come over the
    /// line; until then those that come are sent back.
    pub(super) fn finish_giving_back(&self) {
        let rx = &self.state.rx;
        if rx.giving_back.load(Relaxed) == 0 {
            return;
        }
        // In this order: the state, then the last messages (SYNC POINT: close).
        let over = self.line().is_none_or(|segment| segment.rx.opening().0 == CLOSED) || !self.line_alive();
        self.attend_awake();
        if self.return_batches() && over {
            rx.giving_back.store(0, Relaxed);
        }
    }

    /// Sends back descriptors whose bytes the peer takes back. False if its queue is full: it rings
    /// when it has space and misses some.
    fn return_batches(&self) -> bool {
        let mut mail = locked(&self.mail);
        while let Some(batch) = mail.batches.front() {
            let descriptors: Vec<_> = batch.descriptors.iter().map(AsFd::as_fd).collect();
            let sent = line::return_batch(self.line_socket().as_fd(), batch.at, batch.len, &descriptors);
            if sent.is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock) {
                return false;
            }
            mail.batches.pop_front();
        }
        self.batches_waiting.store(0, Relaxed);
        true
    }

    /// The reader wants the rest on the socket. Called with the sending lock held.
    pub(super) fn begin_returning(&self, fd: BorrowedFd<'_>) -> Result<(), Errno> {
        let tx = &self.state.tx;
        if let Some(segment) = self.line() {
            let mut cursor = tx.cursor();
            segment.tx.unread(&mut cursor).map_err(|what| self.condemn(fd, what))?;
            tx.keep(&cursor);
            tx.returning_from.store(cursor.head_seen, Relaxed);
            if segment.tx.reader_gave_back() {
                // Tells the reader that nothing more comes over the line.
                segment.tx.close();
                self.ring_bell();
            }
            self.attend_awake();
        }
        tx.mode.store(mode::RETURNING, Relaxed);
        Ok(())
    }

    /// Puts bytes taken back out of the ring on the socket; true when all are there. Called with the
    /// sending lock held.
    pub(super) fn finish_returning(&self, fd: BorrowedFd<'_>) -> Result<bool, Errno> {
        let tx = &self.state.tx;
        let Some(segment) = self.line() else {
            tx.mode.store(mode::AFTER, Relaxed);
            return Ok(true);
        };
        let _change = Change::begin(&tx.unfinished);
        let cursor = tx.cursor();
        // Not on the stack, of which each send that gets here has need.
        let mut buffer = vec![0u8; 16 * 1024];
        tx.owed.store(0, Relaxed);
        loop {
            let from = tx.returning_from.load(Relaxed);
            let left = cursor.tail.wrapping_sub(from);
            if left == 0 {
                // All is with the kernel, which knows what is left unread from here on.
                self.state.rx.reset_told.store(1, Relaxed);
                tx.mode.store(mode::AFTER, Relaxed);
                return Ok(true);
            }
            let mut n = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let mut mail = locked(&self.mail);
            while mail.returned.front().is_some_and(|p| p.at < from) {
                mail.returned.pop_front();
            }
            while mail.placed.front().is_some_and(|at| *at < from) {
                mail.placed.pop_front();
            }
            let back = mail.returned.front().map(|p| p.at);
            match mail.placed.front().copied() {
                // On its way back: the reader sends it when it hears of this.
                Some(at) if at == from && back != Some(at) && self.line_alive() => {
                    drop(mail);
                    self.attend_awake();
                    if locked(&self.mail).returned.front().is_some_and(|p| p.at == at) || !self.line_alive() {
                        continue;
                    }
                    tx.owed.store(1, Relaxed);
                    self.ring_bell();
                    return Ok(false);
                }
                Some(at) if at > from => n = n.min(usize::try_from(at - from).unwrap_or(usize::MAX)),
                _ => {}
            }
            // A batch goes with its first byte, and the bytes before it in a message of their own.
            let batch = match mail.returned.front() {
                Some(batch) if batch.at == from => mail.returned.pop_front(),
                Some(batch) => {
                    n = n.min(usize::try_from(batch.at - from).unwrap_or(usize::MAX));
                    None
                }
                None => None,
            };
            if let Some(batch) = &batch {
                n = n.min(usize::try_from(batch.len.max(1)).unwrap_or(usize::MAX));
            }
            segment.tx.recall(&cursor, from, &mut buffer[..n]);
            let descriptors: Vec<_> = batch.iter().flat_map(|p| p.descriptors.iter().map(AsFd::as_fd)).collect();
            match send_socket(fd, &[IoSlice::new(&buffer[..n])], &descriptors) {
                Ok(sent) => tx.returning_from.store(from + sent as u64, Relaxed),
                Err(Errno::AGAIN) => {
                    if let Some(batch) = batch {
                        mail.returned.push_front(batch);
                    }
                    return Ok(false);
                }
                Err(error) => {
                    // Nobody is left to read them.
                    tx.mode.store(mode::AFTER, Relaxed);
                    return Err(error);
                }
            }
        }
    }
}
