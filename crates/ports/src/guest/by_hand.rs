//! The functions of the table that take or give more than numbers.
#![allow(unsafe_code, reason = "pointers between two copies of this crate")]

use super::table::{Functions, code};
use crate::{
    abi::Code,
    msg::Request,
    state::routines::Status,
    task::Task,
    trap::{
        self,
        gate::{Entry, Table},
    },
};
use std::{
    ffi::{c_int, c_void},
    io,
    os::fd::{FromRawFd, IntoRawFd, OwnedFd, RawFd},
    slice,
};

/// Where a list goes: the owner lends it for the time of a call.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Sink {
    context: *mut c_void,
    take: unsafe extern "C" fn(*mut c_void, *const u32, usize),
}

impl Sink {
    fn into(list: &mut Vec<u32>) -> Self {
        /// # Safety
        /// The context is a list, and the elements are `count`.
        unsafe extern "C" fn take(context: *mut c_void, elements: *const u32, count: usize) {
            // SAFETY: the caller's promise, for both.
            let (list, elements) = unsafe { (&mut *context.cast::<Vec<u32>>(), slice::from_raw_parts(elements, count)) };
            list.extend_from_slice(elements);
        }
        Self { context: std::ptr::from_mut(list).cast(), take }
    }

    fn fill(&self, elements: &[u32]) {
        // SAFETY: the sink was made with this function, and its list is the caller's, who waits.
        unsafe { (self.take)(self.context, elements.as_ptr(), elements.len()) }
    }
}

/// The functions, in the layout of C.
#[derive(Debug)]
#[repr(C)]
pub(super) struct ByHand {
    current: extern "C" fn(&mut Task) -> i32,
    create: extern "C" fn(&mut Task) -> i32,
    by_number: extern "C" fn(u32, &mut Task) -> i32,
    enter: extern "C" fn(Task, &mut Task) -> i32,
    named: extern "C" fn(Task, u32, &mut Task) -> i32,
    set_label: unsafe extern "C" fn(Task, *const u8, usize),
    mach_msg: unsafe extern "C" fn(Task, *mut u8, usize, &Request) -> i32,
    names: extern "C" fn(Task, &Sink) -> i32,
    set_status: extern "C" fn(Task, u32, &Sink) -> i32,
    receive_status: extern "C" fn(Task, u32, &Sink) -> i32,
    pollable: extern "C" fn(Task, u32, &mut RawFd) -> i32,
    import: unsafe extern "C" fn(Task, RawFd, RawFd, &mut u32) -> i32,
    export: extern "C" fn(Task, u32, &mut [RawFd; 2]) -> i32,
    register_traps: unsafe extern "C" fn(Task, u32, &TrapTable, bool) -> i32,
    may_trap: extern "C" fn(u32, i32, u64) -> c_int,
    trap: unsafe extern "C-unwind" fn(u32, i32, u64, *mut c_void, &mut i32) -> c_int,
}

/// The owner's side.
impl ByHand {
    pub(super) const OWN: Self = Self {
        current,
        create,
        by_number,
        enter,
        named,
        set_label,
        mach_msg,
        names,
        set_status,
        receive_status,
        pollable,
        import,
        export,
        register_traps,
        may_trap,
        trap,
    };
}

/// Gives the caller a task.
fn give(to: &mut Task, task: impl FnOnce() -> Task) -> i32 {
    code(|| {
        *to = task();
        0
    })
}

extern "C" fn current(found: &mut Task) -> i32 {
    give(found, Task::current)
}

extern "C" fn create(made: &mut Task) -> i32 {
    give(made, Task::new)
}

extern "C" fn by_number(number: u32, found: &mut Task) -> i32 {
    give(found, || Task::by_number(number))
}

extern "C" fn enter(task: Task, before: &mut Task) -> i32 {
    give(before, || task.enter())
}

extern "C" fn named(of: Task, name: u32, found: &mut Task) -> i32 {
    code(|| match of.named(name) {
        Some(task) => {
            *found = task;
            0
        }
        None => Code::INVALID_TASK.0,
    })
}

/// # Safety
/// The label is `len` bytes.
unsafe extern "C" fn set_label(of: Task, label: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    let label = unsafe { slice::from_raw_parts(label, len) };
    code(|| {
        of.set_label(&String::from_utf8_lossy(label));
        0
    });
}

/// # Safety
/// The buffer is `len` bytes that nobody else touches.
unsafe extern "C" fn mach_msg(of: Task, buffer: *mut u8, len: usize, request: &Request) -> i32 {
    // SAFETY: the caller's promise.
    let buffer = unsafe { slice::from_raw_parts_mut(buffer, len) };
    code(|| of.mach_msg(buffer, request).0)
}

/// Hands a list over.
fn listed(sink: &Sink, list: impl FnOnce() -> Result<Vec<u32>, Code>) -> i32 {
    code(|| match list() {
        Ok(list) => {
            sink.fill(&list);
            0
        }
        Err(code) => code.0,
    })
}

extern "C" fn names(of: Task, sink: &Sink) -> i32 {
    listed(sink, || Ok(of.names()?.into_iter().flat_map(|(name, kind)| [name, kind]).collect()))
}

extern "C" fn set_status(of: Task, name: u32, sink: &Sink) -> i32 {
    listed(sink, || of.set_status(name))
}

extern "C" fn receive_status(of: Task, name: u32, sink: &Sink) -> i32 {
    listed(sink, || {
        let Status { pset, seqno, mscount, qlimit, msgcount, sorights, srights, pdrequest, nsrequest } =
            of.receive_status(name)?;
        let flags = [srights, pdrequest, nsrequest].map(u32::from);
        Ok([&[pset, seqno, mscount, qlimit, msgcount, sorights], &flags[..]].concat())
    })
}

/// What a call with descriptors came to: 0, or the number of its error.
fn errno(run: impl FnOnce() -> io::Result<()>) -> i32 {
    let number = |error: io::Error| {
        error.raw_os_error().unwrap_or(match error.kind() {
            io::ErrorKind::InvalidInput => libc::EINVAL,
            io::ErrorKind::InvalidData => libc::EBADMSG,
            io::ErrorKind::OutOfMemory => libc::ENOMEM,
            _ => libc::EIO,
        })
    };
    // A panic is KERN_FAILURE, which is EIO by chance.
    code(|| run().map_or_else(number, |()| 0))
}

extern "C" fn pollable(of: Task, name: u32, fd: &mut RawFd) -> i32 {
    errno(|| {
        *fd = of.pollable(name)?.into_raw_fd();
        Ok(())
    })
}

/// # Safety
/// The descriptors are given away.
unsafe extern "C" fn import(of: Task, sending: RawFd, holder: RawFd, name: &mut u32) -> i32 {
    // SAFETY: the caller's promise.
    let (sending, holder) = unsafe { (OwnedFd::from_raw_fd(sending), OwnedFd::from_raw_fd(holder)) };
    errno(|| {
        *name = of.import(sending, holder)?;
        Ok(())
    })
}

extern "C" fn export(of: Task, name: u32, pair: &mut [RawFd; 2]) -> i32 {
    errno(|| {
        let (sending, holder) = of.export(name)?;
        *pair = [sending.into_raw_fd(), holder.into_raw_fd()];
        Ok(())
    })
}

/// A table of routines that is lent for the time of a call.
#[derive(Debug)]
#[repr(C)]
struct TrapTable {
    base: i32,
    count: usize,
    entries: *const Entry,
    context: usize,
}

/// # Safety
/// The table is what it says, and its routines take what their signatures say as long as they are registered.
unsafe extern "C" fn register_traps(of: Task, name: u32, table: &TrapTable, serial: bool) -> i32 {
    // SAFETY: the caller's promise.
    let entries = unsafe { slice::from_raw_parts(table.entries, table.count) }.into();
    let table = Table { base: table.base, entries, context: table.context };
    code(|| of.register_traps(name, table, serial).err().unwrap_or(Code::SUCCESS).0)
}

/// 1 for yes.
extern "C" fn may_trap(name: u32, id: i32, signature: u64) -> c_int {
    code(|| trap::may_call(name, id, signature).into())
}

/// # Safety
/// As for [`trap::call`].
unsafe extern "C-unwind" fn trap(name: u32, id: i32, signature: u64, arguments: *mut c_void, result: &mut i32) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { trap::call(name, id, signature, arguments) } {
        Some(code) => {
            *result = code;
            1
        }
        None => 0,
    }
}

/// The guest's side.
impl Functions {
    pub(crate) fn current(&self) -> Task {
        given(|task| (self.by_hand.current)(task))
    }

    pub(crate) fn create(&self) -> Task {
        given(|task| (self.by_hand.create)(task))
    }

    pub(crate) fn by_number(&self, number: u32) -> Task {
        given(|task| (self.by_hand.by_number)(number, task))
    }

    pub(crate) fn enter(&self, task: Task) -> Task {
        given(|before| (self.by_hand.enter)(task, before))
    }

    pub(crate) fn named(&self, of: Task, name: u32) -> Option<Task> {
        let mut task = of;
        ((self.by_hand.named)(of, name, &mut task) == 0).then_some(task)
    }

    pub(crate) fn set_label(&self, of: Task, label: &str) {
        // SAFETY: the label has these bytes.
        unsafe { (self.by_hand.set_label)(of, label.as_ptr(), label.len()) }
    }

    pub(crate) fn mach_msg(&self, of: Task, buffer: &mut [u8], request: &Request) -> Code {
        // SAFETY: the buffer has these bytes, and is lent for the call.
        Code(unsafe { (self.by_hand.mach_msg)(of, buffer.as_mut_ptr(), buffer.len(), request) })
    }

    pub(crate) fn names(&self, of: Task) -> Result<Vec<(u32, u32)>, Code> {
        let list = list(|sink| (self.by_hand.names)(of, sink))?;
        Ok(list.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
    }

    pub(crate) fn set_status(&self, of: Task, name: u32) -> Result<Vec<u32>, Code> {
        list(|sink| (self.by_hand.set_status)(of, name, sink))
    }

    pub(crate) fn receive_status(&self, of: Task, name: u32) -> Result<Status, Code> {
        let list = list(|sink| (self.by_hand.receive_status)(of, name, sink))?;
        let number = |at: usize| list.get(at).copied().unwrap_or_default();
        Ok(Status {
            pset: number(0),
            seqno: number(1),
            mscount: number(2),
            qlimit: number(3),
            msgcount: number(4),
            sorights: number(5),
            srights: number(6) != 0,
            pdrequest: number(7) != 0,
            nsrequest: number(8) != 0,
        })
    }

    pub(crate) fn pollable(&self, of: Task, name: u32) -> io::Result<OwnedFd> {
        let mut fd = -1;
        known((self.by_hand.pollable)(of, name, &mut fd))?;
        // SAFETY: it was made for the caller.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    pub(crate) fn import(&self, of: Task, sending: OwnedFd, holder: OwnedFd) -> io::Result<u32> {
        let mut name = 0;
        // SAFETY: both are given away.
        known(unsafe { (self.by_hand.import)(of, sending.into_raw_fd(), holder.into_raw_fd(), &mut name) })?;
        Ok(name)
    }

    pub(crate) fn export(&self, of: Task, name: u32) -> io::Result<(OwnedFd, OwnedFd)> {
        let mut pair = [-1; 2];
        known((self.by_hand.export)(of, name, &mut pair))?;
        // SAFETY: both were made for the caller.
        Ok(unsafe { (OwnedFd::from_raw_fd(pair[0]), OwnedFd::from_raw_fd(pair[1])) })
    }

    pub(crate) fn register_traps(&self, of: Task, name: u32, table: &Table, serial: bool) -> Result<(), Code> {
        let Table { base, entries, context } = table;
        let table = TrapTable { base: *base, count: entries.len(), entries: entries.as_ptr(), context: *context };
        // SAFETY: the entries are copied; of their routines the caller has promised what the owner wants promised.
        match Code(unsafe { (self.by_hand.register_traps)(of, name, &table, serial) }) {
            Code::SUCCESS => Ok(()),
            code => Err(code),
        }
    }

    pub(crate) fn may_trap(&self, name: u32, id: i32, signature: u64) -> bool {
        (self.by_hand.may_trap)(name, id, signature) == 1
    }

    /// # Safety
    /// As for [`trap::call`].
    pub(crate) unsafe fn trap(&self, name: u32, id: i32, signature: u64, arguments: *mut c_void) -> Option<i32> {
        let mut code = 0;
        // SAFETY: the caller's promise.
        (unsafe { (self.by_hand.trap)(name, id, signature, arguments, &mut code) } != 0).then_some(code)
    }
}

/// The task that a call of the owner's gives, which does not fail: a panic there is one here.
fn given(call: impl FnOnce(&mut Task) -> i32) -> Task {
    let mut task = Task::NONE;
    match Code(call(&mut task)) {
        Code::SUCCESS => task,
        code => panic!("libmach failed to give this thread a task: {code}"),
    }
}

/// A list that a call of the owner's gives.
fn list(call: impl FnOnce(&Sink) -> i32) -> Result<Vec<u32>, Code> {
    let mut list = Vec::new();
    match Code(call(&Sink::into(&mut list))) {
        Code::SUCCESS => Ok(list),
        code => Err(code),
    }
}

/// An error by its number.
fn known(errno: i32) -> io::Result<()> {
    if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_panic_of_the_owner_is_one_of_the_guest_and_ends_nothing_between() {
        extern "C" fn fails(made: &mut Task) -> i32 {
            give(made, || panic!("as the test wants"))
        }
        let panic = catch_unwind(AssertUnwindSafe(|| given(|task| fails(task)))).expect_err("a task was given");
        let text = panic.downcast_ref::<String>().expect("a text");
        assert!(text.contains("a task"), "{text}");
        let task = Task::by_number(7);
        assert_eq!(given(|to| by_number(7, to)), task);
    }

    #[test]
    fn no_function_of_the_owner_unwinds_into_the_guest() {
        let source = include_str!("by_hand.rs");
        let owner =
            &source[source.find("fn current(").expect("the first")..source.find("/// The guest's side.").expect("the next part")];
        let guards = ["code(", "give(", "listed(", "errno("];
        for function in owner.split("extern \"C\" fn ") {
            let function = &function[..function.find("\n}").expect("an end")];
            assert!(guards.iter().any(|guard| function.contains(guard)), "not guarded: {function}");
        }
        // The one that passes panics on is the server's routine, which ends them.
        assert_eq!(owner.matches("extern \"C-unwind\" fn ").count(), 1);
    }
}
