//! Receiving: from the socket before the ring opens, from the ring, from the socket after it closed.

use super::{
    OUTPUT, Stream, coarse_now,
    lying::get_up_at_last,
    mode,
    send::{BY_BELL, piece},
    state::{Change, add},
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recv, recvmsg, sockopt::socket_error},
};
use slipway_fabric::{
    ring::{CLOSED, RxCursor, UNOPENED},
    segment::Segment,
    sync::Ordering::Relaxed,
};
use std::{
    io::IoSliceMut,
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

/// A program that polls by reading alone learns of the death of a peer that could not tell within this time, in nanoseconds of the
/// coarse clock; one that polls otherwise learns at once.
const STALE: u64 = 1_000_000;

/// The most bytes of a turn in company. A program that has room for more in one read takes that much at once, and its read is not cut short: shorter
/// reads would cost the program more calls.
pub const MOST_IN_A_TURN: usize = 16 * 1024;

/// How to receive.
#[derive(Debug, Clone, Copy, Default)]
pub struct How {
    /// MSG_PEEK: leave the bytes where they are.
    pub peek: bool,
    /// The caller has a buffer for descriptors; without it they are closed, as the kernel does.
    pub descriptors: bool,
    /// The caller is told of bytes alone, not whether descriptors were dropped.
    pub bare: bool,
}

/// What was received.
#[derive(Debug, Default)]
pub struct Received {
    /// Bytes; 0 at the end of the stream (or for an empty buffer).
    pub bytes: usize,
    /// Descriptors that came with them, close-on-exec.
    pub descriptors: Vec<OwnedFd>,
    /// Descriptors came that the caller had no buffer for.
    pub dropped: bool,
}

impl Stream {
    /// Receives what is there without blocking; `WOULDBLOCK` (AGAIN) if nothing is.
    pub fn receive(&self, fd: BorrowedFd<'_>, to: &mut [IoSliceMut<'_>], how: How) -> Result<Received, Errno> {
        if let Some(end) = self.port() {
            return self.receive_message(end, fd, to, how);
        }
        if !how.peek
            && self.is_quiet()
            && let Some(result) = self.receive_quietly(fd, to, how)
        {
            return result;
        }
        let was_cut_short = self.was_cut_short();
        let result = if self.is_empty() { Err(Errno::AGAIN) } else { self.receive_locked(fd, to, how) };
        if self.was_cut_short() && !was_cut_short && self.in_sets.load(Relaxed) != 0 {
            // A set that rests by now, in another thread or as its program read on later, is to report what is left.
            self.alert_sets();
        }
        self.tell_sets();
        self.rouse_the_late(fd);
        result
    }

    /// All that a receive is before there is a line: the kernel's, counted. None: another thread has just got one.
    fn receive_quietly(&self, fd: BorrowedFd<'_>, to: &mut [IoSliceMut<'_>], how: How) -> Option<Result<Received, Errno>> {
        let rx = &self.state.rx;
        let guard = self.lock_receiving(Some(fd));
        if !self.is_quiet() {
            return None;
        }
        let change = Change::begin(&rx.unfinished);
        let result = receive_simply(fd, to, how);
        let bytes = self.count_quietly(result.as_ref().map_or_else(|error| Err(*error), |got| Ok(got.bytes)));
        drop(change);
        if let Some(bytes) = bytes {
            self.count_use(fd, bytes);
            if !self.is_quiet() {
                drop(guard);
                self.tell_sets();
            }
        }
        Some(result)
    }

    /// As [`Stream::receive_quietly`] where the call waits, of bytes alone: `wait` is the kernel's whole call. Until its bytes are counted the thread counts as a
    /// sleeper, so that no other gets the line. Nobody waits with the lock held.
    pub fn receive_waiting(
        &self,
        fd: BorrowedFd<'_>,
        wait: impl FnOnce() -> Result<usize, Errno>,
    ) -> Option<Result<usize, Errno>> {
        // An address in the frame of this wait.
        let frame = (&raw const wait).addr();
        get_up_at_last(frame);
        let mut lying = self.enter_to_count(frame);
        if !self.is_quiet() {
            return None;
        }
        self.note_wait();
        let result = wait();
        let guard = self.lock_receiving(Some(fd));
        let bytes = self.count_quietly(result);
        drop(guard);
        lying.counted();
        lying.get_up(false);
        if let Some(bytes) = bytes {
            self.count_use(fd, bytes);
            self.tell_sets();
        }
        Some(result)
    }

    /// Counts what the kernel has given, with the lock held: so many bytes, if it has given any or the end.
    fn count_quietly(&self, result: Result<usize, Errno>) -> Option<usize> {
        let rx = &self.state.rx;
        match result {
            Ok(bytes) => {
                add(&rx.socket_bytes, bytes as u64);
                add(&self.counts.received, bytes as u64);
                Some(bytes)
            }
            Err(Errno::CONNRESET) => {
                rx.reset_told.store(1, Relaxed);
                None
            }
            Err(_) => None,
        }
    }

    /// Whether a receive finds nothing, as far as can be told at a glance.
    #[inline]
    pub fn finds_nothing(&self, fd: BorrowedFd<'_>) -> bool {
        let nothing = self.port().is_none() && self.is_empty();
        if nothing {
            self.tell_sets();
            self.rouse_the_late(fd);
        }
        nothing
    }

    /// Whether nothing is there, as far as shared memory tells without the lock: programs look once more after each read. Where a process of the
    /// family may have been killed with the lock, its next holder has work to do.
    #[inline]
    fn is_empty(&self) -> bool {
        self.line().is_some_and(|segment| self.has_no_input(segment)) && self.was_asked_lately(coarse_now())
    }

    #[inline]
    fn has_no_input(&self, segment: &Segment) -> bool {
        let (rx, common) = (&self.state.rx, &self.state.common);
        let idle = [&rx.error, &rx.giving_back, &common.line_gone, &common.signals, &common.forked];
        rx.mode.load(Relaxed) == mode::RING
            && !segment.rx.readable(rx.head.load(Relaxed))
            && segment.rx.opening().0 != CLOSED
            && !rx.is_unseen(self.news())
            && idle.iter().all(|word| word.load(Relaxed) == 0)
    }

    /// Whether a look at the stream for `want` would find nothing, neither to report nor to do, as far as can be told at a glance.
    #[inline]
    pub fn is_calm(&self, want: PollFlags) -> bool {
        let sends = |segment: &Segment| self.state.tx.mode.load(Relaxed) == mode::RING && !segment.tx.reader_gave_back();
        !want.intersects(OUTPUT)
            && self.late_sleepers.load(Relaxed) != 1
            && self.line().is_some_and(|segment| self.has_no_input(segment) && sends(segment))
    }

    /// Whether the kernel need not be asked at `time` what became of the peer: it was, or a bell of its has just rung.
    fn was_asked_lately(&self, time: u64) -> bool {
        let rx = &self.state.rx;
        let looked = time.saturating_sub(rx.looked_at.load(Relaxed));
        looked < STALE || (looked < BY_BELL && self.has_heard_lately(time))
    }

    /// Whether a bell of the peer's has just rung.
    pub(super) fn has_heard_lately(&self, time: u64) -> bool {
        time.saturating_sub(self.state.rx.heard_at.load(Relaxed)) < STALE
    }

    fn receive_locked(&self, fd: BorrowedFd<'_>, to: &mut [IoSliceMut<'_>], how: How) -> Result<Received, Errno> {
        let rx = &self.state.rx;
        self.drain_signals();
        let _guard = self.lock_receiving(Some(fd));
        self.settle();
        self.finish_giving_back();
        let mut got = self.receive_once(fd, to, how).inspect_err(|error| {
            if *error == Errno::CONNRESET {
                rx.reset_told.store(1, Relaxed);
            }
        })?;
        if how.peek {
            self.peek_behind(to, &mut got);
        } else {
            if self.at_seam(to, &got) {
                self.receive_behind(fd, to, how, &mut got);
            }
            add(&self.counts.received, got.bytes as u64);
            self.count_use(fd, got.bytes);
        }
        if got.bytes == 0 && got.descriptors.is_empty() && self.drained(fd) && self.reports_reset(fd) {
            return Err(Errno::CONNRESET);
        }
        Ok(got)
    }

    fn receive_once(&self, fd: BorrowedFd<'_>, to: &mut [IoSliceMut<'_>], how: How) -> Result<Received, Errno> {
        loop {
            match self.state.rx.mode.load(Relaxed) {
                mode::RING => {
                    if let Some(got) = self.receive_ring(fd, to, how)? {
                        return Ok(got);
                    }
                }
                mode::BEFORE => {
                    if let Some(got) = self.receive_before(fd, to, how)? {
                        return Ok(got);
                    }
                }
                _ => return receive_socket(fd, to, usize::MAX, how),
            }
        }
    }

    /// Whether a read ended only because the stream goes on elsewhere, in the ring or on the socket.
    fn at_seam(&self, to: &[IoSliceMut<'_>], got: &Received) -> bool {
        let want: usize = to.iter().map(|slice| slice.len()).sum();
        let Some(segment) = self.line().filter(|_| got.bytes != 0 && got.bytes < want) else { return false };
        let (state, _) = segment.rx.opening();
        let moves = match self.state.rx.mode.load(Relaxed) {
            mode::BEFORE => state != UNOPENED,
            mode::RING => state == CLOSED,
            _ => false,
        };
        moves && got.descriptors.is_empty() && !got.dropped
    }

    /// Adds to a read what lies behind the seam that it met.
    #[cold]
    fn receive_behind(&self, fd: BorrowedFd<'_>, to: &mut [IoSliceMut<'_>], how: How, got: &mut Received) {
        // Only where bytes are known to be: an error or the end is for the next read.
        let there = || {
            let head = self.state.rx.head.load(Relaxed);
            self.line().is_some_and(|s| s.rx.readable(head)) || rustix::io::ioctl_fionread(fd).is_ok_and(|n| n > 0)
        };
        while self.at_seam(to, got) && there() {
            let mut skip = got.bytes;
            let mut rest: Vec<IoSliceMut<'_>> = Vec::with_capacity(to.len());
            for slice in to.iter_mut() {
                let n = slice.len().min(skip);
                skip -= n;
                rest.push(IoSliceMut::new(&mut slice[n..]));
            }
            match self.receive_once(fd, &mut rest, how) {
                Ok(more) if more.bytes > 0 => {
                    got.bytes += more.bytes;
                    got.descriptors = more.descriptors;
                    got.dropped = more.dropped;
                }
                _ => break,
            }
        }
    }

    /// Adds to a look at the last bytes of the socket those at the beginning of the ring, if no descriptors end it there.
    fn peek_behind(&self, to: &mut [IoSliceMut<'_>], got: &mut Received) {
        let rx = &self.state.rx;
        let Some(segment) = self.line().filter(|_| rx.mode.load(Relaxed) == mode::BEFORE && self.at_seam(to, got)) else {
            return;
        };
        let descriptors = rx.batches_taken.load(Relaxed) != segment.rx.attachments() || self.batches_waiting.load(Relaxed) != 0;
        if descriptors || segment.rx.opening().1 != rx.socket_bytes.load(Relaxed) + got.bytes as u64 {
            return;
        }
        let mut cursor = rx.cursor();
        let mut left = segment.rx.refresh_tail(&mut cursor).unwrap_or(0);
        let (mut skip, mut seen) = (got.bytes, 0);
        for slice in to.iter_mut() {
            let begin = slice.len().min(skip);
            skip -= begin;
            let end = slice.len().min(begin + left);
            segment.rx.peek(&cursor, seen, &mut slice[begin..end]);
            seen += (end - begin) as u64;
            left -= end - begin;
        }
        got.bytes += seen as usize;
    }

    /// On the socket before the ring. None: the mode has changed, try again.
    fn receive_before(&self, fd: BorrowedFd<'_>, to: &mut [IoSliceMut<'_>], how: How) -> Result<Option<Received>, Errno> {
        let rx = &self.state.rx;
        let _change = Change::begin(&rx.unfinished);
        let Some(segment) = self.line() else {
            let got = receive_simply(fd, to, how)?;
            if !how.peek {
                add(&rx.socket_bytes, got.bytes as u64);
            }
            return Ok(Some(got));
        };
        let so_far = rx.socket_bytes.load(Relaxed);
        let (state, start) = segment.rx.opening();
        let limit = if state == UNOPENED {
            // Bytes that are there while the ring is still unopened come before it. Bytes that
            // arrive later may come after it closed again, so no more than these are taken.
            let there = peek_length(fd, to);
            if segment.rx.opening().0 != UNOPENED {
                return Ok(None);
            }
            there?
        } else if start == so_far {
            rx.mode.store(mode::RING, Relaxed);
            return Ok(None);
        } else if start < so_far {
            return Err(self.condemn(fd, slipway_fabric::Corrupt { what: "start of the ring" }));
        } else {
            usize::try_from(start - so_far).unwrap_or(usize::MAX)
        };
        let got = receive_socket(fd, to, limit, how)?;
        if !how.peek {
            add(&rx.socket_bytes, got.bytes as u64);
        }
        Ok(Some(got))
    }

    /// In the ring. None: the mode has changed, try again.
    fn receive_ring(&self, fd: BorrowedFd<'_>, to: &mut [IoSliceMut<'_>], how: How) -> Result<Option<Received>, Errno> {
        let rx = &self.state.rx;
        let Some(segment) = self.line() else {
            rx.mode.store(mode::AFTER, Relaxed);
            return Ok(None);
        };
        let want: usize = to.iter().map(|slice| slice.len()).sum();
        let mut cursor = rx.cursor();
        let mut there = segment.rx.available(&mut cursor).map_err(|what| self.condemn(fd, what))?;
        if there < want {
            there = segment.rx.refresh_tail(&mut cursor).map_err(|what| self.condemn(fd, what))?;
        }
        if there == 0 {
            return self.receive_empty(fd, to, how, segment, &mut cursor);
        }
        let allotted = self.allotted.load(Relaxed);
        if allotted == 0 && self.cut_short.swap(1, Relaxed) != 1 {
            // A socket would be empty now and then, and its server look after others. A ring that is
            // filled as fast as it is read never is. A program that asks no set reads on.
            return Err(Errno::AGAIN);
        }
        let is_whole = allotted == 0 || want > MOST_IN_A_TURN;
        let turn = if is_whole { usize::MAX } else { usize::try_from(allotted).unwrap_or(usize::MAX) };
        let mut got = Received { bytes: there.min(want).min(turn), ..Received::default() };
        if rx.batches_taken.load(Relaxed) != segment.rx.attachments() || self.batches_waiting.load(Relaxed) != 0 {
            let _change = Change::begin(&rx.unfinished);
            self.take_batch(fd, segment, &cursor, &mut got, how)?;
        }
        let mut left = got.bytes;
        let mut skip = 0;
        for slice in to.iter_mut() {
            let n = slice.len().min(left);
            left -= n;
            for bytes in slice[..n].chunks_mut(piece(&segment.rx)) {
                segment.rx.peek(&cursor, skip, bytes);
                if how.peek {
                    skip += bytes.len() as u64;
                } else {
                    cursor.head += bytes.len() as u64;
                    rx.keep(&cursor);
                    segment.rx.show(&cursor);
                    self.wake_writer(segment, &cursor);
                }
            }
        }
        if how.peek {
            rx.keep(&cursor);
        } else if allotted != u64::MAX {
            self.allotted.store(allotted.saturating_sub(got.bytes as u64), Relaxed);
            if got.bytes < there.min(want) {
                // A program that is told by edges may take it for the last of what is there.
                self.cut_short.store(2, Relaxed);
            }
        }
        Ok(Some(got))
    }

    /// The ring is empty: the end of the stream, a return to the socket, or nothing yet.
    fn receive_empty(
        &self,
        fd: BorrowedFd<'_>,
        to: &mut [IoSliceMut<'_>],
        how: How,
        segment: &Segment,
        cursor: &mut RxCursor,
    ) -> Result<Option<Received>, Errno> {
        let rx = &self.state.rx;
        // In this order: the state, then the tail once more (SYNC POINT: close).
        let over = segment.rx.opening().0 == CLOSED || !self.line_alive();
        let mut more = || -> Result<bool, Errno> {
            let n = segment.rx.refresh_tail(cursor).map_err(|what| self.condemn(fd, what))?;
            rx.keep(cursor);
            Ok(n > 0)
        };
        if more()? {
            return Ok(None);
        }
        let pending = rx.error.swap(0, Relaxed);
        if pending != 0 {
            return Err(Errno::from_raw_os_error(pending as i32));
        }
        if over {
            rx.mode.store(mode::AFTER, Relaxed);
            return Ok(None);
        }
        let news = self.news();
        let time = coarse_now();
        if !rx.is_unseen(news) && self.was_asked_lately(time) {
            return Err(Errno::AGAIN);
        }
        rx.looked_at.store(time, Relaxed);
        let mut byte = [0u8; 1];
        match recv(fd, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN) => {
                rx.have_seen(news);
                // What came with the hint may have come by the ring.
                if more()? { Ok(None) } else { Err(Errno::AGAIN) }
            }
            Err(error) => {
                if more()? {
                    rx.error.store(error.raw_os_error() as u32, Relaxed);
                    return Ok(None);
                }
                Err(error)
            }
            // The kernel's end of file and its bytes come after all that lies in the ring.
            Ok(_) if more()? || segment.rx.opening().0 == CLOSED => Ok(None),
            Ok((0, _)) => {
                self.note_socket_event();
                Ok(Some(Received::default()))
            }
            // Somebody without hooks writes to the connection beside the ring.
            Ok(_) => receive_socket(fd, to, usize::MAX, how).map(Some),
        }
    }

    /// Whether the peer closed with bytes of ours unread in the ring, of which the program wasn't told.
    /// The kernel knows only what was left unread on the socket.
    pub(super) fn died_unread(&self, fd: BorrowedFd<'_>) -> bool {
        if !self.left_unread() {
            return false;
        }
        // A shutdown looks the same on the connection, and leaves the line.
        let (nothing, line) = (PollFlags::empty(), self.line_socket());
        let mut fds = [PollFd::from_borrowed_fd(fd, nothing), PollFd::from_borrowed_fd(line.as_fd(), nothing)];
        poll(&mut fds, Some(&rustix::time::Timespec::default())).is_ok()
            && fds.iter().all(|fd| fd.revents().contains(PollFlags::HUP))
    }

    /// Whether bytes of ours lie in the ring, of whose loss the program would have to be told.
    pub(super) fn left_unread(&self) -> bool {
        let tx = &self.state.tx;
        self.line().is_some_and(|segment| {
            self.state.rx.reset_told.load(Relaxed) == 0
                && tx.mode.load(Relaxed) != mode::BEFORE
                && !segment.tx.reader_gave_back()
                && segment.tx.unread(&mut tx.cursor()).is_ok_and(|n| n > 0)
        })
    }

    /// What lies in the ring is not watched any more: should the peer close without reading it, the program is not told.
    pub fn watch_no_more(&self) {
        self.state.rx.reset_told.store(1, Relaxed);
    }

    /// Whether the program must be told that the connection was reset, which it is told once.
    pub fn reports_reset(&self, fd: BorrowedFd<'_>) -> bool {
        let reports = self.died_unread(fd);
        if reports {
            self.state.rx.reset_told.store(1, Relaxed);
        }
        reports
    }

    /// The error that the kernel, or the line, has for the program, which is told of it once (SO_ERROR).
    pub fn take_error(&self, fd: BorrowedFd<'_>) -> Option<Errno> {
        // Both are asked: what one tells of a reset, the other doesn't tell again.
        let (told, reset) = (socket_error(fd), self.reports_reset(fd));
        told.ok().and_then(Result::err).or(reset.then_some(Errno::CONNRESET))
    }

    /// Whether all that came has been received: then a reader learns of errors.
    fn drained(&self, fd: BorrowedFd<'_>) -> bool {
        let rx = &self.state.rx;
        let ring = self.line().filter(|_| rx.mode.load(Relaxed) == mode::RING);
        !ring.is_some_and(|s| s.rx.readable(rx.head.load(Relaxed))) && !rustix::io::ioctl_fionread(fd).is_ok_and(|n| n > 0)
    }

    /// Bytes that can be read without blocking (FIONREAD), beside `on_socket`, what the kernel says
    /// of the socket.
    pub fn readable_bytes(&self, on_socket: usize) -> usize {
        if let Some(end) = self.port() {
            end.office().collect();
            return usize::try_from(end.unread()).unwrap_or(usize::MAX);
        }
        let all = self.readable_locked(on_socket);
        self.tell_sets();
        all
    }

    fn readable_locked(&self, on_socket: usize) -> usize {
        let rx = &self.state.rx;
        let _guard = self.lock_receiving(None);
        self.settle();
        match self.line() {
            // Before the ring and after it there may be bytes on the socket too.
            Some(segment) if rx.mode.load(Relaxed) != mode::AFTER => {
                on_socket.saturating_add(segment.rx.refresh_tail(&mut rx.cursor()).unwrap_or(0))
            }
            _ => on_socket,
        }
    }
}

/// How many bytes a receive would give now; 0 at the end of the stream.
fn peek_length(fd: BorrowedFd<'_>, to: &mut [IoSliceMut<'_>]) -> Result<usize, Errno> {
    let mut none = RecvAncillaryBuffer::default();
    Ok(recvmsg(fd, to, &mut none, RecvFlags::PEEK | RecvFlags::DONTWAIT)?.bytes)
}

/// Receives from the socket without blocking, if it can by a call that costs little more than read(2): recvmsg(2) copies a header in and out.
fn receive_simply(fd: BorrowedFd<'_>, to: &mut [IoSliceMut<'_>], how: How) -> Result<Received, Errno> {
    let [to] = to else { return receive_socket(fd, to, usize::MAX, how) };
    if !how.bare {
        return receive_socket(fd, std::slice::from_mut(to), usize::MAX, how);
    }
    let peek = if how.peek { RecvFlags::PEEK } else { RecvFlags::empty() };
    let (bytes, _) = recv(fd, &mut **to, RecvFlags::DONTWAIT | peek)?;
    Ok(Received { bytes, ..Received::default() })
}

/// Receives from the socket, at most `limit` bytes, without blocking.
pub(super) fn receive_socket(fd: BorrowedFd<'_>, to: &mut [IoSliceMut<'_>], limit: usize, how: How) -> Result<Received, Errno> {
    let mut flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    if how.peek {
        flags |= RecvFlags::PEEK;
    }
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(crate::line::MOST_DESCRIPTORS))];
    let mut control = if how.descriptors { RecvAncillaryBuffer::new(&mut space) } else { RecvAncillaryBuffer::default() };
    let result = if to.iter().map(|s| s.len()).sum::<usize>() > limit {
        let mut left = limit;
        let mut fewer: Vec<IoSliceMut<'_>> = Vec::with_capacity(to.len());
        for slice in to.iter_mut() {
            let n = slice.len().min(left);
            left -= n;
            fewer.push(IoSliceMut::new(&mut slice[..n]));
        }
        recvmsg(fd, &mut fewer, &mut control, flags)?
    } else {
        recvmsg(fd, to, &mut control, flags)?
    };
    let mut got = Received { bytes: result.bytes, ..Received::default() };
    got.dropped = result.flags.contains(rustix::net::ReturnFlags::CTRUNC);
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            got.descriptors.extend(fds);
        }
    }
    Ok(got)
}
