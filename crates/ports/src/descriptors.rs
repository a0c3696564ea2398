//! What a task has outside of Mach: descriptors that poll for its ports, and those that stand for send rights.

use crate::{
    abi::kind,
    lock::Guard,
    state::space::{Entry, Object},
    task::Task,
    waiting::For,
};
use slipway_fabric::descriptor::Reserved;
use std::{io, os::fd::OwnedFd};

impl Task {
    /// A descriptor that polls as readable while there may be a message at the port or set. It may be
    /// readable without one: receive with a time-out of 0 until nothing comes.
    ///
    /// # Errors
    /// `InvalidInput` if nothing can be received from the name; no descriptors are left.
    pub fn pollable(&self, name: u32) -> io::Result<OwnedFd> {
        let mut guard = self.lock();
        let what = self.polled(&guard, name).ok_or(io::ErrorKind::InvalidInput)?;
        guard.pollable(what)
    }

    /// Whether the descriptors that [`Self::pollable`] gave for the name are polled from here on. Those that are not cost nothing, and
    /// tell nothing. False if there are none.
    pub fn polls(&self, name: u32, on: bool) -> bool {
        let mut guard = self.lock();
        self.polled(&guard, name).is_some_and(|what| guard.polls(what, on))
    }

    fn polled(&self, guard: &Guard<'_>, name: u32) -> Option<For> {
        match guard.state.space(self.space()).get(name)? {
            Entry { object: Object::Set(set), .. } => Some(For::Set(*set)),
            entry if entry.has(kind::RECEIVE) => entry.port().map(For::Port),
            _ => None,
        }
    }

    /// Takes a send right that came as two descriptors from outside of Mach, as the name server gives the first:
    /// its name.
    ///
    /// # Errors
    /// `InvalidData` if the descriptors stand for no send right; no descriptors or no names are left.
    pub fn import(&self, sending: OwnedFd, holder: OwnedFd) -> io::Result<u32> {
        let (s, t) = (Reserved::new(sending)?, Reserved::new(holder)?);
        let mut guard = self.lock();
        let inner = &mut *guard;
        let right = inner.import_send(s, t).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        inner.state.copyout(self.space(), right).map_err(|right| {
            inner.state.destroy_right(right);
            io::ErrorKind::OutOfMemory.into()
        })
    }

    /// The descriptors that stand for a send right to the port that `name` receives from, for [`Task::import`] in
    /// another process. Each export counts as a sender while its descriptors are open.
    ///
    /// # Errors
    /// `InvalidInput` if the name has no receive right; no descriptors are left.
    pub fn export(&self, name: u32) -> io::Result<(OwnedFd, OwnedFd)> {
        let mut guard = self.lock();
        let port = guard.own_port(self.space(), name).ok_or(io::ErrorKind::InvalidInput)?;
        if let Some(local) = guard.state.port_mut(port).local_mut() {
            local.mscount = local.mscount.wrapping_add(1);
        }
        let (s, t) = guard.export_pair(port)?;
        Ok((rustix::io::fcntl_dupfd_cloexec(&*s, 0)?, rustix::io::fcntl_dupfd_cloexec(&*t, 0)?))
    }

    /// How many pipes tell of holders elsewhere of a send right to the port that `name` receives from.
    pub fn holders(&self, name: u32) -> usize {
        let mut guard = self.lock();
        let Some(port) = guard.own_port(self.space(), name) else { return 0 };
        guard.refresh_senders(port);
        guard.exported(port).map_or(0, |exported| exported.watches.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        abi::{Code, option, right, types},
        msg::Request,
    };
    use rustix::event::{PollFd, PollFlags, Timespec};
    use slipway_test_support::Msg;
    use std::sync::Mutex;

    /// What is polled is counted for the whole process.
    static POLLS: Mutex<()> = Mutex::new(());

    /// Who has it next has not said that nobody polls.
    #[test]
    fn a_receive_right_that_was_moved_is_polled_anew() {
        let _alone = POLLS.lock();
        let [task, other] = [Task::new(), Task::new()];
        let port = task.allocate(right::RECEIVE).expect("a port");
        let first = task.pollable(port).expect("a descriptor");
        assert!(task.polls(port, false));
        other.insert_right(port, task, port, types::MOVE_RECEIVE).expect("a free name");
        let second = other.pollable(port).expect("a descriptor");
        let readable = || {
            let mut polled = [&first, &second].map(|descriptor| PollFd::new(descriptor, PollFlags::IN));
            rustix::event::poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).expect("descriptors");
            polled.map(|it| !it.revents().is_empty())
        };
        let call = |option| {
            let mut msg = Msg::new(1, (port, types::MAKE_SEND), (0, 0)).0;
            let size = msg.len();
            other.mach_msg(
                &mut msg,
                &Request { option, send_size: size, receive_size: size, receive_name: port, ..Request::default() },
            )
        };
        assert_eq!(call(option::RCV_MSG | option::RCV_TIMEOUT), Code::RCV_TIMED_OUT);
        assert_eq!(readable(), [true, false], "one whose task can receive no more, and a new one");
        assert_eq!(call(option::SEND_MSG), Code::SUCCESS);
        assert_eq!(readable(), [true; 2]);
        other.terminate();
        task.terminate();
    }

    /// Of a port that died a dead name may be left for as long as its holder likes.
    #[test]
    fn a_port_that_died_is_polled_no_more() {
        let _alone = POLLS.lock();
        let task = Task::new();
        let polled = |task: Task| task.lock().waiting.pollables.len();
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
