//! Under loom: its threads, and a bell made of its mutex and condition variable.

use loom::{
    cell::UnsafeCell,
    sync::{Condvar, Mutex},
    thread,
};
use slipway_fabric::{
    credit::Table,
    ring::RingControl,
    sync::{Bytes, Shared},
};

/// Runs `body` in every interleaving within the bound that LOOM_MAX_PREEMPTIONS sets.
pub fn check(body: impl Fn() + Sync + Send + 'static) {
    loom::model(body);
}

pub fn spawn<T: 'static>(body: impl FnOnce() -> T + 'static) -> thread::JoinHandle<T> {
    thread::spawn(body)
}

pub use loom::thread::yield_now;

pub fn memory(size: usize) -> (Shared<RingControl>, Bytes) {
    (Shared::fresh(), Bytes::fresh(size))
}

pub fn tables() -> (Shared<Table>, Shared<Table>) {
    (Shared::fresh(), Shared::fresh())
}

/// A line's socket as poll(2) and epoll(7) see it: messages that stay until they are drained, and an
/// edge for each that arrives. A sleep that nothing ends is a deadlock, which loom reports.
#[derive(Default)]
pub struct Bell {
    state: Mutex<State>,
    change: Condvar,
}

#[derive(Default)]
struct State {
    messages: u32,
    edge: bool,
    kick: bool,
}

impl Bell {
    pub fn ring(&self) {
        let mut state = self.state.lock().unwrap();
        state.messages += 1;
        state.edge = true;
        self.change.notify_all();
    }

    pub fn wait(&self) {
        let mut state = self.state.lock().unwrap();
        while state.messages == 0 {
            state = self.change.wait(state).unwrap();
        }
    }

    pub fn drain(&self) {
        self.state.lock().unwrap().messages = 0;
    }

    pub fn rings(&self) -> bool {
        self.state.lock().unwrap().messages > 0
    }

    /// Takes one message.
    pub fn hear(&self) {
        self.state.lock().unwrap().messages -= 1;
    }

    /// As an edge-triggered epoll set: an edge counts only while the message is still there.
    pub fn wait_edge(&self) {
        let mut state = self.state.lock().unwrap();
        while !(state.kick || (state.edge && state.messages > 0)) {
            state = self.change.wait(state).unwrap();
        }
        (state.edge, state.kick) = (false, false);
    }

    /// Ends [`Bell::wait_edge`], as the set's own eventfd does.
    pub fn kick(&self) {
        self.state.lock().unwrap().kick = true;
        self.change.notify_all();
    }
}

/// A variable that loom watches for races.
#[derive(Default)]
pub struct Cell(UnsafeCell<u32>);

// SAFETY: loom fails the test on any access that races.
unsafe impl Sync for Cell {}

impl Cell {
    pub fn add(&self, n: u32) {
        // SAFETY: as above.
        self.0.with_mut(|value| unsafe { *value += n });
    }

    pub fn get(&self) -> u32 {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value })
    }
}
