//! Cells for servers that calls work on: memory that is never freed, so that a call that is late finds it there, and used
//! again.
//!
//! Routines are registered with a [`ServerRef`] as their context: the address of a cell, and the number of the server in it. Another server
//! that has the cell later has another number, so calls of routines that are still registered when they should not be, or
//! have begun before, find that theirs is gone. A cell is not used again when its numbers are used up, or when a call that
//! `exit` has left holds its lock.
#![allow(unsafe_code, reason = "a cell that is found by its address")]

use slipway_fabric::sync::{AtomicUsize, Ordering};
use std::{
    ffi::c_void,
    ptr::with_exposed_provenance,
    sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError},
};

/// Where a context has the number: above all addresses that a program has on Linux.
const NUMBER: u32 = 48;
const LAST: usize = (1 << (usize::BITS - NUMBER)) - 1;

/// A cell for a server, and the thread that is at work on it alone.
#[derive(Debug, Default)]
struct ServerCell {
    held: RwLock<Held>,
    worker: AtomicUsize,
}

/// The server in a cell.
#[derive(Debug, Default)]
struct Held {
    /// The last number.
    number: usize,
    /// The context of references to it; 0 for none.
    context: usize,
    /// The server's address.
    server: usize,
}

/// All that were made, by which a look for lost memory finds them, and those that are free.
#[derive(Debug)]
struct Cells {
    all: Vec<&'static ServerCell>,
    free: Vec<&'static ServerCell>,
}

static CELLS: Mutex<Cells> = Mutex::new(Cells { all: Vec::new(), free: Vec::new() });

/// A reference to a server: its cell, and the context, which another server in the cell does not have.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerRef {
    cell: &'static ServerCell,
    context: usize,
}

thread_local! {
    /// Its address stands for the thread.
    static HERE: u8 = const { 0 };
}

fn here() -> usize {
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

impl ServerRef {
    /// Takes a cell for the server at an address.
    pub fn new(server: usize) -> Self {
        let cell = {
            let mut cells = CELLS.lock().unwrap_or_else(PoisonError::into_inner);
            cells.free.pop().unwrap_or_else(|| {
                let cell: &'static ServerCell = Box::leak(Box::default());
                assert_eq!(std::ptr::from_ref(cell).expose_provenance() >> NUMBER, 0, "an address has too many bits");
                cells.all.push(cell);
                cell
            })
        };
        let mut held = cell.held.write().unwrap_or_else(PoisonError::into_inner);
        let number = held.number + 1;
        let context = std::ptr::from_ref(cell).addr() | number << NUMBER;
        *held = Held { number, context, server };
        Self { cell, context }
    }

    /// What is registered with routines.
    pub fn context(&self) -> usize {
        self.context
    }

    /// The reference with that context.
    ///
    /// # Safety
    /// It is one that [`Self::context`] gave.
    #[inline]
    pub unsafe fn of(context: *mut c_void) -> Self {
        let context = context.addr();
        // SAFETY: the caller's promise; a cell is never freed.
        let cell = unsafe { &*with_exposed_provenance::<ServerCell>(context & !(LAST << NUMBER)) };
        Self { cell, context }
    }

    /// Waits until no other thread works on the server; None if the calling thread does already.
    #[inline]
    pub fn exclusive(&self) -> Option<ExclusiveGuard> {
        let cell = self.cell;
        let held = match cell.held.try_write() {
            Ok(held) => held,
            // A routine that panicked has ended its call. What it left of the server is the server's matter.
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) if self.is_held_here() => return None,
            Err(TryLockError::WouldBlock) => cell.held.write().unwrap_or_else(PoisonError::into_inner),
        };
        cell.worker.store(here(), Ordering::Relaxed);
        Some(ExclusiveGuard { held, reference: *self })
    }

    /// Whether the calling thread is at work on the server alone.
    pub fn is_held_here(&self) -> bool {
        self.cell.worker.load(Ordering::Relaxed) == here()
    }

    /// The right to read the server with others; None if its end has come.
    #[inline]
    pub fn shared(&self) -> Option<SharedGuard> {
        let held = match self.cell.held.try_read() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(SharedGuard { held, context: self.context })
    }

    /// Takes the server away: its address. None if a call keeps it, for which `wait` has waited.
    pub fn leave(self, wait: impl FnOnce()) -> Option<usize> {
        let got = || match self.cell.held.try_write() {
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
            CELLS.lock().unwrap_or_else(PoisonError::into_inner).free.push(self.cell);
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
pub(super) struct ExclusiveGuard {
    held: RwLockWriteGuard<'static, Held>,
    reference: ServerRef,
}

impl ExclusiveGuard {
    /// The server's address; None if it is gone.
    #[inline]
    pub fn server(&self) -> Option<usize> {
        self.held.server(self.reference.context)
    }
}

impl Drop for ExclusiveGuard {
    fn drop(&mut self) {
        self.reference.cell.worker.store(0, Ordering::Relaxed);
    }
}

/// The right to read a server.
#[derive(Debug)]
pub(super) struct SharedGuard {
    held: RwLockReadGuard<'static, Held>,
    context: usize,
}

impl SharedGuard {
    /// The server's address; None if it is gone.
    #[inline]
    pub fn server(&self) -> Option<usize> {
        self.held.server(self.context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cells are the process's, so one test at a time may count on where they go.
    static ONE_TEST: Mutex<()> = Mutex::new(());

    fn made() -> usize {
        CELLS.lock().expect("no panic").all.len()
    }

    #[test]
    fn a_cell_is_used_again_and_not_by_the_server_before() {
        let _one = ONE_TEST.lock().unwrap_or_else(PoisonError::into_inner);
        let first = ServerRef::new(8);
        assert_eq!(first.exclusive().expect("access").server(), Some(8));
        assert_eq!(first.leave(|| panic!("nobody is in it")), Some(8));
        let before = made();
        let mut last = first;
        // More than one cell has numbers for, so that it is given up for another.
        for server in 1..=LAST + 2 {
            let reference = ServerRef::new(server);
            // SAFETY: the context is the reference's.
            let found = unsafe { ServerRef::of(std::ptr::without_provenance_mut(reference.context())) };
            assert_eq!(found.shared().expect("a server").server(), Some(server));
            assert!(reference.cell.held.read().expect("no panic").number <= LAST);
            last = reference;
            assert_eq!(reference.leave(|| panic!("nobody is in it")), Some(server));
        }
        assert!(made() - before <= 8, "each server has a cell of its own");
        assert_eq!(last.exclusive().expect("access").server(), None, "the server is gone");
        let next = ServerRef::new(16);
        assert!(std::ptr::eq(next.cell, last.cell) && first.context() != next.context());
        assert_eq!(last.exclusive().expect("access").server(), None, "the server is another one");
        assert_eq!(last.shared().expect("a server").server(), None);
        assert_eq!(next.leave(|| ()), Some(16));
    }

    #[test]
    fn a_cell_that_is_kept_is_waited_for_and_then_left_alone() {
        let _one = ONE_TEST.lock().unwrap_or_else(PoisonError::into_inner);
        let reference = ServerRef::new(8);
        let kept = reference.shared().expect("a server");
        let mut waited = false;
        assert_eq!(reference.leave(|| waited = true), None);
        assert!(waited && !CELLS.lock().expect("no panic").free.iter().any(|free| std::ptr::eq(*free, reference.cell)));
        assert_eq!(kept.server(), Some(8));
        drop(kept);
        let reference = ServerRef::new(8);
        let mut kept = Some(reference.exclusive().expect("access"));
        assert!(reference.exclusive().is_none(), "a thread has what it has");
        assert_eq!(reference.leave(|| drop(kept.take())), Some(8));
    }
}
