//! A receiver's side: while it waits a call may take its place, and it gets no message before that is over.

use super::thread;
use crate::{
    io::{
        Inner,
        wait::{self, Ended, For},
    },
    process::Guard,
};
use slipway_fabric::turn::Turn;
use std::sync::Arc;

impl Inner {
    /// The turn that a receiver takes its messages in, if that is one call at a time.
    fn turn_of(&self, what: For) -> Option<&Arc<Turn>> {
        match what {
            For::Port(port) => self.state.turn_of_port(port),
            For::Set(set) => self.state.sets.get(set.0 as usize)?.turn.as_ref(),
            For::Room(_) | For::Line(_) | For::Turn(_) => None,
        }
    }

    /// The calling thread comes for its next message: it is done with the one before.
    #[inline]
    pub(crate) fn come_back(&self, what: For) {
        if self.state.turns.any()
            && let Some(turn) = self.turn_of(what)
        {
            thread::release(turn);
        }
    }

    /// The calling thread got a message.
    #[inline]
    pub(crate) fn go_away(&self, what: For) {
        if self.state.turns.any()
            && let Some(turn) = self.turn_of(what)
        {
            thread::hold(turn);
        }
    }

    /// Wakes whoever waits for a turn's calls.
    pub(crate) fn wake_turn(&self, key: usize) {
        self.wake_where(|what| *what == For::Turn(key));
    }
}

/// As [`wait::for_message`], with the receiver's place open to calls.
#[inline]
pub(crate) fn for_message(guard: Guard<'_>, what: For, deadline: Option<u64>) -> (Guard<'_>, Ended) {
    if !guard.state.turns.any() {
        return wait::for_message(guard, what, deadline);
    }
    lent(guard, what, deadline)
}

#[cold]
fn lent(guard: Guard<'_>, what: For, deadline: Option<u64>) -> (Guard<'_>, Ended) {
    let Some(turn) = guard.turn_of(what).cloned() else { return wait::for_message(guard, what, deadline) };
    if !turn.offer() {
        return wait::for_message(guard, what, deadline);
    }
    let (mut guard, mut ended) = wait::for_message(guard, what, deadline);
    while !turn.withdraw() {
        guard.hand_over();
        guard = wait::for_turn(guard, turn.key());
        if ended == Ended::Stirred {
            // Meanwhile anything may have changed.
            ended = Ended::Look;
        }
    }
    (guard, ended)
}
