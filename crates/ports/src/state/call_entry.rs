//! What callers need to know of a port with routines, in one piece that doesn't change; and the epoch, by which they learn
//! that they have to look again.

use super::ids::{PortId, SpaceId};
use slipway_fabric::{
    epoch::Epoch,
    sync::{AtomicU64, Ordering},
    turn::Turn,
};
use std::sync::{Arc, Mutex, PoisonError};

/// Moves on when something that threads have kept of ports is no longer so.
pub(crate) static EPOCH: Epoch = Epoch::new();

pub use slipway_abi::call::{Entry, Routine};

/// The routines for the identifiers from `base` on.
#[derive(Debug, Clone)]
pub struct Table {
    /// The first identifier.
    pub base: i32,
    /// One for each.
    pub entries: Box<[Entry]>,
    /// The address that is handed to every routine. Only they know what is there.
    pub context: usize,
}

impl Table {
    /// Whether it has an entry for the identifier.
    #[inline]
    pub fn has(&self, id: i32) -> bool {
        (id.wrapping_sub(self.base) as u32 as usize) < self.entries.len()
    }
}

/// How a port's routines are reached, as long as nothing of it changes.
#[derive(Debug)]
pub struct CallEntry {
    /// Where calls take their turn.
    pub turn: Arc<Turn>,
    /// The server's space.
    pub space: SpaceId,
    /// The port's name there.
    pub name: u32,
    /// The routines.
    pub tables: Arc<Vec<Table>>,
    /// The count of calls.
    pub tally: Arc<Tally>,
}

/// Calls counted: a counter for each thread, which it alone writes, and the sum of those that are gone.
///
/// Only used with the process's lock held, but for the counters themselves.
#[derive(Debug, Default)]
pub struct Tally {
    gone: AtomicU64,
    counters: Mutex<Vec<Arc<AtomicU64>>>,
}

impl Tally {
    /// A counter for one more thread.
    pub fn join(&self) -> Arc<AtomicU64> {
        let counter = Arc::default();
        self.counters.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&counter));
        counter
    }

    /// Gives a counter up.
    pub fn part(&self, counter: &Arc<AtomicU64>) {
        self.gone.fetch_add(counter.load(Ordering::Relaxed), Ordering::Relaxed);
        self.counters.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| !Arc::ptr_eq(other, counter));
    }

    /// All calls so far.
    pub fn sum(&self) -> u64 {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.iter().map(|counter| counter.load(Ordering::Relaxed)).sum::<u64>() + self.gone.load(Ordering::Relaxed)
    }
}

/// What a port has registered.
#[derive(Debug)]
pub struct Traps {
    pub(super) tables: Arc<Vec<Table>>,
    pub(super) serial: bool,
    /// Calls made.
    pub tally: Arc<Tally>,
    /// How they are reached at present.
    pub call_entry: Option<Arc<CallEntry>>,
}

impl Traps {
    /// Whether they are reached as they should be, by any number of calls at once: on such a port's turn its sets have no influence.
    pub(super) fn stands(&self, receiver: Option<(SpaceId, u32)>) -> bool {
        let stands = |entry: &Arc<CallEntry>| !entry.turn.serial && Some((entry.space, entry.name)) == receiver;
        self.call_entry.as_ref().is_some_and(stands)
    }
}

/// A closed turn with calls still in it: its task, and its port while the task has the receive right.
#[derive(Debug)]
pub(super) struct Leaving {
    pub(super) space: SpaceId,
    pub(super) port: Option<PortId>,
    pub(super) turn: Arc<Turn>,
}

/// Turns that are closed and have calls in them, and what else is kept of calls.
#[derive(Debug, Default)]
pub struct Turns {
    /// Ports that have registered routines.
    pub(super) registered: u32,
    pub(super) leaving: Vec<Leaving>,
    /// Calls by ports that are gone.
    pub(super) gone: u64,
}

impl Turns {
    /// Whether any port has routines.
    #[inline]
    pub fn any(&self) -> bool {
        self.registered > 0
    }

    /// Whether none has, and no call is left in any that had.
    #[inline]
    pub fn is_still(&self) -> bool {
        !self.any() && self.leaving.is_empty()
    }

    /// A call left a turn that was closed, or that a receiver wanted.
    pub fn left(&mut self) {
        self.leaving.retain(|left| left.turn.calls() > 0);
    }

    /// Turns of a task that are closed and still have calls in them.
    pub fn leaving(&self, space: SpaceId) -> impl Iterator<Item = &Arc<Turn>> {
        self.leaving.iter().filter(move |left| left.space == space && left.turn.calls() > 0).map(|left| &left.turn)
    }

    /// Turns of a port that are closed and still have calls in them: since its routines were withdrawn, and since it came
    /// into a set or out of one.
    pub(super) fn leaving_port(&self, port: PortId) -> impl Iterator<Item = &Arc<Turn>> {
        self.leaving.iter().filter(move |left| left.port == Some(port) && left.turn.calls() > 0).map(|left| &left.turn)
    }

    /// Calls by ports that have withdrawn their routines.
    pub fn gone(&self) -> u64 {
        self.gone
    }
}
