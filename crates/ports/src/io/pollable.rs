//! Descriptors that tell event loops when there may be a message.

use super::{Inner, wait::For};
use slipway_fabric::descriptor::Reserved;

/// Ports and sets whose readiness programs poll for.
pub type Pollables = Vec<Pollable>;

/// A port or set that a program polls.
#[derive(Debug)]
pub struct Pollable {
    /// What is polled.
    pub what: For,
    /// Readable while there may be a message.
    pub event: Reserved,
}

impl Inner {
    /// Tells those who poll that there may be a message at what `of` picks.
    pub(crate) fn tell_pollers(&self, of: impl Fn(&For) -> bool) {
        for pollable in self.io.pollables.iter().filter(|pollable| of(&pollable.what)) {
            let _ = rustix::io::write(&pollable.event, &1u64.to_ne_bytes());
        }
    }

    /// Nothing was there to be received: who polls has to wait.
    pub(crate) fn quiet(&mut self, what: For) {
        for pollable in self.io.pollables.iter().filter(|pollable| pollable.what == what) {
            let mut count = [0; 8];
            let _ = rustix::io::read(&pollable.event, &mut count);
        }
    }

    /// A descriptor that is readable while there may be a message to be received.
    pub(crate) fn pollable(&mut self, what: For) -> std::io::Result<std::os::fd::OwnedFd> {
        use rustix::event::{EventfdFlags, eventfd};
        if !self.io.pollables.iter().any(|pollable| pollable.what == what) {
            let event = Reserved::new(eventfd(1, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)?;
            self.io.pollables.push(Pollable { what, event });
        }
        let pollable = self.io.pollables.iter().find(|pollable| pollable.what == what).ok_or(std::io::ErrorKind::NotFound)?;
        let copy = rustix::io::fcntl_dupfd_cloexec(&pollable.event, 0)?;
        if !self.io.waiting.is_led() {
            self.cool_all();
        }
        Ok(copy)
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        abi::{right, types},
        task::Task,
    };

    /// Of a port that died a dead name may be left for as long as its holder likes.
    #[test]
    fn a_port_that_died_is_polled_no_more() {
        let task = Task::new();
        let polled = |task: Task| task.lock().io.pollables.len();
        let before = polled(task);
        for _ in 0..10 {
            let port = task.allocate(right::RECEIVE).expect("a port");
            task.insert_right(port, task, port, types::MAKE_SEND).expect("a send right");
            task.pollable(port).expect("a descriptor");
            task.mod_refs(port, right::RECEIVE, -1).expect("dead");
        }
        assert_eq!(polled(task), before);
        task.terminate();
    }
}
