//! Ports that the library itself serves, for a task, a thread or the host; and the ports that a space keeps apart from its names.

use super::{PortId, Right, SpaceId, State, exception_ports::Whose, port::Kernel, space::Space};
use crate::abi;

pub use slipway_abi::call::Special;

/// The place for a special port in a space.
pub(crate) fn place(which: Special, space: &mut Space) -> &mut Right {
    match which {
        Special::Exception => &mut space.exception,
        Special::Bootstrap => &mut space.bootstrap,
    }
}

impl State {
    /// What the port that `name` has a right to stands for; None for a port of another process.
    pub(crate) fn kernel_behind(&self, space: SpaceId, name: u32) -> Option<Kernel> {
        let port = self.space(space).get(name)?.port()?;
        self.port(port).local().map(|local| local.kernel)
    }

    /// A new space, with a port that stands for its task.
    pub(crate) fn new_task(&mut self) -> SpaceId {
        let space = self.new_space();
        let port = self.new_kernel_port(Kernel::Task(space));
        let name = self.name_kernel_port(space, port);
        let it = self.space_mut(space);
        it.self_name.set(name);
        it.task_port = Some(port);
        space
    }

    /// A new port that the library itself serves, and whose receive right has no name.
    pub(crate) fn new_kernel_port(&mut self, kernel: Kernel) -> PortId {
        let port = self.new_port();
        if let Some(local) = self.port_mut(port).local_mut() {
            local.kernel = kernel;
        }
        port
    }

    /// The port of a thread of this process, which started at that time.
    pub(crate) fn thread_port(&mut self, thread: u32, start: u64) -> PortId {
        self.end_former_thread(thread, start);
        if let Some((port, _)) = self.threads.get(&thread) {
            return *port;
        }
        let port = self.new_kernel_port(Kernel::Thread(thread));
        self.threads.insert(thread, (port, start));
        port
    }

    /// A thread started at that time. What belongs to one that had its number before has ended. 0: the time is not known.
    pub(crate) fn end_former_thread(&mut self, thread: u32, start: u64) {
        if self.threads.get(&thread).is_some_and(|(_, known)| ![start, 0].contains(known) && start != 0) {
            self.end_thread(thread);
        }
    }

    /// The thread has ended, and its port with it, if it has one.
    pub(crate) fn end_thread(&mut self, thread: u32) {
        self.end_exceptions(Whose::Thread(thread));
        if let Some((port, _)) = self.threads.remove(&thread) {
            self.end_served(port);
        }
    }

    /// Ends a port that the library itself serves; a task of the library's own may have its receive right.
    pub(crate) fn end_served(&mut self, port: PortId) {
        match self.port(port).local().and_then(|local| local.receiver) {
            Some((space, name)) => drop(self.port_mod_refs(space, name, abi::right::RECEIVE, -1)),
            None => self.destroy_right(Right::Receive(port)),
        }
    }

    /// Ends a semaphore: its waiters go, and names for it are dead.
    pub(crate) fn end_semaphore(&mut self, index: usize) {
        let (_, port, semaphore) = self.semaphores.remove(index);
        semaphore.end();
        self.destroy_right(Right::Receive(port));
    }

    /// Ends those that a task made.
    pub(crate) fn end_semaphores(&mut self, of: SpaceId) {
        let own: Vec<usize> = self.semaphores.iter().filter(|(_, it)| it.0 == of).map(|(index, _)| index).collect();
        own.into_iter().for_each(|index| self.end_semaphore(index));
    }

    /// A send right in a space to such a port: its name, null if there is none.
    pub(crate) fn name_kernel_port(&mut self, space: SpaceId, port: PortId) -> u32 {
        let Some(right) = self.make_send(port) else { return abi::NULL };
        self.copyout(space, right).unwrap_or_else(|right| {
            self.destroy_right(right);
            abi::NULL
        })
    }
}
