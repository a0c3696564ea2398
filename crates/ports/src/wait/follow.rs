//! Waiting for what other threads of the process do: they wake the thread.

use super::thread::{Ended, HasMessage, Me, overdue, remaining};
use crate::{
    lock::Guard,
    state::PortId,
    waiting::{For, Wait},
};
use slipway_fabric::turn::Turn;

/// Waits for the end of a call in a turn.
pub fn for_turn<'a>(guard: Guard<'a>, turn: &Turn) -> Guard<'a> {
    for_word(guard, For::Turn(Turn::key(turn)), None).0
}

/// Waits until the queue of a port here is not full.
pub fn for_queue(guard: Guard<'_>, port: PortId, deadline: Option<u64>) -> (Guard<'_>, Ended) {
    for_word(guard, For::NotFull(port), deadline)
}

/// Waits for what other threads of the process do.
fn for_word(mut guard: Guard<'_>, what: For, deadline: Option<u64>) -> (Guard<'_>, Ended) {
    let me = Me::get(&mut guard);
    let wait = Wait::of_nothing(me.number, what);
    // It takes no message.
    let (guard, ended) = follow(guard, &me, wait, deadline).unwrap_or_else(|HasMessage| (me.process.lock(), Ended::Look));
    let ended = overdue(ended, &me.waiter, deadline);
    me.keep();
    (guard, ended)
}

/// Waits for others of this process to wake the thread.
pub(super) fn follow<'a>(
    mut guard: Guard<'a>,
    me: &Me,
    wait: Wait,
    deadline: Option<u64>,
) -> Result<(Guard<'a>, Ended), HasMessage> {
    guard.quietly().waiting.list.push(wait);
    drop(guard);
    let interrupted = !me.waiter.look(deadline) && me.waiter.sleep(remaining(deadline));
    guard = me.lock()?;
    guard.quietly().waiting.forget(me.number);
    Ok((guard, if interrupted { Ended::Interrupted } else { Ended::Look }))
}
