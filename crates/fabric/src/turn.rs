//! Whose turn it is at a server that is called and sent to: a word that callers take a place in and give it back,
//! without a lock.

use crate::sync::{AtomicU32, Ordering};

/// One place.
const PLACE: u32 = 1;
/// Places that are free.
const PLACES: u32 = (1 << 14) - 1;
/// One call.
const CALL: u32 = 1 << 14;
/// Calls that are in it.
const CALLS: u32 = PLACES << 14;
/// A message waits.
const QUEUED: u32 = 1 << 28;
/// A receiver wants its place back.
const WANTED: u32 = 1 << 29;
/// Nobody comes in any more.
const CLOSED: u32 = 1 << 30;
const BARS: u32 = QUEUED | WANTED | CLOSED;

/// The turn at a port, or at a set of ports that are served one call at a time.
///
/// The places are those of threads that wait in a receive: a call takes one for its time. A port for any number of
/// threads has more places than there are threads. Callers use [`Turn::enter`] and [`Turn::leave`] at any time;
/// everything else is done with a lock held, the same for all of a turn's receivers and for the thread that wakes them.
#[derive(Debug)]
pub struct Turn {
    word: AtomicU32,
    /// Threads that have a message from here and did not come back for the next.
    busy: AtomicU32,
    /// Whether a call takes a receiver's place.
    pub serial: bool,
}

impl Turn {
    /// A new one, with nobody in it.
    pub fn new(serial: bool, queued: bool) -> Self {
        let word = if serial { 0 } else { PLACES } | if queued { QUEUED } else { 0 };
        Self { word: AtomicU32::new(word), busy: AtomicU32::new(0), serial }
    }

    /// Takes a place for a call, if one is free and nothing comes before it.
    #[inline]
    pub fn enter(&self) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            // No bar, and some place: one comparison for both.
            if (word & (BARS | PLACES)).wrapping_sub(PLACE) >= PLACES {
                return false;
            }
            match self.word.compare_exchange_weak(word, word - PLACE + CALL, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    /// Whether a call that came now would get a place.
    #[inline]
    pub fn is_open(&self) -> bool {
        (self.word.load(Ordering::Relaxed) & (BARS | PLACES)).wrapping_sub(PLACE) < PLACES
    }

    /// Gives the place of a call back. True if somebody waits for that: he is to be woken.
    ///
    /// Once this is done the turn may be gone.
    #[inline]
    #[must_use]
    pub fn leave(&self) -> bool {
        self.word.fetch_sub(CALL - PLACE, Ordering::Release) & (WANTED | CLOSED) != 0
    }

    /// A receiver waits: a call may take its place. False if there are too many to count.
    pub fn offer(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        let fits = (word & PLACES) + (word & CALLS) / CALL < PLACES;
        if fits {
            self.word.fetch_add(PLACE, Ordering::AcqRel);
        }
        fits
    }

    /// A receiver wants its place back. False if calls have taken all: it is woken when one leaves, and no other comes
    /// in before it asks again.
    pub fn withdraw(&self) -> bool {
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            // Whoever else wants his place was woken too, and says so again.
            let (next, done) = if word & PLACES == 0 { (word | WANTED, false) } else { ((word & !WANTED) - PLACE, true) };
            match self.word.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return done,
                Err(now) => word = now,
            }
        }
    }

    /// Says whether a message waits.
    pub fn set_queued(&self, queued: bool) {
        if queued {
            self.word.fetch_or(QUEUED, Ordering::AcqRel);
        } else {
            self.word.fetch_and(!QUEUED, Ordering::AcqRel);
        }
    }

    /// Lets nobody in from now on. Calls that are in it are counted to their end.
    pub fn close(&self) {
        self.word.fetch_or(CLOSED, Ordering::AcqRel);
    }

    /// By what threads that wait for it are found, and perhaps threads that wait for another turn.
    pub fn key(turn: *const Self) -> u32 {
        (turn.addr() / align_of::<Self>()) as u32
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.word.load(Ordering::Relaxed) & CLOSED != 0
    }

    /// Calls that are in it.
    pub fn calls(&self) -> u32 {
        (self.word.load(Ordering::Acquire) & CALLS) / CALL
    }

    /// A thread got a message.
    pub fn begin(&self) {
        self.busy.fetch_add(1, Ordering::Relaxed);
    }

    /// It came back, or ended.
    pub fn finish(&self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether nobody but `own` calls and messages of one thread stands between it and its turn.
    pub fn is_all(&self, own: u32) -> bool {
        let word = self.word.load(Ordering::Acquire);
        own > 0 && word & PLACES == 0 && (word & CALLS) / CALL + self.busy.load(Ordering::Relaxed) == own
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Turn;

    #[test]
    fn a_call_takes_a_waiting_receivers_place() {
        let turn = Turn::new(true, false);
        assert!(!turn.is_open() && !turn.enter(), "nobody receives");
        assert!(turn.offer() && turn.is_open() && turn.enter());
        assert!(!turn.is_open() && !turn.enter(), "the only place is taken");
        assert!(!turn.withdraw() && !turn.enter());
        assert!(turn.leave(), "the receiver waits to be told");
        assert!(turn.withdraw() && !turn.enter());
        assert_eq!(turn.calls(), 0);
    }

    #[test]
    fn a_waiting_message_goes_first() {
        let turn = Turn::new(false, true);
        assert!(!turn.is_open() && !turn.enter());
        turn.set_queued(false);
        assert!(turn.is_open() && turn.enter() && turn.enter() && turn.calls() == 2);
        turn.close();
        assert!(!turn.is_open() && !turn.enter() && turn.leave() && turn.leave());
        assert_eq!(turn.calls(), 0);
    }

    #[test]
    fn a_wait_for_oneself_is_told_from_one_for_others() {
        let turn = Turn::new(true, false);
        assert!(!turn.is_all(0));
        assert!(turn.offer() && turn.enter() && turn.is_all(1));
        turn.begin();
        assert!(!turn.is_all(1), "another thread is at work and will come back");
        turn.finish();
        assert!(turn.offer() && !turn.is_all(1), "another receiver is free");
    }
}
