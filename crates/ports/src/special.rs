//! The ports that stand for a task, its threads and the host, and those that a task keeps for its special purposes.

use crate::{
    abi::{self, Code, kind, types},
    dispatch::Inner,
    lock::Process,
    state::{
        Home, Right, SpaceId,
        kernel::{Special, place},
        port::Kernel,
    },
    task::Task,
};
use std::{cell::Cell, io};

/// The calling thread, in the process in which it asked for its port, which dies with it. The port itself is only in the state: it may
/// have ended there before, and its number may be another port's.
struct ThreadPort(Cell<Option<(&'static Process, u32)>>);

thread_local! {
    static THREAD: ThreadPort = const { ThreadPort(Cell::new(None)) };
}

impl Drop for ThreadPort {
    fn drop(&mut self) {
        // Fork copies the thread, and not its port.
        if let (Some(process), Some((asked, thread))) = (Process::made(), self.0.get())
            && std::ptr::eq(asked, process)
        {
            process.lock().state.end_thread(thread);
        }
    }
}

/// The calling thread's number in the system.
fn own_number() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

impl Task {
    /// What the port that `name` has a send right to stands for.
    pub(crate) fn serves(&self, name: u32) -> Option<Kernel> {
        self.lock().state.kernel_behind(self.space(), name)
    }

    /// Whether `name` is a send right to a port of another process.
    pub fn leads_elsewhere(&self, name: u32) -> bool {
        let guard = self.lock();
        let entry = guard.state.space(self.space()).get(name).filter(|entry| entry.has(kind::SEND));
        entry.and_then(|entry| entry.port()).is_some_and(|port| matches!(guard.state.port(port).home, Home::Remote))
    }

    /// The number in the system of the thread of this process that `name` stands for.
    pub fn thread_by_name(&self, name: u32) -> Option<u32> {
        match self.serves(name)? {
            Kernel::Thread(thread) => Some(thread),
            _ => None,
        }
    }

    /// A name for the port of a thread of this process, with a user reference more; null if there is none. `start` tells the thread from
    /// one that had its number before, and is when it started, in any unit; 0 if that is not known.
    pub fn name_of_thread(&self, thread: u32, start: u64) -> u32 {
        let mut guard = self.lock();
        let port = guard.state.thread_port(thread, start);
        guard.state.name_kernel_port(self.space(), port)
    }

    /// Whether `name` stands for the host.
    pub fn is_host(&self, name: u32) -> bool {
        self.serves(name) == Some(Kernel::Host)
    }

    /// `task_threads`: names for the ports of the process's threads, each with a user reference more. `list` gives the threads'
    /// numbers, some of which it may miss; `has_ended` says whether one is the number of no thread any more, and `start` is as
    /// [`Task::name_of_thread`] has it. Ports of threads that ended without ever asking for their own die here.
    ///
    /// # Errors
    /// `RESOURCE_SHORTAGE` if there is no list, or no names are left: no reference is given then.
    pub fn thread_names(
        &self,
        list: impl FnOnce() -> io::Result<Vec<u32>>,
        has_ended: impl Fn(u32) -> bool,
        start: impl Fn(u32) -> u64,
    ) -> Result<Vec<u32>, Code> {
        let mut guard = self.lock();
        // With the lock held: a thread of the list that ends gives up its port later, or it is found to be gone by the next call.
        let threads = list().map_err(|_| Code::RESOURCE_SHORTAGE)?;
        let missing = guard.state.threads.keys().filter(|thread| !threads.contains(thread));
        let gone: Vec<u32> = missing.copied().filter(|thread| has_ended(*thread)).collect();
        gone.into_iter().for_each(|thread| guard.state.end_thread(thread));
        let mut names = Vec::with_capacity(threads.len());
        for thread in threads {
            let port = guard.state.thread_port(thread, start(thread));
            match guard.state.name_kernel_port(self.space(), port) {
                abi::NULL => {
                    // They were just made: nothing is in the way of their end.
                    for name in names {
                        let _ = guard.state.port_deallocate(self.space(), name);
                    }
                    return Err(Code::RESOURCE_SHORTAGE);
                }
                name => names.push(name),
            }
        }
        Ok(names)
    }

    /// `mach_thread_self`: a name for the port of the calling thread, with a user reference more; null if there is none.
    /// The port dies when the thread ends. `start` is as [`Task::name_of_thread`] has it.
    pub fn thread_name(&self, start: impl Fn(u32) -> u64) -> u32 {
        let process = Process::get();
        // A thread that is being taken down has lost its port. Before the lock is taken: see `at_end`.
        let thread = THREAD.try_with(|thread| {
            let asked = thread.0.get().filter(|(asked, _)| std::ptr::eq(*asked, process));
            let (_, number) = asked.unwrap_or_else(|| (process, own_number()));
            thread.0.set(Some((process, number)));
            // It was said with the first question.
            (number, if asked.is_some() { 0 } else { start(number) })
        });
        thread.map_or(abi::NULL, |(thread, start)| self.name_of_thread(thread, start))
    }

    /// `mach_host_self`: a name for the port of the host, with a user reference more; null if there is none.
    pub fn host_name(&self) -> u32 {
        let mut guard = self.lock();
        let port = *guard.process().host.get_or_init(|| guard.state.new_kernel_port(Kernel::Host));
        guard.state.name_kernel_port(self.space(), port)
    }

    /// The task's own port, with a user reference more.
    ///
    /// # Errors
    /// `INVALID_TASK` if the task has ended, `RESOURCE_SHORTAGE` if there are no names left.
    pub fn self_right(&self) -> Result<u32, Code> {
        self.self_right_for(*self)
    }

    /// A send right to the task's own port for another task of the process: its name there.
    pub fn self_right_for(&self, to: Self) -> Result<u32, Code> {
        let mut guard = self.lock();
        let port = guard.state.space(self.space()).task_port.ok_or(Code::INVALID_TASK)?;
        let right = guard.state.make_send(port).ok_or(Code::INVALID_TASK)?;
        give(&mut guard, to.space(), right)
    }

    /// The task's name for itself, made anew if there is none.
    #[cold]
    pub(crate) fn name_self(&self) -> u32 {
        let mut guard = self.lock();
        let space = guard.state.space(self.space());
        let (name, port) = (space.self_name.get(), space.task_port);
        match port {
            Some(port) if name == abi::NULL => {
                let name = guard.state.name_kernel_port(self.space(), port);
                guard.state.space(self.space()).self_name.set(name);
                name
            }
            _ => name,
        }
    }

    /// A special port, as a new reference; null if there is none.
    ///
    /// # Errors
    /// `RESOURCE_SHORTAGE` if there are no names left.
    pub fn special(&self, which: Special) -> Result<u32, Code> {
        self.special_for(which, *self)
    }

    /// As [`Self::special`], for another task of the process: the name there.
    ///
    /// # Errors
    /// As there; `INVALID_TASK` if this task has ended.
    pub fn special_for(&self, which: Special, to: Self) -> Result<u32, Code> {
        let mut guard = self.lock();
        if guard.state.space(self.space()).dead {
            return Err(Code::INVALID_TASK);
        }
        let Right::Send(port) = *place(which, guard.state.space_mut(self.space())) else { return Ok(abi::NULL) };
        guard.refresh_remote(port);
        guard.state.port_mut(port).srights += 1;
        give(&mut guard, to.space(), Right::Send(port))
    }

    /// Makes the port that `name` has a send right to a special port of the task, in place of the one before; null for
    /// none.
    ///
    /// # Errors
    /// `INVALID_NAME` or `INVALID_RIGHT` if there is no such right.
    pub fn set_special(&self, which: Special, name: u32) -> Result<(), Code> {
        self.set_special_from(which, *self, name)
    }

    /// As [`Self::set_special`], with a name of another task of the process.
    ///
    /// # Errors
    /// As there; `INVALID_TASK` if this task has ended.
    pub fn set_special_from(&self, which: Special, from: Self, name: u32) -> Result<(), Code> {
        let mut guard = self.lock();
        if guard.state.space(self.space()).dead {
            return Err(Code::INVALID_TASK);
        }
        let new = guard.state.copyin(from.space(), name, types::COPY_SEND)?;
        let old = std::mem::replace(place(which, guard.state.space_mut(self.space())), new);
        guard.state.destroy_right(old);
        Ok(())
    }

    /// The task's bootstrap port, as a new reference; null if it has none.
    ///
    /// # Errors
    /// As [`Self::special`].
    pub fn bootstrap(&self) -> Result<u32, Code> {
        self.special(Special::Bootstrap)
    }

    /// Makes the port that `name` has a send right to the task's bootstrap port. Children inherit it.
    ///
    /// # Errors
    /// As [`Self::set_special`].
    pub fn set_bootstrap(&self, name: u32) -> Result<(), Code> {
        self.set_special(Special::Bootstrap, name)
    }
}

/// Gives a right to a space: its name there.
pub(crate) fn give(inner: &mut Inner, space: SpaceId, right: Right) -> Result<u32, Code> {
    inner.state.copyout(space, right).map_err(|right| {
        inner.state.destroy_right(right);
        Code::RESOURCE_SHORTAGE
    })
}
