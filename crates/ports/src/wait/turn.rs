//! A receiver's turn: while it waits a call may take its place, and it gets no message before that is over.

use super::{
    follow::for_turn,
    lead::{self, Hands, Waited},
    thread::Ended,
};
use crate::{at_end::AtEnd, dispatch::Inner, lock::Guard, waiting::For};
use slipway_fabric::turn::Turn;
use std::{
    cell::{Cell, RefCell},
    ffi::c_void,
    mem::ManuallyDrop,
    sync::Arc,
};

thread_local! {
    /// How many turns the thread holds.
    static COUNT: Cell<u32> = const { Cell::new(0) };
    /// Turns that the thread got a message from, and did not come back to yet. Work at the thread's end stands for a destructor: it is first used
    /// with the lock held.
    static HELD: RefCell<ManuallyDrop<Vec<Arc<Turn>>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

static END: AtEnd = AtEnd::new(finish_all);

/// A thread that ends comes back to no turn.
extern "C" fn finish_all(_: *mut c_void) {
    COUNT.set(0);
    HELD.with_borrow_mut(|held| std::mem::take(&mut **held)).iter().for_each(|turn| turn.finish());
}

/// Notes that the calling thread has a message from a turn, until it comes back to it.
fn hold(turn: &Arc<Turn>) {
    turn.begin();
    HELD.with_borrow_mut(|held| held.push(Arc::clone(turn)));
    COUNT.set(COUNT.get() + 1);
    END.ask();
}

/// The calling thread came back to a turn.
fn release(turn: &Arc<Turn>) {
    if !holds_any() {
        return;
    }
    HELD.with_borrow_mut(|held| {
        held.retain(|held| {
            let same = Arc::ptr_eq(held, turn);
            if same || held.is_closed() {
                held.finish();
                COUNT.set(COUNT.get() - 1);
            }
            // A closed one has no receiver that would come back.
            !same && !held.is_closed()
        });
    });
}

/// Whether the calling thread has a message from any turn.
#[inline]
pub(crate) fn holds_any() -> bool {
    COUNT.get() > 0
}

/// How often the calling thread holds the turn, by messages that it got from it.
pub(crate) fn holds(turn: *const Turn) -> u32 {
    HELD.with_borrow(|held| held.iter().filter(|held| std::ptr::eq(Arc::as_ptr(held), turn)).count()) as u32
}

impl Inner {
    /// The turn that a receiver takes its messages in, if that is one call at a time.
    fn turn_of(&self, what: For) -> Option<&Arc<Turn>> {
        match what {
            For::Port(port) => self.state.turn_of_port(port),
            For::Set(set) => self.state.sets.get(set.0 as usize)?.turn.as_ref(),
            For::NotFull(_) | For::Line(_) | For::Turn(_) => None,
        }
    }

    /// The calling thread comes for its next message: it is done with the one before.
    #[inline]
    pub(crate) fn come_back(&self, what: For) {
        if self.state.turns.any()
            && let Some(turn) = self.turn_of(what)
        {
            release(turn);
        }
    }

    /// The calling thread got a message.
    #[inline]
    pub(crate) fn go_away(&self, what: For) {
        if self.state.turns.any()
            && let Some(turn) = self.turn_of(what)
        {
            hold(turn);
        }
    }
}

/// Waits until there may be a message, with the receiver's place open to calls. `deadline` is on
/// [`now`](slipway_fabric::spin::now)'s clock.
#[inline]
pub(crate) fn for_message<'a>(guard: Guard<'a>, what: For, deadline: Option<u64>, hands: Hands<'_>) -> Waited<'a> {
    if guard.state.turns.any() { lent(guard, what, deadline) } else { lead::for_message_until(guard, what, deadline, hands) }
}

/// A message may not come before the turn is withdrawn: none is handed to the thread.
#[cold]
fn lent(guard: Guard<'_>, what: For, deadline: Option<u64>) -> Waited<'_> {
    let turn = guard.turn_of(what).cloned().filter(|turn| turn.offer());
    let (mut guard, mut ended) = lead::for_message_until(guard, what, deadline, Hands::none())?;
    let Some(turn) = turn else { return Ok((guard, ended)) };
    while !turn.withdraw() {
        guard.hand_over();
        guard = for_turn(guard, &turn);
        if ended == Ended::Stirred {
            // Meanwhile anything may have changed.
            ended = Ended::Look;
        }
    }
    Ok((guard, ended))
}
