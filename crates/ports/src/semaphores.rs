//! Semaphores of a task: each is behind a port, whose name stands for it in the tasks of this process.

use crate::{
    abi::{self, Code},
    semaphore::Semaphore,
    state::port::Kernel,
    task::Task,
};
use std::sync::Arc;

impl Task {
    /// `semaphore_create`: a semaphore of this task with so many tokens: its name for `to`.
    ///
    /// # Errors
    /// `RESOURCE_SHORTAGE` if there are no names left.
    pub fn create_semaphore(&self, tokens: u32, to: Self) -> Result<u32, Code> {
        let mut guard = self.lock();
        let index = guard.state.semaphores.vacant_key();
        let port = guard.state.new_kernel_port(Kernel::Semaphore(index as u32));
        guard.state.semaphores.insert((self.space(), port, Arc::new(Semaphore::new(tokens))));
        match guard.state.name_kernel_port(to.space(), port) {
            abi::NULL => {
                guard.state.end_semaphore(index);
                Err(Code::RESOURCE_SHORTAGE)
            }
            name => Ok(name),
        }
    }

    fn semaphore_index(&self, name: u32) -> Result<usize, Code> {
        match self.serves(name) {
            Some(Kernel::Semaphore(index)) => Ok(index as usize),
            _ => Err(Code::INVALID_ARGUMENT),
        }
    }

    /// The semaphore that a name stands for.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it stands for none of this process.
    pub fn semaphore(&self, name: u32) -> Result<Arc<Semaphore>, Code> {
        let index = self.semaphore_index(name)?;
        self.lock().state.semaphores.get(index).map(|it| it.2.clone()).ok_or(Code::INVALID_ARGUMENT)
    }

    /// `semaphore_destroy`: waiters get `TERMINATED`, and names for it become dead names. `name` is the calling task's `from`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it stands for no semaphore of this task.
    pub fn destroy_semaphore(&self, from: Self, name: u32) -> Result<(), Code> {
        let index = from.semaphore_index(name)?;
        let mut guard = self.lock();
        match guard.state.semaphores.get(index) {
            Some((of, ..)) if *of == self.space() => guard.state.end_semaphore(index),
            _ => return Err(Code::INVALID_ARGUMENT),
        }
        Ok(())
    }
}
