//! How long a waiter keeps looking before it sleeps.
//!
//! A wake-up costs more than most waits on a machine where the peer runs on another processor
//! (40 to 56 us on a small virtual machine), so spinning that long never doubles the cost of a wait. Where spinning has not won
//! lately, or can't win because the peer needs this very processor, a waiter sleeps at once.
//!
//! A wait asks its [`SpinHistory`] whether to look at all, takes a [`SpinStrategy`] from the processors of the two ends,
//! looks by a [`Spinner`], and tells the history the [`Outcome`].

use crate::sync::{AtomicU32, AtomicU64, Ordering, spin_loop};

/// A time on the monotonic clock, in nanoseconds.
pub fn now() -> u64 {
    nanoseconds(rustix::time::clock_gettime(rustix::time::ClockId::Monotonic))
}

/// As [`now`], as of the kernel's last tick: up to [`coarseness`] behind. For what need not be finer, since reading the
/// exact clock takes as long as a tenth of a round trip.
pub fn coarse_now() -> u64 {
    nanoseconds(rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse))
}

/// How far [`coarse_now`] may be behind, in nanoseconds: 1 to 10 ms.
pub fn coarseness() -> u64 {
    nanoseconds(rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse))
}

fn nanoseconds(t: rustix::time::Timespec) -> u64 {
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// The processor that this thread runs on, as ends of a line tell each other: its number plus one. 0 is none.
pub fn processor() -> u32 {
    rustix::thread::sched_getcpu() as u32 + 1
}

/// Whether this thread is allowed more than one processor.
#[cold]
fn may_run_elsewhere() -> bool {
    rustix::thread::sched_getaffinity(None).is_ok_and(|set| set.count() > 1)
}

/// Looks without pause before the first look at the clock: an answer from another processor takes a fraction of a
/// microsecond.
const EAGER: u32 = 200;

/// Looks between two looks at the clock.
const TURNS: u32 = 8;

/// Times a waiter lets others run on the processor that it shares with its peer.
const YIELDS: u32 = 4;

/// So long a waiter spins, in nanoseconds, before it lets others run on its processor, and then again and again: what it waits for may need
/// one of them to run here first. With nobody there a turn costs a system call, while there is nothing else to do.
const COURTESY: u64 = 5_000;

/// A turn of the processor that others took for longer than this, in nanoseconds, was a bad trade.
const DEAR: u64 = 700_000;

/// But a turn for which several stir that were waited for was theirs, if it is no longer than this for each, in nanoseconds.
const SHARE: u64 = 50_000;

/// What a waiter does before it sleeps. Of several, the largest is the one that is worth it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpinStrategy {
    /// Nothing: looking longer can't win.
    Sleep,
    /// Lets the peer run, which needs this very processor.
    Yield,
    /// Spins, while the peer works on another processor.
    Spin,
}

impl SpinStrategy {
    /// For a waiter on the processor `own` whose peer was last seen on `peer` (see [`processor`]). A peer that has not been
    /// seen yet may need this one.
    #[inline]
    pub fn between(own: u32, peer: u32) -> Self {
        if peer == 0 || peer == own { Self::Yield } else { Self::Spin }
    }

    /// The strategy of a wait that looks for `longest` nanoseconds, where `usual` is as long as one wake-up is worth: a far try spins next to a peer, too. One that
    /// waits for something else meanwhile is woken on another processor, if this one is busy; from then on the two are apart.
    #[inline]
    pub fn over(self, longest: u64, usual: u64) -> Self {
        if self == Self::Yield && longest > usual && may_run_elsewhere() { Self::Spin } else { self }
    }
}

/// How the looking before a sleep went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It saw what it waited for.
    Won,
    /// It saw nothing.
    Lost,
    /// It saw nothing, and others want the processor: a sleep costs one switch between threads, and no time in which it would have stood idle.
    Wanted,
    /// Whether or not it did, it took so long that a sleep would have been cheaper by far: a third
    /// party took the processor that was offered to the peer.
    Burnt,
}

/// Looks without pause, as one does for an answer that the last wait got so. Whether something stirred.
#[inline(always)]
pub fn stirs_at_once(stirs: impl Fn() -> bool) -> bool {
    (0..EAGER).any(|_| stirs())
}

/// One wait's looking, before it sleeps.
#[derive(Debug)]
pub struct Spinner {
    strategy: SpinStrategy,
    yields: u32,
    end: u64,
    time: u64,
    /// When others have their next turn.
    courtesy: u64,
    start: u64,
    /// The caller's deadline.
    deadline: u64,
    /// What others used of the processor in their turns, in nanoseconds.
    given: u64,
    /// Turns in a row that others used; see [`WANTED`].
    wanted: u32,
}

/// So many turns in a row that others used for longer than one more spinner would tell that they want the processor. One such turn doesn't: of a few processes
/// that wait for each other, one has just had its message.
const WANTED: u32 = 2;

/// Remembers the turns that this process's spinning threads gave away and that were dear: then a busy third party is there.
#[derive(Debug)]
struct Courtesies {
    /// How often that was so, with no long time between.
    dear: AtomicU32,
    /// Until then, in nanoseconds of [`now`]'s clock, no turn is given away.
    until: AtomicU64,
}

static COURTESIES: Courtesies = Courtesies { dear: AtomicU32::new(0), until: AtomicU64::new(0) };

impl Courtesies {
    /// When a spinner that begins at `time` has others run first.
    fn next(&self, time: u64) -> u64 {
        time.max(self.until.load(Ordering::Relaxed)).saturating_add(COURTESY)
    }

    /// A turn that ended now was dear. Others that were not are no comfort: what the spinner waits for may share the processor with
    /// a third party, and each has its turns.
    fn burn(&self, now: u64) {
        let (dear, until) = (self.dear.load(Ordering::Relaxed), self.until.load(Ordering::Relaxed));
        let pause = PAUSE_OF_COURTESY << dear;
        let dear = if now.saturating_sub(until) > 16 * pause { 0 } else { (dear + 1).min(BURNS) };
        self.dear.store(dear, Ordering::Relaxed);
        self.until.store(now.saturating_add(PAUSE_OF_COURTESY << dear), Ordering::Relaxed);
    }
}

/// Whether a busy third party is there at the time `now`: a spinner of this process gave it a turn lately, and gives none for a while.
pub fn is_contended(now: u64) -> bool {
    COURTESIES.next(now) > now.saturating_add(COURTESY)
}

impl Spinner {
    /// Looks from now on, for at most `longest` nanoseconds, and not beyond `deadline` on [`now`]'s clock.
    pub fn new(strategy: SpinStrategy, longest: u64, deadline: Option<u64>) -> Self {
        let (time, deadline) = (now(), deadline.unwrap_or(u64::MAX));
        let end = time.saturating_add(longest).min(deadline);
        Self { strategy, yields: 0, end, time, courtesy: COURTESIES.next(time), start: time, deadline, given: 0, wanted: 0 }
    }

    /// How long it has looked, in nanoseconds, up to [`Spinner::time`]: without the turns of others.
    pub fn spent(&self) -> u64 {
        (self.time - self.start).saturating_sub(self.given)
    }

    /// Others had a turn, which ended at `time`. It is no part of what the looking may cost: two waiters that share a processor, and wait for each other by
    /// way of a third on another one, would else both sleep for want of the time that they leave each other.
    fn gave(&mut self, time: u64, courtesies: &Courtesies) {
        let taken = time.saturating_sub(self.time);
        self.time = time;
        if taken > DEAR {
            self.courtesy = u64::MAX;
            courtesies.burn(time);
            return;
        }
        self.courtesy = time.saturating_add(COURTESY);
        self.wanted = if taken > 2 * COURTESY { self.wanted + 1 } else { 0 };
        self.given += taken;
        self.end = self.end.saturating_add(taken).min(self.deadline);
    }

    /// The time of the last look at the clock, on [`now`]'s clock: a round or less ago.
    pub fn time(&self) -> u64 {
        self.time
    }

    /// The outcome of a round, given how many of the things that are looked at stir after a turn that was dear; and whether any does.
    pub fn judge(&self, outcome: Outcome, stirring: impl FnOnce() -> usize) -> (Outcome, bool) {
        let stirring = if outcome == Outcome::Burnt { stirring() } else { usize::from(outcome == Outcome::Won) };
        let is_theirs = self.time.saturating_sub(self.start) <= SHARE.saturating_mul(stirring as u64);
        (if outcome == Outcome::Burnt && is_theirs { Outcome::Won } else { outcome }, stirring > 0)
    }

    /// Looks for a fraction of a microsecond for each thing that is looked at: the outcome, once there is one.
    pub fn round(&mut self, mut stirs: impl FnMut() -> bool) -> Option<Outcome> {
        match self.strategy {
            SpinStrategy::Sleep => return Some(Outcome::Lost),
            SpinStrategy::Yield => {
                let start = now();
                rustix::thread::sched_yield();
                self.time = now();
                if self.time.saturating_sub(start) > DEAR {
                    return Some(Outcome::Burnt);
                }
                if stirs() {
                    return Some(Outcome::Won);
                }
                self.yields += 1;
                if self.yields >= YIELDS {
                    return Some(Outcome::Lost);
                }
            }
            SpinStrategy::Spin => {
                for _ in 0..TURNS {
                    if stirs() {
                        return Some(Outcome::Won);
                    }
                    spin_loop();
                }
                if self.time >= self.courtesy {
                    self.time = now();
                    rustix::thread::sched_yield();
                    self.gave(now(), &COURTESIES);
                    if stirs() {
                        return Some(Outcome::Won);
                    }
                    if self.wanted >= WANTED {
                        return Some(Outcome::Wanted);
                    }
                }
            }
        }
        self.time = now();
        (self.time >= self.end).then_some(Outcome::Lost)
    }
}

/// Looks until something stirs, or looking longer is not worth it. For a waiter that looks at little: it begins without pause.
pub fn look(strategy: SpinStrategy, longest: u64, deadline: Option<u64>, stirs: impl Fn() -> bool) -> Outcome {
    if strategy == SpinStrategy::Spin && stirs_at_once(&stirs) {
        return Outcome::Won;
    }
    let mut spinner = Spinner::new(strategy, longest, deadline);
    loop {
        if let Some(outcome) = spinner.round(&stirs) {
            return outcome;
        }
    }
}

/// Learns from the outcomes of one waiter's waits whether spinning is worth it.
#[derive(Debug, Default)]
pub struct SpinHistory {
    /// Grows with waits that spinning won, shrinks with waits it lost.
    trust: AtomicU32,
    /// Waits since the last try while trust is gone.
    skipped: AtomicU32,
    /// Tries that cost dearly, one after the other.
    burns: AtomicU32,
    /// Until then, in nanoseconds of [`now`]'s clock, there is no other try.
    burnt_until: AtomicU64,
    /// Waits that may still be spun for [`FAR`] times as long as usual; see [`SpinHistory::longest`].
    far: AtomicU32,
    /// What those before them took, in nanoseconds.
    far_spent: AtomicU64,
}

/// How much longer than usual a try without trust goes on. Where each end sleeps, a wait lasts as long as it takes to wake the other, and one that
/// ends before that shows nothing: two that would not sleep never meet.
const FAR: u64 = 4;

/// So many waits go as far after a try that only so was won. By then the other end doesn't sleep either, and waits are short; or they stay long.
const EXPEDITION: u32 = 128;

/// What came to nothing is tried again when so many times as long has passed.
const FRUGAL: u64 = 100;

/// What all histories of this process have in common: there may be one for each of many threads.
#[derive(Debug)]
struct Tries {
    /// Until then, in nanoseconds of [`now`]'s clock, nobody tries without trust.
    until: AtomicU64,
}

static TRIES: Tries = Tries { until: AtomicU64::new(0) };

/// Trust never grows beyond this: so many lost waits in a row end the spinning.
const MOST: u32 = 8;

/// With no trust left, one wait in this many is spun, to notice better times. A prime: a proxy waits for its client and its server in turns, and only one of
/// these waits can be won.
const RETRY: u32 = 61;

/// The pause after the first try that cost dearly, in nanoseconds, doubled with each further one up to
/// [`BURNS`] times. Long, because a thread that gave its turn away to a busy third party pays for it
/// with many more of its turns.
const PAUSE: u64 = 100_000_000;

/// As [`PAUSE`], after a turn that was given away while spinning: the spinner keeps the rest of its turns, and a machine that
/// stood still for a moment looks the same.
const PAUSE_OF_COURTESY: u64 = 4_000_000;

/// Most doublings of a pause: about a minute, and two seconds.
const BURNS: u32 = 9;

impl SpinHistory {
    /// One that begins by giving spinning a few chances.
    pub const fn hopeful() -> Self {
        Self {
            trust: AtomicU32::new(MOST / 2),
            skipped: AtomicU32::new(0),
            burns: AtomicU32::new(0),
            burnt_until: AtomicU64::new(0),
            far: AtomicU32::new(0),
            far_spent: AtomicU64::new(0),
        }
    }

    /// How long to look before the sleep of the wait that begins now, if at all, where `usual` is as long as one wake-up is worth: then
    /// [`SpinHistory::learn_how`] is to be told. Tries that come to nothing take a hundredth of the process's time at most.
    #[inline]
    pub fn longest(&self, usual: u64) -> Option<u64> {
        if self.trust.load(Ordering::Relaxed) == 0 {
            return self.tries_far(now(), &TRIES).then_some(usual.saturating_mul(FAR));
        }
        Some(if self.far.load(Ordering::Relaxed) == 0 { usual } else { usual.saturating_mul(FAR) })
    }

    #[cold]
    fn tries_far(&self, now: u64, tries: &Tries) -> bool {
        if now < self.burnt_until.load(Ordering::Relaxed) {
            return false;
        }
        let skipped = self.skipped.load(Ordering::Relaxed).saturating_add(1);
        let tries = skipped >= RETRY && now >= tries.until.load(Ordering::Relaxed);
        self.skipped.store(if tries { 0 } else { skipped }, Ordering::Relaxed);
        if tries {
            self.far.store(1, Ordering::Relaxed);
            self.far_spent.store(0, Ordering::Relaxed);
        }
        tries
    }

    /// As [`SpinHistory::learn`], of a wait that was looked at for `spent` nanoseconds, as [`SpinHistory::longest`] allowed for a usual length of `usual`.
    #[inline]
    pub fn learn_how(&self, outcome: Outcome, spent: u64, usual: u64) {
        let trusted = self.trust.load(Ordering::Relaxed) > 0;
        self.learn(outcome);
        if self.far.load(Ordering::Relaxed) != 0 {
            self.learn_far(outcome == Outcome::Won, trusted, (spent, usual), now(), &TRIES);
        }
    }

    #[cold]
    fn learn_far(&self, won: bool, trusted: bool, (spent, usual): (u64, u64), now: u64, tries: &Tries) {
        let spent_so_far = self.far_spent.load(Ordering::Relaxed).saturating_add(spent);
        let left = match (trusted, won) {
            (false, true) if spent > usual => EXPEDITION,
            (false, _) => 0,
            _ if self.trust.load(Ordering::Relaxed) == 0 => 0,
            _ => self.far.load(Ordering::Relaxed).saturating_sub(1),
        };
        self.far.store(left, Ordering::Relaxed);
        self.far_spent.store(spent_so_far, Ordering::Relaxed);
        if left == 0 {
            tries.until.fetch_max(now.saturating_add(spent_so_far.saturating_mul(FRUGAL)), Ordering::Relaxed);
        }
    }

    /// Whether to look before the sleep of the wait that begins now.
    #[inline]
    pub fn spins(&self) -> bool {
        self.trust.load(Ordering::Relaxed) > 0 || self.tries_again(now())
    }

    /// Without trust: whether this wait is one that is spun nevertheless.
    fn tries_again(&self, now: u64) -> bool {
        if now < self.burnt_until.load(Ordering::Relaxed) {
            return false;
        }
        let skipped = self.skipped.load(Ordering::Relaxed) + 1;
        let retry = skipped >= RETRY;
        self.skipped.store(if retry { 0 } else { skipped }, Ordering::Relaxed);
        retry
    }

    /// Remembers how a wait's looking went, that ended now.
    pub fn learn(&self, outcome: Outcome) {
        let trust = self.trust.load(Ordering::Relaxed);
        match outcome {
            Outcome::Won => {
                self.trust.store((trust + 2).min(MOST), Ordering::Relaxed);
                self.burns.store(0, Ordering::Relaxed);
            }
            Outcome::Lost => self.trust.store(trust.saturating_sub(1), Ordering::Relaxed),
            Outcome::Wanted => self.trust.store(0, Ordering::Relaxed),
            Outcome::Burnt => self.burn(now()),
        }
    }

    fn burn(&self, now: u64) {
        let burns = self.burns.load(Ordering::Relaxed);
        self.trust.store(0, Ordering::Relaxed);
        self.burns.store((burns + 1).min(BURNS), Ordering::Relaxed);
        self.burnt_until.store(now.saturating_add(PAUSE << burns), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
