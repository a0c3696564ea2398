//! That a thread holds locks, and what is put off until it holds none: a signal handler that came between might ask for the same lock, and
//! would wait for ever for what it has interrupted.

use std::{
    cell::Cell,
    marker::PhantomData,
    sync::atomic::{Ordering::SeqCst, compiler_fence},
};

/// What a thread holds.
struct Thread {
    /// Locks that it has, or is about to take.
    locks: Cell<u32>,
    /// What it is to do when it has none.
    then: Cell<Option<fn()>>,
}

thread_local! {
    static THREAD: Thread = const { Thread { locks: Cell::new(0), then: Cell::new(None) } };
}

/// One that the calling thread holds, or is about to, until dropped: after the lock was released.
#[derive(Debug)]
pub struct Held(PhantomData<*const ()>);

impl Held {
    /// Before the lock is taken.
    #[inline]
    pub fn enter() -> Self {
        THREAD.with(|thread| thread.locks.set(thread.locks.get() + 1));
        // A handler sees this before anything is done that the lock guards.
        compiler_fence(SeqCst);
        Self(PhantomData)
    }
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        compiler_fence(SeqCst);
        THREAD.with(|thread| {
            let left = thread.locks.get() - 1;
            thread.locks.set(left);
            // In this order: what comes before the store leaves word, and what comes after it is not put off.
            compiler_fence(SeqCst);
            if left == 0 && thread.then.get().is_some() {
                catch_up(thread);
            }
        });
    }
}

#[cold]
fn catch_up(thread: &Thread) {
    if let Some(then) = thread.then.take() {
        then();
    }
}

/// Whether the calling thread holds locks, or is about to: where a hook begins, it is called by the library itself then, or in a signal handler that could not be
/// put off.
pub fn holds_any() -> bool {
    THREAD.with(|thread| thread.locks.get() != 0)
}

/// Has the calling thread run `then` once it holds no lock; false if it holds none. For signal handlers: `then` takes the place of what was to be run, which
/// is the same for all of them.
pub fn after_locks(then: fn()) -> bool {
    THREAD.with(|thread| {
        let holds = thread.locks.get() != 0;
        if holds {
            thread.then.set(Some(then));
        }
        holds
    })
}
