//! Waiting for what other threads of the process do: they wake the thread.

use super::thread::{HasMessage, Me, remaining};
use crate::{
    lock::Guard,
    state::PortId,
    waiting::{For, Wait},
};
use slipway_fabric::turn::Turn;

/// Waits for the end of a call in a turn.
pub fn for_turn<'a>(guard: Guard<'a>, turn: &Turn) -> Guard<'a> {
    for_word(guard, For::Turn(Turn::key(turn)), None)
}

/// Waits until the queue of a port here is not full.
pub fn for_queue(guard: Guard<'_>, port: PortId, deadline: Option<u64>) -> Guard<'_> {
    for_word(guard, For::NotFull(port), deadline)
}

/// Waits for what other threads of the process do.
fn for_word(mut guard: Guard<'_>, what: For, deadline: Option<u64>) -> Guard<'_> {
    let me = Me::get(&mut guard);
    let wait = Wait::of_nothing(me.number, what);
    // It takes no message.
    let guard = follow(guard, &me, wait, deadline).unwrap_or_else(|HasMessage| me.process.lock());
    me.keep();
    guard
}

/// Waits for others of this process to wake the thread.
pub(super) fn follow<'a>(mut guard: Guard<'a>, me: &Me, wait: Wait, deadline: Option<u64>) -> Result<Guard<'a>, HasMessage> {
    guard.quietly().waiting.list.push(wait);
    drop(guard);
    if !me.waiter.look(deadline) {
        me.sleep(remaining(deadline));
    }
    guard = me.lock()?;
    guard.quietly().waiting.forget(me.number);
    Ok(guard)
}
