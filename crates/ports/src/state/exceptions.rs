//! Where the exceptions of tasks and threads are told.

use super::{
    Right, SpaceId, State,
    exception_ports::{Exceptions, Form, Whose, kinds},
};
use crate::abi::{Code, types};

impl State {
    /// What is set for a task or a thread.
    pub(crate) fn exceptions(&mut self, whose: Whose) -> &mut Exceptions {
        match whose {
            Whose::Task(space) => &mut self.space_mut(space).exceptions,
            Whose::Thread(thread) => self.thread_exceptions.entry(thread).or_default(),
        }
    }

    /// Has the kinds of exceptions in `mask` told to the port that `name` has a send right to; null for none.
    ///
    /// # Errors
    /// `INVALID_NAME` or `INVALID_RIGHT` if there is no such right: nothing has changed then.
    pub(crate) fn set_exceptions(
        &mut self,
        whose: Whose,
        mask: u32,
        (space, name): (SpaceId, u32),
        form: Form,
    ) -> Result<(), Code> {
        for kind in kinds(mask) {
            // Only the first can fail.
            let right = self.copyin(space, name, types::COPY_SEND)?;
            let (old, _) = std::mem::replace(&mut self.exceptions(whose).ports[kind], (right, form));
            self.destroy_right(old);
        }
        Ok(())
    }

    /// A send right more to where a kind of exceptions is told, and the form.
    pub(crate) fn exception_right(&mut self, whose: Whose, kind: usize) -> (Right, Form) {
        let exceptions = match whose {
            Whose::Task(space) => Some(&self.space(space).exceptions),
            Whose::Thread(thread) => self.thread_exceptions.get(&thread),
        };
        let Some((right, form)) = exceptions.map(|it| &it.ports[kind]) else { return Default::default() };
        let (right, form) = (copy(right), *form);
        (self.count(right), form)
    }

    /// A send right more to the special port of a thread.
    pub(crate) fn general_exception_right(&mut self, thread: u32) -> Right {
        let right = self.thread_exceptions.get(&thread).map_or(Right::Null, |it| copy(&it.general));
        self.count(right)
    }

    fn count(&mut self, right: Right) -> Right {
        if let Right::Send(port) = right {
            self.port_mut(port).srights += 1;
        }
        right
    }

    /// The task or thread ends.
    pub(crate) fn end_exceptions(&mut self, whose: Whose) {
        let mut old = match whose {
            Whose::Task(space) => std::mem::take(&mut self.space_mut(space).exceptions),
            Whose::Thread(thread) => self.thread_exceptions.remove(&thread).unwrap_or_default(),
        };
        old.rights().for_each(|right| self.destroy_right(std::mem::take(right)));
    }
}

/// A right that is not counted yet.
fn copy(right: &Right) -> Right {
    match right {
        Right::Send(port) => Right::Send(*port),
        Right::Dead => Right::Dead,
        _ => Right::Null,
    }
}
