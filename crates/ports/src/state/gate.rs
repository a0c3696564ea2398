//! What callers need to know of a port with routines, in one piece that doesn't change; and the epoch, by which they learn
//! that they have to look again.

use super::SpaceId;
use slipway_fabric::{
    sync::{AtomicU64, Ordering},
    turn::Turn,
};
use std::sync::{Arc, Mutex, PoisonError};

/// Moves on when something that threads have kept of ports is no longer so.
static EPOCH: AtomicU64 = AtomicU64::new(1);

/// Has every thread look its ports up again.
pub(crate) fn invalidate() {
    EPOCH.fetch_add(1, Ordering::Release);
}

/// What a thread keeps with what it has looked up.
#[inline]
pub(crate) fn epoch() -> u64 {
    EPOCH.load(Ordering::Acquire)
}

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
pub struct Gate {
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

/// Calls counted: a place for each thread, which it alone writes, and the sum of those that are gone.
///
/// Only used with the process's lock held, but for the places themselves.
#[derive(Debug, Default)]
pub struct Tally {
    gone: AtomicU64,
    places: Mutex<Vec<Arc<AtomicU64>>>,
}

impl Tally {
    /// A place to count in.
    pub fn join(&self) -> Arc<AtomicU64> {
        let place = Arc::default();
        self.places.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&place));
        place
    }

    /// Gives a place up.
    pub fn part(&self, place: &Arc<AtomicU64>) {
        self.gone.fetch_add(place.load(Ordering::Relaxed), Ordering::Relaxed);
        self.places.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| !Arc::ptr_eq(other, place));
    }

    /// All calls so far.
    pub fn sum(&self) -> u64 {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.iter().map(|place| place.load(Ordering::Relaxed)).sum::<u64>() + self.gone.load(Ordering::Relaxed)
    }
}
