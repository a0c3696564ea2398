//! Credit: how many messages each end of a line may send to each *slot* of the other end, and what becomes of
//! them when a slot is closed.
//!
//! Each end writes one [`Table`] and reads the other's. An end *receives* at its own slots: it accepts a message out
//! of the ring into a queue, later the program takes it, which gives the sender credit for another. It *sends* to
//! the slots of the other end. From when a slot is closed on the count of accepted messages is final, and its sender
//! takes back what it sent beyond that count. The slot stays closed until both ends have said, in an order that is not
//! this module's, that they are done with it: then its owner [resets](Credit::reset) it for another use.
//!
//! As with a ring's cursors, each end keeps its own counts in private memory ([`RxCount`], [`TxCount`]) and never reads
//! back what it wrote. Any value that the other end writes is a valid one: it changes that end's own credit only.
//! Slots that are out of range are closed ones, and nothing is written for them.
//!
//! Waiting for credit is the ring's: a sender arms [`Ring::arm_writer`](crate::ring::Ring::arm_writer) and looks
//! once more; a receiver calls [`Ring::wake_writer`](crate::ring::Ring::wake_writer) after each [`Credit::take`],
//! [`Credit::open`] and [`Credit::close`].

use crate::sync::{AtomicU32, Ordering, Shared, full_fence};

/// Slots that each end of a line can have.
pub const SLOTS: usize = if cfg!(loom) { 2 } else { 2048 };

/// The bytes of an end's table.
pub const TABLE: usize = size_of::<Table>();

/// A gate's value when the port is dead, and the slot keeps what belongs to it for another.
const KEPT: u32 = !0 - 2;
/// A gate's value when the port has moved to another process.
const MOVED: u32 = !0 - 1;
/// A gate's value when the port is dead.
const DEAD: u32 = !0;

/// What a sender that ends says of a slot that it has not seen closed.
const LEAVING: u32 = 2;

/// What one end tells the other about slots. Zero is a fresh table.
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
#[repr(C)]
pub struct Table {
    /// For each of the writer's slots: messages received by the program (wraps).
    taken: [AtomicU32; SLOTS],
    /// For each of the writer's slots: messages taken out of the ring (wraps); final once the gate is closed.
    accepted: [AtomicU32; SLOTS],
    /// For each of the writer's slots: the limit plus one (0: the default), [`KEPT`], [`MOVED`] or [`DEAD`].
    gate: [AtomicU32; SLOTS],
    /// For each of the *other end's* slots: 1 once the writer has seen its gate closed; [`LEAVING`] once it won't look again.
    seen: [AtomicU32; SLOTS],
}

// SAFETY: atomics of integers only.
#[cfg(not(loom))]
#[allow(unsafe_code, reason = "declares the layout fit for shared memory")]
unsafe impl crate::sync::Zeroed for Table {}

/// Why a slot takes no more messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// What it stood for is elsewhere now.
    Moved,
    /// What it stood for is gone.
    Dead,
    /// Likewise, and the slot keeps what belongs to it for another use.
    Kept,
}

/// Why a message can't be sent to a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// As many as the limit allows are not taken yet.
    Full,
    /// The slot is closed.
    Closed,
}

/// What the receiving end of a slot has counted. Private to that end.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct RxCount {
    accepted: u32,
    taken: u32,
}

impl RxCount {
    /// Messages that were accepted and not taken.
    #[inline]
    pub fn waiting(&self) -> u32 {
        self.accepted.wrapping_sub(self.taken)
    }
}

/// What the sending end of a slot has counted. Private to that end.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct TxCount {
    sent: u32,
    /// Of those, taken, when last looked.
    taken: u32,
    /// The gate, when last looked, if it was open.
    gate: u32,
    /// The limit by that gate.
    limit: u32,
}

impl TxCount {
    /// Messages sent (wraps).
    #[inline]
    pub fn sent(&self) -> u32 {
        self.sent
    }

    /// Counts a message that was sent.
    #[inline(always)]
    pub fn add(&mut self) {
        self.sent = self.sent.wrapping_add(1);
    }
}

/// One end's view of the two tables of a line.
#[derive(Debug, Clone)]
pub struct Credit {
    ours: Shared<Table>,
    theirs: Shared<Table>,
}

#[inline(always)]
fn load(words: &[AtomicU32; SLOTS], slot: u32) -> Option<u32> {
    words.get(slot as usize).map(|word| word.load(Ordering::Acquire))
}

#[inline(always)]
fn store(words: &[AtomicU32; SLOTS], slot: u32, value: u32, order: Ordering) {
    if let Some(word) = words.get(slot as usize) {
        word.store(value, order);
    }
}

impl Credit {
    /// The view of the end that writes `ours`.
    pub fn new(ours: Shared<Table>, theirs: Shared<Table>) -> Self {
        Self { ours, theirs }
    }

    // The receiving end, of its own slots.

    /// A message has left the ring for a queue. Not of a slot that is closed.
    pub fn accept(&self, slot: u32, count: &mut RxCount) {
        count.accepted = count.accepted.wrapping_add(1);
        store(&self.ours.accepted, slot, count.accepted, Ordering::Release);
    }

    /// A message has left the queue: its sender may send another. The caller wakes the ring's writer.
    #[inline]
    pub fn take(&self, slot: u32, count: &mut RxCount) {
        count.taken = count.taken.wrapping_add(1);
        store(&self.ours.taken, slot, count.taken, Ordering::Release);
    }

    /// As [`Credit::accept`] and [`Credit::take`], for a message that goes past the queue.
    #[inline(always)]
    pub fn accept_and_take(&self, slot: u32, count: &mut RxCount) {
        count.accepted = count.accepted.wrapping_add(1);
        store(&self.ours.accepted, slot, count.accepted, Ordering::Relaxed); // ordered by the next
        self.take(slot, count);
    }

    /// The slot is open, for at most `limit` messages that are not taken. The caller wakes the ring's writer.
    pub fn open(&self, slot: u32, limit: u32) {
        store(&self.ours.gate, slot, limit.saturating_add(1).min(KEPT - 1), Ordering::Release);
    }

    /// Makes a closed slot, of which the sender has written that it is done with it, as it was at first, with a fresh [`RxCount`].
    pub fn reset(&self, slot: u32) {
        for words in [&self.ours.taken, &self.ours.accepted] {
            store(words, slot, 0, Ordering::Relaxed); // ordered by the next
        }
        store(&self.ours.gate, slot, 0, Ordering::Release);
    }

    /// Closes the slot: nothing more is accepted. The caller wakes the ring's writer and rings its bell.
    pub fn close(&self, slot: u32, count: &RxCount, why: Closed) {
        store(&self.ours.accepted, slot, count.accepted, Ordering::Release);
        let value = match why {
            Closed::Moved => MOVED,
            Closed::Dead => DEAD,
            Closed::Kept => KEPT,
        };
        store(&self.ours.gate, slot, value, Ordering::Release); // SYNC POINT: close
        full_fence(); // paired with that of `leave`
    }

    /// Whether the sender has seen that the slot is closed, and so sends nothing more there: what lies in the ring for
    /// it was taken back.
    pub fn is_seen(&self, slot: u32) -> bool {
        !matches!(load(&self.theirs.seen, slot), Some(0 | LEAVING)) // SYNC POINT: seen
    }

    /// Whether the sender ends, and looked at the slot for the last time before it was closed, as far as is known. To be asked
    /// after [`Credit::close`].
    pub fn is_leaving(&self, slot: u32) -> bool {
        load(&self.theirs.seen, slot) == Some(LEAVING)
    }

    // The sending end, of the other end's slots.

    /// Whether a message can be sent now. The caller counts it with [`TxCount::add`].
    ///
    /// # Errors
    /// The limit is reached, or the slot closed.
    #[inline(always)]
    pub fn check(&self, slot: u32, count: &mut TxCount, default: u32) -> Result<(), Refused> {
        let Some(gate) = load(&self.theirs.gate, slot) else { return Err(Refused::Closed) };
        if gate == count.gate && count.sent.wrapping_sub(count.taken) < count.limit {
            return Ok(());
        }
        self.check_now(slot, gate, count, default)
    }

    /// As [`Credit::check`], by the gate as it is now.
    #[cold]
    #[inline(never)]
    fn check_now(&self, slot: u32, gate: u32, count: &mut TxCount, default: u32) -> Result<(), Refused> {
        if gate >= KEPT {
            return Err(Refused::Closed);
        }
        let limit = if gate == 0 { default } else { gate - 1 };
        (count.gate, count.limit) = (gate, limit);
        if count.sent.wrapping_sub(count.taken) >= limit {
            count.taken = load(&self.theirs.taken, slot).unwrap_or(0);
            if count.sent.wrapping_sub(count.taken) >= limit {
                return Err(Refused::Full);
            }
        }
        Ok(())
    }

    /// Whether the slot was closed: why. A sender looks after each message, too: until it does, the message may be one
    /// that it has to take back.
    #[inline(always)]
    pub fn closed(&self, slot: u32) -> Option<Closed> {
        match load(&self.theirs.gate, slot)? {
            MOVED => Some(Closed::Moved), // SYNC POINT: close
            DEAD => Some(Closed::Dead),
            KEPT => Some(Closed::Kept),
            _ => None,
        }
    }

    /// Messages sent that were not taken yet, as far as the other end is to be believed.
    pub fn untaken(&self, slot: u32, count: &TxCount) -> u32 {
        load(&self.theirs.taken, slot).map_or(0, |taken| count.sent.wrapping_sub(taken))
    }

    /// Whether the message was taken before which `sent` messages had been sent, itself included.
    pub fn has_taken(&self, slot: u32, sent: u32) -> bool {
        load(&self.theirs.taken, slot).is_none_or(|taken| taken.wrapping_sub(sent) < 1 << 31)
    }

    /// Messages sent that were not accepted: once the slot is [closed](Credit::closed), these are to be taken back.
    pub fn unaccepted(&self, slot: u32, count: &TxCount) -> u32 {
        load(&self.theirs.accepted, slot).map_or(0, |accepted| count.sent.wrapping_sub(accepted))
    }

    /// Says that the slot was seen to be closed, and what was not accepted taken back.
    pub fn see(&self, slot: u32) {
        store(&self.ours.seen, slot, 1, Ordering::Release); // SYNC POINT: seen
    }

    /// Begins another use of a slot, with a fresh [`TxCount`]: its closed gate is not seen yet.
    pub fn unsee(&self, slot: u32) {
        store(&self.ours.seen, slot, 0, Ordering::Release);
    }

    /// Whether the other end has [reset](Credit::reset) a slot that was closed.
    pub fn is_reset(&self, slot: u32) -> bool {
        load(&self.theirs.gate, slot) == Some(0)
    }

    /// Says that this end looks at the slot once more, and then ends. What the other end accepted by then, or finds in the ring when it
    /// closes the slot later, is its to deliver.
    pub fn leave(&self, slot: u32) {
        store(&self.ours.seen, slot, LEAVING, Ordering::Release);
        full_fence(); // paired with that of `close`: one of the two sees the other
    }

    /// Changes with what a sender may wait for: only to tell that something changed.
    pub fn mark(&self, slot: u32) -> u64 {
        let word = |words| u64::from(load(words, slot).unwrap_or(0));
        word(&self.theirs.taken) << 32 | word(&self.theirs.gate)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::segment::Segment;
    use std::os::fd::AsFd;

    /// Both ends of a line.
    fn ends() -> (Credit, Credit) {
        let (host, [control, area]) = Segment::create_apart(TABLE, 4096).unwrap();
        let (client, _) = Segment::open_apart(control.as_fd(), area.as_fd(), TABLE, 4096).unwrap();
        [host, client].map(|segment| segment.tables(TABLE).map(|(ours, theirs)| Credit::new(ours, theirs)).unwrap()).into()
    }

    #[test]
    fn a_limit_is_for_what_was_not_taken() {
        let (rx, tx) = ends();
        let (mut received, mut sent) = (RxCount::default(), TxCount::default());
        let last = SLOTS as u32 - 1;
        assert_eq!(tx.check(last, &mut sent, 1), Ok(()));
        sent.add();
        assert_eq!(tx.check(last, &mut sent, 1), Err(Refused::Full));
        rx.accept(last, &mut received);
        assert_eq!((tx.check(last, &mut sent, 1), received.waiting()), (Err(Refused::Full), 1));
        rx.open(last, 2);
        assert_eq!(tx.check(last, &mut sent, 1), Ok(()));
        sent.add();
        assert_eq!((tx.check(last, &mut sent, 1), tx.untaken(last, &sent)), (Err(Refused::Full), 2));
        rx.take(last, &mut received);
        assert_eq!((tx.check(last, &mut sent, 1), tx.untaken(last, &sent)), (Ok(()), 1));
        assert!(tx.has_taken(last, 1) && !tx.has_taken(last, 2));
        rx.open(last, 0);
        assert_eq!(tx.check(last, &mut sent, 1), Err(Refused::Full));
        rx.open(last, !0);
        assert_eq!(tx.check(last, &mut sent, 1), Ok(()), "the largest limit is not taken for a closed gate");
    }

    #[test]
    fn a_closed_slot_says_what_was_accepted() {
        let (rx, tx) = ends();
        let (mut received, mut sent) = (RxCount::default(), TxCount::default());
        (0..3).for_each(|_| sent.add());
        rx.accept_and_take(1, &mut received);
        assert_eq!(tx.closed(1), None);
        rx.close(1, &received, Closed::Moved);
        assert_eq!((tx.closed(1), tx.unaccepted(1, &sent)), (Some(Closed::Moved), 2));
        assert_eq!(tx.check(1, &mut sent, 9), Err(Refused::Closed));
        assert!(!rx.is_seen(1));
        tx.see(1);
        assert!(rx.is_seen(1) && !tx.is_seen(1), "the slot of the same number at the other end is another");
        rx.close(0, &RxCount::default(), Closed::Dead);
        assert_eq!(tx.closed(0), Some(Closed::Dead));
    }

    #[test]
    fn a_slot_that_is_reset_is_as_at_first() {
        let (rx, tx) = ends();
        let (mut received, mut sent) = (RxCount::default(), TxCount::default());
        sent.add();
        rx.accept_and_take(1, &mut received);
        rx.close(1, &received, Closed::Dead);
        tx.see(1);
        assert!(!tx.is_reset(1));
        rx.reset(1);
        assert!(tx.is_reset(1));
        tx.unsee(1);
        let mut sent = TxCount::default();
        assert_eq!((tx.check(1, &mut sent, 1), tx.unaccepted(1, &sent), rx.is_seen(1)), (Ok(()), 0, false));
        sent.add();
        assert_eq!((tx.check(1, &mut sent, 1), tx.untaken(1, &sent)), (Err(Refused::Full), 1));
    }

    #[test]
    fn no_slot_is_out_of_range() {
        let (rx, tx) = ends();
        let (mut received, mut sent) = (RxCount::default(), TxCount::default());
        for slot in [SLOTS as u32, !0] {
            rx.open(slot, 5);
            rx.accept_and_take(slot, &mut received);
            rx.close(slot, &received, Closed::Dead);
            tx.see(slot);
            tx.unsee(slot);
            rx.reset(slot);
            assert!(!tx.is_reset(slot));
            assert_eq!((tx.check(slot, &mut sent, 5), tx.closed(slot)), (Err(Refused::Closed), None));
            assert_eq!((tx.untaken(slot, &sent), tx.unaccepted(slot, &sent), tx.mark(slot)), (0, 0, 0));
        }
        assert_eq!((tx.check(0, &mut sent, 5), tx.closed(0)), (Ok(()), None));
    }
}
