//! Where exceptions are told: the ports of tasks and threads, by names.

pub use crate::state::exception_ports::{ALL, Form, Whose, kinds};
use crate::{
    abi::{Code, NULL},
    dispatch::Inner,
    special::give,
    state::{Right, kernel::Special, kernel::place},
    task::Task,
};

/// A port that some kinds of exceptions are told to.
#[derive(Debug, Clone, Copy)]
pub struct Told {
    /// The kinds, a bit for each.
    pub mask: u32,
    /// The name of a send right; null for none.
    pub name: u32,
    /// How they are told.
    pub form: Form,
}

impl Task {
    /// Has exceptions told to a port that this task has a send right to, as `name`.
    ///
    /// # Errors
    /// `INVALID_NAME` or `INVALID_RIGHT` if there is no such right, `INVALID_TASK` if the task whose exceptions they are has ended.
    pub fn set_exceptions(&self, whose: Whose, mask: u32, name: u32, form: Form) -> Result<(), Code> {
        let mut guard = self.lock();
        guard.check(whose)?;
        guard.state.set_exceptions(whose, mask, (self.space(), name), form)
    }

    /// Where exceptions are told, those of the same port and form together. Each name has a user reference more.
    ///
    /// # Errors
    /// `RESOURCE_SHORTAGE` if there are no names left, `INVALID_TASK` if the task whose exceptions they are has ended.
    pub fn exceptions(&self, whose: Whose, mask: u32) -> Result<Vec<Told>, Code> {
        let mut guard = self.lock();
        guard.check(whose)?;
        let mut all: Vec<Told> = Vec::new();
        for kind in kinds(mask) {
            let (right, form) = guard.state.exception_right(whose, kind);
            let name = guard.name(*self, right)?;
            match all.iter_mut().find(|told| told.name == name && told.form == form) {
                Some(told) => {
                    told.mask |= 1 << kind;
                    // One reference for each that is told of.
                    if name != NULL {
                        let _ = guard.state.port_deallocate(self.space(), name);
                    }
                }
                None => all.push(Told { mask: 1 << kind, name, form }),
            }
        }
        Ok(all)
    }

    /// The special port of a thread for its exceptions, as a new reference; null if there is none.
    ///
    /// # Errors
    /// `RESOURCE_SHORTAGE` if there are no names left.
    pub fn thread_exception_port(&self, thread: u32) -> Result<u32, Code> {
        let mut guard = self.lock();
        let right = guard.state.general_exception_right(thread);
        guard.name(*self, right)
    }

    /// Sets that port to the one that `name` has a send right to; null for none.
    ///
    /// # Errors
    /// `INVALID_NAME` or `INVALID_RIGHT` if there is no such right.
    pub fn set_thread_exception_port(&self, thread: u32, name: u32) -> Result<(), Code> {
        let mut guard = self.lock();
        let new = guard.state.copyin(self.space(), name, crate::abi::types::COPY_SEND)?;
        let old = std::mem::replace(&mut guard.state.exceptions(Whose::Thread(thread)).general, new);
        guard.state.destroy_right(old);
        Ok(())
    }

    /// The ports to tell an exception to, one after the other until one has handled it: those of the thread, and those of `of`, the task that it
    /// works for. A special port is told in the typed dialect's form with `general`. The names are this task's, each with a reference more.
    /// The thread has its start beside it, as [`Task::name_of_thread`] has that.
    pub fn exception_handlers(&self, of: Self, (thread, start): (u32, u64), kind: usize, general: Form) -> Vec<(u32, Form)> {
        let mut guard = self.lock();
        guard.state.end_former_thread(thread, start);
        let (space, inner) = (of.space(), &mut *guard);
        let rights = [
            inner.state.exception_right(Whose::Thread(thread), kind),
            (inner.state.general_exception_right(thread), general),
            inner.state.exception_right(Whose::Task(space), kind),
            (inner.special_right(space), general),
        ];
        let named = rights.into_iter().filter_map(|(right, form)| Some((inner.name(*self, right).ok()?, form)));
        named.filter(|(name, _)| !matches!(*name, NULL | crate::abi::DEAD)).collect()
    }
}

impl Inner {
    fn check(&self, whose: Whose) -> Result<(), Code> {
        match whose {
            Whose::Task(space) if self.state.space(space).dead => Err(Code::INVALID_TASK),
            _ => Ok(()),
        }
    }

    /// A send right more to a task's special port for exceptions.
    fn special_right(&mut self, space: crate::state::SpaceId) -> Right {
        let Right::Send(port) = *place(Special::Exception, self.state.space_mut(space)) else { return Right::Null };
        self.state.port_mut(port).srights += 1;
        Right::Send(port)
    }

    /// The name of a right in a task.
    fn name(&mut self, to: Task, right: Right) -> Result<u32, Code> {
        match right {
            Right::Null => Ok(NULL),
            right => {
                if let Right::Send(port) = right {
                    self.refresh_remote(port);
                }
                give(self, to.space(), right)
            }
        }
    }
}
