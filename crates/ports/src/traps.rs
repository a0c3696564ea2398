//! Routines that a task registers for its ports, and waiting for the calls in them.

use crate::{
    abi::Code,
    lock::Guard,
    state::call_entry::{self, Table},
    task::Task,
    trap::calls_in,
    wait,
};
use slipway_fabric::turn::Turn;
use std::sync::Arc;

impl Task {
    /// Registers routines for the port whose receive right is `name`, besides those that it has, or in place of those
    /// with the same base. `serial`: calls are made one at a time, each in the place of a thread that waits in a
    /// receive on the port or its set.
    ///
    /// # Errors
    /// `INVALID_NAME`, `INVALID_RIGHT` if the name has no receive right.
    pub fn register_traps(&self, name: u32, table: Table, serial: bool) -> Result<(), Code> {
        self.lock().state.register_traps(self.space(), name, table, serial)
    }

    /// Withdraws the routines of a port, and waits until no thread but the calling one is in any of them.
    ///
    /// # Errors
    /// As [`Self::register_traps`].
    pub fn withdraw_traps(&self, name: u32) -> Result<(), Code> {
        let mut guard = self.lock();
        let turns = guard.state.unregister_traps(self.space(), name)?;
        guard.settle();
        for turn in &turns {
            guard = drained(guard, turn);
        }
        Ok(())
    }

    /// Waits until no thread but the calling one is in a call to the task, which has been [terminated](Task::terminate)
    /// or has withdrawn its routines.
    pub fn wait_for_callers(&self) {
        let mut guard = self.lock();
        loop {
            let next = guard.state.turns.leaving(self.space()).find(|turn| turn.calls() > calls_in(Arc::as_ptr(turn))).cloned();
            let Some(turn) = next else { return };
            guard = drained(guard, &turn);
        }
    }

    /// Calls that were made to a port of this task since it registered routines; None if it has none, or is no receive
    /// right.
    pub fn trap_calls(&self, name: u32) -> Option<u64> {
        let guard = self.lock();
        let port = guard.state.receive_of(self.space(), name).ok()?;
        let calls = |traps: &call_entry::Traps| traps.tally.sum();
        guard.state.port(port).local()?.traps.as_deref().map(calls)
    }
}

/// Waits until others' calls have left a closed turn.
fn drained<'a>(mut guard: Guard<'a>, turn: &Arc<Turn>) -> Guard<'a> {
    while turn.calls() > calls_in(Arc::as_ptr(turn)) {
        guard = wait::for_turn(guard, turn);
    }
    guard
}
