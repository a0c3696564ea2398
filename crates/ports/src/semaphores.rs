//! Semaphores of a task: each is behind a port, whose name stands for it in the tasks of this process.

use crate::{
    abi::{self, Code},
    semaphore::Semaphore,
    state::{SpaceId, State, port::Kernel},
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

    /// The semaphore that a name stands for.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it stands for none of this process.
    pub fn semaphore(&self, name: u32) -> Result<Arc<Semaphore>, Code> {
        let guard = self.lock();
        let index = index(&guard.state, self.space(), name)?;
        guard.state.semaphores.get(index).map(|it| it.2.clone()).ok_or(Code::INVALID_ARGUMENT)
    }

    /// `semaphore_destroy`: waiters get `TERMINATED`, and names for it become dead names. `name` is the calling task's `from`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it stands for no semaphore of this process, `INVALID_RIGHT` for another task's.
    pub fn destroy_semaphore(&self, from: Self, name: u32) -> Result<(), Code> {
        let mut guard = self.lock();
        let index = index(&guard.state, from.space(), name)?;
        match guard.state.semaphores.get(index) {
            Some((of, ..)) if *of == self.space() => guard.state.end_semaphore(index),
            Some(_) => return Err(Code::INVALID_RIGHT),
            None => return Err(Code::INVALID_ARGUMENT),
        }
        Ok(())
    }
}

/// Where the semaphore that a name stands for is, for as long as the lock is held: a place may be another's then.
fn index(state: &State, space: SpaceId, name: u32) -> Result<usize, Code> {
    match state.kernel_behind(space, name) {
        Some(Kernel::Semaphore(index)) => Ok(index as usize),
        _ => Err(Code::INVALID_ARGUMENT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semaphore_is_ended_by_its_task_only() {
        let (task, other) = (Task::new(), Task::new());
        let name = task.create_semaphore(1, other).expect("a semaphore");
        assert_eq!(other.destroy_semaphore(other, name), Err(Code::INVALID_RIGHT));
        assert!(other.semaphore(name).is_ok());
        assert_eq!(task.destroy_semaphore(other, name), Ok(()));
        assert_eq!(task.destroy_semaphore(other, name), Err(Code::INVALID_ARGUMENT));
        assert_eq!(other.semaphore(name).map(drop), Err(Code::INVALID_ARGUMENT));
    }
}
