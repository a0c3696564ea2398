//! Places for servers that calls work on: memory that is never freed, so that a call that is late finds it there, and used
//! again.
//!
//! Who registers routines gives a [`Seat`] as their context: the address of a place, and a number of who has it. Another server
//! that has the place later has another number, so calls of routines that are still registered when they should not be, or
//! have begun before, find that theirs is gone. A place is not used again when its numbers are used up, or when a call that
//! `exit` has left holds its lock.
#![allow(unsafe_code, reason = "a place that is found by its address")]

use slipway_fabric::sync::{AtomicUsize, Ordering};
use std::{
    ffi::c_void,
    ptr::with_exposed_provenance,
    sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError},
};

/// Where a context has the number: above all addresses that a program has on Linux.
const NUMBER: u32 = 48;
const LAST: usize = (1 << (usize::BITS - NUMBER)) - 1;

/// A place for a server, and the thread that is at work on it alone.
#[derive(Debug, Default)]
struct Place {
    held: RwLock<Held>,
    worker: AtomicUsize,
}

/// Who has a place.
#[derive(Debug, Default)]
struct Held {
    /// The last number.
    number: usize,
    /// The context of who has it; 0 for nobody.
    context: usize,
    /// The server's address.
    server: usize,
}

/// All that were made, by which a look for lost memory finds them, and those that nobody has.
#[derive(Debug)]
struct Places {
    all: Vec<&'static Place>,
    free: Vec<&'static Place>,
}

static PLACES: Mutex<Places> = Mutex::new(Places { all: Vec::new(), free: Vec::new() });

/// A place, and the context of one who has it or had it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seat {
    place: &'static Place,
    context: usize,
}

thread_local! {
    /// Its address stands for the thread.
    static HERE: u8 = const { 0 };
}

fn here() -> usize {
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

impl Seat {
    /// Takes a place for the server at an address.
    pub fn take(server: usize) -> Self {
        let place = {
            let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
            places.free.pop().unwrap_or_else(|| {
                let place: &'static Place = Box::leak(Box::default());
                assert_eq!(std::ptr::from_ref(place).expose_provenance() >> NUMBER, 0, "an address has too many bits");
                places.all.push(place);
                place
            })
        };
        let mut held = place.held.write().unwrap_or_else(PoisonError::into_inner);
        let number = held.number + 1;
        let context = std::ptr::from_ref(place).addr() | number << NUMBER;
        *held = Held { number, context, server };
        Self { place, context }
    }

    /// What is registered with routines.
    pub fn context(&self) -> usize {
        self.context
    }

    /// The seat with that context.
    ///
    /// # Safety
    /// It is one that [`Self::context`] gave.
    #[inline]
    pub unsafe fn of(context: *mut c_void) -> Self {
        let context = context.addr();
        // SAFETY: the caller's promise; a place is never freed.
        let place = unsafe { &*with_exposed_provenance::<Place>(context & !(LAST << NUMBER)) };
        Self { place, context }
    }

    /// Waits for the turn to work on the server alone; None if it is the calling thread's already.
    #[inline]
    pub fn alone(&self) -> Option<Alone> {
        let (place, here) = (self.place, here());
        let held = match place.held.try_write() {
            Ok(held) => held,
            // A routine that panicked has ended its call. What it left of the server is the server's matter.
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) if place.worker.load(Ordering::Relaxed) == here => return None,
            Err(TryLockError::WouldBlock) => place.held.write().unwrap_or_else(PoisonError::into_inner),
        };
        place.worker.store(here, Ordering::Relaxed);
        Some(Alone { held, seat: *self })
    }

    /// The right to read the server with others; None if its end has come.
    #[inline]
    pub fn beside(&self) -> Option<Beside> {
        let held = match self.place.held.try_read() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Beside { held, context: self.context })
    }

    /// Takes the server away: its address. None if somebody keeps it, who was waited for by `wait`.
    pub fn leave(self, wait: impl FnOnce()) -> Option<usize> {
        let got = || match self.place.held.try_write() {
            Ok(held) => Some(held),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let mut held = got().or_else(|| {
            wait();
            got()
        })?;
        held.context = 0;
        let (server, number) = (held.server, held.number);
        drop(held);
        if number < LAST {
            PLACES.lock().unwrap_or_else(PoisonError::into_inner).free.push(self.place);
        }
        Some(server)
    }
}

impl Held {
    /// The server's address, if the one with that context is there.
    #[inline]
    fn server(&self, context: usize) -> Option<usize> {
        (self.context == context).then_some(self.server)
    }
}

/// The right to work on a server alone.
#[derive(Debug)]
pub(super) struct Alone {
    held: RwLockWriteGuard<'static, Held>,
    seat: Seat,
}

impl Alone {
    /// The server's address; None if it is gone.
    #[inline]
    pub fn server(&self) -> Option<usize> {
        self.held.server(self.seat.context)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.seat.place.worker.store(0, Ordering::Relaxed);
    }
}

/// The right to read a server.
#[derive(Debug)]
pub(super) struct Beside {
    held: RwLockReadGuard<'static, Held>,
    context: usize,
}

impl Beside {
    /// The server's address; None if it is gone.
    #[inline]
    pub fn server(&self) -> Option<usize> {
        self.held.server(self.context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places are the process's, so one test at a time may count on where they go.
    static TURN: Mutex<()> = Mutex::new(());

    fn made() -> usize {
        PLACES.lock().expect("no panic").all.len()
    }

    #[test]
    fn a_place_is_used_again_and_not_by_who_had_it_before() {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let first = Seat::take(8);
        assert_eq!(first.alone().expect("a turn").server(), Some(8));
        assert_eq!(first.leave(|| panic!("nobody is in it")), Some(8));
        let before = made();
        let mut last = first;
        // More than one place has numbers for, so that it is given up for another.
        for server in 1..=LAST + 2 {
            let seat = Seat::take(server);
            // SAFETY: the context is the seat's.
            let found = unsafe { Seat::of(std::ptr::without_provenance_mut(seat.context())) };
            assert_eq!(found.beside().expect("a place").server(), Some(server));
            assert!(seat.place.held.read().expect("no panic").number <= LAST);
            last = seat;
            assert_eq!(seat.leave(|| panic!("nobody is in it")), Some(server));
        }
        assert!(made() - before <= 8, "each server has a place of its own");
        assert_eq!(last.alone().expect("a turn").server(), None, "the server is gone");
        let next = Seat::take(16);
        assert!(std::ptr::eq(next.place, last.place) && first.context() != next.context());
        assert_eq!(last.alone().expect("a turn").server(), None, "the server is another one");
        assert_eq!(last.beside().expect("a place").server(), None);
        assert_eq!(next.leave(|| ()), Some(16));
    }

    #[test]
    fn a_place_that_is_kept_is_waited_for_and_then_left_alone() {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let seat = Seat::take(8);
        let kept = seat.beside().expect("a place");
        let mut waited = false;
        assert_eq!(seat.leave(|| waited = true), None);
        assert!(waited && !PLACES.lock().expect("no panic").free.iter().any(|free| std::ptr::eq(*free, seat.place)));
        assert_eq!(kept.server(), Some(8));
        drop(kept);
        let seat = Seat::take(8);
        let mut kept = Some(seat.alone().expect("a turn"));
        assert!(seat.alone().is_none(), "a thread has what it has");
        assert_eq!(seat.leave(|| drop(kept.take())), Some(8));
    }
}
