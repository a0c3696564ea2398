//! A task's calls: `mach_msg`, and the `mach_port_*` routines on its own space.

use crate::{
    abi::{Code, call::Status, notify},
    dispatch::Inner,
    lock::{Guard, Process},
    msg::{self, Request, format::Format, header::Typed, pieces::Pieces},
    state::{
        SpaceId, State,
        exception_ports::Whose,
        kernel::{Special, place},
        port::Kernel,
        space::Entry,
    },
    trap,
};
use slipway_abi::call::TaskId;

/// A task of this process: a space, and the calls on it. Copies stand for the same task.
///
/// Any thread may make any call at any time. In a child made by fork(2) it is a task that has ended, and so are the rights
/// that belong to it: the child has a task of its own.
///
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Where the process is.
    process: usize,
    space: SpaceId,
}

/// Tells the task of a thread from others in the fewest steps. Two that are equal are of one task, two of one task may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    process: usize,
    space: u32,
}

impl Key {
    /// That of no thread.
    pub const NONE: Self = Self { process: 0, space: 0 };

    /// That of the task that the calling thread works for.
    #[inline]
    pub fn current() -> Self {
        Self { process: Process::number(), space: trap::current_number() }
    }
}

impl Task {
    /// The task that this thread works for.
    #[inline]
    pub fn current() -> Self {
        let process = Process::get();
        Self { process: process.address(), space: trap::current().unwrap_or(process.first_space()) }
    }

    /// A further task in this process, with an empty space.
    pub fn new() -> Self {
        let process = Process::get();
        let mut guard = process.lock();
        let space = guard.state.new_task();
        process.note_self_name(space, guard.state.space(space).self_name.clone());
        Self { process: process.address(), space }
    }

    /// A number that stands for the task in this process.
    pub fn number(&self) -> u32 {
        self.space().0
    }

    /// The task of a [number](Task::number) of this process.
    pub fn by_number(number: u32) -> Self {
        Self { process: Process::get().address(), space: SpaceId(number) }
    }

    /// Whether the process began as this task.
    pub fn is_first(&self) -> bool {
        self.space() == Process::get().first_space()
    }

    /// Whether the task has been [terminated](Self::terminate).
    pub fn has_ended(&self) -> bool {
        self.lock().state.space(self.space()).dead
    }

    /// Names the task, for those that inspect the process.
    pub fn set_label(&self, label: &str) {
        self.lock().state.space_mut(self.space()).label = label.into();
    }

    /// Whether the calling thread works for it.
    #[inline]
    pub fn is_current(&self) -> bool {
        let Some(process) = Process::made().filter(|process| process.address() == self.process) else { return false };
        let current = trap::current_number();
        current == self.space.0 || (current == trap::FIRST && self.space == process.first_space())
    }

    /// Makes this the task that the calling thread works for; the one before.
    pub fn enter(self) -> Self {
        let before = Self::current();
        trap::set_current(self.space());
        before
    }

    /// Ends the task: every right it has is given up. Its threads get errors from then on.
    pub fn terminate(self) {
        let mut guard = self.lock();
        for which in Special::ALL {
            let right = std::mem::take(place(which, guard.state.space_mut(self.space())));
            guard.state.destroy_right(right);
        }
        guard.state.end_exceptions(Whose::Task(self.space()));
        guard.state.end_semaphores(self.space());
        guard.state.terminate(self.space());
    }

    /// Whether a thread waits for requests on the task's behalf, or polls for them. For the host of tasks.
    pub fn waits_for_requests(self) -> bool {
        self.lock().waits_for_requests(self.space())
    }

    /// The lock on the process that the task is in.
    pub(crate) fn lock(&self) -> Guard<'static> {
        Process::get().lock()
    }

    /// Whether both are tasks of the same process, and not of a parent that was left with fork.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.process == other.process
    }

    /// The task's space.
    pub fn space(&self) -> SpaceId {
        self.space_in(Process::get())
    }

    /// The space in the process that calls are about. A task of a parent that fork left is one that has ended.
    #[inline]
    fn space_in(&self, process: &'static Process) -> SpaceId {
        if self.process == process.address() { self.space } else { process.ended_space() }
    }

    /// `mach_msg`: see [`msg::mach_msg`].
    #[inline]
    pub fn mach_msg(&self, buffer: &mut [u8], request: &Request) -> Code {
        self.mach_msg_as::<Typed>(buffer, request)
    }

    /// As [`Self::mach_msg`], on a message in another dialect's format.
    #[inline]
    pub fn mach_msg_as<F: Format>(&self, buffer: &mut [u8], request: &Request) -> Code {
        match Process::made().filter(|process| process.address() == self.process) {
            Some(process) => msg::mach_msg::<F>(process, self.space, buffer, request),
            None => self.mach_msg_of_ended::<F>(buffer, request),
        }
    }

    /// Sends a message with a plain body from where it lies, and others of `behind` bytes at once: see [`msg::pieces`].
    #[inline]
    pub fn send_pieces(&self, dest: u32, id: i32, words: &[u64], bytes: &[u8], behind: usize) -> Code {
        let body = Pieces { words, bytes, behind };
        match Process::made().filter(|process| process.address() == self.process) {
            Some(process) => msg::pieces::send(process, self.space, dest, id, &body),
            None => self.send_pieces_of_ended(dest, id, &body),
        }
    }

    /// As [`Self::mach_msg_of_ended`].
    #[cold]
    #[inline(never)]
    fn send_pieces_of_ended(&self, dest: u32, id: i32, body: &Pieces<'_>) -> Code {
        msg::pieces::send(Process::get(), self.space(), dest, id, body)
    }

    /// As [`Self::mach_msg`], for a task of a parent that fork left. Apart, so that the usual way saves no registers for it.
    #[cold]
    #[inline(never)]
    fn mach_msg_of_ended<F: Format>(&self, buffer: &mut [u8], request: &Request) -> Code {
        msg::mach_msg::<F>(Process::get(), self.space(), buffer, request)
    }

    /// `mach_task_self`. A task that has given up the name gets another; null if there is none left.
    #[inline]
    pub fn self_name(&self) -> u32 {
        let process = Process::get();
        let space = self.space_in(process);
        match process.self_name(space) {
            crate::abi::NULL => self.name_self(),
            name => name,
        }
    }

    /// Runs `call` on the state, for a routine that concerns the one name.
    fn with<T>(&self, name: u32, call: impl FnOnce(&mut Inner, SpaceId) -> Result<T, Code>) -> Result<T, Code> {
        let mut guard = self.lock();
        guard.refresh(self.space(), name);
        call(&mut guard, self.space())
    }

    /// As [`Self::with`], for a routine that gives up the receive right of the name, if there is one and it `ends`.
    fn ending(&self, name: u32, ends: bool, call: impl FnOnce(&mut State, SpaceId) -> Result<(), Code>) -> Result<(), Code> {
        let (mut guard, space) = (self.lock(), self.space());
        if ends && guard.plainly().end_lone_port(space, name) {
            return Ok(());
        }
        guard.refresh(space, name);
        if ends {
            guard.hear_releases(space, name);
        }
        call(&mut guard.state, space)
    }

    /// The task in this process that a name of this task stands for: `mach_task_self`'s name, or another's.
    #[inline]
    pub fn named(&self, task: u32) -> Option<Self> {
        let process = Process::get();
        if task != crate::abi::NULL && task == process.self_name(self.space_in(process)) {
            return Some(*self);
        }
        self.named_otherwise(task)
    }

    fn named_otherwise(&self, task: u32) -> Option<Self> {
        let guard = self.lock();
        let port = guard.state.space(self.space()).get(task).and_then(Entry::port)?;
        match guard.state.port(port).local()?.kernel {
            Kernel::Task(space) => Some(Self { process: guard.process().address(), space }),
            _ => None,
        }
    }

    /// `mach_port_names`: every name and its type.
    ///
    /// # Errors
    /// `INVALID_TASK` if the task has ended.
    pub fn names(&self) -> Result<Vec<(u32, u32)>, Code> {
        let mut guard = self.lock();
        let names: Vec<u32> = guard.state.space(self.space()).iter().map(|(name, _)| name).collect();
        names.into_iter().for_each(|name| guard.refresh(self.space(), name));
        guard.state.port_names(self.space())
    }

    /// `mach_port_type`.
    ///
    /// # Errors
    /// `INVALID_NAME` if the name denotes nothing.
    pub fn kind(&self, name: u32) -> Result<u32, Code> {
        self.with(name, |inner, space| inner.state.port_type(space, name))
    }

    /// `mach_port_rename`.
    ///
    /// # Errors
    /// `INVALID_NAME` if `old` denotes nothing, `INVALID_VALUE` if `new` can't be a name, `NAME_EXISTS` if it denotes something.
    pub fn rename(&self, old: u32, new: u32) -> Result<(), Code> {
        self.with(old, |inner, space| inner.state.port_rename(space, old, new))
    }

    /// `mach_port_allocate`: `which` is a number of [`crate::abi::right`].
    ///
    /// # Errors
    /// `INVALID_VALUE` if `which` is no right that can be made, `NO_SPACE` if there are no names left, `INVALID_TASK` if the task has ended.
    pub fn allocate(&self, which: u32) -> Result<u32, Code> {
        self.lock().plainly().state.port_allocate(self.space(), which)
    }

    /// `mach_port_allocate_name`.
    ///
    /// # Errors
    /// As [`Self::allocate`]; `INVALID_VALUE` if `name` can't be a name, `NAME_EXISTS` if it denotes something.
    pub fn allocate_name(&self, which: u32, name: u32) -> Result<(), Code> {
        self.lock().plainly().state.port_allocate_name(self.space(), which, name)
    }

    /// `mach_reply_port`.
    ///
    /// # Errors
    /// `NO_SPACE` if there are no names left, `INVALID_TASK` if the task has ended.
    pub fn reply_port(&self) -> Result<u32, Code> {
        self.lock().plainly().state.reply_port(self.space())
    }

    /// `mach_port_destroy`.
    ///
    /// # Errors
    /// `INVALID_NAME` if the name denotes nothing.
    pub fn destroy(&self, name: u32) -> Result<(), Code> {
        self.ending(name, true, |state, space| state.port_destroy(space, name))
    }

    /// `mach_port_deallocate`.
    ///
    /// # Errors
    /// `INVALID_NAME` if the name denotes nothing, `INVALID_RIGHT` if no send, send-once or dead-name right.
    pub fn deallocate(&self, name: u32) -> Result<(), Code> {
        let (mut guard, space) = (self.lock(), self.space());
        // The state alone drops no descriptor here; what it leaves to do does so in the release.
        let inner = guard.plainly();
        if inner.drop_lone_right(space, name) { Ok(()) } else { inner.state.port_deallocate(space, name) }
    }

    /// `mach_port_get_refs`.
    ///
    /// # Errors
    /// `INVALID_NAME` if the name denotes nothing, `INVALID_VALUE` if `which` is no right.
    pub fn get_refs(&self, name: u32, which: u32) -> Result<u32, Code> {
        self.with(name, |inner, space| inner.state.port_get_refs(space, name, which))
    }

    /// `mach_port_mod_refs`.
    ///
    /// # Errors
    /// `INVALID_NAME` if the name denotes nothing, `INVALID_RIGHT` if not such a right; `INVALID_VALUE` if `which` is no right or can't have so
    /// many references, `UREFS_OVERFLOW` if they are more than Mach counts.
    pub fn mod_refs(&self, name: u32, which: u32, delta: i32) -> Result<(), Code> {
        let ends = which == crate::abi::right::RECEIVE && delta == -1;
        self.ending(name, ends, |state, space| state.port_mod_refs(space, name, which, delta))
    }

    /// `mach_port_set_qlimit`. Senders in other processes learn of it with their next message.
    ///
    /// # Errors
    /// `INVALID_NAME`, `INVALID_RIGHT` if the name has no receive right, `INVALID_VALUE` if the limit is above [`QLIMIT_MAX`](crate::abi::QLIMIT_MAX).
    pub fn set_qlimit(&self, name: u32, limit: u32) -> Result<(), Code> {
        self.with(name, |inner, space| {
            inner.state.port_set_qlimit(space, name, limit)?;
            if let Some(port) = inner.own_port(space, name) {
                inner.announce_limit(port, limit);
            }
            Ok(())
        })
    }

    /// `mach_port_set_mscount`.
    ///
    /// # Errors
    /// `INVALID_NAME`, `INVALID_RIGHT` if the name has no receive right.
    pub fn set_mscount(&self, name: u32, count: u32) -> Result<(), Code> {
        self.lock().state.port_set_mscount(self.space(), name, count)
    }

    /// `mach_port_set_seqno`.
    ///
    /// # Errors
    /// As [`Self::set_mscount`].
    pub fn set_seqno(&self, name: u32, seqno: u32) -> Result<(), Code> {
        self.lock().state.port_set_seqno(self.space(), name, seqno)
    }

    /// `mach_port_set_protected_payload`.
    ///
    /// # Errors
    /// As [`Self::set_mscount`].
    pub fn set_payload(&self, name: u32, payload: u64) -> Result<(), Code> {
        self.lock().state.port_set_protected_payload(self.space(), name, payload)
    }

    /// `mach_port_clear_protected_payload`.
    ///
    /// # Errors
    /// As [`Self::set_mscount`].
    pub fn clear_payload(&self, name: u32) -> Result<(), Code> {
        self.lock().state.port_clear_protected_payload(self.space(), name)
    }

    /// `mach_port_get_set_status`.
    ///
    /// # Errors
    /// `INVALID_NAME`, `INVALID_RIGHT` if the name is no port set's.
    pub fn set_status(&self, name: u32) -> Result<Vec<u32>, Code> {
        self.lock().state.port_get_set_status(self.space(), name)
    }

    /// `mach_port_move_member`.
    ///
    /// # Errors
    /// `INVALID_NAME`, `INVALID_RIGHT` if `member` has no receive right or `after` is no set, `NOT_IN_SET` if it should leave a set but is in
    /// none.
    pub fn move_member(&self, member: u32, after: u32) -> Result<(), Code> {
        self.lock().state.port_move_member(self.space(), member, after)
    }

    /// `mach_port_get_receive_status`. Messages that still lie in lines are counted once they are seen.
    ///
    /// # Errors
    /// As [`Self::set_mscount`].
    pub fn receive_status(&self, name: u32) -> Result<Status, Code> {
        self.with(name, |inner, space| {
            inner.catch_up();
            if let Some(port) = inner.own_port(space, name) {
                inner.refresh_senders(port);
            }
            inner.state.port_get_receive_status(space, name)
        })
    }

    /// `mach_port_request_notification`: `to` is a name of this task with the disposition `how`. The name of the
    /// send-once right that was registered before, or null.
    ///
    /// # Errors
    /// `INVALID_CAPABILITY` if `to` gives no send-once right; `INVALID_NAME`, `INVALID_RIGHT`, `INVALID_ARGUMENT` if the name can't have
    /// such a request; `INVALID_VALUE` if `id` is none; `UREFS_OVERFLOW`, `RESOURCE_SHORTAGE`.
    pub fn request_notification(&self, name: u32, id: i32, sync: u32, to: u32, how: u32) -> Result<u32, Code> {
        self.with(name, |inner, space| {
            if id == notify::NO_SENDERS
                && let Some(port) = inner.own_port(space, name)
            {
                inner.refresh_senders(port);
            }
            let to = inner.state.copyin(space, to, how).map_err(|_| Code::INVALID_CAPABILITY)?;
            let before = inner.state.port_request_notification(space, name, id, sync, to)?;
            inner.settle();
            inner.state.copyout(space, before).map_err(|right| {
                inner.state.destroy_right(right);
                Code::RESOURCE_SHORTAGE
            })
        })
    }

    /// `mach_port_insert_right`: puts the right that `from` has as `right_name`, taken as `how` says, into this task
    /// under `name`.
    ///
    /// # Errors
    /// `INVALID_NAME`, `INVALID_RIGHT`, `INVALID_VALUE` if `from` has no such right, or `name` can't be a name; `INVALID_CAPABILITY` if it is null or
    /// dead, `NAME_EXISTS`, `RIGHT_EXISTS` if the name or the right is taken, `UREFS_OVERFLOW`.
    pub fn insert_right(&self, name: u32, from: Self, right_name: u32, how: u32) -> Result<(), Code> {
        let mut guard = self.lock();
        let moved = guard.state.copyin(from.space(), right_name, how)?;
        guard.state.port_insert_right(self.space(), name, moved)
    }

    /// `mach_port_extract_right`: takes a right of this task out, as `how` says, and gives it to `to`: its name there.
    ///
    /// # Errors
    /// `INVALID_NAME`, `INVALID_RIGHT` if the task has no such right, `INVALID_VALUE` if `how` says none, `RESOURCE_SHORTAGE` if `to` has no
    /// names left.
    pub fn extract_right(&self, name: u32, how: u32, to: Self) -> Result<u32, Code> {
        let mut guard = self.lock();
        let taken = guard.state.port_extract_right(self.space(), name, how)?;
        let guard = &mut *guard;
        guard.state.copyout(to.space(), taken).map_err(|right| {
            guard.state.destroy_right(right);
            Code::RESOURCE_SHORTAGE
        })
    }
}

impl From<Task> for TaskId {
    #[inline]
    fn from(task: Task) -> Self {
        Self { process: task.process, number: task.space.0 }
    }
}

impl From<TaskId> for Task {
    #[inline]
    fn from(id: TaskId) -> Self {
        Self { process: id.process, space: SpaceId(id.number) }
    }
}

impl Task {
    /// Notes a name that stands for a name server.
    pub fn note_name_server(&self, name: u32) {
        let mut guard = self.lock();
        let space = guard.state.space_mut(self.space());
        if !space.dead && !space.name_servers.contains(&name) {
            space.name_servers.push(name);
        }
    }

    /// Whether the name was noted so.
    pub fn is_name_server(&self, name: u32) -> bool {
        self.lock().state.space(self.space()).name_servers.contains(&name)
    }
}

impl Default for Task {
    fn default() -> Self {
        Self::current()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::kind;

    #[test]
    fn a_tasks_port_dies_with_it() {
        let (task, other) = (Task::new(), Task::new());
        let name = task.self_right_for(other).expect("a right");
        assert_eq!((other.kind(name), other.named(name)), (Ok(kind::SEND), Some(task)));
        task.terminate();
        assert_eq!((other.kind(name), other.named(name)), (Ok(kind::DEAD_NAME), None));
        other.terminate();
    }

    #[test]
    fn a_name_is_its_tasks_name_servers_as_long_as_the_task_is_there() {
        let (task, other) = (Task::new(), Task::new());
        (0..3).for_each(|_| task.note_name_server(0x1234));
        assert!(task.is_name_server(0x1234) && !task.is_name_server(0x1235) && !other.is_name_server(0x1234));
        let kept = |task: Task| task.lock().state.space(task.space()).name_servers.len();
        assert_eq!(kept(task), 1);
        task.terminate();
        assert!(!task.is_name_server(0x1234), "the task is gone");
        task.note_name_server(0x1234);
        assert_eq!(kept(task), 0);
        other.terminate();
    }
}
