//! A task's side: registering routines, and waiting for the calls in them.

use super::{gate::Table, thread};
use crate::{abi::Code, io::wait, process::Guard, state::traps, task::Task};
use slipway_fabric::turn::Turn;
use std::sync::Arc;

impl Task {
    /// Registers routines for the port whose receive right is `name`, besides those that it has, or in place of those
    /// with the same base. `serial`: calls are made one at a time, each in the place of a thread that waits in a
    /// receive on the port or its set.
    pub fn register_traps(&self, name: u32, table: Table, serial: bool) -> Result<(), Code> {
        self.lock().state.register_traps(self.space(), name, table, serial)
    }

    /// Withdraws the routines of a port, and waits until no thread but the calling one is in any of them.
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
            let next = guard.state.turns.leaving(self.space()).find(|turn| turn.calls() > own(turn)).cloned();
            let Some(turn) = next else { return };
            guard = drained(guard, &turn);
        }
    }

    /// Calls that were made to a port of this task since it registered routines; None if it has none, or is no receive
    /// right.
    pub fn trap_calls(&self, name: u32) -> Option<u64> {
        let guard = self.lock();
        let port = guard.state.receive_of(self.space(), name).ok()?;
        let calls = |traps: &traps::Traps| traps.tally.sum();
        guard.state.port(port).local()?.traps.as_deref().map(calls)
    }
}

/// Calls that the calling thread itself is in.
fn own(turn: &Arc<Turn>) -> u32 {
    thread::with(|thread| thread.frames().filter(|frame| std::ptr::eq(frame.turn, Arc::as_ptr(turn))).count() as u32)
}

/// Waits until others' calls have left a closed turn.
fn drained<'a>(mut guard: Guard<'a>, turn: &Arc<Turn>) -> Guard<'a> {
    while turn.calls() > own(turn) {
        guard = wait::for_turn(guard, turn.key());
    }
    guard
}
