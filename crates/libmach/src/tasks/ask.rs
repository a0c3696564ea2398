//! Calls on a task that is named by a port: made here for a task of this process, else sent to the port as messages.

use super::{memory::Mach, names::Names};
use crate::call::{Name, passes};
use slipway_mach::{
    mig::{self, AnyRight, Carry},
    rights::{ReceiveRight, SendOnceRight, SendRight},
};
use slipway_ports::{
    abi::{Code, DEAD, NULL, kind, types},
    cancellation::Uncancelled,
    task::Task,
};
use std::mem::ManuallyDrop;

/// The calling task, as `slipway-mach` has it.
fn own() -> slipway_mach::task::Task {
    crate::call::shared(Task::current())
}

/// Makes a call on the task that `of` names: `here` for one of this process, else what `there` does with the port. `INVALID_TASK` if it is
/// neither a task nor a port of another process.
fn call<T, S>(
    of: Name,
    port: fn(SendRight) -> S,
    here: impl FnOnce(Task) -> Result<T, Code>,
    there: impl FnOnce(&S) -> Result<T, mig::Error>,
) -> Result<T, Code> {
    match crate::call::task(of) {
        Ok(task) => here(task),
        Err(code) => elsewhere(of, code, port, there),
    }
}

/// What `there` does with a port of another process; `code` if the name is no right to one.
pub(crate) fn elsewhere<T, S>(
    of: Name,
    code: Code,
    port: fn(SendRight) -> S,
    there: impl FnOnce(&S) -> Result<T, mig::Error>,
) -> Result<T, Code> {
    if !Task::current().leads_elsewhere(of) {
        return Err(code);
    }
    let _whole = Uncancelled::begin();
    // The name stays the caller's.
    there(&ManuallyDrop::new(port(SendRight::from_name(own(), of)))).map_err(|error| error.code)
}

/// A call on a task's names.
pub(crate) fn names<T>(
    of: Name,
    here: impl FnOnce(Task) -> Result<T, Code>,
    there: impl FnOnce(&Names) -> Result<T, mig::Error>,
) -> Result<T, Code> {
    call(of, Names, here, there)
}

/// A call on a task and its memory.
pub(crate) fn memory<T>(
    of: Name,
    here: impl FnOnce(Task) -> Result<T, Code>,
    there: impl FnOnce(&Mach) -> Result<T, mig::Error>,
) -> Result<T, Code> {
    call(of, Mach, here, there)
}

/// A call on a thread, by its number in the system if it is one of this process. `INVALID_ARGUMENT` if the name is neither that nor a right
/// to a port of another process.
pub(crate) fn thread<T>(
    of: Name,
    here: impl FnOnce(u32) -> Result<T, Code>,
    there: impl FnOnce(&Mach) -> Result<T, mig::Error>,
) -> Result<T, Code> {
    match Task::current().thread_by_name(of) {
        Some(thread) => here(thread),
        None => elsewhere(of, Code::INVALID_ARGUMENT, Mach, there),
    }
}

/// A right of the calling task's, lent to a call on another: it stays the caller's.
pub(crate) fn lent(name: Name) -> ManuallyDrop<Option<SendRight>> {
    ManuallyDrop::new((name != NULL).then(|| SendRight::from_name(own(), name)))
}

/// A name for a right that was received; null for none.
pub(crate) fn name_of(right: Option<SendRight>) -> Name {
    right.map_or(NULL, SendRight::into_name)
}

/// `mach_port_insert_right`, with a right of the calling task's.
pub(crate) fn insert_right(of: Name, name: Name, right: Name, how: u32) -> Result<(), Code> {
    let here = |task: Task| task.insert_right(name, Task::current(), right, passes(how)?);
    let there = |names: &Names| {
        let fails = |code| mig::Error { tried: "names.mach_port_insert_right", code };
        let needed = match passes(how).map_err(fails)? {
            types::COPY_SEND | types::MOVE_SEND => kind::SEND,
            types::MOVE_SEND_ONCE => kind::SEND_ONCE,
            _ => kind::RECEIVE,
        };
        if matches!(right, NULL | DEAD) {
            return Err(fails(Code::INVALID_CAPABILITY));
        }
        if Task::current().kind(right).map_err(fails)? & needed == 0 {
            return Err(fails(Code::INVALID_RIGHT));
        }
        names.mach_port_insert_right(name, Carry::Named(how, right))
    };
    self::names(of, here, there)
}

/// `mach_port_extract_right`: the name in the calling task, and the type of the right there.
pub(crate) fn extract_right(of: Name, name: Name, how: u32) -> Result<(Name, u32), Code> {
    let here = |task: Task| Ok((task.extract_right(name, how, Task::current())?, crate::call::received(how)));
    let there = |names: &Names| {
        Ok(match names.mach_port_extract_right(name, how)? {
            AnyRight::Send(right) => (name_of(right), types::PORT_SEND),
            AnyRight::SendOnce(right) => (right.map_or(NULL, SendOnceRight::into_name), types::PORT_SEND_ONCE),
            AnyRight::Receive(right) => (right.map_or(NULL, ReceiveRight::into_name), types::PORT_RECEIVE),
        })
    };
    self::names(of, here, there)
}
