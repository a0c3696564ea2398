//! A ring of bytes with one writing end and one reading end, in memory that both can write.
//!
//! Positions in the stream are 64-bit counts of bytes that never wrap in practice. Neither end trusts the other: each keeps its
//! own cursor in private memory ([`TxCursor`], [`RxCursor`]), stores it into the segment for the other to see, and checks what
//! it loads from there. The words W1 to R6 are the steps of `docs/ring-abi.md`.
//!
//! A `Ring` does no waiting: it says whether the peer must be woken, and the caller owns the bell.

mod beside;
mod control;
mod doorbell;

pub use crate::cursor::{RxCursor, TxCursor};
use crate::{
    Corrupt,
    sync::{Bytes, FutexWord, Ordering, Shared, full_fence},
};
pub use control::{CLOSED, DOORBELL, FUTEX_ROOM, FUTEX_WAIT, OPEN, RingControl, SLEEPS, TIMED_WAIT, UNOPENED};
pub use doorbell::Bell;

/// A writer that finds the ring empty begins again at the front of the area once it is this far
/// in, so that light traffic touches little memory and stays in cache.
const REWIND: u64 = 16 * 1024;

/// So many bytes at once are no light traffic. They don't begin at the front again if the reader uses another processor: what it has just taken lies in its
/// cache, and writing there takes twice as long as where it has not been for a while.
const BULK: usize = 16 * 1024;

/// A ring that has carried its area so often gets memory for all of it: to find and to map that costs as much as it saves in so many rounds.
const ROUNDS: u64 = 4;

/// Bytes at the front of the area whose memory is there from the beginning: what light traffic needs.
pub(crate) const FRONT: u64 = REWIND + 4096;

/// The bytes of a cache line.
const LINE: u64 = 64;

/// More memory is asked for in steps of so many bytes.
const STEP: u64 = 32 * 1024;

/// One direction of a line.
#[derive(Debug, Clone)]
pub struct Ring {
    control: Shared<RingControl>,
    bytes: Bytes,
    /// How far into the area the writer begins again at its front.
    rewind: u64,
}

impl Ring {
    /// A ring over its control words and its area, whose front has memory.
    pub fn new(control: Shared<RingControl>, bytes: Bytes) -> Self {
        let rewind = REWIND.min(bytes.size() as u64 / 2);
        Self { control, bytes, rewind }
    }

    /// The size of the area in bytes.
    pub fn size(&self) -> usize {
        self.bytes.size()
    }

    /// The ring over another area.
    #[cfg(not(loom))]
    pub(crate) fn over(&self, bytes: Bytes) -> Self {
        Self::new(self.control.clone(), bytes)
    }

    // The writing end.

    /// Opens the ring: the reader goes on here after `start` bytes of the socket.
    pub fn open(&self, start: u64) {
        self.control.producer.start.store(start, Ordering::Relaxed);
        self.control.producer.state.store(OPEN, Ordering::Release); // SYNC POINT: open
    }

    /// Closes the ring for good: what follows `tail` goes over the socket.
    pub fn close(&self) {
        self.control.producer.state.store(CLOSED, Ordering::Release); // SYNC POINT: close
    }

    /// Bytes that can be written now; loads the reader's cursor only if fewer than `want` are
    /// known to be free (W1). Where the system has no memory for the area but for its front, these are fewer than
    /// there would be.
    ///
    /// # Errors
    /// The reader's cursor is impossible.
    #[inline(always)]
    pub fn free(&self, tx: &mut TxCursor, want: usize) -> Result<usize, Corrupt> {
        let free = self.bytes.size() as u64 - (tx.tail - tx.head_seen);
        if free >= want as u64 && Self::is_ready(tx, want) { Ok(free as usize) } else { self.free_now(tx, want) }
    }

    /// The position up to which it is known that bytes are free and have memory: [`Ring::free`] is not to be asked before a write that ends there. It stays
    /// good: the reader only goes on, memory stays, and a writer that begins at the front again finds more of it ahead.
    pub fn known_free(&self, tx: &TxCursor) -> u64 {
        (tx.head_seen + self.bytes.size() as u64).min(tx.base.saturating_add(tx.ready))
    }

    /// Whether it is known that there is memory for the next `want` bytes.
    #[inline(always)]
    fn is_ready(tx: &TxCursor, want: usize) -> bool {
        tx.tail.wrapping_sub(tx.base).wrapping_add(want as u64) <= tx.ready
    }

    /// As [`Ring::free`], when fewer than `want` bytes are known to be free.
    #[cold]
    #[inline(never)]
    fn free_now(&self, tx: &mut TxCursor, want: usize) -> Result<usize, Corrupt> {
        let size = self.bytes.size() as u64;
        if size - (tx.tail - tx.head_seen) < want as u64 {
            self.refresh_head(tx)?;
        }
        if !Self::is_ready(tx, want) {
            return self.grow(tx, want as u64);
        }
        Ok((size - (tx.tail - tx.head_seen)) as usize)
    }

    /// As [`Ring::free`], when the bytes may lie where the area has no memory yet.
    fn grow(&self, tx: &mut TxCursor, want: u64) -> Result<usize, Corrupt> {
        let size = self.bytes.size() as u64;
        let mut at = tx.tail.wrapping_sub(tx.base);
        if at >= self.rewind {
            self.refresh_head(tx)?;
            // The next bytes go to the front.
            at = if tx.is_empty() { 0 } else { at };
        }
        let space = size - (tx.tail - tx.head_seen);
        let end = at.saturating_add(want.min(space)).min(size);
        tx.ready = tx.ready.max(if size > FRONT { FRONT } else { u64::MAX });
        if end > tx.ready {
            let most = end.next_multiple_of(STEP).min(size);
            match [most, end].into_iter().find(|end| self.bytes.populate(*end as usize)) {
                Some(end) if end == size => tx.ready = u64::MAX,
                Some(end) => tx.ready = end,
                // Whether the reader will make space is to be known.
                None => self.refresh_head(tx)?,
            }
        }
        Ok(space.min(tx.ready.saturating_sub(at)) as usize)
    }

    /// Loads and checks the reader's cursor; the bytes not yet consumed.
    ///
    /// # Errors
    /// The reader's cursor is impossible.
    pub fn unread(&self, tx: &mut TxCursor) -> Result<u64, Corrupt> {
        self.refresh_head(tx)?;
        Ok(tx.tail - tx.head_seen)
    }

    #[cold]
    fn refresh_head(&self, tx: &mut TxCursor) -> Result<(), Corrupt> {
        let head = self.control.consumer.head.load(Ordering::Acquire); // W1, SYNC POINT: release
        if tx.tail.wrapping_sub(head) > tx.tail.wrapping_sub(tx.head_seen) {
            return Err(Corrupt { what: "read cursor" });
        }
        tx.head_seen = head;
        Ok(())
    }

    /// Before the first byte of a write of `n`, in one part or several, is [appended](Ring::append): it may go to the front. The caller asked
    /// [`Ring::free`] for the space. `is_near`: the reader uses this processor, whose caches have what it has just taken.
    ///
    /// # Errors
    /// The reader's cursor is impossible.
    pub fn begin(&self, tx: &mut TxCursor, n: usize, is_near: impl FnOnce() -> bool) -> Result<(), Corrupt> {
        if n < BULK || is_near() || !self.has_all_memory(tx) { self.rewind(tx) } else { Ok(()) }
    }

    /// Whether there is memory for the whole area, which this asks for if that pays.
    fn has_all_memory(&self, tx: &mut TxCursor) -> bool {
        let size = self.bytes.size();
        if tx.ready != u64::MAX && tx.tail >= tx.asks_at.max(ROUNDS * size as u64) {
            if self.bytes.populate(size) {
                tx.ready = u64::MAX;
            } else {
                // To find that out costs the kernel a walk over all of it.
                tx.asks_at = 2 * tx.tail;
            }
        }
        tx.ready == u64::MAX
    }

    /// Copies `from` behind `tail` (W2), as a write of its own.
    ///
    /// # Errors
    /// As [`Ring::begin`].
    pub fn fill(&self, tx: &mut TxCursor, from: &[u8]) -> Result<(), Corrupt> {
        self.begin(tx, from.len(), || false)?;
        self.append(tx, from);
        Ok(())
    }

    /// As [`Ring::fill`], behind what was filled in and is not visible yet: the two lie one behind the other, whatever the reader's cursor says.
    pub fn append(&self, tx: &mut TxCursor, from: &[u8]) {
        self.bytes.copy_in(tx.tail.wrapping_sub(tx.base), from);
        tx.tail += from.len() as u64;
    }

    /// As [`Ring::fill`], for words, more of them, and what follows these, with `pad` zeroes behind it: fewer than a word has, which they fill up.
    ///
    /// # Errors
    /// The reader's cursor is impossible.
    #[inline(always)]
    pub fn fill_headed<const N: usize>(
        &self,
        tx: &mut TxCursor,
        head: [u64; N],
        words: &[u64],
        rest: &[u8],
        pad: usize,
    ) -> Result<(), Corrupt> {
        self.rewind(tx)?;
        let mut at = tx.tail.wrapping_sub(tx.base);
        let len = (size_of_val(&head) + size_of_val(words) + rest.len() + pad) as u64;
        if pad > 0 {
            self.bytes.store(at + len - 8, [0]); // what comes before them is written over
        }
        self.bytes.store(at, head);
        at += size_of_val(&head) as u64;
        for word in words {
            self.bytes.store(at, [*word]);
            at += 8;
        }
        if !rest.is_empty() {
            self.bytes.copy_in(at, rest);
        }
        tx.tail += len;
        Ok(())
    }

    /// Begins at the front of the area again if the ring is empty and light traffic has come far enough.
    #[inline(always)]
    fn rewind(&self, tx: &mut TxCursor) -> Result<(), Corrupt> {
        if tx.tail.wrapping_sub(tx.base) >= self.rewind { self.rewind_if_empty(tx) } else { Ok(()) }
    }

    #[cold]
    fn rewind_if_empty(&self, tx: &mut TxCursor) -> Result<(), Corrupt> {
        if tx.head_seen != tx.tail {
            self.refresh_head(tx)?;
        }
        if tx.head_seen == tx.tail {
            tx.base = tx.tail;
            self.control.producer.base.store(tx.base, Ordering::Relaxed); // ordered by W3
        }
        Ok(())
    }

    /// The words that were written at a position, which lies there still.
    #[inline]
    pub fn recall_words<const N: usize>(&self, tx: &TxCursor, from: u64) -> [u64; N] {
        self.bytes.load(from.wrapping_sub(tx.base))
    }

    /// Copies bytes that were written but not read back out, for a stream that returns to its socket.
    pub fn recall(&self, tx: &TxCursor, from: u64, to: &mut [u8]) {
        self.bytes.copy_out(from.wrapping_sub(tx.base), to);
    }

    /// Makes all that was filled in visible (W3).
    #[inline]
    pub fn publish(&self, tx: &TxCursor) {
        self.control.producer.tail.store(tx.tail, Ordering::Release); // W3, SYNC POINT: publish
    }

    /// The bell of the reader's that the caller must ring for what it published (W4, W5). At most one
    /// caller is told so for each time the reader armed its flag.
    pub fn take_sleeping_reader(&self) -> Option<Bell> {
        full_fence(); // W4: orders W3 before W5; paired with R3
        let waits = &self.control.reader.waits;
        if matches!(waits.load(Ordering::Relaxed), SLEEPS | DOORBELL) { doorbell::lower(waits) } else { None } // W5
    }

    /// As [`Ring::take_sleeping_reader`], for readers that may wait on the word: those are woken here.
    #[inline]
    pub fn wake_reader(&self) -> bool {
        full_fence(); // W4
        Self::wake(&self.control.reader.waits)
    }

    /// Wakes what waits on the word `waits`; whether the caller must ring a bell instead (W5).
    #[inline]
    fn wake(waits: &FutexWord) -> bool {
        let flag = waits.load(Ordering::Relaxed);
        flag != 0 && Self::wake_up(waits, flag)
    }

    #[cold]
    fn wake_up(waits: &FutexWord, flag: u32) -> bool {
        if flag == TIMED_WAIT {
            return false;
        }
        let flag = waits.swap(0, Ordering::Relaxed);
        if flag >= FUTEX_WAIT {
            waits.wake_all();
        }
        flag == SLEEPS
    }

    /// Whether the reader sleeps until the line's socket stirs. A look only.
    pub fn is_reader_asleep(&self) -> bool {
        self.control.reader.waits.load(Ordering::Relaxed) == SLEEPS
    }

    /// Whether the reader is in a timed wait. A look only.
    pub fn is_reader_timed(&self) -> bool {
        self.control.reader.waits.load(Ordering::Relaxed) == TIMED_WAIT
    }

    /// Whether the caller must ring the bell of a reader in a timed wait (W8): half of the ring is full.
    ///
    /// # Errors
    /// The reader's cursor is impossible.
    pub fn take_overfed_reader(&self, tx: &mut TxCursor) -> Result<bool, Corrupt> {
        Ok(self.is_reader_timed() && self.unread(tx)? >= self.bytes.size() as u64 / 2 && self.take_timed_reader())
    }

    /// Whether the caller, which is about to wait itself, must ring the bell of a reader in a timed wait (W9).
    pub fn take_timed_reader(&self) -> bool {
        self.is_reader_timed() && self.control.reader.waits.swap(0, Ordering::Relaxed) != 0
    }

    /// Arms the writer's flag: the reader rings when there is space (W6). The caller must look
    /// again before it sleeps.
    pub fn arm_writer(&self) {
        self.control.writer.waits.swap(SLEEPS, Ordering::Relaxed); // as in R3
        full_fence(); // W7: orders W6 before the second look; paired with R5
    }

    /// Arms the writer's flag (W6) for a writer that will wait on [`Ring::writer_word`] while it is [`FUTEX_WAIT`].
    pub fn arm_writer_on_futex(&self) {
        self.control.writer.waits.swap(FUTEX_WAIT, Ordering::Relaxed);
        full_fence(); // W7
    }

    /// Arms the writer's flag (W6) for a writer that will wait on [`Ring::writer_word`] while it is what this gives: until `room` bytes are free, or
    /// anything else happens. Where another thread of this end waits for less already, the flag stays.
    pub fn arm_writer_for_room(&self, room: usize) -> u32 {
        let (word, room) = (&self.control.writer.waits, (room.min(self.size()) as u32).max(FUTEX_ROOM));
        let mut flag = word.load(Ordering::Relaxed);
        while flag == 0 || flag > room {
            match word.compare_exchange(flag, room, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => flag = room,
                Err(other) => flag = other,
            }
        }
        full_fence(); // W7
        flag
    }

    /// Whether so many bytes are free behind `tail`, by the reader's cursor as it is now, unchecked. It may be further: another thread of this end has
    /// written more meanwhile.
    pub fn has_room(&self, tail: u64, room: usize) -> bool {
        let (used, size) = (tail.wrapping_sub(self.head_mark()), self.size() as u64);
        used > size || used + room as u64 <= size
    }

    /// The futex that a writer waits on.
    pub fn writer_word(&self) -> &FutexWord {
        &self.control.writer.waits
    }

    // The reading end.

    /// The writer's state, and the bytes it sent over the socket before it opened the ring.
    pub fn opening(&self) -> (u32, u64) {
        let state = self.control.producer.state.load(Ordering::Acquire); // SYNC POINT: open, close
        (state, self.control.producer.start.load(Ordering::Relaxed))
    }

    /// Bytes that can be read now; loads the writer's cursor only if none are known (R1).
    ///
    /// # Errors
    /// The writer's cursor is impossible.
    #[inline]
    pub fn available(&self, rx: &mut RxCursor) -> Result<usize, Corrupt> {
        let known = rx.tail_seen - rx.head;
        if known > 0 { Ok(known as usize) } else { self.refresh_tail(rx) }
    }

    /// Bytes that can be read now, by the writer's cursor as it is (R1).
    ///
    /// # Errors
    /// The writer's cursor is impossible.
    #[inline(always)]
    pub fn refresh_tail(&self, rx: &mut RxCursor) -> Result<usize, Corrupt> {
        let RxCursor { head, tail_seen, .. } = *rx;
        let tail = self.control.producer.tail.load(Ordering::Acquire); // R1, SYNC POINT: publish
        if tail == tail_seen {
            return Ok((tail - head) as usize);
        }
        let used = tail.wrapping_sub(head);
        if used > self.bytes.size() as u64 || used < tail_seen - head {
            return Err(Corrupt { what: "write cursor" });
        }
        rx.tail_seen = tail;
        // A correct writer moves `base` only while the ring is empty, so one value holds for
        // all of head..tail. From a hostile one any value is good: offsets are masked.
        rx.base = self.control.producer.base.load(Ordering::Relaxed);
        Ok(used as usize)
    }

    /// Whether bytes lie there unread. A look only: nothing is taken over (R1).
    #[inline]
    pub fn readable(&self, head: u64) -> bool {
        self.control.producer.tail.load(Ordering::Acquire) != head
    }

    /// As [`Ring::readable`], for a reader that looks again and again. It also reads where the next bytes will lie if it has taken
    /// all that is there, as far as the `last` bytes went, so that the cache lines of a short message come together with that of `tail`, and not after it.
    #[inline(always)]
    pub fn stirs(&self, head: u64, base: u64, last: u64) -> bool {
        let at = head.wrapping_sub(base);
        let at = if at < self.rewind { at } else { 0 };
        self.bytes.touch(at);
        if last > LINE {
            self.bytes.touch(at + LINE);
            self.bytes.touch(at + last.min(2 * LINE) - 8);
        }
        self.readable(head)
    }

    /// The writer's cursor as it is now, unchecked: only to tell that something changed.
    pub fn tail_mark(&self) -> u64 {
        self.control.producer.tail.load(Ordering::Acquire)
    }

    /// The reader's cursor as it is now, unchecked: only to tell that something changed.
    pub fn head_mark(&self) -> u64 {
        self.control.consumer.head.load(Ordering::Acquire)
    }

    /// Copies out the bytes that lie `skip` behind `head` (R2). The caller asked [`Ring::available`].
    #[inline]
    pub fn peek(&self, rx: &RxCursor, skip: u64, to: &mut [u8]) {
        self.bytes.copy_out(rx.head.wrapping_add(skip).wrapping_sub(rx.base), to);
    }

    /// As [`Ring::peek`] at `head`, for words.
    #[inline(always)]
    pub fn peek_words<const N: usize>(&self, rx: &RxCursor) -> [u64; N] {
        self.bytes.load(rx.head.wrapping_sub(rx.base))
    }

    /// Consumes `n` bytes and shows it to the writer (R4).
    #[inline]
    pub fn release(&self, rx: &mut RxCursor, n: usize) {
        rx.head += n as u64;
        rx.last = n as u64;
        self.show(rx);
    }

    /// Shows the writer what was consumed (R4).
    #[inline]
    pub fn show(&self, rx: &RxCursor) {
        self.control.consumer.head.store(rx.head, Ordering::Release); // R4, SYNC POINT: release
    }

    /// The bell of the writer's that the caller must ring for the space it made (R5, R6). The bell waits
    /// until half of the ring is free, so that a full ring isn't refilled byte by byte.
    pub fn take_sleeping_writer(&self, rx: &RxCursor) -> Option<Bell> {
        full_fence(); // R5: orders R4 before R6; paired with W7
        if self.control.writer.waits.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let tail = self.control.producer.tail.load(Ordering::Relaxed);
        if self.writable(tail.wrapping_sub(rx.head)) { doorbell::lower(&self.control.writer.waits) } else { None } // R6
    }

    /// Wakes a writer that waits for anything the reader did (R5, R6): space, or a message taken. Whether
    /// the caller must ring its bell instead.
    #[inline]
    pub fn wake_writer(&self) -> bool {
        full_fence(); // R5
        Self::wake(&self.control.writer.waits)
    }

    /// As [`Ring::wake_writer`], of a reader that made space and nothing else: a writer that waits for more of it sleeps on.
    #[inline(always)]
    pub fn wake_writer_for_room(&self, rx: &RxCursor) -> bool {
        full_fence(); // R5
        let flag = self.control.writer.waits.load(Ordering::Relaxed);
        flag != 0 && self.wake_for_room(rx, flag)
    }

    #[cold]
    fn wake_for_room(&self, rx: &RxCursor, flag: u32) -> bool {
        // A tail that is behind the writer's is of what another thread of its end has written since: then it is woken too early.
        let tail = self.control.producer.tail.load(Ordering::Relaxed);
        let waits_on = flag >= FUTEX_ROOM && tail.wrapping_sub(rx.head).saturating_add(flag.into()) > self.bytes.size() as u64;
        !waits_on && Self::wake_up(&self.control.writer.waits, flag)
    }

    /// Whether a ring that holds `used` bytes counts as writable for one that found it full.
    pub fn writable(&self, used: u64) -> bool {
        let size = self.bytes.size() as u64;
        size.saturating_sub(used) >= size / 2
    }

    /// Arms the reader's flag (R3): the writer rings for the next byte. The caller must look
    /// again before it sleeps.
    pub fn arm_reader(&self) {
        // A swap, so that its place after whatever lowered the flag is certain in the model too.
        self.control.reader.waits.swap(SLEEPS, Ordering::Relaxed);
        full_fence(); // R3: orders the flag before the second look; paired with W4
    }

    /// Arms the reader's flag (R3) for a reader that will wait on [`Ring::reader_word`] while it is [`FUTEX_WAIT`].
    pub fn arm_reader_on_futex(&self) {
        self.control.reader.waits.swap(FUTEX_WAIT, Ordering::Relaxed);
        full_fence(); // R3
    }

    /// The futex that a reader waits on.
    pub fn reader_word(&self) -> &FutexWord {
        &self.control.reader.waits
    }

    /// Wakes the readers of this very end that wait on the word: something happened that the writer doesn't know of.
    ///
    /// Whatever the flag says: a peer that was killed may have lowered it and woken nobody.
    pub fn rouse_reader(&self) {
        if self.control.reader.waits.load(Ordering::Relaxed) == FUTEX_WAIT {
            self.control.reader.waits.swap(0, Ordering::Relaxed);
        }
        self.control.reader.waits.wake_all();
    }

    /// Arms the reader's flag for a timed wait (R7), which ends by itself soon, unless it is up for a thread
    /// that sleeps. The caller must look again before it waits.
    pub fn arm_timed_reader(&self) {
        let _ = self.control.reader.waits.compare_exchange(0, TIMED_WAIT, Ordering::Relaxed, Ordering::Relaxed);
        full_fence(); // R7: as R3
    }

    /// Whether the reader's flag is still up: nobody was told to ring since it was armed.
    pub fn reader_armed(&self) -> bool {
        self.control.reader.waits.load(Ordering::Relaxed) != 0
    }

    /// Lowers the reader's flag after a timed wait (R7), unless more was asked for meanwhile.
    pub fn disarm_timed_reader(&self) {
        let _ = self.control.reader.waits.compare_exchange(TIMED_WAIT, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Lowers the reader's flag: it is awake and will look by itself.
    #[inline]
    pub fn disarm_reader(&self) {
        if self.control.reader.waits.load(Ordering::Relaxed) != 0 {
            self.control.reader.waits.store(0, Ordering::Relaxed);
        }
    }
}
