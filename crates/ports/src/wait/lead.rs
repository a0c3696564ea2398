//! Waiting for a message: as the leader, which looks at the hot lines, or as one of the threads that others wake.

use super::{
    follow::follow,
    thread::{Ended, HasMessage, Me, Watched, remaining},
};
use crate::{
    dialect::Dialect,
    lock::Guard,
    settings, signals,
    state::SpaceId,
    waiting::{ASLEEP, For, HANDED, HOT, Wait},
};
use slipway_fabric::{
    ring::{FUTEX_WAIT, RxCursor},
    spin::{Outcome, SpinStrategy, look, now, processor, stirs_at_once},
    sync::FutexWord,
};
use smallvec::SmallVec;

/// The longest sleep on a line's own word alone, in nanoseconds. The other end can requeue the sleeping thread to a word
/// that is never woken. (To sleep on a word of our own as well costs more with each sleep.)
const LONGEST: u64 = 1_000_000_000;

/// What a wait for a message came to: the lock again, and why it ended. Or a sender of this process has handed a message to the
/// thread.
pub type Waited<'a> = Result<(Guard<'a>, Ended), HasMessage>;

/// Where a message goes that a sender hands to the waiting thread.
#[derive(Debug)]
pub struct Hands<'a> {
    /// The space in which the message's rights get names.
    pub space: SpaceId,
    /// All of it can be used. If it is empty, nothing is handed over.
    pub bytes: &'a mut [u8],
    /// How the message is to look.
    pub dialect: Dialect,
}

impl Hands<'_> {
    /// Those of a thread that is handed nothing.
    pub fn none() -> Self {
        Self { space: SpaceId(0), bytes: &mut [], dialect: Dialect::Typed }
    }
}

/// Waits until there may be a message, releasing the lock meanwhile, in a call that signals don't end. `space`, `bytes` and `dialect` are
/// [`Hands`].
#[inline(always)]
pub fn for_message<'a>(guard: Guard<'a>, what: For, space: SpaceId, bytes: &mut [u8], dialect: Dialect) -> Waited<'a> {
    for_message_as(guard, what, None, Hands { space, bytes, dialect }, false)
}

/// As [`for_message`], in any call, until `deadline` at most, on [`now`]'s clock.
#[cold]
pub fn for_message_until<'a>(guard: Guard<'a>, what: For, deadline: Option<u64>, hands: Hands<'_>) -> Waited<'a> {
    for_message_as(guard, what, deadline, hands, signals::are_held())
}

/// As [`for_message`], for a receiver that looks itself at what the wait came to, and has not kept the lock for long. It has just `read` the one line that is
/// hot, as far as that goes.
#[inline(always)]
pub fn for_next<'a>(
    mut guard: Guard<'a>,
    read: RxCursor,
    what: For,
    space: SpaceId,
    bytes: &mut [u8],
    dialect: Dialect,
) -> Result<Guard<'a>, HasMessage> {
    let mut me = Me::get(&mut guard);
    let waited = wait_as(guard, &mut me, Some(read), what, None, Hands { space, bytes, dialect }, false);
    me.keep();
    waited
}

/// `held`: whether [signals are held](signals::are_held).
#[inline(always)]
fn for_message_as<'a>(mut guard: Guard<'a>, what: For, deadline: Option<u64>, hands: Hands<'_>, held: bool) -> Waited<'a> {
    if guard.crowded {
        return Ok(make_way(guard, deadline));
    }
    let mut me = Me::get(&mut guard);
    let waited = wait_as(guard, &mut me, None, what, deadline, hands, held);
    let waited = waited.map(|guard| (guard, me.ended(deadline)));
    me.keep();
    waited
}

/// Waits as leader or behind one. `read` is how far the one line that is hot was read, if that is known.
#[inline(always)]
fn wait_as<'a>(
    mut guard: Guard<'a>,
    me: &mut Me,
    read: Option<RxCursor>,
    what: For,
    deadline: Option<u64>,
    hands: Hands<'_>,
    held: bool,
) -> Result<Guard<'a>, HasMessage> {
    let takes = hands.bytes.len().min(HANDED) as u32;
    // Made where it goes: it is not copied.
    let wait = |me: &Me| Wait { thread: me.number, what, space: hands.space, takes, dialect: hands.dialect };
    let waited = if guard.waiting.leader.is_none() {
        guard.quietly().waiting.leader = Some(wait(me));
        lead(guard, me, read, deadline, held)
    } else {
        follow(guard, me, wait(me), deadline)
    };
    if waited.is_err() {
        me.waiter.copy_message(hands.bytes);
    }
    waited
}

/// Lets others have the lock, with more to be taken off a line.
#[cold]
fn make_way(mut guard: Guard<'_>, deadline: Option<u64>) -> (Guard<'_>, Ended) {
    guard.crowded = false;
    let process = guard.process();
    drop(guard);
    process.let_others_in();
    let over = deadline.is_some_and(|deadline| now() >= deadline);
    (process.lock(), if over { Ended::TimedOut } else { Ended::Look })
}

/// Waits as the one that looks at the hot lines: first looking, then asleep on their words.
#[inline(always)]
fn lead<'a>(
    mut guard: Guard<'a>,
    me: &mut Me,
    read: Option<RxCursor>,
    deadline: Option<u64>,
    held: bool,
) -> Result<Guard<'a>, HasMessage> {
    me.note(&guard, read);
    let mut won = false;
    if me.eager && deadline.is_none() {
        drop(guard);
        won = stirs_at_once(|| me.stirs());
        guard = me.lock()?;
    }
    if !won && me.looks {
        (guard, won) = look_as_leader(guard, me, deadline)?;
    }
    if !won {
        guard = match &me.rings[..] {
            [watched] if !held => sleep_on_one(guard, me, watched, deadline)?,
            _ => sleep_on_several(guard, me, deadline, held)?,
        };
    }
    let waiting = &mut guard.quietly().waiting;
    (waiting.leader, waiting.sleeps_on) = (None, None);
    Ok(guard)
}

/// Looks for as long as it may be worth it; whether something stirs.
fn look_as_leader<'a>(mut guard: Guard<'a>, me: &mut Me, deadline: Option<u64>) -> Result<(Guard<'a>, bool), HasMessage> {
    let strategy = strategy(&guard, me);
    if strategy != SpinStrategy::Sleep {
        let hot = guard.waiting.hot.first().copied();
        drop(guard);
        let outcome = look(strategy, settings::spin_ns(), deadline, || me.stirs());
        me.eager = strategy == SpinStrategy::Spin && outcome == Outcome::Won;
        me.waiter.history.learn(outcome);
        guard = me.lock()?;
        if let Some(line) = hot.and_then(|hot| guard.lines.get(hot)) {
            line.spins.learn(outcome);
        }
    }
    // The lines may be others by now.
    me.note(&guard, None);
    Ok((guard, me.stirs()))
}

/// How the leader looks before it sleeps; tells the other ends where it is.
fn strategy(guard: &Guard<'_>, me: &Me) -> SpinStrategy {
    let own = processor();
    let mut strategy = me.waiter.strategy(own);
    for watched in &me.rings {
        let Some(line) = guard.lines.get(watched.line) else { continue };
        let of_line = line.segment.strategy(own);
        if of_line > strategy && line.spins.spins() {
            strategy = of_line;
        }
    }
    strategy
}

/// Sleeps until the only hot line stirs or the leader is woken.
#[inline(always)]
fn sleep_on_one<'a>(mut guard: Guard<'a>, me: &Me, watched: &Watched, deadline: Option<u64>) -> Result<Guard<'a>, HasMessage> {
    let ring = &watched.ring;
    ring.arm_reader_on_futex();
    if !ring.readable(watched.head) {
        guard.quietly().waiting.sleeps_on = Some(watched.line);
        let rest = remaining(deadline).map_or(LONGEST, |rest| rest.min(LONGEST));
        guard.release();
        ring.reader_word().wait_while(FUTEX_WAIT, Some(rest));
        guard = me.lock()?;
    }
    if me.epoch == guard.waiting.epoch {
        ring.disarm_reader()
    } else {
        me.disarm(&guard)
    }
    Ok(guard)
}

/// Sleeps until one of the hot lines stirs or the leader is woken.
#[cold]
fn sleep_on_several<'a>(mut guard: Guard<'a>, me: &mut Me, deadline: Option<u64>, held: bool) -> Result<Guard<'a>, HasMessage> {
    // A kernel that can't sleep on several words has the watcher hear bells for us; so has a thread that polls.
    let several = !held && FutexWord::can_wait_any();
    me.rings.iter().for_each(|Watched { ring, .. }| if several { ring.arm_reader_on_futex() } else { ring.arm_reader() });
    if !me.stirs() {
        let rings = me.rings.iter().map(|watched| (watched.ring.reader_word(), FUTEX_WAIT));
        let words: SmallVec<[(&FutexWord, u32); HOT + 1]> = rings.chain([(&me.waiter.word, ASLEEP)]).collect();
        let rest = remaining(deadline);
        drop(guard);
        match several {
            true => me.waiter.sleep_on(&words, rest),
            false => me.sleep(rest),
        }
        guard = me.lock()?;
    }
    me.disarm(&guard);
    Ok(guard)
}
