//! What stubs generated from interface definitions call.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    call::{Name, routine},
    memory::{vm_allocate, vm_deallocate},
    task::mach_task_self,
};
use slipway_ports::{
    abi::{Code, right},
    task::{Key, Task},
};
use std::{
    cell::{Cell, RefCell},
    ffi::{c_char, c_void},
};

thread_local! {
    /// The reply port that the thread used last, and the task that it is of. A child made by fork has its parent's record,
    /// but not the port.
    static REPLY_PORT: Cell<Option<(Task, Name)>> = const { Cell::new(None) };
    /// The same, for callers that work for the same task as then.
    static AT_HAND: Cell<(Key, Name)> = const { Cell::new((Key::NONE, 0)) };
    static OTHERS: Others = const { Others(RefCell::new(Vec::new())) };
}

/// The reply ports that a thread has in other tasks, which it works for in calls to them. Gives all of the thread's
/// reply ports up when it ends.
struct Others(RefCell<Vec<(Task, Name)>>);

impl Drop for Others {
    fn drop(&mut self) {
        let here = Task::current();
        AT_HAND.set((Key::NONE, 0));
        for (task, name) in REPLY_PORT.take().into_iter().chain(self.0.take()).filter(|(task, _)| task.is_beside(&here)) {
            let _ = task.mod_refs(name, right::RECEIVE, -1);
        }
    }
}

impl Others {
    /// The port in a task, if there is one.
    fn take(&self, task: Task) -> Option<Name> {
        let mut others = self.0.borrow_mut();
        let at = others.iter().position(|(of, _)| *of == task)?;
        Some(others.swap_remove(at).1)
    }

    /// Makes a port the one that was used last.
    fn put_last(&self, task: Task, name: Name) {
        let mut others = self.0.borrow_mut();
        others.retain(|(of, _)| of.is_beside(&task));
        others.extend(REPLY_PORT.replace(Some((task, name))).filter(|(of, _)| of.is_beside(&task) && *of != task));
    }
}

/// Does nothing: all is set up on first use.
#[unsafe(no_mangle)]
pub extern "C" fn mig_init(_first: *mut c_void) {}

/// The calling thread's reply port; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn mig_get_reply_port() -> Name {
    match AT_HAND.get() {
        (key, name) if key == Key::current() => name,
        _ => other_reply_port(),
    }
}

/// The reply port of a thread that works for another task than before, or has none.
#[cold]
#[inline(never)]
extern "C" fn other_reply_port() -> Name {
    let mut name = 0;
    routine(|| {
        let task = Task::current();
        let last = REPLY_PORT.get().filter(|(of, _)| *of == task).map(|(_, name)| name);
        name = match last.or_else(|| OTHERS.try_with(|others| others.take(task)).ok().flatten()) {
            Some(name) => name,
            None => task.reply_port()?,
        };
        // A thread that is being taken down keeps none: the port goes with its task.
        if OTHERS.try_with(|others| others.put_last(task, name)).is_ok() {
            AT_HAND.set((Key::current(), name));
        }
        Ok::<(), Code>(())
    });
    name
}

/// Gives the reply port back after use. The thread keeps it.
#[unsafe(no_mangle)]
pub extern "C" fn mig_put_reply_port(_reply_port: Name) {}

/// Destroys a reply port to which a late reply may come.
#[unsafe(no_mangle)]
pub extern "C" fn mig_dealloc_reply_port(reply_port: Name) {
    routine(|| {
        let task = Task::current();
        if REPLY_PORT.get() == Some((task, reply_port)) {
            REPLY_PORT.set(None);
            AT_HAND.set((Key::NONE, 0));
        }
        let _ = OTHERS.try_with(|others| others.0.borrow_mut().retain(|other| *other != (task, reply_port)));
        task.mod_refs(reply_port, right::RECEIVE, -1)
    });
}

/// Memory for out-of-line data; 0 if there is none.
///
/// # Safety
/// The address has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mig_allocate(address: *mut usize, size: usize) {
    let mut at = 0;
    // SAFETY: `at` is a place; the caller's promise is for the other.
    unsafe {
        if vm_allocate(mach_task_self(), &raw mut at, size, 1) != 0 {
            at = 0;
        }
        if !address.is_null() {
            address.write_unaligned(at);
        }
    }
}

/// Gives memory of [`mig_allocate`] or of a message back.
///
/// # Safety
/// Nothing refers to it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mig_deallocate(address: usize, size: usize) {
    // SAFETY: the caller's promise.
    unsafe { vm_deallocate(mach_task_self(), address, size) };
}

/// Copies a string of at most `size - 1` bytes and ends it; its length without the NUL.
///
/// # Safety
/// `destination` has `size` bytes, `source` is a string of at least `size - 1` bytes or with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mig_strncpy(destination: *mut c_char, source: *const c_char, size: usize) -> usize {
    if size == 0 || destination.is_null() {
        return 0;
    }
    // SAFETY: the caller's promise, for both: strnlen stops at the NUL or after `size - 1` bytes.
    unsafe {
        let len = if source.is_null() { 0 } else { libc::strnlen(source, size - 1) };
        std::ptr::copy(source, destination, len);
        destination.add(len).write(0);
        len
    }
}

/// As [`mig_strncpy`]; what is left of the destination is cleared.
///
/// # Safety
/// As for [`mig_strncpy`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mig_strncpy_zerofill(destination: *mut c_char, source: *const c_char, size: usize) -> usize {
    // SAFETY: the caller's promise; what is cleared lies between the string's end and `size`.
    unsafe {
        let len = mig_strncpy(destination, source, size);
        if size > 0 && !destination.is_null() {
            destination.add(len).write_bytes(0, size - len);
        }
        len
    }
}

/// The names that stubs generated with the prefix `__` have for the same calls.
pub mod prefixed {
    use super::{Name, c_char, c_void};

    /// As [`mig_init`](super::mig_init).
    #[unsafe(no_mangle)]
    pub extern "C" fn __mig_init(first: *mut c_void) {
        super::mig_init(first);
    }

    /// As [`mig_get_reply_port`](super::mig_get_reply_port).
    #[unsafe(no_mangle)]
    pub extern "C" fn __mig_get_reply_port() -> Name {
        super::mig_get_reply_port()
    }

    /// As [`mig_put_reply_port`](super::mig_put_reply_port).
    #[unsafe(no_mangle)]
    pub extern "C" fn __mig_put_reply_port(reply_port: Name) {
        super::mig_put_reply_port(reply_port);
    }

    /// As [`mig_dealloc_reply_port`](super::mig_dealloc_reply_port).
    #[unsafe(no_mangle)]
    pub extern "C" fn __mig_dealloc_reply_port(reply_port: Name) {
        super::mig_dealloc_reply_port(reply_port);
    }

    /// As [`mig_allocate`](super::mig_allocate).
    ///
    /// # Safety
    /// As there.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __mig_allocate(address: *mut usize, size: usize) {
        // SAFETY: the caller's promise.
        unsafe { super::mig_allocate(address, size) }
    }

    /// As [`mig_deallocate`](super::mig_deallocate).
    ///
    /// # Safety
    /// As there.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __mig_deallocate(address: usize, size: usize) {
        // SAFETY: the caller's promise.
        unsafe { super::mig_deallocate(address, size) }
    }

    /// As [`mig_strncpy`](super::mig_strncpy).
    ///
    /// # Safety
    /// As there.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __mig_strncpy(destination: *mut c_char, source: *const c_char, size: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe { super::mig_strncpy(destination, source, size) }
    }

    /// As [`mig_strncpy_zerofill`](super::mig_strncpy_zerofill).
    ///
    /// # Safety
    /// As there.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __mig_strncpy_zerofill(destination: *mut c_char, source: *const c_char, size: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe { super::mig_strncpy_zerofill(destination, source, size) }
    }
}
