//! Closing what peers have sent: a descriptor of theirs may keep the thread that closes it for as long as they like.

use slipway_fabric::{
    descriptor::{Doomed, close, part},
    sync::Mutex,
};
use std::{io, thread::Builder};

/// Starts a thread of the library's own.
pub type Spawn = fn(Builder, Box<dyn FnOnce() + Send>) -> io::Result<()>;

/// The descriptors that are closed by threads of their own.
#[derive(Debug)]
pub struct Closer {
    spawn: Spawn,
    slow: Mutex<Slow>,
}

#[derive(Debug, Default)]
struct Slow {
    doomed: Vec<Doomed>,
    /// Threads that close some.
    threads: usize,
}

/// Threads that close such descriptors. What comes when all are busy waits for one of them.
const THREADS: usize = 8;

impl Closer {
    /// One that starts its threads with `spawn`.
    pub fn new(spawn: Spawn) -> Self {
        Self { spawn, slow: Mutex::default() }
    }

    /// Closes descriptors: those that may keep the thread on another. Not to be called with the process's lock held.
    #[cold]
    pub fn close(&'static self, doomed: Vec<Doomed>) {
        let (mut slow, quick) = part(doomed);
        close(quick);
        if slow.is_empty() {
            return;
        }
        if self.slow.lock().threads >= THREADS / 2 {
            // Another peer's files may keep these threads: what lies in an honest one's bundle does not wait for them.
            let (queues, rest): (Vec<_>, Vec<_>) = slow.into_iter().partition(Doomed::is_queue);
            let inside: Vec<_> = queues.iter().flat_map(Doomed::take_out).collect();
            let (more, quick) = part(queues.into_iter().chain(inside).collect());
            close(quick);
            slow = rest;
            slow.extend(more);
        }
        let mut all = self.slow.lock();
        all.doomed.extend(slow);
        // The last are closed first: those that probably don't take long.
        all.doomed.sort_by_key(|doomed| !doomed.is_foreign());
        if all.threads >= THREADS {
            return;
        }
        all.threads += 1;
        drop(all);
        let thread = Builder::new().name("slipway-closer".into()).stack_size(64 << 10);
        if (self.spawn)(thread, Box::new(|| self.close_slow())).is_err() {
            // They wait for the next that comes.
            self.slow.lock().threads -= 1;
        }
    }

    /// Runs `run` while no other thread has the lock here, which `run` may stop for good.
    pub(crate) fn between<T>(&self, run: impl FnOnce() -> T) -> T {
        let all = self.slow.lock();
        all.contend();
        run()
    }

    fn close_slow(&self) {
        loop {
            let mut all = self.slow.lock();
            let Some(next) = all.doomed.pop() else {
                all.threads -= 1;
                return;
            };
            drop(all);
            drop(next);
        }
    }
}
