//! Whether connections to an endpoint live long enough to use shared memory, as far as this process has seen.
//!
//! To offer shared memory takes a dozen system calls, and as many at the server. A program that makes a connection for each
//! request, as proxies do, ends each of them before it gets a segment: it stops offering, but for one connection of some.

use slipway_fabric::sync::{AtomicU32, Ordering::Relaxed};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, TryLockError},
};

/// So many connections in a row that ended before they got a segment are a habit.
const HABIT: u32 = 16;

/// Where it is one, one connection of so many offers nevertheless.
const TRY: u32 = 8;

/// Habits of so many endpoints are known; then all are forgotten. A program may go through any number of names.
const ENDPOINTS: usize = 1024;

/// The connections of this process to one endpoint.
#[derive(Debug, Default)]
struct Habit {
    /// Offers in a row that came to nothing.
    vain: AtomicU32,
    /// Connections since these are a habit (wraps).
    since: AtomicU32,
}

/// An offer that is out, or the connection that it was made for: in vain if that goes before it has paid.
#[derive(Debug, Default)]
pub struct Attempt {
    /// Of an end that accepted, none.
    habit: Option<Arc<Habit>>,
    /// 1: there is a connection, which has no segment.
    unpaid: AtomicU32,
}

/// By the names of their hubs.
struct Habits(Mutex<Option<HashMap<String, Arc<Habit>>>>);

static HABITS: Habits = Habits(Mutex::new(None));

/// A connection to the endpoint with that hub is about to be made: None if it had better not offer.
pub fn attempt(hub: &str) -> Option<Attempt> {
    HABITS.attempt(hub)
}

impl Habits {
    /// While another thread asks, any connection may offer, and counts for nothing: that thread may be one that this process had before it was
    /// forked, or this one, which a signal's handler has interrupted.
    fn attempt(&self, hub: &str) -> Option<Attempt> {
        let mut habits = match self.0.try_lock() {
            Ok(habits) => habits,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return Some(Attempt::default()),
        };
        let habits = habits.get_or_insert_default();
        if !habits.contains_key(hub) {
            if habits.len() >= ENDPOINTS {
                habits.clear();
            }
            habits.insert(hub.to_owned(), Arc::default());
        }
        let habit = &habits[hub];
        let offers = habit.vain.load(Relaxed) < HABIT || habit.since.fetch_add(1, Relaxed).is_multiple_of(TRY);
        offers.then(|| Attempt { habit: Some(Arc::clone(habit)), unpaid: AtomicU32::new(0) })
    }
}

impl Attempt {
    /// The connection is made.
    pub fn begin(&self) {
        self.unpaid.store(1, Relaxed);
    }

    /// It has its segment.
    pub fn pay(&self) {
        self.unpaid.store(0, Relaxed);
        self.habit.iter().for_each(|habit| habit.vain.store(0, Relaxed));
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.unpaid.load(Relaxed) == 1 {
            self.habit.iter().for_each(|habit| _ = habit.vain.fetch_add(1, Relaxed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Habits {
        fn new() -> Self {
            Self(Mutex::default())
        }

        /// How many of so many connections in a row offer, of which none or each gets a segment.
        fn offers(&self, hub: &str, connections: u32, paid: bool) -> usize {
            let made = (0..connections).filter_map(|_| self.attempt(hub)).inspect(Attempt::begin);
            made.inspect(|attempt| {
                if paid {
                    attempt.pay()
                }
            })
            .count()
        }
    }

    #[test]
    fn who_never_gets_a_segment_seldom_offers() {
        let habits = Habits::new();
        assert_eq!(habits.offers("brief", HABIT, false), HABIT as usize);
        assert_eq!(habits.offers("brief", 8 * TRY, false), 8);
        assert_eq!(habits.offers("other", HABIT, false), HABIT as usize, "each endpoint for itself");
        // The next that offers gets one: it is no habit any more.
        assert_eq!(habits.offers("brief", TRY, true), TRY as usize);
        assert_eq!(habits.offers("brief", HABIT, false), HABIT as usize);
    }

    #[test]
    fn a_server_that_is_not_there_yet_teaches_nothing() {
        let habits = Habits::new();
        assert_eq!((0..4 * HABIT).filter_map(|_| habits.attempt("refused")).count(), 4 * HABIT as usize);
    }

    #[test]
    fn connections_that_live_at_the_same_time_are_not_in_vain() {
        let habits = Habits::new();
        let at_once: Vec<_> = (0..4 * HABIT).filter_map(|_| habits.attempt("many")).inspect(Attempt::begin).collect();
        assert_eq!(at_once.len(), 4 * HABIT as usize);
        at_once.iter().for_each(Attempt::pay);
        drop(at_once);
        assert_eq!(habits.offers("many", HABIT, false), HABIT as usize);
    }

    #[test]
    fn a_connection_waits_for_no_other_thread_to_learn() {
        let habits = Habits::new();
        let held = habits.0.lock();
        assert_eq!(habits.offers("brief", 2 * HABIT, false), 2 * HABIT as usize);
        drop(held);
        assert_eq!(habits.offers("brief", HABIT, false), HABIT as usize, "nothing was learnt");
    }

    #[test]
    fn any_number_of_endpoints_takes_so_much_memory() {
        let habits = Habits::new();
        (0..3 * ENDPOINTS).for_each(|i| drop(habits.attempt(&i.to_string())));
        assert!(habits.0.lock().expect("no panic").as_ref().is_some_and(|known| known.len() <= ENDPOINTS));
    }
}
