//! A task's calls.
#![allow(unsafe_code, reason = "functions of libmach, with places for what they give")]

use crate::{
    abi::{
        COMPLEX, Code, HEADER,
        call::{KERNEL_PORT, Pieces, Request, Special, Status, TaskId},
        option, typed,
    },
    sys::{self, Name, Return},
};
use std::{
    ffi::{CString, c_int},
    io,
    os::fd::{FromRawFd, IntoRawFd, OwnedFd, RawFd},
    slice,
};

/// A task of this process: a space of names, and the calls on it. Copies stand for the same task.
///
/// Any thread may make any call at any time. In a child made by fork(2) it is a task that has ended, and so are the rights
/// that belong to it: the child has a task of its own.
///
/// The calls are Mach's, whose manual has their codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Task(pub(crate) TaskId);

/// What a call comes to.
pub(crate) fn outcome(code: Return) -> Result<(), Code> {
    match Code(code) {
        Code::SUCCESS => Ok(()),
        code => Err(code),
    }
}

/// Whether the message of that size in the buffer has memory out of line. What lies behind an item that can't be is not sent.
#[inline]
fn has_memory(buffer: &[u8], size: usize) -> bool {
    buffer.first_chunk().is_some_and(|bits| u32::from_le_bytes(*bits) & COMPLEX != 0)
        && buffer.get(HEADER..size).is_some_and(|body| typed::carried(body).any(|item| item.is_ok_and(|item| !item.of.inline)))
}

/// What a call puts into a place.
fn value<T: Default>(call: impl FnOnce(*mut T) -> Return) -> Result<T, Code> {
    let mut value = T::default();
    outcome(call(&raw mut value))?;
    Ok(value)
}

/// An array that libmach made for the caller.
struct Array {
    at: *mut u32,
    count: u32,
}

impl Array {
    const NONE: Self = Self { at: std::ptr::null_mut(), count: 0 };

    fn elements(&self) -> &[u32] {
        // SAFETY: libmach gave an array of so many elements, which is this value's.
        if self.at.is_null() { &[] } else { unsafe { slice::from_raw_parts(self.at, self.count as usize) } }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if !self.at.is_null() {
            // SAFETY: the array lies in pages of its own, and is not used again.
            unsafe { sys::vm_deallocate(sys::mach_task_self(), self.at.addr(), self.count as usize * size_of::<u32>()) };
        }
    }
}

impl From<TaskId> for Task {
    fn from(id: TaskId) -> Self {
        Self(id)
    }
}

impl Default for Task {
    fn default() -> Self {
        Self::current()
    }
}

/// Whether a message was received, if perhaps something in it found no place.
pub(crate) fn has_arrived(code: Code) -> bool {
    code == Code::SUCCESS || code.0 & 0xffff_c0ffu32 as i32 == Code::RCV_BODY_ERROR.0
}

impl Task {
    /// The task that this thread works for.
    #[inline]
    pub fn current() -> Self {
        // SAFETY: it has no needs.
        Self(unsafe { sys::slipway_task_current() })
    }

    /// A further task in this process, with an empty space.
    pub fn new() -> Self {
        // SAFETY: it has no needs.
        Self(unsafe { sys::slipway_task_create() })
    }

    /// A number that stands for the task in this process.
    pub fn number(&self) -> u32 {
        self.0.number
    }

    /// The task of a [number](Task::number) of this process.
    pub fn by_number(number: u32) -> Self {
        Self(TaskId { number, ..Self::current().0 })
    }

    /// Whether the calling thread works for it.
    #[inline]
    pub fn is_current(&self) -> bool {
        Self::current() == *self
    }

    /// Whether both are tasks of the same process, and not of a parent that was left with fork.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.0.process == other.0.process
    }

    /// Makes this the task that the calling thread works for; the one before.
    pub fn enter(self) -> Self {
        // SAFETY: the task is one of this process, or has ended.
        Self(unsafe { sys::slipway_task_enter(self.0) })
    }

    /// Has the calling thread work for the task while it makes a call, to which the task's name for itself is passed.
    #[inline]
    pub(crate) fn within<T>(&self, call: impl FnOnce(Name) -> T) -> T {
        // SAFETY: it has no needs.
        let itself = || unsafe { sys::mach_task_self() };
        if self.is_current() {
            return call(itself());
        }
        let before = self.enter();
        let result = call(itself());
        before.enter();
        result
    }

    /// Makes a call that puts a value into a place.
    #[inline]
    pub(crate) fn get<T: Default>(&self, call: impl FnOnce(Name, *mut T) -> Return) -> Result<T, Code> {
        self.within(|of| value(|place| call(of, place)))
    }

    /// Names the task for tools that look at the process.
    pub fn set_label(&self, label: &str) {
        let label = CString::new(label.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the label is a string.
        unsafe { sys::slipway_task_label(self.0, label.as_ptr()) };
    }

    /// Ends the task: every right it has is given up. Its threads get errors from then on.
    pub fn terminate(self) {
        // SAFETY: the task is one of this process, or has ended.
        unsafe { sys::slipway_task_terminate(self.0) };
    }

    /// Waits until no thread but the calling one is in a call to the task, which has been [terminated](Task::terminate)
    /// or has withdrawn its routines.
    pub fn wait_for_callers(&self) {
        // SAFETY: as for the end.
        unsafe { sys::slipway_task_wait_for_callers(self.0) };
    }

    /// `mach_msg` on a buffer, which is at least as long as the larger of the two sizes.
    ///
    /// A message with memory out of line, which is an address in its body, is not sent: `SEND_INVALID_DATA`, and nothing has
    /// happened. [`Outgoing::memory`](crate::rights::Outgoing::memory) sends memory, and [`Self::mach_msg_with_memory`] does so by address.
    #[inline]
    pub fn mach_msg(&self, buffer: &mut [u8], request: &Request) -> Code {
        if request.option & option::SEND_MSG != 0 && has_memory(buffer, request.send_size) {
            return Code::SEND_INVALID_DATA;
        }
        // SAFETY: nothing in the message is an address.
        unsafe { self.mach_msg_with_memory(buffer, request) }
    }

    /// As [`Self::mach_msg`], of any message.
    ///
    /// # Safety
    /// Memory that an item of the message is out of line at can be read, and is not changed, until the call returns. What an item
    /// gives away with the message (its deallocate bit) is whole pages that nothing uses any more.
    #[inline]
    pub unsafe fn mach_msg_with_memory(&self, buffer: &mut [u8], request: &Request) -> Code {
        // SAFETY: the buffer is there, and is lent for the call; the rest is the caller's promise.
        Code(unsafe { sys::slipway_msg(self.0, buffer.as_mut_ptr(), buffer.len(), request) })
    }

    /// Receives a message behind what a vector holds, in the memory that it has there, as `request` says. It is longer by the message then.
    pub(crate) fn receive_behind(&self, bytes: &mut Vec<u8>, request: &Request) -> Code {
        let room = bytes.spare_capacity_mut();
        let (at, len) = (room.as_mut_ptr().cast::<u8>(), room.len());
        // SAFETY: the memory is the vector's, which is borrowed; nothing there is read before it is written.
        let code = Code(unsafe { sys::slipway_msg(self.0, at, len, &raw const *request) });
        if has_arrived(code) && len >= HEADER {
            // SAFETY: a message that was received begins with its header.
            let size = unsafe { at.add(size_of::<u32>()).cast::<u32>().read_unaligned() } as usize;
            // SAFETY: it was written as far as its header says, in the vector's memory.
            unsafe { bytes.set_len(bytes.len() + size.min(len)) };
        }
        code
    }

    /// Sends a message with a plain body by a copy of a send right, from where the body lies: words, and bytes that are filled up to whole words. The caller sends
    /// others, of `behind` bytes, at once.
    #[inline]
    pub(crate) fn send_pieces(&self, dest: u32, id: i32, words: &[u64], bytes: &[u8], behind: usize) -> Code {
        let pieces = Pieces { words: words.as_ptr(), count: words.len(), bytes: bytes.as_ptr(), len: bytes.len(), behind };
        // SAFETY: they are slices.
        Code(unsafe { sys::slipway_send_pieces(self.0, dest, id, &raw const pieces) })
    }

    /// `mach_task_self`. A task that has given up the name gets another; null if there is none left.
    pub fn self_name(&self) -> u32 {
        self.within(|of| of)
    }

    /// The task in this process that a name of this task stands for: `mach_task_self`'s name, or another's.
    pub fn named(&self, task: u32) -> Option<Self> {
        let mut id = TaskId::NONE;
        // SAFETY: the result has a place.
        let code = self.within(|_| unsafe { sys::slipway_task_named(task, &raw mut id) });
        outcome(code).ok().map(|()| Self(id))
    }

    /// `mach_thread_self`: a name for the port of the calling thread, with a user reference more; null if there is none.
    /// The port dies when the thread ends.
    pub fn thread_name(&self) -> u32 {
        // SAFETY: it has no needs.
        self.within(|_| unsafe { sys::mach_thread_self() })
    }

    /// `mach_host_self`: a name for the port of the host, with a user reference more; null if there is none.
    pub fn host_name(&self) -> u32 {
        // SAFETY: it has no needs.
        self.within(|_| unsafe { sys::mach_host_self() })
    }

    /// The task's own port, with a user reference more.
    ///
    /// # Errors
    /// `INVALID_TASK` if it has ended.
    pub fn self_right(&self) -> Result<u32, Code> {
        // SAFETY: the result has a place.
        self.get(|of, name| unsafe { sys::task_get_special_port(of, KERNEL_PORT, name) })
    }

    /// `mach_port_names`: every name and its type.
    ///
    /// # Errors
    /// `INVALID_TASK` if the task has ended.
    pub fn names(&self) -> Result<Vec<(u32, u32)>, Code> {
        let (mut names, mut types) = (Array::NONE, Array::NONE);
        let (to, of_types) = (&mut names, &mut types);
        // SAFETY: each result has a place.
        let code = self.within(|of| unsafe {
            sys::mach_port_names(of, &raw mut to.at, &raw mut to.count, &raw mut of_types.at, &raw mut of_types.count)
        });
        outcome(code)?;
        Ok(names.elements().iter().copied().zip(types.elements().iter().copied()).collect())
    }

    /// `mach_port_get_set_status`.
    ///
    /// # Errors
    /// `INVALID_NAME`, `INVALID_RIGHT` for what is no port set.
    pub fn set_status(&self, name: u32) -> Result<Vec<u32>, Code> {
        let mut members = Array::NONE;
        let to = &mut members;
        // SAFETY: each result has a place.
        let code = self.within(|of| unsafe { sys::mach_port_get_set_status(of, name, &raw mut to.at, &raw mut to.count) });
        outcome(code)?;
        Ok(members.elements().to_vec())
    }

    /// `mach_port_get_receive_status`. Messages that still lie in lines are counted once they are seen.
    ///
    /// # Errors
    /// `INVALID_NAME`, `INVALID_RIGHT` for what is no receive right.
    pub fn receive_status(&self, name: u32) -> Result<Status, Code> {
        // SAFETY: the result has a place.
        self.get(|of, status| unsafe { sys::mach_port_get_receive_status(of, name, status) })
    }

    /// `mach_reply_port`.
    ///
    /// # Errors
    /// `RESOURCE_SHORTAGE`, also for a task that has ended.
    pub fn reply_port(&self) -> Result<u32, Code> {
        // SAFETY: it has no needs.
        match self.within(|_| unsafe { sys::mach_reply_port() }) {
            crate::abi::NULL => Err(Code::RESOURCE_SHORTAGE),
            name => Ok(name),
        }
    }

    /// `mach_port_request_notification`: `to` is a name of this task with the disposition `how`. The name of the
    /// send-once right that was registered before, or null.
    ///
    /// # Errors
    /// `INVALID_NAME`, `INVALID_CAPABILITY` for a right that can't be told, and what else Mach's call returns.
    pub fn request_notification(&self, name: u32, id: i32, sync: u32, to: u32, how: u32) -> Result<u32, Code> {
        // SAFETY: the result has a place.
        self.get(|of, before| unsafe { sys::mach_port_request_notification(of, name, id, sync, to, how, before) })
    }

    /// Runs a call on this task from another, which knows it by name then.
    fn from(&self, other: Self, call: impl FnOnce(Name) -> Return) -> Return {
        if other == *self {
            return self.within(call);
        }
        other.within(|own| {
            // SAFETY: the task is one of this process, or has ended.
            let name = unsafe { sys::slipway_task_port(self.0) };
            let code = call(name);
            // SAFETY: the name's reference is the caller's.
            unsafe { sys::mach_port_deallocate(own, name) };
            code
        })
    }

    /// `mach_port_insert_right`: puts the right that `from` has as `right_name`, taken as `how` says, into this task
    /// under `name`.
    ///
    /// # Errors
    /// What Mach's call returns.
    pub fn insert_right(&self, name: u32, from: Self, right_name: u32, how: u32) -> Result<(), Code> {
        // SAFETY: numbers.
        outcome(self.from(from, |of| unsafe { sys::mach_port_insert_right(of, name, right_name, how) }))
    }

    /// `mach_port_extract_right`: takes a right of this task out, as `how` says, and gives it to `to`: its name there.
    ///
    /// # Errors
    /// What Mach's call returns.
    pub fn extract_right(&self, name: u32, how: u32, to: Self) -> Result<u32, Code> {
        let mut kind = 0;
        // SAFETY: each result has a place.
        value(|right| self.from(to, |of| unsafe { sys::mach_port_extract_right(of, name, how, right, &raw mut kind) }))
    }

    /// A special port, as a new reference; null if there is none.
    ///
    /// # Errors
    /// `RESOURCE_SHORTAGE`.
    pub fn special(&self, which: Special) -> Result<u32, Code> {
        // SAFETY: the result has a place.
        self.get(|_, name| unsafe { sys::slipway_task_special(which as c_int, name) })
    }

    /// Makes the port that `name` has a send right to a special port of the task, in place of the one before; null for
    /// none.
    ///
    /// # Errors
    /// `INVALID_NAME` or `INVALID_RIGHT` if there is no such right.
    pub fn set_special(&self, which: Special, name: u32) -> Result<(), Code> {
        // SAFETY: numbers.
        outcome(self.within(|of| unsafe { sys::task_set_special_port(of, which as c_int, name) }))
    }

    /// The task's bootstrap port, as a new reference; null if it has none.
    ///
    /// # Errors
    /// `RESOURCE_SHORTAGE`.
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

    /// Notes a name that [`crate::bootstrap::port`] gives out.
    pub(crate) fn note_name_server(&self, name: u32) {
        // SAFETY: a number.
        self.within(|_| unsafe { sys::slipway_task_note_name_server(name) });
    }

    /// Whether [`crate::bootstrap::port`] gave the name out.
    pub(crate) fn is_name_server(&self, name: u32) -> bool {
        // SAFETY: a number.
        self.within(|_| unsafe { sys::slipway_task_is_name_server(name) }) != 0
    }
}

/// Calls that take numbers, and give a code or a number with it.
macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) = $call:ident;)*
     -> u32 { $($(#[$get_doc:meta])* $get:ident($($get_argument:ident: $get_type:ty),*) = $get_call:ident;)* }) => {
        impl Task {
            $(#[doc = concat!("`", stringify!($call), "`.")]
            ///
            /// # Errors
            /// What Mach's call returns.
            $(#[$doc])*
            pub fn $name(&self, $($argument: $type),*) -> Result<(), Code> {
                // SAFETY: numbers.
                outcome(self.within(|of| unsafe { sys::$call(of, $($argument),*) }))
            })*

            $(#[doc = concat!("`", stringify!($get_call), "`.")]
            ///
            /// # Errors
            /// What Mach's call returns.
            $(#[$get_doc])*
            pub fn $get(&self, $($get_argument: $get_type),*) -> Result<u32, Code> {
                // SAFETY: numbers, and a place for the result.
                self.get(|of, value| unsafe { sys::$get_call(of, $($get_argument,)* value) })
            })*
        }
    };
}

calls! {
    rename(old: u32, new: u32) = mach_port_rename;
    allocate_name(which: u32, name: u32) = mach_port_allocate_name;
    destroy(name: u32) = mach_port_destroy;
    deallocate(name: u32) = mach_port_deallocate;
    mod_refs(name: u32, which: u32, delta: i32) = mach_port_mod_refs;
    set_qlimit(name: u32, limit: u32) = mach_port_set_qlimit;
    set_mscount(name: u32, count: u32) = mach_port_set_mscount;
    set_seqno(name: u32, seqno: u32) = mach_port_set_seqno;
    set_payload(name: u32, payload: u64) = mach_port_set_protected_payload;
    clear_payload(name: u32) = mach_port_clear_protected_payload;
    move_member(member: u32, after: u32) = mach_port_move_member;
    -> u32 {
        kind(name: u32) = mach_port_type;
        allocate(which: u32) = mach_port_allocate;
        get_refs(name: u32, which: u32) = mach_port_get_refs;
    }
}

/// What an errno of libmach's says.
pub(crate) fn known(errno: c_int) -> io::Result<()> {
    if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
}

/// A descriptor that libmach made for the caller.
fn owned(fd: RawFd) -> OwnedFd {
    // SAFETY: it is open, and the caller's.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Descriptors.
impl Task {
    /// A descriptor that polls as readable while there may be a message at the port or set. It may be
    /// readable without one: receive with a time-out of 0 until nothing comes.
    ///
    /// # Errors
    /// `InvalidInput` for a name with neither a receive right nor a port set; no descriptor can be had.
    pub fn pollable(&self, name: u32) -> io::Result<OwnedFd> {
        let mut fd = -1;
        // SAFETY: the result has a place.
        match outcome(self.within(|_| unsafe { sys::slipway_port_descriptor(name, &raw mut fd) })) {
            Ok(()) => Ok(owned(fd)),
            Err(Code::RESOURCE_SHORTAGE) => Err(io::ErrorKind::OutOfMemory.into()),
            Err(code) => Err(io::Error::new(io::ErrorKind::InvalidInput, code)),
        }
    }

    /// Takes a send right that came as two descriptors from outside of Mach, as the name server gives the first:
    /// its name.
    ///
    /// # Errors
    /// The descriptors are not such a pair, or there is no memory.
    pub fn import(&self, sending: OwnedFd, holder: OwnedFd) -> io::Result<u32> {
        let mut name = 0;
        let (sending, holder) = (sending.into_raw_fd(), holder.into_raw_fd());
        // SAFETY: both are given away, and the result has a place.
        known(self.within(|_| unsafe { sys::slipway_port_import(sending, holder, &raw mut name) }))?;
        Ok(name)
    }

    /// The descriptors that stand for a send right to the port that `name` receives from, for [`Task::import`] in
    /// another process. Each export counts as a sender while its descriptors are open.
    ///
    /// # Errors
    /// `InvalidInput` without a receive right; no descriptors can be had.
    pub fn export(&self, name: u32) -> io::Result<(OwnedFd, OwnedFd)> {
        let (mut sending, mut holder) = (-1, -1);
        // SAFETY: each result has a place.
        known(self.within(|_| unsafe { sys::slipway_port_export(name, &raw mut sending, &raw mut holder) }))?;
        Ok((owned(sending), owned(holder)))
    }
}

impl Task {
    /// How many pipes tell of holders elsewhere of a send right to the port that `name` receives from.
    pub fn holders(&self, name: u32) -> usize {
        // SAFETY: the result has a place.
        self.get(|_, holders| unsafe { sys::slipway_port_holders(name, holders) }).unwrap_or(0)
    }
}
