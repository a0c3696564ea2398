//! A semaphore: tokens, and the threads that wait for one, in the order in which they came.

use crate::abi::Code;
use slipway_fabric::sync::{FutexWord, Mutex, Ordering, Slept};
use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

/// What a waiter's word tells it.
const WAITS: u32 = 0;
const SIGNALLED: u32 = 1;
const ENDED: u32 = 2;

#[derive(Debug, Default)]
struct Queue {
    tokens: u32,
    waiters: VecDeque<Arc<FutexWord>>,
    ended: bool,
}

/// A semaphore of the threads of one process.
#[derive(Debug, Default)]
pub struct Semaphore(Mutex<Queue>);

fn tell(waiter: &FutexWord, what: u32) {
    waiter.store(what, Ordering::Release);
    waiter.wake_one_private();
}

impl Semaphore {
    /// One with so many tokens.
    pub fn new(tokens: u32) -> Self {
        Self(Mutex::new(Queue { tokens, ..Queue::default() }))
    }

    /// Gives a token to the first waiter, or keeps it.
    ///
    /// # Errors
    /// `TERMINATED` if the semaphore has ended.
    pub fn signal(&self) -> Result<(), Code> {
        let mut queue = self.0.lock();
        if queue.ended {
            return Err(Code::TERMINATED);
        }
        match queue.waiters.pop_front() {
            Some(waiter) => tell(&waiter, SIGNALLED),
            None => queue.tokens = queue.tokens.saturating_add(1),
        }
        Ok(())
    }

    /// Lets every waiter go, and keeps no token.
    ///
    /// # Errors
    /// As [`Self::signal`].
    pub fn signal_all(&self) -> Result<(), Code> {
        let mut queue = self.0.lock();
        if queue.ended {
            return Err(Code::TERMINATED);
        }
        queue.waiters.drain(..).for_each(|waiter| tell(&waiter, SIGNALLED));
        Ok(())
    }

    /// Ends it: its waiters go with an error.
    pub(crate) fn end(&self) {
        let mut queue = self.0.lock();
        queue.ended = true;
        queue.waiters.drain(..).for_each(|waiter| tell(&waiter, ENDED));
    }

    /// Takes a token; waits for one at most so long.
    ///
    /// # Errors
    /// `OPERATION_TIMED_OUT`; `TERMINATED` if the semaphore has ended, or ends meanwhile.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<(), Code> {
        let own = {
            let mut queue = self.0.lock();
            if queue.ended {
                return Err(Code::TERMINATED);
            }
            if let Some(left) = queue.tokens.checked_sub(1) {
                queue.tokens = left;
                return Ok(());
            }
            let own = Arc::new(FutexWord::default());
            queue.waiters.push_back(own.clone());
            own
        };
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            match own.load(Ordering::Acquire) {
                SIGNALLED => return Ok(()),
                ENDED => return Err(Code::TERMINATED),
                _ => {}
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).as_nanos() as u64);
            if own.sleep(WAITS, left, false) == Slept::TimedOut {
                let mut queue = self.0.lock();
                let before = queue.waiters.len();
                queue.waiters.retain(|waiter| !Arc::ptr_eq(waiter, &own));
                // One that is in the queue no more was told in time.
                if queue.waiters.len() < before {
                    return Err(Code::OPERATION_TIMED_OUT);
                }
            }
        }
    }
}
